//! The connectors that exist, and the settings that each expects of an account.
//!
//! The platform's address and the account's limits are the same for every connector, and are read here. All other
//! settings belong to the connector.

use std::sync::Arc;

use gatehouse_core::account::Credentials;
use gatehouse_core::{Account, ConnectorName, TenantName};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::account_settings::{AccountSetup, SettingFault, Settings, kind, shown};
use crate::client::{AddressRules, BaseUrl, ClientPool, PlatformClient};
use crate::connector::{Connector, PlatformLimits};
use crate::failure::{Failure, FailureKind};
use crate::manifest::Manifest;
use crate::manifest::run::manifest_connector::ManifestConnector;
use crate::manifests::Manifests;
use crate::meter::AccountMeter;

const BASE_URL: &str = "baseUrl";

/// The setting that bounds an account's concurrent calls.
const CALLS_AT_ONCE: &str = "callsAtOnce";

/// The setting that bounds an account's calls per second.
const CALLS_PER_SECOND: &str = "callsPerSecond";

/// Most concurrent calls of one account, and the default.
const CALLS_AT_ONCE_MAX: u32 = 1000;
const CALLS_AT_ONCE_DEFAULT: u32 = 128;

/// Highest bound on calls per second; without the setting there is no bound.
const CALLS_PER_SECOND_MAX: f64 = 100_000.0;

/// Detail for a tenant whose account has faults. The operator finds the faults in the log.
const BAD_SETUP: &str =
    "the account's settings have faults; `gatehouse doctor --deep` shows them to its operator";

/// The connectors that accounts may name.
#[derive(Clone)]
pub struct Catalog {
    addresses: AddressRules,
    manifests: Manifests,
}

impl Catalog {
    /// Builds the catalog; `addresses` says where platforms may be.
    pub fn new(addresses: AddressRules, manifests: Manifests) -> Self {
        Self { addresses, manifests }
    }

    /// Names of all connectors.
    pub fn names(&self) -> Vec<&str> {
        self.manifests.all().map(|it| it.name().as_str()).collect()
    }

    /// Manifests of the connectors.
    pub fn manifests(&self) -> &Manifests {
        &self.manifests
    }

