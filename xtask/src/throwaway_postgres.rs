//! A PostgreSQL server of our own for the duration of one chore: fresh data in a temporary
//! directory, a free port on the loopback interface, nothing left behind.
//!
//! The server does not run below xtask directly but below a small shell script, the keeper,
//! which waits for the end of its standard input. That is a pipe whose other end only xtask
//! holds, so its closing is the one signal to stop. The kernel gives it however xtask ends:
//! normally, by panic, by Ctrl-C or by `kill -9`.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::packages::is_root;
use crate::postgres_binaries::PostgresBinaries;

/// Creating the data takes a second or two; a busy machine gets much longer.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(120);

/// PostgreSQL kills its own stuck processes five seconds into an immediate shutdown.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How many ports are tried when others take the free ones first.
pub(crate) const PORT_ATTEMPTS: u32 = 5;

/// The keeper's exit code for a port that somebody else has taken in the meantime.
const EXIT_PORT_TAKEN: i32 = 75;

/// Called with the directory to create and the path of initdb, then the server's command line.
///
/// Signals are ignored because the pipe decides alone. The stop signal is SIGQUIT, PostgreSQL's
/// immediate shutdown: nobody wants the data, and it cannot wait for clients. It is repeated
/// because a server that is only just starting may not listen to it yet.
const KEEPER: &str = r#"
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

"$@" 3<&- >"$directory/log" 2>&1 &
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
    keeper: Child,
    directory: PathBuf,
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
            let mut postgres = ThrowawayPostgres::spawn(binaries, commits, find_free_port()?)?;
            eprintln!(
                "xtask: starting PostgreSQL {} on {}, with its data in {}",
                binaries.version(),
                postgres.address,
                postgres.directory.display()
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
        let directory = choose_directory("postgres")?;
        let data = directory.join("data");
        let keeper = keeper_command(KEEPER)
            .arg(&directory)
            .arg(binaries.path("initdb"))
            .arg(binaries.path("postgres"))
            .arg("-D")
            .arg(&data)
            .args(server_settings(address, commits).iter().flat_map(|setting| ["-c", setting]))
            // Ctrl-C is for xtask; the keeper hears of it through the pipe and cleans up.
            .process_group(0)
            // The user `postgres` may not be allowed into the current directory.
            .current_dir("/")
            .stdin(Stdio::piped())
            // The output of `cargo xtask postgres` is for the export line alone.
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::Trouble(format!(
                    "cannot start PostgreSQL's keeper: {error}; install sh and, to run as root, \
                     runuser"
                ))
            })?;
        Ok(ThrowawayPostgres { keeper, directory, address })
    }

    fn wait_until_ready(&mut self) -> Result<Start, Failure> {
        let status_file = self.directory.join("data/postmaster.pid");
        let address = self.address;
        let keeper = &mut self.keeper;
        let start = wait_until(START_LIMIT, || {
            if let Some(status) = keeper.try_wait()? {
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

impl Drop for ThrowawayPostgres {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Waiting is a courtesy: when the chore is over, so is its server. The keeper also
        // finishes alone.
        match wait_until(STOP_LIMIT, || self.keeper.try_wait()) {
            Ok(Some(_)) => {}
            Ok(None) => eprintln!(
                "xtask: PostgreSQL is still stopping; look after process {} and {}",
                self.keeper.id(),
                self.directory.display()
            ),
            Err(error) => eprintln!("xtask: cannot watch PostgreSQL stop: {error}"),
        }
    }
}

/// How starting a server can turn out.
#[derive(Debug)]
enum Start {
    Ready,
    Ended(ExitStatus),
}

/// The keeper's command up to its own arguments. PostgreSQL refuses to run as root, so below
/// root all of it, the directory included, belongs to the user of PostgreSQL's package.
pub(crate) fn keeper_command(script: &str) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command.args(["-c", script, "keeper"]);
    command
}

fn server_settings(address: SocketAddr, commits: Commits) -> [String; 7] {
    let flushes = if commits == Commits::Flushed { "on" } else { "off" };
    [
        format!("listen_addresses={}", address.ip()),
        format!("port={}", address.port()),
        "unix_socket_directories=".to_owned(),
        format!("fsync={flushes}"),
        format!("full_page_writes={flushes}"),
        "max_connections=300".to_owned(),
        "shared_buffers=128MB".to_owned(),
    ]
}

/// A directory name that nothing else uses. The keeper creates it, so that there is no moment
/// in which it exists and nobody would remove it.
pub(crate) fn choose_directory(what: &str) -> Result<PathBuf, Failure> {
    let random = RandomState::new().hash_one(std::process::id());
    let directory = std::env::temp_dir().join(format!("gatehouse-{what}-{random:016x}"));
    std::path::absolute(directory).map_err(|error| {
        Failure::Trouble(format!("no temporary directory: {error}; set TMPDIR to a full path"))
    })
}

/// A port that is free now. Somebody may take it before PostgreSQL does, hence the attempts.
pub(crate) fn find_free_port() -> Result<SocketAddr, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()).map_err(
        |error| {
            Failure::Trouble(format!("no free port on 127.0.0.1: {error}; bring up the loopback"))
        },
    )
}

/// The eighth line of PostgreSQL's pid file is its state.
fn says_ready(status_file: &Path) -> bool {
    fs::read_to_string(status_file)
        .is_ok_and(|text| text.lines().nth(7).is_some_and(|state| state.trim() == "ready"))
}

fn watching_failed(error: io::Error) -> Failure {
    Failure::Trouble(format!("cannot watch PostgreSQL start: {error}; try again"))
}

/// Asks `condition` again and again until it gives something, or `limit` has passed.
#[expect(
    clippy::disallowed_methods,
    reason = "the one pause between two looks at a condition that other processes fulfil"
)]
pub(crate) fn wait_until<T>(
    limit: Duration,
    mut condition: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let start = Instant::now();
    loop {
        if let Some(value) = condition()? {
            return Ok(Some(value));
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
