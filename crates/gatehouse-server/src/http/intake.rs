//! From bytes to a request: connection, headers, body, and the limits that all requests share.

pub(super) mod body;
pub(super) mod connection_info;
pub(super) mod disconnection;
pub(super) mod large_bodies;
pub(crate) mod refusal;
pub(super) mod request_headers;
pub(super) mod request_permits;
pub(super) mod slots;
