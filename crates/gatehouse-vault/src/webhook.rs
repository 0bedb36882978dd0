//! Secrets of hubs, and signatures of their messages by the Standard Webhooks specification.

use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use zeroize::Zeroizing;

use crate::mac::MacKey;
use crate::{BadSeal, Vault, random};

/// Prefix of a secret as its subscriber gets it.
const PREFIX: &str = "whsec_";

/// Bytes of a secret.
const BYTES: usize = 32;

/// The secret of a hub, with which its messages are signed.
pub struct WebhookSecret(Zeroizing<[u8; BYTES]>);

impl WebhookSecret {
    /// Draws a new secret.
    pub fn draw() -> Self {
        Self(Zeroizing::new(random::bytes()))
    }

    /// The secret as its subscriber gets it, once.
    pub fn reveal(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{PREFIX}{}", BASE64.encode(self.0.as_slice())))
    }

    /// The identifier of a message with several events: always the same for the same events.
    pub fn message_id(events: &[String]) -> String {
        let mut digest = Context::new(&SHA256);
        for id in events {
            digest.update(id.as_bytes());
            digest.update(b" ");
        }
        let digest = digest.finish();
        let hex = digest.as_ref().iter().take(16).map(|it| format!("{it:02x}"));
        format!("msg-{}", hex.collect::<String>())
    }

    /// The signature of a message with this identifier and time.
    pub fn sign(&self, id: &str, unix_seconds: i64, body: &[u8]) -> String {
        let head = format!("{id}.{unix_seconds}.");
        let signed = [head.as_bytes(), body].concat();
        format!("v1,{}", BASE64.encode(MacKey::new(&self.0).sign(&signed)))
    }
}

impl Vault {
    /// Seals a hub's secret for this purpose.
    pub fn seal_webhook_secret(&self, purpose: &str, secret: &WebhookSecret) -> Vec<u8> {
        self.seal(purpose, secret.0.as_slice())
    }

    /// Opens a hub's secret that was sealed for this purpose.
    pub fn open_webhook_secret(
        &self,
        purpose: &str,
        sealed: &[u8],
    ) -> Result<WebhookSecret, BadSeal> {
        let bytes = Zeroizing::new(self.unseal(purpose, sealed)?);
        let bytes = bytes.as_slice().try_into().map_err(|_| BadSeal)?;
        Ok(WebhookSecret(Zeroizing::new(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_the_specification_says() {
        let bytes: [u8; BYTES] = std::array::from_fn(|n| n as u8);
        let secret = WebhookSecret(Zeroizing::new(bytes));
        assert_eq!(*secret.reveal(), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        // Made with `openssl dgst -sha256 -mac HMAC` of `msg_1.1614265330.{"test": 2432232314}`.
        let signature = secret.sign("msg_1", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,GWvjEzx3AphU7wha3hNZPXJnymF9Fg+ZdvPQqWPOjZ0=");
        assert_ne!(signature, secret.sign("msg_2", 1_614_265_330, b"{\"test\": 2432232314}"));
    }

    #[test]
    fn the_identifier_of_several_events_depends_on_each_of_them() {
        let id = |events: &[&str]| {
            WebhookSecret::message_id(&events.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(id(&["a", "b"]), id(&["a", "b"]));
        for other in [&["a", "c"][..], &["a"], &["b", "a"], &["a", "b", "c"]] {
            assert_ne!(id(&["a", "b"]), id(other));
        }
    }
}
