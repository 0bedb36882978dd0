//! Machines sign in: a client and its secret, for a token (RFC 6749, section 4.4).

use reqwest::Client;

use crate::client::oauth::{Granted, Proof};
use crate::client::session::{ClientCredentials, Wish};
use crate::client::wire::Talk;
use crate::failure::Failure;
use crate::terminal::secret::Secret;

/// Who is asked for a token, and how a client may prove itself there, the best way first.
pub(in crate::commands::login) struct Asked {
    pub(in crate::commands::login) token_endpoint: String,
    pub(in crate::commands::login) proofs: Vec<Proof>,
}

impl Asked {
    /// The server itself.
    pub(in crate::commands::login) fn gatehouse(url: &str) -> Self {
        let token_endpoint = format!("{url}/-/oauth2/token");
        Self { token_endpoint, proofs: vec![Proof::Basic] }
    }

    /// A token, and how the next one is got.
    pub(in crate::commands::login) async fn sign_in(
        self,
        client: &Client,
        talk: Talk,
        client_id: String,
        client_secret: Secret,
        wish: Wish,
    ) -> Result<(Granted, ClientCredentials), Failure> {
        let Self { token_endpoint, proofs } = self;
        let mut credentials = ClientCredentials {
            token_endpoint,
            client_id,
            client_secret,
            proof: Proof::Basic,
            wish,
        };
        let last = proofs.len() - 1;
        for (n, proof) in proofs.into_iter().enumerate() {
            credentials.proof = proof;
            match credentials.ask(client, talk).await {
                Ok(granted) => return Ok((granted, credentials)),
                // Many issuers know both ways, and take one of them from each client.
                Err(why) if why.error() == Some("invalid_client") && n < last => {
                    talk.says("the client may have to prove itself in another way");
                }
                Err(why) => return Err(why.into_failure()),
            }
        }
        unreachable!("the last way returns")
    }
}
