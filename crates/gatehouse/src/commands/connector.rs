//! `gatehouse connector`: platforms as files, to look at, to check and to try.
//!
//! Each command is a file here; `account.rs` is how an account is given to those that ask one, `asking.rs` asks
//! it, `transcript.rs` shows what is said.

mod account;
mod asking;
mod check;
mod list;
mod record;
mod schema;
mod show;
mod test;
mod transcript;
mod r#try;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gatehouse_connectors::{AddressRules, Catalog, Manifests};
use gatehouse_core::ConnectorName;

/// List, show, check and try connectors: platforms as files
#[derive(Args)]
pub(crate) struct ConnectorCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List connectors, and what their platforms can do
    List(list::List),
    /// Show a connector's manifest, to be read, or copied and changed
    Show(show::Show),
    /// Show the JSON Schema of manifests, for editors
    Schema(schema::SchemaCommand),
    /// Check manifests, and ask an account with one where an account is given
    Check(check::Check),
    /// Ask an account, and show every request, answer and product
    Try(r#try::Try),
    /// Keep a conversation with a platform, to test a connector with
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

/// Where connectors are that aren't shipped.
#[derive(Args)]
pub(crate) struct OwnConnectors {
    /// A directory with manifests of your own, as the server's platforms.connectors_dir
    #[arg(long, value_name = "DIR", env = "GATEHOUSE_PLATFORMS__CONNECTORS_DIR")]
    connectors_dir: Option<PathBuf>,
}

impl OwnConnectors {
    /// The shipped manifests, and those of the directory.
    pub(crate) fn manifests(&self) -> Result<Manifests, String> {
        let mut manifests = Manifests::shipped();
        if let Some(dir) = &self.connectors_dir {
            manifests.add_dir(dir).map_err(|bad| format!("--connectors-dir has faults:\n{bad}"))?;
        }
        Ok(manifests)
    }
}

/// Finds the connector that is meant by a name or a file. A file is taken in.
fn named(manifests: &mut Manifests, given: &str) -> Result<ConnectorName, String> {
    let known = Catalog::new(AddressRules::default(), manifests.clone());
    if known.names().contains(&given) {
        return given.parse().map_err(|bad| format!("`{given}` {bad}"));
    }
    let is_path = given.contains(['/', '.']) || Path::new(given).exists();
    if !is_path {
        return Err(unknown(given, manifests));
    }
    let own = manifests.add_file(Path::new(given)).map_err(|bad| bad.to_string())?;
    Ok(own.manifest.name().clone())
}

fn unknown(given: &str, manifests: &Manifests) -> String {
    let names: Vec<&str> = manifests.all().map(|it| it.name().as_str()).collect();
    let names = names.join(", ");
    format!("there is no connector `{given}`; there are {names}. A file is given with its path")
}

/// What asks run on.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| format!("no threads to run on: {cause}"))
}

/// Writes to where people read it. Whoever reads no further is not told.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `1 call`, `2 calls`.
fn counted(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
