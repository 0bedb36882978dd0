//! A throw-away PostgreSQL server: it runs for one chore, on a free port of the loopback interface, with empty data in a
//! temporary directory.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::binaries::PostgresBinaries;
use crate::failure::Failure;
use crate::supervisor::{Supervisor, find_free_ports, wait_until};

/// Timeout of starting a server. Creating the data takes a second or two; a busy machine needs much longer.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Number of free ports to try, because another process may take one before the server listens on it.
pub(super) const PORT_ATTEMPTS: u32 = 5;

/// Exit code of the supervisor if another process has taken the port.
const EXIT_PORT_TAKEN: i32 = 75;

/// Supervisor of the server. Its arguments are the directory to make, the path of initdb, and the server's command line.
///
/// The supervisor ignores signals, because only the pipe tells it to stop. It stops the server with SIGQUIT,
/// PostgreSQL's immediate shutdown: the data is removed anyway, and clients can't delay it. It repeats the signal,
/// because a server that is starting may not handle it yet.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
directory=$1 initdb=$2
shift 2
exec 3<&0 </dev/null
umask 077

if ! mkdir "$directory"; then
    echo "xtask: set TMPDIR to a directory that the user $(id -un) can write to" >&2
    exit 1
fi

if ! "$initdb" --pgdata="$directory/data" --username=gatehouse --auth=trust \
    --encoding=UTF8 --locale=C --no-sync >"$directory/log" 2>&1
then
    cat "$directory/log" >&2
    rm -rf "$directory"
    exit 1
fi

"$@" -D "$directory/data" 3<&- >"$directory/log" 2>&1 &
server=$!
{
    read -r _ <&3
    : >"$directory/stopping"
    while kill -QUIT "$server" 2>/dev/null; do sleep 0.1; done
} &
watch=$!
wait "$server"

code=0
if ! [ -e "$directory/stopping" ]; then
    kill -KILL "$watch"
    if grep -q 'could not bind' "$directory/log"; then
        code=75
    else
        code=1
        echo 'xtask: PostgreSQL has ended by itself; the end of its log:' >&2
        tail -n 40 "$directory/log" >&2
    fi
fi
wait "$watch" 2>/dev/null
rm -rf "$directory"
exit "$code"
"#;

/// A running PostgreSQL server. Dropping it stops the server and removes its data.
#[derive(Debug)]
pub(crate) struct ThrowawayPostgres {
    supervisor: Supervisor,
    address: SocketAddr,
}

/// Whether the server flushes a commit to disk before it acknowledges the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Flushes, as in production: for measurements.
    Flushed,
    /// Doesn't flush, which is faster: for tests, whose data doesn't outlive the chore.
    Unflushed,
}

impl ThrowawayPostgres {
    /// Starts a server and returns when it accepts connections.
    pub(crate) fn start(
        binaries: &PostgresBinaries,
        commits: Commits,
    ) -> Result<ThrowawayPostgres, Failure> {
        for _ in 0..PORT_ATTEMPTS {
            let [address] = find_free_ports()?;
            let mut postgres = ThrowawayPostgres::spawn(binaries, commits, address)?;
            eprintln!(
                "xtask: starting PostgreSQL {} on {}, with its data in {}",
                binaries.version(),
                postgres.address,
                postgres.supervisor.directory().display()
            );
            match postgres.wait_until_ready()? {
                StartResult::Ready => return Ok(postgres),
                StartResult::Ended(status) if status.code() == Some(EXIT_PORT_TAKEN) => {
                    eprintln!(
                        "xtask: port {} was taken by another process",
                        postgres.address.port()
                    );
                }
                StartResult::Ended(_) => {
                    return Err(Failure::Trouble(
                        "PostgreSQL did not start; follow its own messages above".to_owned(),
                    ));
                }
            }
        }
        Err(Failure::Trouble(format!(
            "other processes took {PORT_ATTEMPTS} free ports before PostgreSQL could listen on them; try \
             again when fewer programs open ports"
        )))
    }

    /// The address that the server listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of the server's maintenance database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://gatehouse@{}/postgres", self.address)
    }

    fn spawn(
        binaries: &PostgresBinaries,
        commits: Commits,
        address: SocketAddr,
    ) -> Result<Self, Failure> {
        let settings = server_settings(address, commits);
        let settings = settings.iter().flat_map(|it| ["-c".into(), OsString::from(it)]);
        let programs = [binaries.path("initdb"), binaries.path("postgres")].map(OsString::from);
        let supervisor =
            Supervisor::start("PostgreSQL", SUPERVISOR, programs.into_iter().chain(settings))?;
        Ok(ThrowawayPostgres { supervisor, address })
    }

    fn wait_until_ready(&mut self) -> Result<StartResult, Failure> {
        let status_file = self.supervisor.directory().join("data/postmaster.pid");
        let address = self.address;
        let supervisor = &mut self.supervisor;
        let start = wait_until(START_TIMEOUT, || {
            if let Some(status) = supervisor.exit_status()? {
                return Ok(Some(StartResult::Ended(status)));
            }
            // A connection alone may lead to another server on the same port.
            let ready = is_ready(&status_file) && TcpStream::connect(address).is_ok();
            Ok(ready.then_some(StartResult::Ready))
        });
        start.map_err(cannot_watch)?.ok_or_else(|| {
            Failure::Trouble(format!(
                "PostgreSQL does not accept connections after {} seconds; try again on a less \
                 busy machine",
                START_TIMEOUT.as_secs()
            ))
        })
    }
}

/// Result of starting a server.
#[derive(Debug)]
enum StartResult {
    Ready,
    Ended(ExitStatus),
}

fn server_settings(address: SocketAddr, commits: Commits) -> [String; 8] {
    // Tests use the data directory, because `/dev/shm` is small in many containers.
    let shared_memory = if commits == Commits::Flushed { "posix" } else { "mmap" };
    let flushes = if commits == Commits::Flushed { "on" } else { "off" };
    [
        format!("listen_addresses={}", address.ip()),
        format!("port={}", address.port()),
        "unix_socket_directories=".to_owned(),
        format!("fsync={flushes}"),
        format!("full_page_writes={flushes}"),
        "max_connections=300".to_owned(),
        "shared_buffers=128MB".to_owned(),
        format!("dynamic_shared_memory_type={shared_memory}"),
    ]
}

/// Whether PostgreSQL's pid file says that the server is ready: its eighth line is the server's state.
fn is_ready(status_file: &Path) -> bool {
    fs::read_to_string(status_file)
        .is_ok_and(|text| text.lines().nth(7).is_some_and(|state| state.trim() == "ready"))
}

fn cannot_watch(error: io::Error) -> Failure {
    Failure::Trouble(format!("cannot watch PostgreSQL start: {error}; try again"))
}
