//! Rate limits: a token bucket, and the share of a limit that each replica grants.

pub mod bucket;
pub mod current_share;
pub mod replica_share;

pub use current_share::CurrentShare;
pub use replica_share::ReplicaShare;
