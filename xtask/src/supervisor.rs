//! Runs PostgreSQL and other servers for the duration of one chore; stops them however the chore ends.
//!
//! A small shell script, the supervisor, starts such a server and waits for the end of its standard input. That is a
//! pipe whose other end only xtask holds, so closing the pipe is the one signal to stop. The kernel closes the pipe
//! however xtask ends: normally, by panic, by Ctrl-C or by `kill -9`.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::tools::program::is_root;

/// Timeout of stopping a server. PostgreSQL kills its stuck processes after five seconds; a busy machine needs longer.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running supervisor. Dropping it stops the server, and removes the server's directory.
#[derive(Debug)]
pub(crate) struct Supervisor {
    process: Child,
    /// The server's name, for people.
    server: &'static str,
    directory: PathBuf,
}

impl Supervisor {
    /// Starts the script of a supervisor. Its first argument is a new directory, which the script makes and removes.
    pub(crate) fn start(
        server: &'static str,
        script: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self, Failure> {
        let directory = choose_directory(server)?;
        let process = shell()
            .args(["-c", script, "supervisor"])
            .arg(&directory)
            .args(arguments)
            // Ctrl-C ends xtask alone; the closed pipe then tells the supervisor to clean up.
            .process_group(0)
            // The user `postgres` may not be allowed into the current directory.
            .current_dir("/")
            .stdin(Stdio::piped())
            // `cargo xtask postgres` prints lines for a shell, and nothing else may come between them.
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::Trouble(format!(
                    "cannot start the supervisor of {server}: {error}; install sh and, to run as root, runuser"
                ))
            })?;
        Ok(Self { process, server, directory })
    }

    /// The server's directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Exit status of the supervisor; `None` while the server runs.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let server = self.server;
        // The supervisor would finish alone, too; waiting lets a chore end after its servers.
        match wait_until(STOP_TIMEOUT, || self.process.try_wait()) {
            Ok(Some(_)) => {}
            Ok(None) => eprintln!(
                "xtask: {server} is still stopping; look after process {} and {}",
                self.process.id(),
                self.directory.display()
            ),
            Err(error) => eprintln!("xtask: cannot watch {server} stop: {error}"),
        }
    }
}

/// A shell that is not root: PostgreSQL and PgBouncer refuse to run as root.
///
/// Started by root, the shell runs as the user of PostgreSQL's package, who then owns the directory.
fn shell() -> Command {
    if !is_root() {
        return Command::new("sh");
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", "sh"]);
    command
}

fn choose_directory(server: &str) -> Result<PathBuf, Failure> {
    let random = RandomState::new().hash_one(std::process::id());
    let name = format!("gatehouse-{}-{random:016x}", server.to_lowercase().replace(' ', "-"));
    std::path::absolute(std::env::temp_dir().join(name)).map_err(|error| {
        Failure::Trouble(format!("no temporary directory: {error}; set TMPDIR to a full path"))
    })
}

/// Finds different free ports. Another process may take one before the server listens on it.
pub(crate) fn find_free_ports<const N: usize>() -> Result<[SocketAddr; N], Failure> {
    // All listeners are open at the same time, so that no port comes twice.
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners: io::Result<Vec<TcpListener>> = (0..N).map(|_| listen()).collect();
    let addresses: io::Result<Vec<SocketAddr>> =
        listeners.and_then(|it| it.iter().map(TcpListener::local_addr).collect());
    let trouble = |error: String| {
        Failure::Trouble(format!("no free port on 127.0.0.1: {error}; bring up the loopback"))
    };
    let addresses = addresses.map_err(|error| trouble(error.to_string()))?;
    addresses.try_into().map_err(|_| trouble("too few".to_owned()))
}

/// Polls `condition` until it returns a value; returns `None` when `timeout` has passed.
#[expect(clippy::disallowed_methods, reason = "the one pause between two polls of another process")]
pub(crate) fn wait_until<T>(
    timeout: Duration,
    mut condition: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let start = Instant::now();
    loop {
        if let Some(value) = condition()? {
            return Ok(Some(value));
        }
        if start.elapsed() > timeout {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
