//! Settings of calls to external platforms.

use std::path::PathBuf;

use gatehouse_connectors::{
    AddressRules, BadManifests, CustomManifest, Manifests, Network, PlatformOptions,
};
use gatehouse_core::page::PAGE_NUMBER_MAX;
use serde::{Deserialize, Serialize};

use super::Duration;

/// Range of the deadline.
const DEADLINE: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(100)..=Duration::minutes(5);

/// Settings of calls to external platforms.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Platforms {
    /// Deadline of a request's platform calls; an account that misses it fails.
    pub deadline: Duration,
    /// Whether platforms outside the allowed networks may be called without TLS.
    pub allow_insecure_urls: bool,
    /// Private networks in which platforms may be called, also without TLS; this machine's own must be listed too.
    pub allowed_networks: Vec<Network>,
    /// Largest page number of products; a tenant may have its own limit.
    pub page_number_max: u64,
    /// Directory of custom connector manifests.
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

    /// All connectors, and the custom ones among them.
    pub fn manifests(&self) -> Result<(Manifests, Vec<CustomManifest>), BadManifests> {
        let mut manifests = Manifests::shipped();
        let custom = match &self.connectors_dir {
            Some(dir) => manifests.add_dir(dir)?,
            None => Vec::new(),
        };
        Ok((manifests, custom))
    }

    /// The options of the platform clients.
    pub fn options(&self, manifests: Manifests) -> PlatformOptions {
        let addresses = AddressRules {
            allow_insecure_urls: self.allow_insecure_urls,
            allowed_networks: self.allowed_networks.clone(),
            ..AddressRules::default()
        };
        PlatformOptions { addresses, manifests, ..PlatformOptions::default() }
    }
}
