//! Tries the token with a read-only request, before it is stored.

use reqwest::Method;

use crate::client::api::{Server, explained};
use crate::failure::{Failure, FailureKind};

/// Result of a trial after which the token can be stored.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands::login) enum Trial {
    /// The server accepts the token.
    Passed,
    /// The server accepts the token, but it lacks some rights.
    Limited(String),
    /// The server gave no verdict.
    Unknown(String),
    /// Without a tenant there is nothing to request.
    NoTenant,
}

impl Trial {
    pub(in crate::commands::login) async fn of(
        server: &Server,
        tenant: &str,
        issuer: Option<&str>,
    ) -> Result<Self, Failure> {
        let request = server.request(Method::GET, &[tenant, "contract"]).query("pageSize=1");
        let response = match request.response().await {
            Ok(response) => response,
            Err(why) if why.kind == FailureKind::Unreachable => {
                return Ok(Self::Unknown(why.message().to_owned()));
            }
            Err(why) => return Err(why),
        };
        match response.status {
            200..=299 => Ok(Self::Passed),
            401 => Err(Failure::new(
                FailureKind::NotAllowed,
                format!(
                    "the server doesn't accept this token, so nothing is stored: {}",
                    explained(&response.body)
                ),
            )
            .advise(advice(issuer))),
            403 => Ok(Self::Limited(explained(&response.body))),
            _ => Ok(Self::Unknown(explained(&response.body))),
        }
    }

    /// A note on the result, for the user.
    pub(in crate::commands::login) fn note(&self, tenant: Option<&str>) -> Option<String> {
        let tenant = tenant.unwrap_or_default();
        match self {
            Self::Passed => None,
            Self::Limited(why) => Some(format!(
                "the server accepts the token, but it doesn't allow reading the contracts of {tenant}: {why}"
            )),
            Self::Unknown(why) => Some(format!("the token could not be tried: {why}")),
            Self::NoTenant => Some(
                "the token was not tried, because no tenant is known: give --tenant with each command, or \
                 with `gatehouse login`"
                    .into(),
            ),
        }
    }
}

fn advice(issuer: Option<&str>) -> String {
    match issuer {
        Some(issuer) => format!(
            "has the server `{issuer}` among its auth.issuers, with the audience that the token has? \
             --audience or --resource may be needed"
        ),
        None => "check that --url is the token's server, and that the token has not expired".into(),
    }
}
