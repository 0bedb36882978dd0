//! How the next token is got when one is old.

use reqwest::Client;
use serde::{Deserialize, Serialize};

use crate::client::oauth::{self, Form, Granted, Proof, Refusal};
use crate::client::wire::{Talk, http_client};
use crate::failure::Failure;
use crate::terminal::screen::remark;
use crate::terminal::secret::Secret;

/// How the next token is got.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub(crate) enum Renewal {
    ClientCredentials(ClientCredentials),
    RefreshToken(RefreshToken),
}

/// A client that proves who it is each time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientCredentials {
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Secret,
    pub(crate) proof: Proof,
    #[serde(flatten)]
    pub(crate) wish: Wish,
}

/// Somebody who signed in once, with a browser.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefreshToken {
    /// Who can be asked again, when the refresh token is too old as well.
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client_id: String,
    pub(crate) refresh_token: Secret,
    #[serde(flatten)]
    pub(crate) wish: Wish,
}

/// What a token is to be for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Wish {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
    /// As RFC 8707 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
}

impl Renewal {
    /// Gets a token, and says how the one after it is got.
    pub(crate) async fn renew(
        &self,
        client: &Client,
        talk: Talk,
    ) -> Result<(Granted, Self), Refusal> {
        match self {
            Self::ClientCredentials(credentials) => {
                Ok((credentials.ask(client, talk).await?, self.clone()))
            }
            Self::RefreshToken(earlier) => {
                let granted = earlier.ask(client, talk).await?;
                let mut next = earlier.clone();
                // Many issuers give a new one each time, and take the old one no more.
                if let Some(refresh_token) = &granted.refresh_token {
                    next.refresh_token = refresh_token.clone();
                }
                Ok((granted, Self::RefreshToken(next)))
            }
        }
    }

    /// Whether a token can be got twice the same way, without anything that has to be kept in between.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self, Self::ClientCredentials(_))
    }
}

impl ClientCredentials {
    /// Gets a token (RFC 6749, section 4.4).
    pub(crate) async fn ask(&self, client: &Client, talk: Talk) -> Result<Granted, Refusal> {
        let form = self.wish.add_to(Form::default().with("grant_type", "client_credentials"));
        let who = (self.client_id.as_str(), &self.client_secret, self.proof);
        let body = oauth::post_as(client, talk, &self.token_endpoint, who, form).await?;
        Granted::read(&self.token_endpoint, &body, oauth::now())
    }
}

impl RefreshToken {
    /// Gets a token (RFC 6749, section 6), with all that the first one was for.
    async fn ask(&self, client: &Client, talk: Talk) -> Result<Granted, Refusal> {
        let form = Form::default()
            .with("grant_type", "refresh_token")
            .with("client_id", &self.client_id)
            .with_secret("refresh_token", &self.refresh_token)
            .with_any("resource", self.wish.resource.as_deref())
            .for_once();
        let body = oauth::post(client, talk, &self.token_endpoint, form).await?;
        Granted::read(&self.token_endpoint, &body, oauth::now())
    }

    /// Has the issuer forget it (RFC 7009), and tells whether it was asked.
    pub(crate) async fn revoke(&self, client: &Client, talk: Talk) -> Result<bool, Refusal> {
        let Some(endpoint) = &self.revocation_endpoint else { return Ok(false) };
        let form = Form::default()
            .with("client_id", &self.client_id)
            .with("token_type_hint", "refresh_token")
            .with_secret("token", &self.refresh_token);
        oauth::post_without_answer(client, talk, endpoint, form).await?;
        Ok(true)
    }
}

/// Has whoever gave it forget what can be forgotten. Nothing here depends on it, so what fails is only remarked.
pub(crate) async fn let_go(renewal: &Renewal, talk: Talk) -> Result<(), Failure> {
    let Renewal::RefreshToken(token) = renewal else { return Ok(()) };
    match token.revoke(&http_client()?, talk).await {
        Ok(true) => remark(&format!("{} has been told to forget the refresh token", token.issuer)),
        Ok(false) => remark(&format!(
            "gatehouse: note: {} can't be told to forget the refresh token, which is good until it expires there",
            token.issuer
        )),
        Err(why) => remark(&format!(
            "gatehouse: note: {} could not be told to forget the refresh token: {}",
            token.issuer,
            why.into_failure().said()
        )),
    }
    Ok(())
}

impl Wish {
    pub(crate) fn add_to(&self, form: Form) -> Form {
        form.with_any("scope", self.scope.as_deref())
            .with_any("audience", self.audience.as_deref())
            .with_any("resource", self.resource.as_deref())
    }
}
