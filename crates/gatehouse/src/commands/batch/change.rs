//! `gatehouse batch update` and `terminate`, which change many accesses.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::ids::IdSelection;
use super::task::Task;
use super::wait::follow_accepted;
use crate::client::api::{TenantArgs, object, request_key};
use crate::failure::Failure;
use crate::terminal::question::confirm;
use crate::terminal::text_input;

/// Set the status or the password of many accesses
///
/// Only accesses of PAY_PER_USE contracts can be changed by a batch; each other one fails on its own.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse batch update --status suspended --from fleet.csv --wait
  gatehouse access list --all --contract C-OLD -o csv | gatehouse batch update --status terminated --from -")]
#[command(group(ArgGroup::new("to").required(true).multiple(true).args(["status", "password_file"])))]
pub(crate) struct Update {
    #[command(flatten)]
    selection: IdSelection,
    /// The accesses' new status
    #[arg(long, value_name = "STATUS", ignore_case = true)]
    status: Option<Status>,
    /// File with the new password of all these accesses, `-` for standard input
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    options: ChangeOptions,
}

/// Terminate many accesses at the end of the month
///
/// Until then they can connect; `gatehouse batch update --status terminated` terminates them at once. Only accesses of
/// PAY_PER_USE contracts can be terminated by a batch; each other one fails on its own.
#[derive(Args)]
pub(crate) struct Terminate {
    #[command(flatten)]
    selection: IdSelection,
    #[command(flatten)]
    options: ChangeOptions,
}

/// Options of a change.
#[derive(Args)]
struct ChangeOptions {
    /// Wait until the batch ends
    #[arg(long)]
    wait: bool,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
    /// Idempotency key: a request that is sent again with its key is processed once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Status {
    /// Activates them again, and cancels planned terminations
    Active,
    /// Refuses their connections
    Suspended,
    /// Terminates them now and for good
    Terminated,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Terminated => "TERMINATED",
        }
    }
}

impl Update {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if self.password_file.as_ref().is_some_and(is_stdin) && self.selection.reads_stdin() {
            return Err(Failure::input("--password-file and --from can't both be standard input"));
        }
        let password = self.password_file.as_deref().map(text_input::read_secret).transpose()?;
        let ids = self.selection.read()?;
        if self.status == Some(Status::Terminated) {
            let consequence = format!(
                "{} now and for good: devices are refused, and an access can't be restored.",
                ended(ids.len())
            );
            confirm(&consequence, self.options.yes)?;
        }
        let status = self.status.map(|it| it.as_str().to_owned());
        let to = object([("status", status), ("password", password)]);
        self.options.send(tenant_args, "update", to, ids).await
    }
}

impl Terminate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let ids = self.selection.read()?;
        let consequence = format!(
            "{} with the month; until then, setting an access active calls it off.",
            ended(ids.len())
        );
        confirm(&consequence, self.options.yes)?;
        self.options.send(tenant_args, "terminate", json!({}), ids).await
    }
}

fn ended(n: usize) -> String {
    if n == 1 { "1 access ends".to_owned() } else { format!("{n} accesses end") }
}

impl ChangeOptions {
    async fn send(
        self,
        tenant_args: &TenantArgs,
        operation: &str,
        to: Value,
        ids: Vec<String>,
    ) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let body =
            json!({ "operationType": operation, "operationBody": to, "accessesIdList": ids });
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let request =
            server.request(Method::POST, &["access", "batchUpdate"]).idempotent(&key).body(body);
        let task = Task::accepted(&request.success().await?.body);
        follow_accepted(&server, format, &task, self.wait, None).await
    }
}
