//! Signing in machines: client credentials (RFC 6749, section 4.4).

use reqwest::Client;

use crate::client::oauth::{Proof, TokenResponse};
use crate::client::session::{ClientCredentials, TokenSpec};
use crate::client::wire::Verbose;
use crate::failure::Failure;
use crate::terminal::secret::Secret;

/// A token endpoint, and its methods of client authentication, the best first.
pub(in crate::commands::login) struct TokenEndpoint {
    pub(in crate::commands::login) token_endpoint: String,
    pub(in crate::commands::login) proofs: Vec<Proof>,
}

impl TokenEndpoint {
    pub(in crate::commands::login) fn gatehouse(url: &str) -> Self {
        let token_endpoint = format!("{url}/-/oauth2/token");
        Self { token_endpoint, proofs: vec![Proof::Basic] }
    }

    /// Gets a token; also returns the credentials for the next one.
    pub(in crate::commands::login) async fn sign_in(
        self,
        client: &Client,
        verbose: Verbose,
        client_id: String,
        client_secret: Secret,
        spec: TokenSpec,
    ) -> Result<(TokenResponse, ClientCredentials), Failure> {
        let Self { token_endpoint, proofs } = self;
        let mut credentials = ClientCredentials {
            token_endpoint,
            client_id,
            client_secret,
            proof: Proof::Basic,
            spec,
        };
        let last = proofs.len() - 1;
        for (n, proof) in proofs.into_iter().enumerate() {
            credentials.proof = proof;
            match credentials.request(client, verbose).await {
                Ok(granted) => return Ok((granted, credentials)),
                // Many issuers support both methods, but only one for each client.
                Err(why) if why.error() == Some("invalid_client") && n < last => {
                    verbose.note("the client may have to prove itself in another way");
                }
                Err(why) => return Err(why.into_failure()),
            }
        }
        unreachable!("the last way returns")
    }
}
