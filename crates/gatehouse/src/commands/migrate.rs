//! `gatehouse migrate`: moves an estate from the embedded store to PostgreSQL, and prints the next steps.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Args;
use gatehouse_server::config::Config;
use gatehouse_server::transfer::move_estate;
use gatehouse_store::{
    Clock, DatabaseUrl, TableComparison, TableContents, TransferProgress, TransferResult,
    TransferStage,
};
use serde_json::{Value, json};

use crate::commands::serve::Settings;
use crate::runtime;
use crate::terminal::output::{TableOrJson, print_json};
use crate::terminal::text_input::secret_or_file;

/// Shortest interval between two lines of progress.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Move an estate from the embedded store to PostgreSQL
///
/// Stop the server first. The target must be empty; an interrupted run continues when the command is repeated. At the
/// end every table is compared on both sides.
#[derive(Args)]
pub(crate) struct Migrate {
    /// Embedded store: sqlite:PATH, where PATH is the data directory or the file gatehouse.db in it
    #[arg(long, value_name = "SQLITE")]
    from: String,
    /// Empty database: postgres://user:password@host:port/database; @FILE reads it from a file
    #[arg(long, value_name = "URL", env = "GATEHOUSE_DATABASE_URL", hide_env_values = true)]
    to: String,
    /// Settings file (TOML), where the embedded store has its master key from one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Output format of the result
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: TableOrJson,
}

impl Migrate {
    pub(crate) fn run(self) -> Result<(), String> {
        let dir = data_dir(&self.from)?;
        let to = secret_or_file(&self.to).map_err(|why| format!("--to: {}", why.message()))?;
        let target = target(&to)?;
        let mut config = Settings::of_data_dir(self.config.clone(), &dir).load(&[])?;
        // The environment may be meant for the future servers.
        config.database_url = None;
        let lines = Mutex::new(ProgressLines::new());
        let report = |progress| {
            if let Some(line) = lines.lock().ok().and_then(|mut lines| lines.next(progress)) {
                eprintln!("{line}");
            }
        };
        let moved = runtime::run(async {
            let moved = move_estate(&config, &target, Clock::machine(), &report).await;
            moved.map_err(|why| why.to_string())
        })?;
        match self.output {
            TableOrJson::Table => show_table(&moved),
            TableOrJson::Json => show_json(&moved)?,
        }
        let TransferResult::Differs(compared) = &moved else {
            print_next_steps(&config, &target);
            return Ok(());
        };
        let differing: Vec<_> =
            compared.iter().filter(|it| !it.is_equal()).map(|it| it.table).collect();
        Err(format!(
            "source and target differ in {}: the target stays marked as unfinished, and no server starts on \
             it; empty it and begin again, with no writes on either side",
            differing.join(", ")
        ))
    }
}

/// The data directory that `--from` names.
fn data_dir(from: &str) -> Result<String, String> {
    let expected = "--from takes the embedded store, as sqlite:PATH";
    if from.starts_with("postgres:") || from.starts_with("postgresql:") {
        return Err(format!("{expected}; from PostgreSQL nothing can be moved"));
    }
    let path = from.strip_prefix("sqlite:").filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| format!("{expected}, not `{from}`"))?;
    if !Path::new(path).is_file() {
        return Ok(path.to_owned());
    }
    let file = Config::default().database_file();
    match path.rsplit_once('/').unwrap_or((".", path)) {
        (dir, name) if file.file_name().is_some_and(|it| it == name) => {
            Ok(if dir.is_empty() { "/".to_owned() } else { dir.to_owned() })
        }
        _ => Err(format!(
            "{expected}: the data directory or the file gatehouse.db in it, not `{path}`"
        )),
    }
}

/// The database that `--to` names. The error doesn't repeat the text, which may hold a password.
fn target(to: &str) -> Result<DatabaseUrl, String> {
    if to.starts_with("sqlite:") {
        return Err("--to takes an empty PostgreSQL database, as postgres://user:password@host:port/database; \
                    nothing is moved to the embedded store"
            .into());
    }
    to.parse().map_err(|bad| format!("--to: {bad}"))
}

/// Lines of progress, at intervals.
struct ProgressLines {
    /// When the latest line was printed.
    printed_at: Instant,
    /// When the latest progress was reported.
    reported_at: Instant,
    /// The stage and table in progress, and when they began.
    current: Option<(TransferStage, &'static str, Instant)>,
}

impl ProgressLines {
    fn new() -> Self {
        let now = Instant::now();
        Self { printed_at: now, reported_at: now, current: None }
    }

