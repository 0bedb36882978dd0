//! What came of a batch: shown, and told to whoever started the command by how it ends.

use std::path::Path;

use serde_json::Value;

use super::export::is_stdout;
use super::task::{COLUMNS, Task};
use crate::client::api::{TenantServer, explained};
use crate::failure::{Failure, Kind};
use crate::terminal::output::{Form, show_one, text};
use crate::terminal::screen::harmless;

/// So many failed items are named.
const NAMED_MAX: usize = 10;

/// Shows a Task that is over, with the file that its accesses went to.
pub(crate) async fn show(
    server: &TenantServer,
    form: Form,
    task: &Task,
    file: Option<&Path>,
) -> Result<(), Failure> {
    // Behind the accesses themselves, nothing else stands on standard output.
    if !file.is_some_and(is_stdout) {
        let file = file.map(|path| path.display().to_string());
        show_one(form, COLUMNS, &task.shown(file.as_deref()))?;
    }
    if task.progress.failed > 0 && task.is_over() {
        name_failed(server, task).await?;
    }
    Ok(())
}

/// How a command ends that wanted the Task done.
pub(crate) fn judge(server: &TenantServer, task: &Task) -> Result<(), Failure> {
    let (id, progress) = (&task.id, task.progress);
    let export = server.command(&format!("batch export {id}"));
    let failed = format!("{} of {} items failed", progress.failed, progress.total);
    match task.state.as_str() {
        "DONE" => Ok(()),
        "FAILED" => Err(Failure::new(Kind::Partial, failed)
            .advise(format!("`{export} --failed` writes all of them to a file"))),
        "REJECTED" => {
            let why = task.errors.first().map(explained).unwrap_or_default();
            Err(Failure::new(
                Kind::Refused,
                format!("the batch was rejected, nothing was done: {why}"),
            )
            .under(task.errors.first().map(|it| text(it, "correlationId"))))
        }
        "TERMINATED" => Err(Failure::new(
            Kind::Partial,
            format!(
                "the batch was stopped when {} of {} were done",
                progress.succeeded, progress.total
            ),
        )
        .advise(format!("`{export}` writes what it did to a file"))),
        other => Err(Failure::from(format!("{id} is {other}, which this program doesn't know"))),
    }
}

/// Names the first items that failed, each with its reason.
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

/// An item that failed, in a line. People count from one.
fn failed_line(error: &Value) -> String {
    let position = error.get("index").and_then(Value::as_u64).map_or(0, |it| it + 1);
    let named = ["username", "deviceName", "accessId"].iter().find_map(|name| {
        let value = text(error, name);
        (!value.is_empty()).then(|| format!(" ({name} {value})"))
    });
    let named = named.unwrap_or_default();
    format!("item {position}{named}: {}", explained(error))
}
