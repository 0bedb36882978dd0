//! Whether the server takes the token: one request that changes nothing, before anything is kept.

use reqwest::Method;

use crate::client::api::{Server, explained};
use crate::failure::{Failure, Kind};

/// What came of it, where the token can be kept.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands::login) enum Trial {
    /// The server takes it.
    Passed,
    /// The server takes it, and it doesn't allow everything.
    Limited(String),
    /// The server could not say.
    Unknown(String),
    /// Without a tenant there is nothing to ask for.
    NoTenant,
}

impl Trial {
    pub(in crate::commands::login) async fn of(
        server: &Server,
        tenant: &str,
        issuer: Option<&str>,
    ) -> Result<Self, Failure> {
        let ask = server.ask(Method::GET, &[tenant, "contract"]).query("pageSize=1");
        let answer = match ask.answer().await {
            Ok(answer) => answer,
            Err(why) if why.kind == Kind::Unreachable => {
                return Ok(Self::Unknown(why.said().to_owned()));
            }
            Err(why) => return Err(why),
        };
        match answer.status {
            200..=299 => Ok(Self::Passed),
            401 => Err(Failure::new(
                Kind::NotAllowed,
                format!(
                    "the server doesn't take this token, so nothing is kept: {}",
                    explained(&answer.body)
                ),
            )
            .advise(advice(issuer))),
            403 => Ok(Self::Limited(explained(&answer.body))),
            _ => Ok(Self::Unknown(explained(&answer.body))),
        }
    }

    /// What is worth knowing about it.
    pub(in crate::commands::login) fn note(&self, tenant: Option<&str>) -> Option<String> {
        let tenant = tenant.unwrap_or_default();
        match self {
            Self::Passed => None,
            Self::Limited(why) => Some(format!(
                "the server takes the token, but it doesn't allow reading the contracts of {tenant}: {why}"
            )),
            Self::Unknown(why) => Some(format!("the token could not be tried: {why}")),
            Self::NoTenant => Some(
                "the token was not tried, because no tenant is known: say --tenant with each command, or \
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
             --audience or --resource may have to say whom it is for"
        ),
        None => {
            "see that --url is the server that the token is for, and that it has not expired".into()
        }
    }
}
