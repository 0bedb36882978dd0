//! Master keys and their uses: the server's own keys, seals and hashes by key, sealed secrets.

pub(super) mod key_uses;
pub(super) mod secret;
pub(super) mod server_key;
