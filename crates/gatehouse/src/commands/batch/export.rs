//! `gatehouse batch export`: what a batch made, with its passwords, as a file that only its owner can read.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Response;
use serde_json::Value;

use super::task::{Named, Task};
use super::watch::Interrupts;
use crate::client::api::{Tenancy, TenantServer, quoted};
use crate::commands::access::TABLE_COLUMNS;
use crate::failure::{Failure, Kind};
use crate::terminal::output::{Column, Form, Room, csv};
use crate::terminal::private_file::{self, PrivateFile};
use crate::terminal::screen::ScreenWriter;

/// Write the accesses of a batch, with their passwords, to a file that only you can read
///
/// Passwords are there for a day after the batch is over, unless the server is set otherwise, for tokens with access:write. The
/// file is CSV, or JSON where its name ends with .json.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    named: Named,
    /// Where it goes, `-` for standard output [default: the Task's ID with .csv, here]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long)]
    force: bool,
    /// Write the items that failed instead, with their reasons
    #[arg(long)]
    failed: bool,
}

/// Where credentials go, and in what form.
pub(crate) struct Destination {
    to: Option<PathBuf>,
    overwrites: bool,
    form: Option<Form>,
    what: What,
}

/// What is written of items that failed.
const FAILED_COLUMNS: &[Column] = &[
    Column::text("INDEX", "index", Room::Whole),
    Column::text("STATUS", "status", Room::Whole),
    Column::text("TITLE", "title", Room::Whole),
    Column::text("DETAIL", "detail", Room::Whole),
    Column::text("USERNAME", "username", Room::Whole),
    Column::text("DEVICE NAME", "deviceName", Room::Whole),
    Column::text("ACCESS", "accessId", Room::Whole),
];

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Succeeded,
    Failed,
}

impl Export {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let id = self.named.id()?;
        let mut destination = Destination::new(self.to, self.force, tenancy.chosen_form()?);
        if self.failed {
            destination.what = What::Failed;
        }
        destination.check()?;
        let (server, _) = tenancy.open().await?;
        // Dropped where it is, the unfinished file is gone.
        let exported = Interrupts::catch()?.or(export(&server, &id, &destination)).await;
        exported.map_err(|why| match why.kind {
            Kind::Interrupted => why.advise("nothing is lost: it can be exported again"),
            _ => why,
        })
    }
}

async fn export(server: &TenantServer, id: &str, destination: &Destination) -> Result<(), Failure> {
    let task = Task::look(server, id).await?;
    if !task.is_over() {
        return Err(task.not_over(server));
    }
    let (n, nothing) = match destination.what {
        What::Failed => (task.progress.failed, "no item of it failed"),
        What::Succeeded => (task.progress.succeeded, "it did nothing"),
    };
    if n == 0 {
        let said = format!("there is nothing to write: {id} is {}, and {nothing}", task.state);
        return Err(Failure::new(Kind::NotFound, said));
    }
    destination.write(server, &task).await?;
    let path = destination.path(id);
    if !is_stdout(&path) {
        println!("{n} to {}", path.display());
    }
    Ok(())
}

/// Whether this means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl Destination {
    /// Where accesses go: to this file, or to one that is called like the Task, in the form that its name says, or else this
    /// one.
    pub(crate) fn new(to: Option<PathBuf>, overwrites: bool, form: Option<Form>) -> Self {
        Self { to, overwrites, form, what: What::Succeeded }
    }

    /// Whether something can be written there, before anything is begun that it is needed for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.to {
            Some(path) if is_stdout(path) => Ok(()),
            Some(path) => private_file::check(path, self.overwrites),
            None => private_file::check_here().map_err(|why| {
                why.about("this directory")
                    .advise("go to another one, or say with --to where the file is to be")
            }),
        }
    }

    /// Where what a Task did goes.
    pub(crate) fn path(&self, id: &str) -> PathBuf {
        if let Some(path) = &self.to {
            return path.clone();
        }
        let of = if self.what == What::Failed { "-failed" } else { "" };
        let ending = if self.form == Some(Form::Json) { "json" } else { "csv" };
        format!("{id}{of}.{ending}").into()
    }

    /// The flags that say so to another command.
    pub(crate) fn flags(&self, id: &str) -> String {
        let force = if self.overwrites { " --force" } else { "" };
        let form = if self.form == Some(Form::Json) { " --output json" } else { "" };
        format!(" --to {}{force}{form}", quoted(&self.path(id).to_string_lossy()))
    }

    /// Writes what a Task did.
    pub(crate) async fn write(&self, server: &TenantServer, task: &Task) -> Result<(), Failure> {
        let path = self.path(&task.id);
        let is_json = match path.extension().and_then(|it| it.to_str()) {
            Some(ending) if ending.eq_ignore_ascii_case("json") => true,
            Some(ending) if ending.eq_ignore_ascii_case("csv") => false,
            _ => self.form == Some(Form::Json),
        };
        if is_stdout(&path) {
            let mut out = BufWriter::new(ScreenWriter::stdout());
            fetch(server, task, self.what, is_json, &mut out).await?;
            out.flush()?;
        } else {
            let mut file = BufWriter::new(PrivateFile::create(&path, self.overwrites)?);
            fetch(server, task, self.what, is_json, &mut file).await?;
            let file = file.into_inner();
            let bad = |cause| format!("{} can't be written: {cause}", path.display());
            file.map_err(|failed| bad(failed.into_error()))?.finish()?;
        }
        if self.what == What::Succeeded && task.gives_passwords() {
            tell_of_lost_passwords(server, task).await;
        }
        Ok(())
    }
}

/// A file without passwords looks like one with them, until somebody needs one.
async fn tell_of_lost_passwords(server: &TenantServer, task: &Task) {
    let ask = server.get(&["access", "batch", &task.id, "items"]);
    // What was written is written, whatever comes of this.
    let Ok(answer) = ask.query("state=succeeded&pageSize=1").success().await else { return };
    if answer.body[0]["access"].get("password").is_none() {
        eprintln!(
            "the first access is without its password: it was changed since, passwords of this batch are no longer shown, or your token lacks the scope access:write"
        );
    }
}

async fn fetch(
    server: &TenantServer,
    task: &Task,
    what: What,
    is_json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let ask = server.get(&["access", "batch", &task.id]);
    match (what, is_json) {
        // The server makes both while they go out, however long they are.
        (What::Succeeded, false) if task.has_table() => {
            pass_on(server, ask.accept("text/csv").stream().await?, out).await
        }
        (What::Succeeded, true) if task.has_table() => {
            pass_on(server, ask.accept("application/json").stream().await?, out).await?;
            Ok(out.write_all(b"\n")?)
        }
        (What::Succeeded, false) => {
            csv::write_head(out, TABLE_COLUMNS)?;
            let write =
                |out: &mut _, _, item: &Value| csv::write_row(out, TABLE_COLUMNS, &item["access"]);
            items(server, task, "succeeded", out, write).await
        }
        (What::Failed, false) => {
            csv::write_head(out, FAILED_COLUMNS)?;
            let write =
                |out: &mut _, _, item: &Value| csv::write_row(out, FAILED_COLUMNS, &item["error"]);
            items(server, task, "failed", out, write).await
        }
        // A Task that was stopped shows nothing itself, and failures are asked for alone: the same shape as a whole one.
        (What::Succeeded, true) => json_items(server, task, "succeeded", "access", out).await,
        (What::Failed, true) => json_items(server, task, "failed", "error", out).await,
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

/// Goes through the items of a Task.
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

/// Writes an answer as it comes. One that breaks off is none.
async fn pass_on(
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
