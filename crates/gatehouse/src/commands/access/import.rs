//! `gatehouse access import`: accesses with the password hashes that another program has made.
//!
//! The first run shows what fits, and sends nothing. With `--yes` the accesses are created by batches, each as large as
//! the server allows. A batch's idempotency key is made of its content, so an interrupted import is continued by the
//! same command.

pub(crate) mod password_file;
mod piece;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use self::password_file::{Line, PasswordFile};
use self::piece::{Piece, batch_items_max};
use crate::client::api::{TenantArgs, TenantServer, quoted, request_key};
use crate::commands::batch::watch::Interrupts;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Column, Fit, OutputFormat, show_one};
use crate::terminal::screen::harmless;

/// Create accesses from the password file of another program
///
/// Devices keep their passwords. FILE is a password file of mosquitto or htpasswd, or a table (CSV) with the columns
/// username, passwordHash and, perhaps, deviceName and label.KEY. Without --yes, the command reports which lines can be imported, and
/// sends nothing. With --yes, it creates the accesses of those lines; an interrupted import is continued by the same
/// command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse access import /etc/mosquitto/passwd --contract C-PAYG
  gatehouse access import /etc/mosquitto/passwd --contract C-PAYG --yes")]
pub(crate) struct Import {
    /// File with usernames and hashes, `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Contract of the accesses
    #[arg(long, value_name = "ID")]
    contract: String,
    /// Create the accesses
    #[arg(short, long)]
    yes: bool,
    /// Send again what an earlier run has sent within a day, because its batch was rejected or stopped; a username that
    /// exists meanwhile fails
    #[arg(long, requires = "yes")]
    again: bool,
}

const LINES: Column = Column::text("LINES", "lines", Fit::Whole);
const FIT: Column = Column::text("FIT", "fit", Fit::Whole);
const REFUSED: Column = Column::text("REFUSED", "refused", Fit::Whole);
const FORMATS: Column = Column::computed("FORMATS", "formats", formats, Fit::Cut(8));
const CREATED: Column = Column::text("CREATED", "created", Fit::Whole);
const FAILED: Column = Column::text("FAILED", "failed", Fit::Whole);
const BATCHES: Column = Column::computed("BATCHES", "batches", batches, Fit::Whole);

/// Columns of the report.
const REPORT_COLUMNS: &[Column] = &[LINES, FIT, REFUSED, FORMATS];

/// Columns of the result.
const RESULT_COLUMNS: &[Column] = &[LINES, REFUSED, CREATED, FAILED, BATCHES];

impl Import {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let file = PasswordFile::read(&self.file)?;
        let refused = file.refused();
        for (line, reason) in &refused {
            show_line(*line, None, reason);
        }
        if !self.yes {
            let format = tenant_args.chosen_format()?.unwrap_or(OutputFormat::Table);
            return self.report(&file, &refused, format);
        }
        let (server, format) = tenant_args.open().await?;
        let fit: Vec<&Line> = file.fit().collect();
        let mut result = ImportResult::default();
        let sent = self.send(&server, &fit, &mut result).await;
        let ImportResult { created, failed_lines, batches } = result;
        let failed = failed_lines.len() as u64;
        let shown = json!({
            "lines": file.n_lines(), "refused": refused.len(), "created": created, "failed": failed,
            "batches": batches, "refusedLines": as_json(&refused), "failedLines": failed_lines,
        });
        // After an error, too: batches before it are done.
        show_one(format, RESULT_COLUMNS, &shown)?;
        sent?;
        match refused.len() as u64 + failed {
            0 => Ok(()),
            n => Err(Failure::new(
                FailureKind::Partial,
                format!("{n} of {} lines were not imported", file.n_lines()),
            )),
        }
    }

    /// Shows what an import would do.
    fn report(
        &self,
        file: &PasswordFile,
        refused: &[(u64, &str)],
        format: OutputFormat,
    ) -> Result<(), Failure> {
        let (n_fit, n_refused) = (file.fit().count(), refused.len());
        let shown = json!({
            "lines": file.n_lines(), "fit": n_fit, "refused": n_refused,
            "formats": file.formats(), "refusedLines": as_json(refused),
        });
        show_one(format, REPORT_COLUMNS, &shown)?;
        let advice =
            format!("`gatehouse {}` creates the accesses of the lines that fit", self.words());
        if n_refused == 0 {
            eprintln!("nothing was sent; {advice}");
            return Ok(());
        }
        let message = format!("{n_refused} of {} lines can't be imported", file.n_lines());
        let failure = Failure::input(message);
        Err(if n_fit == 0 { failure } else { failure.advise(advice) })
    }

    /// The words of the command that creates the accesses.
    fn words(&self) -> String {
        let file = quoted(&self.file.display().to_string());
        format!("access import {file} --contract {} --yes", quoted(&self.contract))
    }

    /// Creates the accesses piece by piece, and waits for each.
    async fn send(
        &self,
        server: &TenantServer,
        lines: &[&Line],
        result: &mut ImportResult,
    ) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        let items_max = batch_items_max(server).await?;
        let mut interrupts = Interrupts::catch()?;
        let resume = server.command(&self.words());
        let run = if self.again { request_key() } else { String::new() };
        for piece in Piece::split(lines, items_max) {
            let done = piece.create(server, &self.contract, &run, &resume, &mut interrupts).await?;
            for (line, username, reason) in &done.failed {
                show_line(*line, Some(username), reason);
                let failed = json!({"line": line, "username": username, "reason": reason});
                result.failed_lines.push(failed);
            }
            result.created += done.n_created;
            result.batches.push(done.task);
        }
        Ok(())
    }
}

/// Result of all batches so far.
#[derive(Default)]
struct ImportResult {
    created: u64,
    failed_lines: Vec<Value>,
    batches: Vec<String>,
}

/// Refused lines for programs.
fn as_json(refused: &[(u64, &str)]) -> Vec<Value> {
    refused.iter().map(|(line, reason)| json!({"line": line, "reason": reason})).collect()
}

/// The formats of the hashes and how often they occur, as a cell.
fn formats(report: &Value) -> String {
    let formats = report["formats"].as_object().into_iter().flatten();
    formats.map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

/// The IDs of the batches, as a cell.
fn batches(result: &Value) -> String {
    let batches = result["batches"].as_array().into_iter().flatten();
    batches.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn show_line(line: u64, username: Option<&str>, reason: &str) {
    let named = username.map(|it| format!(" (username {it})")).unwrap_or_default();
    eprintln!("{}", harmless(&format!("line {line}{named}: {reason}")));
}
