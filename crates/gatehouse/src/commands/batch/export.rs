//! `gatehouse batch export`: a batch's accesses with their passwords, in a file that only its owner can read.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Response;
use serde_json::Value;

use super::task::{Task, TaskArg};
use super::watch::Interrupts;
use crate::client::api::{TenantArgs, TenantServer, quoted};
use crate::commands::access::TABLE_COLUMNS;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Column, Fit, OutputFormat, csv};
use crate::terminal::private_file::{self, PrivateFile};
use crate::terminal::screen::ScreenWriter;

/// Write the accesses of a batch, with their passwords, to a file that only you can read
///
/// The server keeps passwords for a day after the batch ends, unless its settings say otherwise, and shows them to
/// tokens with access:write. The file is CSV, or JSON where its name ends with .json.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    task: TaskArg,
    /// File to write, `-` for standard output [default: the Task's ID with .csv, in this directory]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Write the failed items instead, with their reasons
    #[arg(long)]
    failed: bool,
}

/// The file for credentials, and its format.
pub(crate) struct Destination {
    to: Option<PathBuf>,
    overwrites: bool,
    format: Option<OutputFormat>,
    wanted: Items,
}

const FAILED_COLUMNS: &[Column] = &[
    Column::text("INDEX", "index", Fit::Whole),
    Column::text("STATUS", "status", Fit::Whole),
    Column::text("TITLE", "title", Fit::Whole),
    Column::text("DETAIL", "detail", Fit::Whole),
    Column::text("USERNAME", "username", Fit::Whole),
    Column::text("DEVICE NAME", "deviceName", Fit::Whole),
    Column::text("ACCESS", "accessId", Fit::Whole),
];

/// The items to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Items {
    Succeeded,
    Failed,
}

impl Export {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.task.id()?;
        let mut destination = Destination::new(self.to, self.force, tenant_args.chosen_format()?);
        if self.failed {
            destination.wanted = Items::Failed;
        }
        destination.check()?;
        let (server, _) = tenant_args.open().await?;
        // Dropping the export removes the unfinished file.
        let exported = Interrupts::catch()?.or(export(&server, &id, &destination)).await;
        exported.map_err(|why| match why.kind {
            FailureKind::Interrupted => why.advise("nothing is lost: it can be exported again"),
            _ => why,
        })
    }
}

async fn export(server: &TenantServer, id: &str, destination: &Destination) -> Result<(), Failure> {
    let task = Task::fetch(server, id).await?;
    if !task.has_ended() {
        return Err(task.not_ended(server));
    }
    let (n, nothing) = match destination.wanted {
        Items::Failed => (task.progress.failed, "no item of it failed"),
        Items::Succeeded => (task.progress.succeeded, "it did nothing"),
    };
    if n == 0 {
        let message = format!("there is nothing to write: {id} is {}, and {nothing}", task.state);
        return Err(Failure::new(FailureKind::NotFound, message));
    }
    destination.write(server, &task).await?;
    let path = destination.path(id);
    if !is_stdout(&path) {
        println!("{n} to {}", path.display());
    }
    Ok(())
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl Destination {
    /// The succeeded items: into this file, or one named after the Task; in the format of the file's extension, or else
    /// this one.
    pub(crate) fn new(to: Option<PathBuf>, overwrites: bool, format: Option<OutputFormat>) -> Self {
        Self { to, overwrites, format, wanted: Items::Succeeded }
    }

    /// Fails unless the file can be written. Called before the batch is sent.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.to {
            Some(path) if is_stdout(path) => Ok(()),
            Some(path) => private_file::check(path, self.overwrites),
            None => private_file::check_here().map_err(|why| {
                why.with_context("this directory")
                    .advise("change to another one, or name the file with --to")
            }),
        }
    }

    /// The file for a Task's items.
    pub(crate) fn path(&self, id: &str) -> PathBuf {
        if let Some(path) = &self.to {
            return path.clone();
        }
        let of = if self.wanted == Items::Failed { "-failed" } else { "" };
        let ending = if self.format == Some(OutputFormat::Json) { "json" } else { "csv" };
        format!("{id}{of}.{ending}").into()
    }

    /// The flags that repeat this destination in another command.
    pub(crate) fn flags(&self, id: &str) -> String {
        let force = if self.overwrites { " --force" } else { "" };
        let format = if self.format == Some(OutputFormat::Json) { " --output json" } else { "" };
        format!(" --to {}{force}{format}", quoted(&self.path(id).to_string_lossy()))
    }

    pub(crate) async fn write(&self, server: &TenantServer, task: &Task) -> Result<(), Failure> {
        let path = self.path(&task.id);
        let is_json = match path.extension().and_then(|it| it.to_str()) {
            Some(ending) if ending.eq_ignore_ascii_case("json") => true,
            Some(ending) if ending.eq_ignore_ascii_case("csv") => false,
            _ => self.format == Some(OutputFormat::Json),
        };
        if is_stdout(&path) {
            let mut out = BufWriter::new(ScreenWriter::stdout());
            fetch(server, task, self.wanted, is_json, &mut out).await?;
            out.flush()?;
        } else {
            let mut file = BufWriter::new(PrivateFile::create(&path, self.overwrites)?);
            fetch(server, task, self.wanted, is_json, &mut file).await?;
            let file = file.into_inner();
            let bad = |cause| format!("{} can't be written: {cause}", path.display());
            file.map_err(|failed| bad(failed.into_error()))?.finish()?;
        }
        if self.wanted == Items::Succeeded && task.gives_passwords() {
            warn_of_missing_passwords(server, task).await;
        }
        Ok(())
    }
}

