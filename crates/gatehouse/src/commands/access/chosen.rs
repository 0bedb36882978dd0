//! Which access is meant: by its ID, or by the username or name that stands on the device.

use clap::Args;
use gatehouse_core::AccessId;
use serde_json::Value;

use crate::client::api::TenantServer;
use crate::client::filter;
use crate::failure::{Failure, Kind};
use crate::terminal::output::text;

/// So many of several are named.
const NAMED_MAX: usize = 10;

/// An access, as a person names it.
#[derive(Args)]
pub(crate) struct Chosen {
    /// The access: its ID, its username or its name
    #[arg(value_name = "ACCESS")]
    access: String,
}

impl Chosen {
    /// The access as it is now. A name that several have means the only one that isn't ended, or none of them.
    pub(crate) async fn find(&self, server: &TenantServer) -> Result<Value, Failure> {
        let given = self.access.as_str();
        if let Ok(id) = given.to_ascii_lowercase().parse::<AccessId>() {
            return Ok(server.get(&["access", id.shown().as_str()]).success().await?.body);
        }
        let value = filter::encoded(given);
        let expression = filter::as_parameter(&format!("username={value};name={value}"));
        let mut pages = server.pages(&["access"], &expression.unwrap_or_default());
        let (mut found, mut alive, mut total) = (Vec::new(), Vec::new(), 0);
        while let Some((answer, page)) = pages.next().await? {
            total = answer.number("x-total-count").unwrap_or_default();
            // A device that was replaced leaves its name to the next one, and its ended access stays.
            alive.extend(page.iter().filter(|it| it["status"] != "TERMINATED").cloned());
            found.extend(page);
            if alive.len() > 1 {
                break;
            }
        }
        match (found.as_slice(), alive.as_slice()) {
            ([only], _) | (_, [only]) => Ok(only.clone()),
            ([], _) => {
                let said = format!("no access has the ID, the username or the name `{given}`");
                Err(Failure::new(Kind::NotFound, said)
                    .advise("`gatehouse access list` shows those that there are"))
            }
            (several, _) => Err(which_of(given, several, total)),
        }
    }
}

fn which_of(given: &str, several: &[Value], total: u64) -> Failure {
    let mut said = format!("{total} accesses are called `{given}`; which one?");
    for access in several.iter().take(NAMED_MAX) {
        let [id, username, status] = ["id", "username", "status"].map(|name| text(access, name));
        said += &format!("\n    {id}  {username}  {status}");
    }
    if total > NAMED_MAX as u64 {
        said += "\n    …";
    }
    Failure::input(said).advise("give the ID of the one that you mean")
}

/// An access in a sentence.
pub(crate) fn described(access: &Value) -> String {
    let [id, name, contract, status] =
        ["id", "name", "contractId", "status"].map(|field| text(access, field));
    format!("{name} ({id}, contract {contract}, {status})")
}