    /// Lists every fault of an account. Sends nothing.
    pub fn faults(
        &self,
        connector: &ConnectorName,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Vec<SettingFault> {
        let Some(manifest) = self.manifests.get(connector.as_str()) else {
            return vec![self.unknown(connector)];
        };
        let (common, mut faults) = self.common(settings, manifest);
        let read = manifest.read_account(&common.own, credentials, &self.addresses);
        faults.extend(read.err().unwrap_or_default());
        faults
    }

    /// All addresses that an account's secrets may be sent to; `None` if the connector rejects the settings.
    pub fn addresses(
        &self,
        connector: &ConnectorName,
        settings: &Settings,
    ) -> Option<Vec<BaseUrl>> {
        let manifest = self.manifests.get(connector.as_str())?;
        // Other callers check whether the addresses are allowed.
        let anywhere =
            Self { addresses: AddressRules::anywhere(), manifests: self.manifests.clone() };
        let (Common { base_url, own, .. }, _) = anywhere.common(settings, manifest);
        let mut addresses = vec![base_url?];
        addresses.extend(manifest.account.addresses(&own, &anywhere.addresses)?);
        Some(addresses)
    }

    /// Opens the connector for an account. A tenant must not see how its account is reached, so the faults go to the
    /// log.
    pub(crate) fn open(
        &self,
        tenant: &TenantName,
        account: &Account,
        setup: AccountSetup<'_>,
        pool: &Arc<ClientPool>,
        meter: AccountMeter,
    ) -> Result<Box<dyn Connector>, Failure> {
        let AccountSetup { settings, credentials, address_source } = setup;
        let bad_setup = |faults: Vec<SettingFault>| {
            let texts: Vec<String> =
                faults.iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect();
            let faults = texts.join("; ");
            tracing::warn!(
                %tenant, account = %account.name, %faults, "an account's settings have faults"
            );
            Failure::new(FailureKind::Error, BAD_SETUP)
        };
        let Some(manifest) = self.manifests.get(account.connector.as_str()) else {
            return Err(bad_setup(vec![self.unknown(&account.connector)]));
        };
        let (common, mut faults) = self.common(settings, manifest);
        let values = manifest.read_account(&common.own, credentials, &self.addresses);
        let values = values.map_err(|more| faults.extend(more));
        let (Common { base_url: Some(base_url), limits, own }, Ok(values), true) =
            (common, values, faults.is_empty())
        else {
            return Err(bad_setup(faults));
        };
        let secrets = credentials.names().filter_map(|name| credentials.reveal(name));
        let secrets = secrets.map(|secret| Zeroizing::new(secret.to_owned())).collect();
        let pool = Arc::clone(pool);
        let client =
            PlatformClient::new(pool, &account.connector, base_url, limits, meter, secrets);
        let client = client.address_source(address_source);
        let client =
            values.addresses.iter().fold(client, |client, to| client.with_origin(to.clone()));
        Ok(Box::new(ManifestConnector::new(manifest.for_account(&own), values, client)))
    }

    /// That there is no such connector.
    fn unknown(&self, connector: &ConnectorName) -> SettingFault {
        let known = self.names().join(", ");
        let reason = format!("must be a connector that is known ({known}), not `{connector}`");
        SettingFault { name: "connector".into(), reason }
    }

    /// Reads the settings that every connector has; returns the others as `own`.
    fn common(&self, settings: &Settings, manifest: &Manifest) -> (Common, Vec<SettingFault>) {
        let mut faults = Vec::new();
        let mut fault = |name: &str, reason: String| {
            faults.push(SettingFault { name: format!("settings.{name}"), reason });
        };
        let mut own = settings.clone();
        let base_url = match own.shift_remove(BASE_URL) {
            Some(Value::String(text)) => BaseUrl::parse(&text, &self.addresses)
                .map_err(|bad| fault(BASE_URL, bad.to_string()))
                .ok(),
            Some(other) => {
                fault(BASE_URL, format!("must be a string, not {}", kind(&other)));
                None
            }
            None => match &manifest.account.base_url {
                Some(default) => BaseUrl::parse(default, &AddressRules::default()).ok(),
                None => {
                    fault(BASE_URL, "is missing".into());
                    None
                }
            },
        };
        let mut limits = PlatformLimits {
            calls_at_once: CALLS_AT_ONCE_DEFAULT,
            calls_per_second: None,
            burst: 1,
            quotas: Vec::new(),
            wait: None,
        };
        manifest.limits.apply_to(&mut limits);
        if let Some(given) = own.shift_remove(CALLS_AT_ONCE) {
            let number = given.as_u64().and_then(|it| u32::try_from(it).ok());
            match number.filter(|it| (1..=CALLS_AT_ONCE_MAX).contains(it)) {
                Some(number) => limits.calls_at_once = number,
                None => fault(
                    CALLS_AT_ONCE,
                    format!(
                        "must be a whole number from 1 to {CALLS_AT_ONCE_MAX}, not {}",
                        shown(&given)
                    ),
                ),
            }
        }
        if let Some(given) = own.shift_remove(CALLS_PER_SECOND) {
            match given.as_f64().filter(|it| *it >= 0.01 && *it <= CALLS_PER_SECOND_MAX) {
                Some(rate) => {
                    limits.calls_per_second = Some(rate);
                    // A whole second's calls may be made at once.
                    limits.burst = rate.ceil() as u32;
                }
                None => fault(
                    CALLS_PER_SECOND,
                    format!(
                        "must be a number from 0.01 to {CALLS_PER_SECOND_MAX}, not {}",
                        shown(&given)
                    ),
                ),
            }
        }
        (Common { base_url, limits, own }, faults)
    }
}

/// Settings that every connector has, and the connector's own.
struct Common {
    base_url: Option<BaseUrl>,
    limits: PlatformLimits,
    own: Settings,
}

#[cfg(test)]
mod tests;
