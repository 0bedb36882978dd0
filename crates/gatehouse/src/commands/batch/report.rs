//! A batch's result: shown, and turned into an exit code.

use std::path::Path;

use serde_json::Value;

use super::export::is_stdout;
use super::task::{COLUMNS, Task};
use crate::client::api::{TenantServer, explained};
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{OutputFormat, show_one, text};
use crate::terminal::screen::harmless;

/// Most failed items that are listed.
const NAMED_MAX: usize = 10;

/// Shows a finished Task, with the file of its accesses.
pub(crate) async fn show(
    server: &TenantServer,
    format: OutputFormat,
    task: &Task,
    file: Option<&Path>,
) -> Result<(), Failure> {
    // Standard output holds the accesses then, and nothing else.
    if !file.is_some_and(is_stdout) {
        let file = file.map(|path| path.display().to_string());
        show_one(format, COLUMNS, &task.shown(file.as_deref()))?;
    }
    if task.progress.failed > 0 && task.has_ended() {
        name_failed(server, task).await?;
    }
    Ok(())
}

/// The exit code of a command that needs the Task to succeed.
pub(crate) fn exit_result(server: &TenantServer, task: &Task) -> Result<(), Failure> {
    let (id, progress) = (&task.id, task.progress);
    let export = server.command(&format!("batch export {id}"));
    let failed = format!("{} of {} items failed", progress.failed, progress.total);
    match task.state.as_str() {
        "DONE" => Ok(()),
        "FAILED" => Err(Failure::new(FailureKind::Partial, failed)
            .advise(format!("`{export} --failed` writes all of them to a file"))),
        "REJECTED" => {
            let why = task.errors.first().map(explained).unwrap_or_default();
            Err(Failure::new(
                FailureKind::Refused,
                format!("the batch was rejected, nothing was done: {why}"),
            )
            .with_correlation(task.errors.first().map(|it| text(it, "correlationId"))))
        }
        "TERMINATED" => Err(Failure::new(
            FailureKind::Partial,
            format!(
                "the batch was stopped when {} of {} were done",
                progress.succeeded, progress.total
            ),
        )
        .advise(format!("`{export}` writes what it did to a file"))),
        other => Err(Failure::from(format!("{id} is {other}, which this program doesn't know"))),
    }
}

/// Lists the first failed items, each with its reason.
async fn name_failed(server: &TenantServer, task: &Task) -> Result<(), Failure> {
    let path = ["access", "batch", &task.id, "items"];
    let items = server.get(&path).query("state=failed").success().await?.body;
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let named = &items[..items.len().min(NAMED_MAX)];
    for item in named {
        eprintln!("{}", harmless(&failed_line(&item["error"])));
    }
    let rest = task.progress.failed.saturating_sub(named.len() as u64);
    if rest > 0 {
        eprintln!("… and {rest} more");
    }
    Ok(())
}

/// A failed item in a line, counted from one.
fn failed_line(error: &Value) -> String {
    let position = error.get("index").and_then(Value::as_u64).map_or(0, |it| it + 1);
    let named = ["username", "deviceName", "accessId"].iter().find_map(|name| {
        let value = text(error, name);
        (!value.is_empty()).then(|| format!(" ({name} {value})"))
    });
    let named = named.unwrap_or_default();
    format!("item {position}{named}: {}", explained(error))
}
