//! `gatehouse batch update` and `terminate`: many accesses are changed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::ids::Chosen;
use super::task::Task;
use super::wait::after;
use crate::client::api::{Tenancy, object, request_key};
use crate::failure::Failure;
use crate::terminal::question::confirm;
use crate::terminal::text_input;

/// Set the status or the password of many accesses
///
/// Only accesses of PAY_PER_USE contracts can be changed by a batch; others fail alone.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse batch update --status suspended --from fleet.csv --wait
  gatehouse access list --all --contract C-OLD -o csv | gatehouse batch update --status terminated --from -")]
#[command(group(ArgGroup::new("to").required(true).multiple(true).args(["status", "password_file"])))]
pub(crate) struct Update {
    #[command(flatten)]
    chosen: Chosen,
    /// The status that they get
    #[arg(long, value_name = "STATUS", ignore_case = true)]
    status: Option<Status>,
    /// A file with the password that all of them get, `-` for standard input
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    way: Way,
}

/// End many accesses with the month
///
/// They may connect until then; `gatehouse batch update --status terminated` ends them at once. Only accesses of
/// PAY_PER_USE contracts can be ended by a batch; others fail alone.
#[derive(Args)]
pub(crate) struct Terminate {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    way: Way,
}

/// How it is done.
#[derive(Args)]
struct Way {
    /// Wait until it is over
    #[arg(long)]
    wait: bool,
    /// Don't ask
    #[arg(short, long)]
    yes: bool,
    /// The request's own name: sent again with it, it is done once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Status {
    /// They are let in again, and planned terminations are called off
    Active,
    /// They are kept out
    Suspended,
    /// They end now and for good
    Terminated,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Terminated => "TERMINATED",
        }
    }
}

impl Update {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if self.password_file.as_ref().is_some_and(is_stdin) && self.chosen.reads_stdin() {
            return Err(Failure::input("--password-file and --from can't both be standard input"));
        }
        let password = self.password_file.as_deref().map(text_input::read_secret).transpose()?;
        let ids = self.chosen.read()?;
        if self.status == Some(Status::Terminated) {
            let consequence = format!(
                "{} now and for good: devices are kept out, and nothing brings an access back.",
                ended(ids.len())
            );
            confirm(&consequence, self.way.yes)?;
        }
        let status = self.status.map(|it| it.word().to_owned());
        let to = object([("status", status), ("password", password)]);
        self.way.send(tenancy, "update", to, ids).await
    }
}

impl Terminate {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let ids = self.chosen.read()?;
        let consequence = format!(
            "{} with the month; until then, setting an access active calls it off.",
            ended(ids.len())
        );
        confirm(&consequence, self.way.yes)?;
        self.way.send(tenancy, "terminate", json!({}), ids).await
    }
}

/// So many end.
fn ended(n: usize) -> String {
    if n == 1 { "1 access ends".to_owned() } else { format!("{n} accesses end") }
}

impl Way {
    async fn send(
        self,
        tenancy: &Tenancy,
        operation: &str,
        to: Value,
        ids: Vec<String>,
    ) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let body =
            json!({ "operationType": operation, "operationBody": to, "accessesIdList": ids });
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let ask = server.ask(Method::POST, &["access", "batchUpdate"]).keyed(&key).body(body);
        let task = Task::accepted(&ask.success().await?.body);
        after(&server, form, &task, self.wait, None).await
    }
}
