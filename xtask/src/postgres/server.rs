//! A PostgreSQL server of our own for the duration of one chore: fresh data in a temporary
//! directory, a free port on the loopback interface, nothing left behind.

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

/// Creating the data takes a second or two; a busy machine gets much longer.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(120);

/// How many ports are tried when others take the free ones first.
pub(crate) const PORT_ATTEMPTS: u32 = 5;

/// The supervisor's exit code for a port that somebody else has taken in the meantime.
const EXIT_PORT_TAKEN: i32 = 75;

/// Called with the directory to create and the path of initdb, then the server's command line.
///
/// Signals are ignored because the pipe decides alone. The stop signal is SIGQUIT, PostgreSQL's
/// immediate shutdown: nobody wants the data, and it cannot wait for clients. It is repeated
/// because a server that is only just starting may not listen to it yet.
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

/// A running server. Dropping it stops the server and removes its data.
#[derive(Debug)]
pub(crate) struct ThrowawayPostgres {
    supervisor: Supervisor,
    address: SocketAddr,
}

/// Whether a commit is on the disk when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    /// As people run it: what is measured must cost what it costs.
    Flushed,
    /// The data does not outlive the chore; all that the product can observe of a commit stays.
    Hasty,
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
                Start::Ready => return Ok(postgres),
                Start::Ended(status) if status.code() == Some(EXIT_PORT_TAKEN) => {
                    eprintln!("xtask: port {} was taken first", postgres.address.port());
                }
                Start::Ended(_) => {
                    return Err(Failure::Trouble(
                        "PostgreSQL did not start; follow its own messages above".to_owned(),
                    ));
                }
            }
        }
        Err(Failure::Trouble(format!(
            "{PORT_ATTEMPTS} free ports were taken before PostgreSQL could listen on them; try \
             again when fewer programs open ports"
        )))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connection URL of the server's maintenance database.
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

    fn wait_until_ready(&mut self) -> Result<Start, Failure> {
        let status_file = self.supervisor.directory().join("data/postmaster.pid");
        let address = self.address;
        let supervisor = &mut self.supervisor;
        let start = wait_until(START_LIMIT, || {
            if let Some(status) = supervisor.ended()? {
                return Ok(Some(Start::Ended(status)));
            }
            // A connection alone could be to somebody else's server on the same port.
            let ready = says_ready(&status_file) && TcpStream::connect(address).is_ok();
            Ok(ready.then_some(Start::Ready))
        });
        start.map_err(watching_failed)?.ok_or_else(|| {
            Failure::Trouble(format!(
                "PostgreSQL does not accept connections after {} seconds; try again on a less \
                 busy machine",
                START_LIMIT.as_secs()
            ))
        })
    }
}

/// How starting a server can turn out.
#[derive(Debug)]
enum Start {
    Ready,
    Ended(ExitStatus),
}

fn server_settings(address: SocketAddr, commits: Commits) -> [String; 8] {
    // For tests in the data directory: `/dev/shm` is small in many containers.
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

/// The eighth line of PostgreSQL's pid file is its state.
fn says_ready(status_file: &Path) -> bool {
    fs::read_to_string(status_file)
        .is_ok_and(|text| text.lines().nth(7).is_some_and(|state| state.trim() == "ready"))
}

fn watching_failed(error: io::Error) -> Failure {
    Failure::Trouble(format!("cannot watch PostgreSQL start: {error}; try again"))
}
