//! How external platforms are asked.

use std::path::PathBuf;

use gatehouse_connectors::{
    AddressRules, BadManifests, CustomManifest, Manifests, Network, PlatformOptions,
};
use gatehouse_core::page::PAGE_NUMBER_MAX;
use serde::{Deserialize, Serialize};

use super::Duration;

/// How long a request can be allowed to wait for platforms.
const DEADLINE: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(100)..=Duration::minutes(5);

/// How external platforms are asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Platforms {
    /// How long a request waits for platforms; what has not come by then is a failure of its account.
    pub deadline: Duration,
    /// Whether platforms outside the allowed networks may be reached without encryption.
    pub allow_insecure_urls: bool,
    /// Networks that not all the world can reach and in which platforms may be, this machine's own among them. In
    /// them platforms may be reached without encryption.
    pub allowed_networks: Vec<Network>,
    /// The last page of products that a tenant may ask for, unless it has its own.
    pub page_number_max: u64,
    /// A directory with manifests of connectors beside those that are shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connectors_dir: Option<PathBuf>,
}

impl Default for Platforms {
    fn default() -> Self {
        Self {
            deadline: Duration::seconds(10),
            allow_insecure_urls: false,
            allowed_networks: Vec::new(),
            page_number_max: PAGE_NUMBER_MAX,
            connectors_dir: None,
        }
    }
}

impl Platforms {
    pub(super) fn check(&self) -> Result<(), String> {
        let (deadline, shortest, longest) = (self.deadline, DEADLINE.start(), DEADLINE.end());
        if !(shortest.get()..=longest.get()).contains(&deadline.get()) {
            return Err(format!(
                "platforms.deadline must be {shortest} to {longest}, not {deadline}"
            ));
        }
        if !(1..=PAGE_NUMBER_MAX).contains(&self.page_number_max) {
            return Err(format!("platforms.page_number_max must be 1 to {PAGE_NUMBER_MAX}"));
        }
        if self.connectors_dir.as_ref().is_some_and(|dir| dir.as_os_str().is_empty()) {
            return Err("platforms.connectors_dir must not be empty".into());
        }
        Ok(())
    }

    /// The connectors that there are, and those among them that are the operator's own.
    pub fn manifests(&self) -> Result<(Manifests, Vec<CustomManifest>), BadManifests> {
        let mut manifests = Manifests::shipped();
        let own = match &self.connectors_dir {
            Some(dir) => manifests.add_dir(dir)?,
            None => Vec::new(),
        };
        Ok((manifests, own))
    }

    /// What those who ask platforms need to know.
    pub fn options(&self, manifests: Manifests) -> PlatformOptions {
        let addresses = AddressRules {
            allow_insecure_urls: self.allow_insecure_urls,
            allowed_networks: self.allowed_networks.clone(),
            ..AddressRules::default()
        };
        PlatformOptions { addresses, manifests, ..PlatformOptions::default() }
    }
}
