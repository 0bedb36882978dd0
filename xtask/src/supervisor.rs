//! Servers of others for the duration of one chore, with nothing left behind.
//!
//! Such a server does not run below xtask directly but below a small shell script, the supervisor, which waits for the
//! end of its standard input. That is a pipe whose other end only xtask holds, so its closing is the one signal to
//! stop. The kernel gives it however xtask ends: normally, by panic, by Ctrl-C or by `kill -9`.

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

/// PostgreSQL kills its own stuck processes five seconds into an immediate shutdown; a busy machine gets longer.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A supervisor that runs. Dropping it stops what it keeps, and removes its directory.
#[derive(Debug)]
pub(crate) struct Supervisor {
    process: Child,
    /// What it keeps, for people.
    what: &'static str,
    directory: PathBuf,
}

impl Supervisor {
    /// Starts a script. Its first argument is a directory to make, which nothing else uses: there is no moment in
    /// which it exists and nobody would remove it.
    pub(crate) fn start(
        what: &'static str,
        script: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self, Failure> {
        let directory = choose_directory(what)?;
        let process = shell()
            .args(["-c", script, "supervisor"])
            .arg(&directory)
            .args(arguments)
            // Ctrl-C is for xtask; the supervisor hears of it through the pipe and cleans up.
            .process_group(0)
            // The user `postgres` may not be allowed into the current directory.
            .current_dir("/")
            .stdin(Stdio::piped())
            // The output of `cargo xtask postgres` is for the export lines alone.
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::Trouble(format!(
                    "cannot start {what}'s supervisor: {error}; install sh and, to run as root, runuser"
                ))
            })?;
        Ok(Self { process, what, directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let what = self.what;
        // Waiting is a courtesy: when the chore is over, so is its server. The supervisor also finishes alone.
        match wait_until(STOP_LIMIT, || self.process.try_wait()) {
            Ok(Some(_)) => {}
            Ok(None) => eprintln!(
                "xtask: {what} is still stopping; look after process {} and {}",
                self.process.id(),
                self.directory.display()
            ),
            Err(error) => eprintln!("xtask: cannot watch {what} stop: {error}"),
        }
    }
}

/// PostgreSQL and PgBouncer refuse to run as root, so below root all of it, the directory included, belongs to the
/// user of PostgreSQL's package.
fn shell() -> Command {
    if !is_root() {
        return Command::new("sh");
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", "sh"]);
    command
}

fn choose_directory(what: &str) -> Result<PathBuf, Failure> {
    let random = RandomState::new().hash_one(std::process::id());
    let name = format!("gatehouse-{}-{random:016x}", what.to_lowercase().replace(' ', "-"));
    std::path::absolute(std::env::temp_dir().join(name)).map_err(|error| {
        Failure::Trouble(format!("no temporary directory: {error}; set TMPDIR to a full path"))
    })
}

/// Ports that are free now. All are held until each is known, so that none comes twice; somebody may take one before
/// the server does, all the same.
pub(crate) fn find_free_ports<const N: usize>() -> Result<[SocketAddr; N], Failure> {
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
