//! An issuer's endpoints, from its metadata document (OpenID Connect Discovery).

use gatehouse_server::config::IssuerUrl;
use reqwest::{Client, Url};
use serde_json::Value;

use super::client_credentials::TokenEndpoint;
use crate::client::oauth::{self, Proof};
use crate::client::wire::Verbose;
use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::harmless;

#[derive(Debug)]
pub(in crate::commands::login) struct Issuer {
    pub(in crate::commands::login) name: String,
    document: Value,
}

impl Issuer {
    pub(in crate::commands::login) async fn discover(
        client: &Client,
        verbose: Verbose,
        name: &str,
    ) -> Result<Self, Failure> {
        let name = IssuerUrl::try_from(name.to_owned())
            .map_err(|bad| Failure::input(format!("--issuer: {bad}")))?;
        let url =
            format!("{}/.well-known/openid-configuration", name.as_str().trim_end_matches('/'));
        let document = oauth::get(client, verbose, &url).await?;
        Self::read(name.as_str(), document)
    }

    /// Parses the document, which must name the issuer that it was requested from.
    pub(in crate::commands::login) fn read(name: &str, document: Value) -> Result<Self, Failure> {
        let claimed = document.get("issuer").and_then(Value::as_str).unwrap_or("nothing");
        if claimed != name {
            let message = format!("{name} calls itself `{}`", harmless(claimed));
            return Err(Failure::new(FailureKind::Refused, message)
                .advise("if that is the right one, give --issuer exactly so"));
        }
        Ok(Self { name: name.to_owned(), document })
    }

    pub(in crate::commands::login) fn token_endpoint(&self) -> Result<String, Failure> {
        self.endpoint("token_endpoint")
    }

    /// The endpoint where people begin to sign in.
    pub(in crate::commands::login) fn device_endpoint(&self) -> Result<String, Failure> {
        self.endpoint("device_authorization_endpoint").map_err(|why| {
            why.advise("sign in with a client and its secret (--client-id, --client-secret-file), or with --with-token")
        })
    }

    pub(in crate::commands::login) fn revocation_endpoint(&self) -> Option<String> {
        self.endpoint("revocation_endpoint").ok()
    }

    /// The token endpoint, and its methods of client authentication.
    pub(in crate::commands::login) fn client_endpoint(&self) -> Result<TokenEndpoint, Failure> {
        let methods = self.list("token_endpoint_auth_methods_supported");
        // HTTP Basic is the default (OpenID Connect Discovery, section 3).
        let has =
            |it| methods.as_ref().map_or(it == "client_secret_basic", |all| all.contains(&it));
        let by_proof = [(Proof::Basic, "client_secret_basic"), (Proof::Form, "client_secret_post")];
        let proofs: Vec<Proof> = by_proof.iter().filter(|it| has(it.1)).map(|it| it.0).collect();
        if proofs.is_empty() {
            let message = format!("{} takes no secret from clients", self.name);
            return Err(Failure::new(FailureKind::Refused, message));
        }
        Ok(TokenEndpoint { token_endpoint: self.token_endpoint()?, proofs })
    }

    /// Whether the issuer supports a scope.
    pub(in crate::commands::login) fn has_scope(&self, scope: &str) -> bool {
        self.list("scopes_supported").is_some_and(|all| all.contains(&scope))
    }

    /// An address from the document. An https issuer must have https endpoints.
    fn endpoint(&self, what: &str) -> Result<String, Failure> {
        let name = &self.name;
        let Some(url) = self.document.get(what).and_then(Value::as_str) else {
            return Err(Failure::new(FailureKind::Refused, format!("{name} has no {what}")));
        };
        let is_plain = name.starts_with("http://");
        if is_safe(url) && (is_plain || url.starts_with("https://")) {
            return Ok(url.to_owned());
        }
        let message =
            format!("{name} says that its {what} is `{}`, which is not safe", harmless(url));
        Err(Failure::new(FailureKind::Refused, message))
    }

    fn list(&self, name: &str) -> Option<Vec<&str>> {
        let list = self.document.get(name)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }
}

/// Whether the connection can't be read by others: https, or this machine.
pub(in crate::commands::login) fn is_safe(url: &str) -> bool {
    // An issuer's address must be safe, too, but is no endpoint: only the part before the path counts here.
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    origin.is_ok_and(|origin| IssuerUrl::try_from(origin).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_of_another_issuer_is_refused() {
        let read = |claimed: &str| Issuer::read("https://id.example", json!({"issuer": claimed}));
        assert!(read("https://id.example").is_ok());
        for other in ["https://id.example/", "https://other.example", ""] {
            let why = read(other).unwrap_err();
            assert_eq!(why.kind, FailureKind::Refused, "{other}");
        }
        assert!(Issuer::read("https://id.example", json!([])).is_err());
    }

    #[test]
    fn endpoints_are_as_safe_as_the_issuer() {
        #[rustfmt::skip]
        let cases = [
            // issuer                 // token_endpoint              // is taken
            ("https://id.example",    "https://id.example/token",    true),
            ("https://id.example",    "https://other.example/t?x=1", true),
            ("https://id.example",    "http://id.example/token",     false),
            ("https://id.example",    "http://127.0.0.1/token",      false),
            ("https://id.example",    "file:///etc/passwd",          false),
            ("https://id.example",    "",                            false),
            ("http://127.0.0.1:9",    "http://127.0.0.1:9/token",    true),
            ("http://127.0.0.1:9",    "http://id.example/token",     false),
        ];
        for (name, endpoint, is_taken) in cases {
            let document = json!({"issuer": name, "token_endpoint": endpoint});
            let issuer = Issuer::read(name, document).unwrap();
            assert_eq!(issuer.token_endpoint().is_ok(), is_taken, "{name}: {endpoint}");
        }
        let issuer = Issuer::read("https://a", json!({"issuer": "https://a"})).unwrap();
        let why = issuer.device_endpoint().unwrap_err().to_string();
        assert!(why.contains("has no device_authorization_endpoint"), "{why}");
        assert_eq!(issuer.revocation_endpoint(), None);
    }

    #[test]
    fn client_authentication_follows_the_issuers_methods() {
        let proofs = |methods: Value| {
            let document = json!({"issuer": "https://a", "token_endpoint": "https://a/t",
                                  "token_endpoint_auth_methods_supported": methods});
            Issuer::read("https://a", document).unwrap().client_endpoint().map(|it| it.proofs).ok()
        };
        assert_eq!(proofs(Value::Null), Some(vec![Proof::Basic]));
        assert_eq!(proofs(json!(["client_secret_post"])), Some(vec![Proof::Form]));
        assert_eq!(
            proofs(json!(["none", "client_secret_post", "client_secret_basic"])),
            Some(vec![Proof::Basic, Proof::Form])
        );
        assert_eq!(proofs(json!(["private_key_jwt"])), None);
    }
}
