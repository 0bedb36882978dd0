//! Finding the access that a user names: by its ID, its username or its name.

use clap::Args;
use gatehouse_core::AccessId;
use serde_json::Value;

use crate::client::api::TenantServer;
use crate::client::filter;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::text;

/// Most matches that are listed.
const NAMED_MAX: usize = 10;

/// An access named by the user.
#[derive(Args)]
pub(crate) struct AccessSelection {
    /// The access: its ID, its username or its name
    #[arg(value_name = "ACCESS")]
    access: String,
}

impl AccessSelection {
    /// The named access. Among several matches, the only one that is not terminated; otherwise an error.
    pub(crate) async fn find(&self, server: &TenantServer) -> Result<Value, Failure> {
        let given = self.access.as_str();
        if let Ok(id) = given.to_ascii_lowercase().parse::<AccessId>() {
            return Ok(server.get(&["access", id.shown().as_str()]).success().await?.body);
        }
        let value = filter::encoded(given);
        let expression = filter::as_parameter(&format!("username={value};name={value}"));
        let mut pages = server.pages(&["access"], &expression.unwrap_or_default());
        let (mut found, mut current, mut total) = (Vec::new(), Vec::new(), 0);
        while let Some((response, page)) = pages.next().await? {
            total = response.number("x-total-count").unwrap_or_default();
            // A replaced device leaves its name to the next one, and its terminated access stays.
            current.extend(page.iter().filter(|it| it["status"] != "TERMINATED").cloned());
            found.extend(page);
            if current.len() > 1 {
                break;
            }
        }
        match (found.as_slice(), current.as_slice()) {
            ([only], _) | (_, [only]) => Ok(only.clone()),
            ([], _) => {
                let message = format!("no access has the ID, the username or the name `{given}`");
                Err(Failure::new(FailureKind::NotFound, message)
                    .advise("`gatehouse access list` shows the accesses"))
            }
            (several, _) => Err(ambiguous(given, several, total)),
        }
    }
}

fn ambiguous(given: &str, several: &[Value], total: u64) -> Failure {
    let mut message = format!("{total} accesses are called `{given}`; which one?");
    for access in several.iter().take(NAMED_MAX) {
        let [id, username, status] = ["id", "username", "status"].map(|name| text(access, name));
        message += &format!("\n    {id}  {username}  {status}");
    }
    if total > NAMED_MAX as u64 {
        message += "\n    …";
    }
    Failure::input(message).advise("give the ID of one of them")
}

/// An access for a confirmation question.
pub(crate) fn described(access: &Value) -> String {
    let [id, name, contract, status] =
        ["id", "name", "contractId", "status"].map(|field| text(access, field));
    format!("{name} ({id}, contract {contract}, {status})")
}
