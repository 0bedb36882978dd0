//! A gatehouse server.

use reqwest::Client;
use serde_json::Value;

use crate::client::session::Session;
use crate::client::wire::{Verbose, root_cause};
use crate::failure::{Failure, FailureKind};

/// A gatehouse server, with the session for its requests.
pub(crate) struct Server {
    client: Client,
    pub(super) url: String,
    session: Session,
    verbose: Verbose,
}

impl Server {
    pub(in crate::client::api) fn new(
        client: Client,
        url: String,
        session: Session,
        verbose: Verbose,
    ) -> Self {
        Self { client, url, session, verbose }
    }

    pub(crate) async fn token(&self) -> Result<String, Failure> {
        self.session.token(self.verbose).await
    }

    /// Replaces a refused token, if the session can; returns whether it did.
    pub(in crate::client::api) async fn renew(&self, refused: &str) -> Result<bool, Failure> {
        self.session.renew(refused, self.verbose).await
    }

    /// A response that no gatehouse sends.
    pub(crate) fn not_understood(&self) -> Failure {
        let message = format!("{} sent a response that is not a gatehouse's", self.url);
        Failure::new(FailureKind::Unreachable, message).advise(
            "check that --url is the address of a gatehouse that is no older than this program",
        )
    }

    /// A response that ended early.
    pub(crate) fn broke_off(&self, error: &reqwest::Error) -> Failure {
        let message = format!("the response of {} ended early: {}", self.url, root_cause(error));
        Failure::new(FailureKind::Unreachable, message).advise("try again")
    }

    pub(in crate::client::api) fn client(&self) -> &Client {
        &self.client
    }

    pub(in crate::client::api) fn verbose(&self) -> Verbose {
        self.verbose
    }

    pub(in crate::client::api) fn read_json(
        &self,
        status: u16,
        text: &[u8],
    ) -> Result<Value, Failure> {
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(text).map_err(|_| {
            let message = format!("{} answered {status} with something that is not JSON", self.url);
            Failure::new(FailureKind::Unreachable, message)
                .advise("check that --url is the address of a gatehouse")
        })
    }

    pub(in crate::client::api) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = root_cause(error);
        Failure::new(FailureKind::Unreachable, format!("{} can't be reached: {why}", self.url))
            .advise("is the server running, and is --url right?")
    }
}
