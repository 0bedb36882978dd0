//! `gatehouse batch create`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use reqwest::Method;
use serde_json::{Value, json};

use super::export::Destination;
use super::rows;
use super::task::Task;
use super::wait::after;
use crate::client::api::{Tenancy, request_key};
use crate::failure::Failure;

/// Issue many accesses: so many, or those of a table
///
/// With --wait, usernames and passwords go to a file that only you can read. The table of --from has the columns
/// username, password and deviceName, or some of them; usernames and passwords that are left out are made up. All of it is
/// checked before anything is sent.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse batch create --contract C-PAYG --count 1000 --wait --to fleet.csv
  gatehouse batch create --contract C-PAYG --from devices.csv --wait
  printf 'deviceName\\npump-1\\npump-2\\n' | gatehouse batch create --contract C-PAYG --from -")]
#[command(group(ArgGroup::new("which").required(true).args(["count", "from"])))]
pub(crate) struct Create {
    /// The contract that they belong to
    #[arg(long, value_name = "ID")]
    contract: String,
    /// How many, with everything made up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Those of a table (CSV), `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Wait until it is over, and write the credentials to a file
    #[arg(long)]
    wait: bool,
    /// Where the credentials go, `-` for standard output [default: the Task's ID with .csv, here]
    #[arg(long, value_name = "FILE", requires = "wait")]
    to: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long, requires = "to")]
    force: bool,
    /// The request's own name: sent again with it, it is done once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let destination = Destination::new(self.to, self.force, tenancy.chosen_form()?);
        if self.wait {
            destination.check()?;
        }
        let body = match &self.from {
            Some(path) => {
                let accesses: Vec<Value> = rows::read(path)?;
                json!({ "contractId": self.contract, "accesses": accesses })
            }
            None => json!({ "contractId": self.contract, "numberOfAccesses": self.count }),
        };
        let (server, form) = tenancy.open().await?;
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let ask = server.ask(Method::POST, &["access", "batch"]).keyed(&key).body(body);
        let task = Task::accepted(&ask.success().await?.body);
        after(&server, form, &task, self.wait, Some(&destination)).await
    }
}
