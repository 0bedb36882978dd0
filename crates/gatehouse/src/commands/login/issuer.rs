//! Where an issuer is asked for what, by the document that it has about itself (OpenID Connect Discovery).

use gatehouse_server::config::IssuerUrl;
use reqwest::{Client, Url};
use serde_json::Value;

use super::client_credentials::Asked;
use crate::client::oauth::{self, Proof};
use crate::client::wire::Talk;
use crate::failure::{Failure, Kind};
use crate::terminal::screen::harmless;

/// An issuer that has told about itself.
#[derive(Debug)]
pub(in crate::commands::login) struct Issuer {
    pub(in crate::commands::login) name: String,
    document: Value,
}

impl Issuer {
    pub(in crate::commands::login) async fn discover(
        client: &Client,
        talk: Talk,
        name: &str,
    ) -> Result<Self, Failure> {
        let name = IssuerUrl::try_from(name.to_owned())
            .map_err(|bad| Failure::input(format!("--issuer: {bad}")))?;
        let url =
            format!("{}/.well-known/openid-configuration", name.as_str().trim_end_matches('/'));
        let document = oauth::get(client, talk, &url).await?;
        Self::read(name.as_str(), document)
    }

    /// The document must be the one of whoever was asked, and not of somebody else.
    pub(in crate::commands::login) fn read(name: &str, document: Value) -> Result<Self, Failure> {
        let called = document.get("issuer").and_then(Value::as_str).unwrap_or("nothing");
        if called != name {
            let said = format!("{name} calls itself `{}`", harmless(called));
            return Err(Failure::new(Kind::Refused, said)
                .advise("if that is the right one, say --issuer so, letter by letter"));
        }
        Ok(Self { name: name.to_owned(), document })
    }

    pub(in crate::commands::login) fn token_endpoint(&self) -> Result<String, Failure> {
        self.endpoint("token_endpoint")
    }

    /// Where people begin to sign in.
    pub(in crate::commands::login) fn device_endpoint(&self) -> Result<String, Failure> {
        self.endpoint("device_authorization_endpoint").map_err(|why| {
            why.advise("sign in with a client and its secret (--client-id, --client-secret-file), or with --with-token")
        })
    }

    pub(in crate::commands::login) fn revocation_endpoint(&self) -> Option<String> {
        self.endpoint("revocation_endpoint").ok()
    }

    /// Where clients are asked for their secret, and how they may show it.
    pub(in crate::commands::login) fn for_machines(&self) -> Result<Asked, Failure> {
        let methods = self.list("token_endpoint_auth_methods_supported");
        // Who doesn't say takes HTTP Basic (OpenID Connect Discovery, section 3).
        let has =
            |it| methods.as_ref().map_or(it == "client_secret_basic", |all| all.contains(&it));
        let ways = [(Proof::Basic, "client_secret_basic"), (Proof::Form, "client_secret_post")];
        let proofs: Vec<Proof> = ways.iter().filter(|it| has(it.1)).map(|it| it.0).collect();
        if proofs.is_empty() {
            let said = format!("{} takes no secret from clients", self.name);
            return Err(Failure::new(Kind::Refused, said));
        }
        Ok(Asked { token_endpoint: self.token_endpoint()?, proofs })
    }

    /// Whether it knows a scope.
    pub(in crate::commands::login) fn has_scope(&self, scope: &str) -> bool {
        self.list("scopes_supported").is_some_and(|all| all.contains(&scope))
    }

    /// An address out of the document. Who is asked by https is not left for less.
    fn endpoint(&self, what: &str) -> Result<String, Failure> {
        let name = &self.name;
        let Some(url) = self.document.get(what).and_then(Value::as_str) else {
            return Err(Failure::new(Kind::Refused, format!("{name} has no {what}")));
        };
        let is_plain = name.starts_with("http://");
        if is_safe(url) && (is_plain || url.starts_with("https://")) {
            return Ok(url.to_owned());
        }
        let said = format!("{name} says that its {what} is `{}`, which is not safe", harmless(url));
        Err(Failure::new(Kind::Refused, said))
    }

    fn list(&self, name: &str) -> Option<Vec<&str>> {
        let list = self.document.get(name)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }
}

/// Whether nobody on the way can read along: https, or this machine itself.
pub(in crate::commands::login) fn is_safe(url: &str) -> bool {
    // An issuer's address must be safe, too, but is no endpoint: only what is in front of the path counts here.
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    origin.is_ok_and(|origin| IssuerUrl::try_from(origin).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_of_somebody_else_is_refused() {
        let read = |called: &str| Issuer::read("https://id.example", json!({"issuer": called}));
        assert!(read("https://id.example").is_ok());
        for other in ["https://id.example/", "https://other.example", ""] {
            let why = read(other).unwrap_err();
            assert_eq!(why.kind, Kind::Refused, "{other}");
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
    fn secrets_are_shown_as_the_issuer_takes_them() {
        let proofs = |methods: Value| {
            let document = json!({"issuer": "https://a", "token_endpoint": "https://a/t",
                                  "token_endpoint_auth_methods_supported": methods});
            Issuer::read("https://a", document).unwrap().for_machines().map(|it| it.proofs).ok()
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
