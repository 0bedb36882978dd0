//! A tenant: owner of accesses, and the time zone of its months.

use std::collections::BTreeSet;

use crate::ids::{LabelKey, TenantName};
use crate::time::zone::ZoneName;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The tenant's name, the first segment of its paths.
    pub name: TenantName,
    /// Time zone that ends the tenant's months.
    pub time_zone: ZoneName,
    /// Requests per second: 0 for no limit, `None` for the server's setting.
    pub requests_per_second: Option<u64>,
    /// Highest page number of products; `None` for the server's setting.
    pub page_number_max: Option<u64>,
    /// Keys of labels that lists can be filtered by.
    pub label_keys: BTreeSet<LabelKey>,
}

impl Tenant {
    /// A tenant with the server's limits.
    pub fn new(name: TenantName, time_zone: ZoneName) -> Self {
        Self {
            name,
            time_zone,
            requests_per_second: None,
            page_number_max: None,
            label_keys: BTreeSet::new(),
        }
    }
}

/// Highest limit on requests; above it, set no limit.
pub const REQUESTS_PER_SECOND_MAX: u64 = 1_000_000;
