//! Replicas as processes, driven over HTTP: the shared load's calls, and the final state.

mod fleet;
mod settled;

pub(crate) use fleet::Fleet;
pub(crate) use gatehouse_testing::history::{
    Load, Replicas, Scale, TENANTS, call, estate, is_over, judge,
};
pub(crate) use settled::read_settled;
