//! From bytes to a request: how it came in, its headers and body, and its place among the others.

pub(super) mod body;
pub(super) mod connection_info;
pub(super) mod disconnection;
pub(super) mod large_bodies;
pub(crate) mod refusal;
pub(super) mod request_headers;
pub(super) mod request_permits;
pub(super) mod slots;
