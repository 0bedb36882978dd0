//! Objects that an operator sets up before accesses exist: tenants, contracts, accounts, clients, hooks.

pub(super) mod account;
pub(super) mod client;
pub(super) mod contract;
pub(super) mod hook;
pub(super) mod tenant;
