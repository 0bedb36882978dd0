//! `gatehouse connector`: manifests of platforms, to list, check and try.
//!
//! Each command has a file here; `account.rs` reads the account to query, `query.rs` queries it, `transcript.rs` shows
//! the exchanges.

mod account;
mod check;
mod list;
mod query;
mod record;
mod schema;
mod show;
mod test;
mod transcript;
mod r#try;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use gatehouse_connectors::{Manifest, Manifests};

/// List, show, check and try connectors, which describe platforms
#[derive(Args)]
pub(crate) struct ConnectorCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List connectors and their platforms' capabilities
    List(list::List),
    /// Show a connector's manifest, to read, or to copy and change
    Show(show::Show),
    /// Show the JSON Schema of manifests, for editors
    Schema(schema::SchemaCommand),
    /// Check manifests, and query an account with one if an account is given
    Check(check::Check),
    /// Query an account, and show every request, response and product
    Try(r#try::Try),
    /// Record a conversation with a platform, to test a connector with
    Record(record::Record),
    /// Test a connector with a recording or an account
    Test(test::Test),
}

impl ConnectorCommand {
    pub(crate) fn run(self) -> Result<(), String> {
        match self.verb {
            Verb::List(list) => list.run(),
            Verb::Show(show) => show.run(),
            Verb::Schema(schema) => schema.run(),
            Verb::Check(check) => check.run(),
            Verb::Try(r#try) => r#try.run(),
            Verb::Record(record) => record.run(),
            Verb::Test(test) => test.run(),
        }
    }
}

/// The directory of the operator's own connectors.
#[derive(Args)]
pub(crate) struct ConnectorsDir {
    /// Directory with your own manifests, like the server's platforms.connectors_dir
    #[arg(long, value_name = "DIR", env = "GATEHOUSE_PLATFORMS__CONNECTORS_DIR")]
    connectors_dir: Option<PathBuf>,
}

impl ConnectorsDir {
    /// The shipped manifests, and the directory's.
    pub(crate) fn manifests(&self) -> Result<Manifests, String> {
        let mut manifests = Manifests::shipped();
        if let Some(dir) = &self.connectors_dir {
            manifests.add_dir(dir).map_err(|bad| format!("--connectors-dir has faults:\n{bad}"))?;
        }
        Ok(manifests)
    }
}

/// Finds a connector by name, or adds one from a manifest's file.
fn find_connector(manifests: &mut Manifests, given: &str) -> Result<Arc<Manifest>, String> {
    if let Some(known) = manifests.get(given) {
        return Ok(Arc::clone(known));
    }
    let is_path = given.contains(['/', '.']) || Path::new(given).exists();
    if !is_path {
        return Err(unknown(given, manifests));
    }
    let custom = manifests.add_file(Path::new(given)).map_err(|bad| bad.to_string())?;
    Ok(custom.manifest)
}

fn unknown(given: &str, manifests: &Manifests) -> String {
    let names: Vec<&str> = manifests.all().map(|it| it.name().as_str()).collect();
    let names = names.join(", ");
    format!("there is no connector `{given}`; there are {names}. A file is given with its path")
}

/// Writes to standard output. A reader that closes it is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `1 call`, `2 calls`.
fn counted(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
