//! A server that is asked.

use reqwest::Client;
use serde_json::Value;

use crate::client::session::Session;
use crate::client::wire::{Talk, root_cause};
use crate::failure::{Failure, Kind};

/// A server that is asked.
pub(crate) struct Server {
    client: Client,
    pub(super) url: String,
    session: Session,
    talk: Talk,
}

impl Server {
    pub(in crate::client::api) fn new(
        client: Client,
        url: String,
        session: Session,
        talk: Talk,
    ) -> Self {
        Self { client, url, session, talk }
    }

    /// The token that requests go out with.
    pub(crate) async fn token(&self) -> Result<String, Failure> {
        self.session.token(self.talk).await
    }

    /// Gets another token in place of one that was refused, if that can be.
    pub(in crate::client::api) async fn renew(&self, refused: &str) -> Result<bool, Failure> {
        self.session.renew(refused, self.talk).await
    }

    /// An answer that no gatehouse gives.
    pub(crate) fn not_understood(&self) -> Failure {
        let said = format!("{} answered something that can't be understood", self.url);
        Failure::new(Kind::Unreachable, said)
            .advise("is --url the address of a gatehouse, and is it no older than this program?")
    }

    /// An answer that ended in the middle.
    pub(crate) fn broke_off(&self, error: &reqwest::Error) -> Failure {
        let said = format!("the answer of {} broke off: {}", self.url, root_cause(error));
        Failure::new(Kind::Unreachable, said).advise("try again")
    }

    pub(in crate::client::api) fn client(&self) -> &Client {
        &self.client
    }

    pub(in crate::client::api) fn talk(&self) -> Talk {
        self.talk
    }

    /// The body of an answer.
    pub(in crate::client::api) fn read_json(
        &self,
        status: u16,
        text: &[u8],
    ) -> Result<Value, Failure> {
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(text).map_err(|_| {
            let said = format!("{} answered {status} with something that is not JSON", self.url);
            Failure::new(Kind::Unreachable, said).advise("is --url the address of a gatehouse?")
        })
    }

    pub(in crate::client::api) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = root_cause(error);
        Failure::new(Kind::Unreachable, format!("{} can't be reached: {why}", self.url))
            .advise("is the server running, and is --url right?")
    }
}
