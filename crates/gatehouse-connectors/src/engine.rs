//! The engine: requests over all accounts of a tenant at once, within limits and deadlines.

pub(super) mod account_search;
pub(super) mod cursor_cache;
pub(super) mod find;
pub(super) mod holder_cache;
pub(super) mod latency;
pub(super) mod list;
pub(super) mod live;
pub(super) mod open_accounts;
pub(super) mod page_coalescing;
pub(super) mod platforms;
pub(super) mod scan;
pub(super) mod single_flight;
pub(super) mod window;