    /// The line for this progress, unless one was printed just now.
    fn next(
        &mut self,
        TransferProgress { stage, table, n_rows }: TransferProgress,
    ) -> Option<String> {
        let began = match self.current {
            Some((was, of, began)) if (was, of) == (stage, table) => began,
            _ => self.reported_at,
        };
        self.current = Some((stage, table, began));
        self.reported_at = Instant::now();
        if self.printed_at.elapsed() < LINE_INTERVAL {
            return None;
        }
        self.printed_at = self.reported_at;
        let what = match stage {
            TransferStage::Copying => "copying",
            TransferStage::Comparing => "comparing",
        };
        let a_second = n_rows as f64 / began.elapsed().as_secs_f64().max(0.001);
        Some(format!("{what} {table}: {n_rows} rows, {a_second:.0} a second"))
    }
}

fn show_table(moved: &TransferResult) {
    let (TransferResult::Whole(compared) | TransferResult::Differs(compared)) = moved else {
        println!(
            "this source was moved here before: nothing was done. What has changed in it since then is not there"
        );
        return;
    };
    println!("{:12}  {:>10}  SHA-256 OF ALL ROWS, ON BOTH SIDES", "TABLE", "ROWS");
    for it in compared {
        let line = |held: &TableContents, note: &str| {
            let (table, n_rows, sum) = (it.table, held.n_rows, hex(&held.sha256));
            println!("{table:12}  {n_rows:>10}  {sum}{note}");
        };
        if it.is_equal() {
            line(&it.source, "");
        } else {
            line(&it.source, "  DIFFERS: the source");
            line(&it.target, "  DIFFERS: the target");
        }
    }
}

fn show_json(moved: &TransferResult) -> Result<(), String> {
    let (outcome, compared) = match moved {
        TransferResult::Whole(compared) => ("moved", compared.as_slice()),
        TransferResult::Differs(compared) => ("differs", compared.as_slice()),
        TransferResult::AlreadyDone => ("movedBefore", [].as_slice()),
    };
    let held = |it: &TableContents| json!({"rows": it.n_rows, "sha256": hex(&it.sha256)});
    let table = |it: &TableComparison| -> Value {
        let (source, target) = (held(&it.source), held(&it.target));
        json!({"table": it.table, "isEqual": it.is_equal(), "source": source, "target": target})
    };
    let tables: Vec<_> = compared.iter().map(table).collect();
    print_json(&json!({"outcome": outcome, "tables": tables}))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print_next_steps(config: &Config, target: &DatabaseUrl) {
    let dir = std::path::absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
    let key = match (&config.master_key, &config.master_key_file) {
        (Some(_), _) => "with the same GATEHOUSE_MASTER_KEY".to_owned(),
        (None, Some(path)) => format!("with master_key_file = \"{}\"", path.display()),
        (None, None) => {
            let key = dir.join("master.key");
            format!("each with a copy of the master key, master_key_file = \"{}\"", key.display())
        }
    };
    let dir = dir.display();
    eprintln!(
        "\nnext: start every server with --database-url for {target}, {key}\n\
         tokens and passwords stay valid; `gatehouse doctor --deep` checks everything\n\
         keep {dir} until you have a backup of the database and of the master key; start no server on it: \
         its writes would not be moved"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_and_target_are_validated() {
        for (from, expected) in [("sqlite:data", "data"), ("sqlite:/var/lib/x", "/var/lib/x")] {
            assert_eq!(data_dir(from), Ok(expected.to_owned()));
        }
        for bad in ["", "data", "sqlite:", "mysql:x", "postgres://a:s@b/c", "postgresql://b"] {
            assert!(data_dir(bad).unwrap_err().contains("sqlite:PATH"), "{bad}");
        }
        for bad in ["", "db", "sqlite:data", "mysql://ann:s3cret@db/x", "postgres://a:s3cret@b:c/d"]
        {
            let message = target(bad).unwrap_err();
            assert!(
                message.contains("postgres://user") && !message.contains("s3cret"),
                "{message}"
            );
        }
    }

    #[test]
    fn the_file_of_a_store_names_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        for name in ["gatehouse.db", "other.db"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(data_dir(&format!("sqlite:{path}/gatehouse.db")), Ok(path.to_owned()));
        let other = data_dir(&format!("sqlite:{path}/other.db")).unwrap_err();
        assert!(other.contains("the file gatehouse.db"), "{other}");
    }
}
