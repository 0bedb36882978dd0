//! `gatehouse batch create`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use reqwest::Method;
use serde_json::{Value, json};

use super::export::Destination;
use super::rows;
use super::task::Task;
use super::wait::follow_accepted;
use crate::client::api::{TenantArgs, request_key};
use crate::client::label::{self, Label};
use crate::failure::Failure;

/// Issue many accesses: a number of them, or the rows of a table
///
/// With --wait, usernames and passwords go to a file that only you can read. The table of --from has the columns
/// username, password or passwordHash, deviceName and label.KEY, or some of them; missing usernames and passwords are
/// generated. Everything is checked before anything is sent.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse batch create --contract C-PAYG --count 1000 --wait --to fleet.csv
  gatehouse batch create --contract C-PAYG --count 20 --label site=hamburg
  gatehouse batch create --contract C-PAYG --from devices.csv --wait
  printf 'deviceName\\npump-1\\npump-2\\n' | gatehouse batch create --contract C-PAYG --from -")]
#[command(group(ArgGroup::new("which").required(true).args(["count", "from"])))]
pub(crate) struct Create {
    /// Contract of the accesses
    #[arg(long, value_name = "ID")]
    contract: String,
    /// Number of accesses, with generated usernames and passwords
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Label of each of the accesses; give it once for each label
    #[arg(long = "label", value_name = "KEY=VALUE", conflicts_with = "from",
          value_parser = label::parse_label)]
    labels: Vec<Label>,
    /// Table (CSV) with the accesses, `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Wait until the batch ends, and write the credentials to a file
    #[arg(long)]
    wait: bool,
    /// File for the credentials, `-` for standard output [default: the Task's ID with .csv, in this directory]
    #[arg(long, value_name = "FILE", requires = "wait")]
    to: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "to")]
    force: bool,
    /// Idempotency key: a request that is sent again with its key is processed once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let destination = Destination::new(self.to, self.force, tenant_args.chosen_format()?);
        if self.wait {
            destination.check()?;
        }
        let body = match &self.from {
            Some(path) => {
                let accesses: Vec<Value> = rows::read(path)?;
                json!({ "contractId": self.contract, "accesses": accesses })
            }
            None => {
                let mut body =
                    json!({ "contractId": self.contract, "numberOfAccesses": self.count });
                if let Some(labels) = label::as_body(&self.labels) {
                    body["labels"] = labels;
                }
                body
            }
        };
        let (server, format) = tenant_args.open().await?;
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let request =
            server.request(Method::POST, &["access", "batch"]).idempotent(&key).body(body);
        let task = Task::accepted(&request.success().await?.body);
        follow_accepted(&server, format, &task, self.wait, Some(&destination)).await
    }
}