/// Warns of missing passwords: such a file looks complete until one is needed.
async fn warn_of_missing_passwords(server: &TenantServer, task: &Task) {
    let request = server.get(&["access", "batch", &task.id, "items"]);
    // The file is written already, so a failure here is ignored.
    let Ok(response) = request.query("state=succeeded&pageSize=1").success().await else { return };
    if response.body[0]["access"].get("password").is_none() {
        eprintln!(
            "the first access has no password here: it came with a hash, its password was changed since, the server no longer shows this batch's passwords, or your token lacks the scope access:write"
        );
    }
}

async fn fetch(
    server: &TenantServer,
    task: &Task,
    wanted: Items,
    is_json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let request = server.get(&["access", "batch", &task.id]);
    match (wanted, is_json) {
        // The server streams both, at any length.
        (Items::Succeeded, false) if task.has_table() => {
            copy_response(server, request.accept("text/csv").stream().await?, out).await
        }
        (Items::Succeeded, true) if task.has_table() => {
            copy_response(server, request.accept("application/json").stream().await?, out).await?;
            Ok(out.write_all(b"\n")?)
        }
        (Items::Succeeded, false) => {
            csv::write_head(out, TABLE_COLUMNS)?;
            let write =
                |out: &mut _, _, item: &Value| csv::write_row(out, TABLE_COLUMNS, &item["access"]);
            items(server, task, "succeeded", out, write).await
        }
        (Items::Failed, false) => {
            csv::write_head(out, FAILED_COLUMNS)?;
            let write =
                |out: &mut _, _, item: &Value| csv::write_row(out, FAILED_COLUMNS, &item["error"]);
            items(server, task, "failed", out, write).await
        }
        // A stopped Task has no document of its own, and failures are a list: written in a whole Task's shape.
        (Items::Succeeded, true) => json_items(server, task, "succeeded", "access", out).await,
        (Items::Failed, true) => json_items(server, task, "failed", "error", out).await,
    }
}

async fn json_items<W: Write>(
    server: &TenantServer,
    task: &Task,
    state: &str,
    field: &str,
    out: &mut W,
) -> Result<(), Failure> {
    let list = if field == "access" { "accesses" } else { "errors" };
    let base = serde_json::json!({
        "id": task.id, "state": task.state, "@baseType": "task", "@type": task.kind
    });
    let base = base.to_string();
    write!(out, "{},\"{list}\":[", base.trim_end_matches('}'))?;
    let write = |out: &mut W, n: u64, item: &Value| {
        write!(out, "{}{}", if n > 0 { ",\n" } else { "\n" }, item[field])
    };
    items(server, task, state, out, write).await?;
    writeln!(out, "\n]}}")?;
    Ok(())
}

async fn items<W: Write>(
    server: &TenantServer,
    task: &Task,
    state: &str,
    out: &mut W,
    write: impl Fn(&mut W, u64, &Value) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut n = 0;
    let path = ["access", "batch", &task.id, "items"];
    let mut pages = server.pages(&path, &format!("state={state}"));
    while let Some((_, items)) = pages.next().await? {
        for item in &items {
            write(out, n, item)?;
            n += 1;
        }
    }
    Ok(())
}

/// Copies a response as it arrives; fails if it ends early.
async fn copy_response(
    server: &TenantServer,
    mut response: Response,
    out: &mut impl Write,
) -> Result<(), Failure> {
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => out.write_all(&chunk)?,
            Ok(None) => return Ok(()),
            Err(error) => return Err(server.server.broke_off(&error)),
        }
    }
}
