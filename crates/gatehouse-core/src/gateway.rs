//! Gateways (brokers, proxies, RADIUS servers): in which dialect one asks, by what right, and what devices may do there.

pub mod dialect;
pub mod hook;
pub mod policy;
