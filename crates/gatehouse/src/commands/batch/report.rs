//! A batch's result, as it is shown.

use std::path::Path;

use serde_json::Value;

use super::export::is_stdout;
use super::task::{COLUMNS, Task};
use crate::client::api::{TenantServer, explained};
use crate::failure::Failure;
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
