//! `gatehouse batch update` and `terminate`, which change many accesses.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::export::Destination;
use super::ids::{BatchSelection, SelectedAccesses};
use super::task::Task;
use super::wait::follow_accepted;
use crate::client::api::{TenantArgs, TenantServer, object, quoted, request_key};
use crate::client::filter;
use crate::client::label::{self, LabelChange};
use crate::failure::{Failure, FailureKind};
use crate::terminal::question::confirm;
use crate::terminal::text_input;

/// Set the status, the passwords or the labels of many accesses
///
/// Only accesses of PAY_PER_USE contracts can be changed by a batch; each other one fails on its own.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse batch update --status suspended --from fleet.csv --wait
  gatehouse batch update --filter 'contractId=C-OLD&status=ACTIVE' --rotate --wait --to new.csv
  gatehouse batch update --filter label.site=hamburg --label site=berlin --label team-")]
#[command(group(ArgGroup::new("change").required(true).multiple(true)
    .args(["status", "password_file", "rotate", "labels"])))]
pub(crate) struct Update {
    #[command(flatten)]
    selection: BatchSelection,
    /// The accesses' new status
    #[arg(long, value_name = "STATUS", ignore_case = true)]
    status: Option<Status>,
    /// File with the new password of all these accesses, `-` for standard input
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Generate a new password for each access; with --wait they are written to a file
    #[arg(long, conflicts_with = "password_file")]
    rotate: bool,
    /// KEY=VALUE sets a label, KEY- removes one; give it once for each label
    #[arg(long = "label", value_name = "KEY=VALUE|KEY-", allow_hyphen_values = true,
          value_parser = label::parse_change)]
    labels: Vec<LabelChange>,
    /// File for the credentials, `-` for standard output [default: the Task's ID with .csv, in this directory]
    #[arg(long, value_name = "FILE", requires = "wait", requires = "rotate")]
    to: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "to")]
    force: bool,
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
    selection: BatchSelection,
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
        let selected = self.selection.read()?;
        let destination = Destination::new(self.to, self.force, tenant_args.chosen_format()?);
        let destination = Some(destination).filter(|_| self.rotate);
        if let Some(destination) = destination.as_ref().filter(|_| self.options.wait) {
            destination.check()?;
        }
        let (server, format) = tenant_args.open().await?;
        if self.status == Some(Status::Terminated) {
            let ended = selected.ended(&server).await?;
            let consequence = format!(
                "{ended} now and for good: devices are refused, and an access can't be restored."
            );
            confirm(&consequence, self.options.yes)?;
        } else if let SelectedAccesses::Matching(_) = selected {
            // A filter may match more than its author thinks.
            confirm(&format!("{} changed.", selected.are(&server).await?), self.options.yes)?;
        }
        let status = self.status.map(|it| it.as_str().to_owned());
        let mut to = object([("status", status), ("password", password)]);
        if self.rotate {
            to["rotatePassword"] = true.into();
        }
        if !self.labels.is_empty() {
            to["labels"] = label::as_patch(&self.labels);
        }
        let task = self.options.accept(&server, "update", to, selected).await?;
        follow_accepted(&server, format, &task, self.options.wait, destination.as_ref()).await
    }
}

impl Terminate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let selected = self.selection.read()?;
        let (server, format) = tenant_args.open().await?;
        let consequence = format!(
            "{} with the month; until then, setting an access active calls it off.",
            selected.ended(&server).await?
        );
        confirm(&consequence, self.options.yes)?;
        let task = self.options.accept(&server, "terminate", json!({}), selected).await?;
        follow_accepted(&server, format, &task, self.options.wait, None).await
    }
}

impl SelectedAccesses {
    /// The number that ends, as the beginning of a sentence.
    async fn ended(&self, server: &TenantServer) -> Result<String, Failure> {
        let n = self.count(server).await?;
        Ok(if n == 1 { "1 access ends".to_owned() } else { format!("{n} accesses end") })
    }

    /// The number that is changed, as the beginning of a sentence.
    async fn are(&self, server: &TenantServer) -> Result<String, Failure> {
        let n = self.count(server).await?;
        Ok(if n == 1 { "1 access is".to_owned() } else { format!("{n} accesses are") })
    }

    /// The number of accesses; of a filter, those that match at present.
    async fn count(&self, server: &TenantServer) -> Result<u64, Failure> {
        let filter = match self {
            Self::Ids(ids) => return Ok(ids.len() as u64),
            Self::Matching(filter) => filter,
        };
        let query = filter::as_parameter(filter).unwrap_or_default();
        let request = server.get(&["access"]).query(&format!("{query}&pageSize=1"));
        let response = request.strictly().success().await?;
        let n = response.number("x-total-count").unwrap_or_default();
        if n == 0 {
            let none = Failure::new(FailureKind::Refused, format!("no access matches `{filter}`"));
            let list = server.command(&format!("access list --filter {}", quoted(filter)));
            return Err(none.advise(format!("`{list}` shows what a filter matches")));
        }
        // Scripts are not asked, but their log should tell.
        let matching = if n == 1 { "access matches" } else { "accesses match" };
        eprintln!("{n} {matching} the filter");
        Ok(n)
    }
}

impl ChangeOptions {
    async fn accept(
        &self,
        server: &TenantServer,
        operation: &str,
        to: Value,
        selected: SelectedAccesses,
    ) -> Result<Task, Failure> {
        let mut body = json!({ "operationType": operation, "operationBody": to });
        match selected {
            SelectedAccesses::Ids(ids) => body["accessesIdList"] = ids.into(),
            SelectedAccesses::Matching(filter) => body["accessFilter"] = filter.into(),
        }
        let key = self.idempotency_key.clone().unwrap_or_else(request_key);
        let request =
            server.request(Method::POST, &["access", "batchUpdate"]).idempotent(&key).body(body);
        Ok(Task::accepted(&request.success().await?.body))
    }
}
