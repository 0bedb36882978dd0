//! A server on a filled store, ready for requests.

use std::env;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::database::Database;
use crate::failure::Failure;
use crate::filled::{self, FilledStore};
use crate::fleet::Fleet;
use crate::options::Options;
use crate::server::Server;

/// Scopes of a token for all operations of tenants.
const SCOPES: &str = "access:read access:write access:verify event:read";

pub(crate) struct Fixture {
    pub(crate) fleet: Fleet,
    pub(crate) server: Server,
    pub(crate) token: String,
    /// Parent of the database's processes, if it has its own.
    pub(crate) database_process_id: Option<i32>,
}

impl Fixture {
    /// Starts a server on this store.
    pub(crate) fn start(database: &Database, store: FilledStore) -> Result<Self, Failure> {
        let server = store.instance.serve()?;
        Self::with(server, database, store)
    }

    /// Starts a server on this store that writes nothing to the journals.
    pub(crate) fn start_without_journal(
        database: &Database,
        store: FilledStore,
    ) -> Result<Self, Failure> {
        let server = store.instance.serve_without_journal()?;
        Self::with(server, database, store)
    }

    fn with(server: Server, database: &Database, store: FilledStore) -> Result<Self, Failure> {
        let FilledStore { fleet, instance } = store;
        let token = instance.issue_token(SCOPES)?;
        let database_process_id = database.process_id();
        Ok(Self { fleet, server, token, database_process_id })
    }

    pub(crate) fn stop(self) -> Result<(), Failure> {
        self.server.stop()
    }
}

/// Options, program and directory of a run.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) options: Options,
    /// The server program, next to this one.
    pub(crate) binary: PathBuf,
    pub(crate) store_directory: PathBuf,
}

impl Setup {
    pub(crate) fn find(options: Options) -> Result<Self, Failure> {
        let own = env::current_exe()
            .map_err(|cause| Failure::Step(format!("this program can't be found: {cause}")))?;
        let binary = own.with_file_name("gatehouse");
        let target = own.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        if binary.is_file() {
            Ok(Self { options, binary, store_directory: target.join("bench") })
        } else {
            let binary = binary.display();
            Err(Failure::Usage(format!("no server at {binary}; use `cargo xtask bench`")))
        }
    }

    /// Fills a store with so many accesses, or finds a filled one. A measurement that writes must use a copy.
    pub(crate) fn fill(
        &self,
        database: &Database,
        n_accesses: u64,
    ) -> Result<FilledStore, Failure> {
        match database {
            Database::Sqlite => {
                filled::sqlite(&self.binary, &self.store_directory, n_accesses, now())
            }
            Database::Postgres { url, runtime, .. } => filled::postgres(
                &self.binary,
                &self.store_directory,
                url,
                n_accesses,
                now(),
                runtime,
            ),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one look at the clock: creations are dated back from now"
)]
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}
