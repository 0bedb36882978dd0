//! Replicas that are processes, driven over HTTP: what the shared load asks of them, and what is there in the end.

mod fleet;
mod settled;

pub(crate) use fleet::Fleet;
pub(crate) use gatehouse_testing::history::{
    Load, Replicas, Scale, TENANTS, call, estate, is_over, judge,
};
pub(crate) use settled::read_settled;
