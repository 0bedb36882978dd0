//! Which connectors there are, and what each asks of an account.

use gatehouse_core::account::Credentials;
use gatehouse_core::{Account, ConnectorName, TenantName};

use crate::connector::Connector;
use crate::failure::{Failure, FailureKind};

/// What an account says about how its platform is reached.
pub type Settings = serde_json::Map<String, serde_json::Value>;

/// One thing that is wrong with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field: `settings.baseUrl`.
    pub name: String,
    /// What would be right; reads on after the name. Never holds a secret.
    pub reason: String,
}

/// The connectors that accounts may name.
#[derive(Clone, Debug)]
pub struct Catalog {
    allow_insecure_urls: bool,
}

impl Catalog {
    /// The connectors of this program.
    pub fn new(allow_insecure_urls: bool) -> Self {
        Self { allow_insecure_urls }
    }

    /// Their names.
    pub fn names(&self) -> Vec<&'static str> {
        vec!["simulator"]
    }

    /// What speaks to an account, or why nothing can.
    pub(crate) fn open(
        &self,
        tenant: &TenantName,
        account: &Account,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Result<Box<dyn Connector>, Failure> {
        let _ = (tenant, account, settings, credentials);
        Err(Failure::new(FailureKind::Error, "can't be asked"))
    }

    /// All that is wrong with an account, before it is ever asked. Nothing is sent anywhere.
    pub fn faults(
        &self,
        connector: &ConnectorName,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Vec<Fault> {
        let _ = (connector, settings, credentials, self.allow_insecure_urls);
        Vec::new()
    }
}
