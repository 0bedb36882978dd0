//! Tests of the API by its OpenAPI document: spectral lints the document, and schemathesis sends requests that the
//! document allows and forbids, and checks every response by it.
//!
//! The settings of both are in `tests/api`.

mod server;
mod tools;

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::tools::node::Node;
use server::ApiServer;
pub(crate) use tools::ApiTools;
use tools::settings_directory;

/// The store of the tested server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TestedStore<'p> {
    Sqlite,
    /// A PostgreSQL server whose maintenance database is unused.
    Postgres {
        url: &'p str,
    },
}

impl TestedStore<'_> {
    fn name(self) -> &'static str {
        match self {
            TestedStore::Sqlite => "SQLite",
            TestedStore::Postgres { .. } => "PostgreSQL",
        }
    }
}

/// Starts the server `binary` on one store, and tests its API.
pub(crate) fn test(
    tools: &ApiTools,
    node: &Node,
    binary: &Path,
    store: TestedStore,
) -> Result<(), Failure> {
    let database_url = match store {
        TestedStore::Sqlite => None,
        TestedStore::Postgres { url } => Some(url),
    };
    let server = ApiServer::start(binary, store.name(), database_url)?;
    lint_document(tools, node, &server)?;
    let Summary { n_operations, n_requests } = send_requests(tools, &server)?;
    let store = store.name();
    println!(
        "api: {n_operations} operations, {n_requests} requests, all checks passed, on {store}"
    );
    Ok(())
}

fn lint_document(tools: &ApiTools, node: &Node, server: &ApiServer) -> Result<(), Failure> {
    let ruleset = settings_directory().join("spectral.yaml");
    let mut spectral = Command::new(&tools.spectral);
    spectral.env("PATH", node.path());
    spectral.args(["lint", "--fail-severity", "hint", "--ruleset"]).arg(ruleset);
    spectral.arg(server.document());
    run_tool(&mut spectral, "spectral lint", server).map(|_| ())
}

fn send_requests(tools: &ApiTools, server: &ApiServer) -> Result<Summary, Failure> {
    let mut schemathesis = Command::new(&tools.schemathesis);
    schemathesis
        .args(["--config-file", "schemathesis.toml", "run", "--no-color"])
        .arg(server.document())
        // The settings name a file next to them.
        .current_dir(settings_directory())
        .env("API_TOKEN", &server.token)
        .env("API_CLIENT_ID", &server.client.0)
        .env("API_CLIENT_SECRET", &server.client.1)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1");
    let output = run_tool(&mut schemathesis, "schemathesis run", server)?;
    Summary::read(&output).ok_or_else(|| {
        eprintln!("{output}");
        Failure::Trouble("schemathesis has succeeded without testing everything".to_owned())
    })
}

/// Runs a tool, and returns its output; prints the output if the tool fails.
fn run_tool(command: &mut Command, name: &str, server: &ApiServer) -> Result<String, Failure> {
    eprintln!("xtask: {name} {}", server.document());
    let output = command
        // The server is on this machine, so no proxy is needed.
        .env("NO_PROXY", "127.0.0.1")
        .env("no_proxy", "127.0.0.1")
        .output()
        .map_err(|cause| Failure::Trouble(format!("cannot run {name}: {cause}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    eprintln!("{text}{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("xtask: the server's log is {}", server.log.display());
    Err(Failure::Program { name: name.to_owned(), status: output.status })
}

/// Number of operations and requests that schemathesis has tested.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    n_operations: u32,
    n_requests: u32,
}

impl Summary {
    /// Reads the summary that schemathesis prints; `None` if it has left out an operation, or a request failed.
    fn read(output: &str) -> Option<Self> {
        let line = |start: &str| output.lines().find_map(|line| line.trim().strip_prefix(start));
        let (selected, total) = line("Selected: ")?.split_once('/')?;
        let tested = line("Tested: ")?;
        let cases = output.lines().find(|line| line.contains(" generated, "))?;
        let (n_generated, rest) = cases.trim().split_once(" generated, ")?;
        let (n_passed, _) = rest.split_once(" passed")?;
        let is_complete = selected == total && selected == tested && n_generated == n_passed;
        let tested =
            Self { n_operations: tested.parse().ok()?, n_requests: n_passed.parse().ok()? };
        is_complete.then_some(tested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_test_counts() {
        let complete = "API Operations:\n  Selected: 20/20\n  Tested: 20\n\nTest cases:\n  \
                     2101 generated, 2101 passed, 32 skipped\n";
        let tested = Summary { n_operations: 20, n_requests: 2101 };
        assert_eq!(Summary::read(complete), Some(tested));
        for (part, other) in [
            ("Tested: 20", "Tested: 19"),
            ("20/20", "20/21"),
            ("2101 passed", "5 failed"),
            ("Tested", "x"),
        ] {
            assert_eq!(Summary::read(&complete.replace(part, other)), None, "{other}");
        }
    }
}
