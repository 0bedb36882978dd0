//! One batch of an import: as many lines as the server allows in a batch.

use std::collections::HashMap;

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::password_file::Line;
use crate::client::api::{TenantServer, explained};
use crate::commands::batch::task::{Task, accepted};
use crate::commands::batch::watch::{Ending, Interrupts, watch};
use crate::failure::{Failure, FailureKind};

/// Most bytes of a batch's items. Servers read bodies up to 32 MiB by default.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where the server's document says how many items a batch may have.
const ITEMS_MAX: &str = "/components/schemas/NewBatchByList/properties/accesses/maxItems";

/// Lines that are sent as one batch.
pub(super) struct Piece<'l> {
    lines: Vec<&'l Line>,
}

/// Result of a batch.
pub(super) struct PieceResult {
    /// The Task.
    pub(super) task: String,
    /// Number of created accesses.
    pub(super) n_created: u64,
    /// Failed lines: number, username and reason.
    pub(super) failed: Vec<(u64, String, String)>,
}

/// The most items of a batch, which the server's document says.
pub(super) async fn batch_items_max(server: &TenantServer) -> Result<usize, Failure> {
    let request = server.server.request(Method::GET, &["-", "openapi.json"]);
    let document = request.success().await?.body;
    let max = document.pointer(ITEMS_MAX).and_then(Value::as_u64);
    let max = max.and_then(|it| usize::try_from(it).ok()).filter(|it| *it > 0);
    max.ok_or_else(|| server.server.not_understood())
}

impl<'l> Piece<'l> {
    /// Splits lines into pieces that the server accepts.
    pub(super) fn split(lines: &[&'l Line], items_max: usize) -> Vec<Self> {
        let mut pieces: Vec<Self> = Vec::new();
        let mut n_bytes = 0;
        for line in lines {
            let line_bytes = line.item().to_string().len();
            match pieces.last_mut() {
                Some(last) if last.lines.len() < items_max && n_bytes + line_bytes <= BYTES_MAX => {
                    last.lines.push(line);
                    n_bytes += line_bytes;
                }
                _ => {
                    pieces.push(Self { lines: vec![line] });
                    n_bytes = line_bytes;
                }
            }
        }
        pieces
    }

    /// Creates the accesses, and waits until the batch ends. `run` distinguishes this run from earlier ones whose
    /// batches it must not find, and `resume` is the command that continues the import.
    pub(super) async fn create(
        &self,
        server: &TenantServer,
        contract: &str,
        run: &str,
        resume: &str,
        interrupts: &mut Interrupts,
    ) -> Result<PieceResult, Failure> {
        let items: Vec<Value> = self.lines.iter().map(|line| line.item()).collect();
        let body = json!({ "contractId": contract, "accesses": items });
        let request = server.request(Method::POST, &["access", "batch"]);
        let request = request.idempotent(&request_key(run, &body)).body(body);
        let task = Task::accepted(&request.success().await?.body);
        let [from, to] = [self.lines.first(), self.lines.last()];
        let [from, to] = [from, to].map(|it| it.map_or(0, |line| line.number));
        let lines =
            if from == to { format!("line {from}") } else { format!("lines {from} to {to}") };
        // An earlier run may have sent them: then the batch is that run's.
        eprintln!("{lines}: {} was accepted at {}", task.id, accepted(&task.id));
        let task = match watch(server, &task.id, resume, None, interrupts).await? {
            Ending::Ended(task) => task,
            Ending::Stopped(task) => {
                let interrupted = Failure::new(FailureKind::Interrupted, "interrupted");
                let result = task.exit_result(server);
                return Err(result.err().unwrap_or(interrupted).of_kind(FailureKind::Interrupted));
            }
        };
        if matches!(task.state.as_str(), "REJECTED" | "TERMINATED") {
            // The same command gets the same batch again.
            let again = format!("`{resume} --again` sends all lines anew");
            task.exit_result(server).map_err(|failure| failure.advise_also(again))?;
        }
        let failed = interrupts.or(self.failed_lines(server, &task)).await?;
        Ok(PieceResult { n_created: task.progress.succeeded, failed, task: task.id })
    }

    /// The lines of the failed items.
    async fn failed_lines(
        &self,
        server: &TenantServer,
        task: &Task,
    ) -> Result<Vec<(u64, String, String)>, Failure> {
        let mut failed = Vec::new();
        if task.progress.failed == 0 {
            return Ok(failed);
        }
        let by_index: HashMap<u64, &Line> = (0..).zip(self.lines.iter().copied()).collect();
        let path = ["access", "batch", &task.id, "items"];
        let mut pages = server.pages(&path, "state=failed");
        while let Some((_, items)) = pages.next().await? {
            for item in &items {
                let error = &item["error"];
                let line = error["index"].as_u64().and_then(|index| by_index.get(&index));
                let Some(line) = line else { return Err(server.server.not_understood()) };
                failed.push((line.number, line.username().to_owned(), explained(error)));
            }
        }
        Ok(failed)
    }
}

/// An idempotency key that follows from the request, so that the same import creates nothing twice. Salted hashes are
/// in the request, so that it can't be guessed by the key.
fn request_key(run: &str, body: &Value) -> String {
    let digest = Sha256::digest(format!("{run}{body}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
