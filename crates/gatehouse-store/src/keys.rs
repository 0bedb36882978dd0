//! Master keys and what is made with them: the server's own keys, seals and hashes by key, sealed secrets.

pub(super) mod keyed;
pub(super) mod secret;
pub(super) mod server_key;
