//! The HTTP client for subscribers' callbacks: the same guard as for platforms, with rules of its own.
//!
//! A message is sent once to an address that was checked when it was connected to; redirects are not followed, and
//! nothing of the response is kept but its status.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::Url;
use tokio::time::timeout;

use super::address::{AddressRefused, AddressRules};
use super::client_pool::ClientPool;
use super::pause::retry_after;
use super::transport_error::classify;

/// Most bytes of a response that are read, so that its connection can be used again.
const RESPONSE_BYTES_READ: usize = 16 << 10;

/// Longest time for the body of a response.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends messages to subscribers.
pub struct CallbackClient {
    pool: ClientPool,
    rules: AddressRules,
}

/// The response of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackResponse {
    /// The status.
    pub status: StatusCode,
    /// The pause that its `Retry-After` asks for.
    pub retry_after: Option<Duration>,
}

/// Why a message was not delivered. A sentence without its full stop, for the subscriber.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotDelivered(pub String);

/// Why a callback is refused; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadCallback(String);

impl CallbackClient {
    /// A client for public addresses over https, and for these networks also without TLS.
    pub fn new(rules: AddressRules, calls_at_once: usize) -> Result<Self, reqwest::Error> {
        Ok(Self { pool: ClientPool::new(rules.clone(), calls_at_once)?, rules })
    }

    /// Checks a callback as written; where its name leads is checked at each connection.
    pub fn check(&self, text: &str) -> Result<(), BadCallback> {
        const EXPECTED: &str = "must be an https address such as `https://crm.example.com/events`";
        let bad = |why: String| Err(BadCallback(why));
        let Ok(url) = Url::parse(text) else { return bad(EXPECTED.to_owned()) };
        if !url.username().is_empty() || url.password().is_some() {
            return bad("must not hold a user name or password: messages are signed".to_owned());
        }
        if url.fragment().is_some() {
            return bad("must not have a `#`".to_owned());
        }
        match self.rules.route(&url) {
            Ok(_) => Ok(()),
            Err(AddressRefused::Scheme) => bad(EXPECTED.to_owned()),
            Err(AddressRefused::PlainHttp) => bad(format!(
                "{EXPECTED}: http is for the networks that events.callback_networks names"
            )),
            Err(AddressRefused::Forbidden(kind)) => bad(format!("must not be {kind}")),
            Err(AddressRefused::Internal(kind)) => bad(format!(
                "must be a public address, not {kind}, unless events.callback_networks names its network"
            )),
        }
    }

    /// Sends a message.
    pub async fn post(
        &self,
        callback: &str,
        headers: HeaderMap,
        body: Bytes,
        limit: Duration,
    ) -> Result<CallbackResponse, NotDelivered> {
        // The operator's rules may have changed since the hub was made.
        self.check(callback).map_err(|why| NotDelivered(format!("the callback {why}")))?;
        let url = Url::parse(callback).map_err(|_| NotDelivered("no URL".to_owned()))?;
        let client = self.pool.client(&url).map_err(|why| NotDelivered(why.to_string()))?;
        let send = async {
            let mut response = client.post(url).headers(headers).body(body).send().await?;
            let retry_after = retry_after(response.headers());
            let answer = CallbackResponse { status: response.status(), retry_after };
            let rest = async {
                let mut n_read = 0;
                while n_read < RESPONSE_BYTES_READ
                    && let Ok(Some(chunk)) = response.chunk().await
                {
                    n_read += chunk.len();
                }
            };
            // The status counts, whatever becomes of the body.
            let _ = timeout(BODY_TIMEOUT, rest).await;
            Ok::<_, reqwest::Error>(answer)
        };
        match timeout(limit, send).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                let message = classify(error).message;
                Err(NotDelivered(message.replace("the platform", "the subscriber")))
            }
            Err(_) => Err(NotDelivered(format!("no answer within {} s", limit.as_secs_f64()))),
        }
    }
}

impl fmt::Debug for CallbackClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackClient").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::AddressUse;

    #[test]
    fn only_public_https_addresses_are_callbacks_unless_an_operator_allows_their_network() {
        let client = |networks: &[&str]| {
            let allowed_networks = networks.iter().map(|it| it.parse().unwrap()).collect();
            let addresses_of = AddressUse::Callbacks;
            let rules = AddressRules { addresses_of, allowed_networks, ..AddressRules::default() };
            CallbackClient::new(rules, 1).unwrap()
        };
        let (strict, at_home) = (client(&[]), client(&["127.0.0.0/8", "10.0.0.0/8"]));
        let none = "";
        for (text, public, allowed) in [
            ("https://crm.example.com/events?tenant=7", none, none),
            ("http://crm.example.com/events", "events.callback_networks", none),
            ("https://10.1.2.3/", "events.callback_networks", none),
            ("http://127.0.0.1:8080/", "events.callback_networks", none),
            ("http://192.168.0.1/", "events.callback_networks", "events.callback_networks"),
            ("https://169.254.169.254/", "must not be", "must not be"),
            ("https://metadata.google.internal/", "must not be", "must not be"),
            ("ftp://crm.example.com/", "must be an https address", "must be an https address"),
            ("crm.example.com", "must be an https address", "must be an https address"),
            ("https://ann:secret@crm.example.com/", "user name", "user name"),
            ("https://crm.example.com/#x", "`#`", "`#`"),
        ] {
            for (client, expected) in [(&strict, public), (&at_home, allowed)] {
                match client.check(text) {
                    Ok(()) => assert_eq!(expected, none, "{text}"),
                    Err(why) => {
                        let why = why.to_string();
                        assert!(expected != none && why.contains(expected), "{text}: {why}");
                        assert!(!why.contains("secret"), "{why}");
                    }
                }
            }
        }
    }
}
