//! Getting the next token when one expires.

use reqwest::Client;
use serde::{Deserialize, Serialize};

use crate::client::oauth::{self, Form, Proof, TokenError, TokenResponse};
use crate::client::wire::{Verbose, http_client};
use crate::failure::Failure;
use crate::terminal::screen::print_notice;
use crate::terminal::secret::Secret;

/// Credentials for the next token.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub(crate) enum Renewal {
    ClientCredentials(ClientCredentials),
    RefreshToken(RefreshToken),
}

/// A client that authenticates for each token.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientCredentials {
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Secret,
    pub(crate) proof: Proof,
    #[serde(flatten)]
    pub(crate) spec: TokenSpec,
}

/// A user who signed in once, with a browser.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefreshToken {
    /// The issuer for the next login, when the refresh token has expired as well.
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client_id: String,
    pub(crate) refresh_token: Secret,
    #[serde(flatten)]
    pub(crate) spec: TokenSpec,
}

/// Parameters of a token request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct TokenSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
    /// By RFC 8707.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
}

impl Renewal {
    /// Gets a token; also returns the credentials for the one after it.
    pub(crate) async fn renew(
        &self,
        client: &Client,
        verbose: Verbose,
    ) -> Result<(TokenResponse, Self), TokenError> {
        match self {
            Self::ClientCredentials(credentials) => {
                Ok((credentials.request(client, verbose).await?, self.clone()))
            }
            Self::RefreshToken(earlier) => {
                let granted = earlier.request(client, verbose).await?;
                let mut next = earlier.clone();
                // Many issuers replace the refresh token each time and refuse the old one.
                if let Some(refresh_token) = &granted.refresh_token {
                    next.refresh_token = refresh_token.clone();
                }
                Ok((granted, Self::RefreshToken(next)))
            }
        }
    }

    /// Whether the same credentials get a token any number of times, without stored state.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self, Self::ClientCredentials(_))
    }
}

impl ClientCredentials {
    /// Requests a token (RFC 6749, section 4.4).
    pub(crate) async fn request(
        &self,
        client: &Client,
        verbose: Verbose,
    ) -> Result<TokenResponse, TokenError> {
        let form = self.spec.add_to(Form::default().with("grant_type", "client_credentials"));
        let client_auth = (self.client_id.as_str(), &self.client_secret, self.proof);
        let body = oauth::post_as(client, verbose, &self.token_endpoint, client_auth, form).await?;
        TokenResponse::read(&self.token_endpoint, &body, oauth::now())
    }
}

impl RefreshToken {
    /// Requests a token (RFC 6749, section 6), with the scope of the first.
    async fn request(
        &self,
        client: &Client,
        verbose: Verbose,
    ) -> Result<TokenResponse, TokenError> {
        let form = Form::default()
            .with("grant_type", "refresh_token")
            .with("client_id", &self.client_id)
            .with_secret("refresh_token", &self.refresh_token)
            .with_optional("resource", self.spec.resource.as_deref())
            .single_use();
        let body = oauth::post(client, verbose, &self.token_endpoint, form).await?;
        TokenResponse::read(&self.token_endpoint, &body, oauth::now())
    }

    /// Revokes the refresh token (RFC 7009); returns whether the issuer has an endpoint for that.
    pub(crate) async fn revoke(
        &self,
        client: &Client,
        verbose: Verbose,
    ) -> Result<bool, TokenError> {
        let Some(endpoint) = &self.revocation_endpoint else { return Ok(false) };
        let form = Form::default()
            .with("client_id", &self.client_id)
            .with("token_type_hint", "refresh_token")
            .with_secret("token", &self.refresh_token);
        oauth::post_without_response(client, verbose, endpoint, form).await?;
        Ok(true)
    }
}

/// Revokes a refresh token at its issuer. A failure is only reported: signing out does not depend on it.
pub(crate) async fn revoke(renewal: &Renewal, verbose: Verbose) -> Result<(), Failure> {
    let Renewal::RefreshToken(token) = renewal else { return Ok(()) };
    match token.revoke(&http_client()?, verbose).await {
        Ok(true) => print_notice(&format!("{} has revoked the refresh token", token.issuer)),
        Ok(false) => print_notice(&format!(
            "gatehouse: note: {} can't revoke the refresh token, which stays valid until it expires there",
            token.issuer
        )),
        Err(why) => print_notice(&format!(
            "gatehouse: note: {} could not revoke the refresh token: {}",
            token.issuer,
            why.into_failure().message()
        )),
    }
    Ok(())
}

impl TokenSpec {
    pub(crate) fn add_to(&self, form: Form) -> Form {
        form.with_optional("scope", self.scope.as_deref())
            .with_optional("audience", self.audience.as_deref())
            .with_optional("resource", self.resource.as_deref())
    }
}
