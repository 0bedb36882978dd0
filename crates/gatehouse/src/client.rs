//! Client of the API: the server, its credentials, and the HTTP requests.

pub(super) mod api;
pub(super) mod environment;
pub(super) mod filter;
pub(super) mod home_file;
pub(super) mod label;
pub(super) mod oauth;
pub(super) mod paging;
pub(super) mod profile;
pub(super) mod session;
pub(super) mod wire;
