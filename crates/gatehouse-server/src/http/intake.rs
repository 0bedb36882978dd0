//! From bytes to a request: how it came in, its headers and body, and its place among the others.

pub(super) mod arrival;
pub(super) mod body;
pub(super) mod disconnection;
pub(super) mod large_bodies;
pub(crate) mod refusal;
pub(super) mod request_headers;
pub(super) mod slots;
pub(super) mod turns;
