//! From a request to its handler: the route table, parameters, and the order of checks.

pub(super) mod address;
pub(super) mod call;
pub(super) mod conditional;
pub(super) mod detach_on_drop;
pub(super) mod dispatch;
pub(super) mod gateway;
pub(super) mod idempotency;
pub(super) mod in_flight;
pub(super) mod outgoing;
pub(super) mod paging;
pub(super) mod params;
pub(super) mod query;
pub(super) mod resource;
pub(super) mod route_table;
pub(super) mod server_context;
