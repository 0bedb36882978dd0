//! Three PostgreSQL nodes with synchronous replication, for the duration of one chore: Patroni lets one take over
//! for another, etcd is what it agrees by, and HAProxy leads to whichever is the primary.
//!
//! All of it runs below a small shell script, the keeper, for the reason that `throwaway_postgres` gives: the end of
//! its standard input is the one signal to stop, and the kernel gives it however xtask ends.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::failure::Failure;
use crate::packages::{self, is_in_path};
use crate::postgres_binaries::PostgresBinaries;
use crate::throwaway_postgres::{choose_directory, keeper_command, wait_until};

const KEEPER: &str = include_str!("cluster/keeper.sh");

const N_NODES: usize = 3;

/// Creating the data and copying it twice takes some ten seconds; a busy machine gets much longer.
const START_LIMIT: Duration = Duration::from_secs(180);

/// PostgreSQL kills its own stuck processes five seconds into an immediate shutdown.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Lines of each log that are shown when something is wrong.
const LOG_LINES: usize = 30;

/// What nobody answers in this time is not there yet.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// A running cluster. Dropping it stops all of it and removes its data.
#[derive(Debug)]
pub(crate) struct Cluster {
    keeper: Child,
    /// With the data of each node in `n0/data` and so on.
    pub(crate) directory: PathBuf,
    /// Where the primary is, whichever it is.
    pub(crate) proxy: SocketAddr,
    pub(crate) nodes: Vec<Node>,
}

/// One of the servers.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) postgres: SocketAddr,
    pub(crate) patroni: SocketAddr,
}

impl Cluster {
    /// Starts a cluster and returns when it has a primary and two standbys, one of them synchronous.
    pub(crate) fn start(binaries: &PostgresBinaries) -> Result<Cluster, Failure> {
        find_or_install()?;
        let programs = find_programs(binaries)?;
        let directory = choose_directory("cluster")?;
        let [etcd, peer, proxy, ports @ ..] = find_free_ports::<{ 3 + 2 * N_NODES }>()?;
        let nodes = ports.chunks(2).map(|it| Node { postgres: it[0], patroni: it[1] }).collect();
        let keeper = keeper_command(KEEPER)
            .args([&directory, &programs])
            .args([etcd, peer, proxy].iter().chain(&ports).map(|it| it.port().to_string()))
            // Ctrl-C is for xtask; the keeper hears of it through the pipe and cleans up.
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::Trouble(format!(
                    "cannot start the cluster's keeper: {error}; install sh and, to run as root, \
                     runuser"
                ))
            })?;
        let mut cluster = Cluster { keeper, directory, proxy, nodes };
        eprintln!(
            "xtask: starting three nodes of PostgreSQL {} behind {}, with their data in {}",
            binaries.version(),
            cluster.proxy,
            cluster.directory.display()
        );
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    fn wait_until_whole(&mut self) -> Result<(), Failure> {
        let Cluster { keeper, nodes, proxy, .. } = self;
        let start = wait_until(START_LIMIT, || {
            if keeper.try_wait()?.is_some() {
                return Ok(Some(false));
            }
            let is_whole = ask(nodes[0].patroni, "/cluster").is_some_and(|said| is_whole(&said))
                && TcpStream::connect(*proxy).is_ok();
            Ok(is_whole.then_some(true))
        });
        let what = match start {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => "the cluster's keeper has ended".to_owned(),
            Ok(None) => format!("the cluster is not whole after {} seconds", START_LIMIT.as_secs()),
            Err(error) => format!("cannot watch the cluster start: {error}"),
        };
        self.show_logs();
        Err(Failure::Trouble(format!("{what}; follow the ends of its logs above, or try again")))
    }

    /// The logs go with the directory, so they are shown before.
    pub(crate) fn show_logs(&self) {
        for name in ["etcd.log", "haproxy.log", "n0/log", "n1/log", "n2/log"] {
            let text = fs::read_to_string(self.directory.join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
            eprintln!("xtask: the end of {name}:\n{end}");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Waiting is a courtesy: the keeper also finishes alone.
        match wait_until(STOP_LIMIT, || self.keeper.try_wait()) {
            Ok(Some(_)) => {}
            Ok(None) => eprintln!(
                "xtask: the cluster is still stopping; look after process {} and {}",
                self.keeper.id(),
                self.directory.display()
            ),
            Err(error) => eprintln!("xtask: cannot watch the cluster stop: {error}"),
        }
    }
}

fn find_or_install() -> Result<(), Failure> {
    // HAProxy lies where not everyone looks; the keeper does.
    let is_there = |it| is_in_path(it) || Path::new("/usr/sbin").join(it).is_file();
    if ["patroni", "etcd", "haproxy"].into_iter().all(is_there) {
        return Ok(());
    }
    packages::install(
        "Patroni, etcd and HAProxy",
        &["patroni", "python3-etcd", "etcd-server", "haproxy"],
        "install them by hand (the programs patroni, with its etcd3 module, etcd and haproxy) and \
         put their directories into PATH",
    )
}

/// The directory with all of PostgreSQL's programs: a cluster needs more of them than somebody may have linked to.
fn find_programs(binaries: &PostgresBinaries) -> Result<PathBuf, Failure> {
    let server = fs::canonicalize(binaries.path("postgres")).ok();
    let directory = server.as_deref().and_then(Path::parent).map(Path::to_owned);
    directory.filter(|it| it.join("pg_rewind").is_file()).ok_or_else(|| {
        let server = binaries.path("postgres");
        Failure::Trouble(format!(
            "there is no pg_rewind where {} is; install the whole of PostgreSQL's server",
            server.display()
        ))
    })
}

/// Ports that are free now. All are held until each is known, so that none comes twice.
fn find_free_ports<const N: usize>() -> Result<[SocketAddr; N], Failure> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners: io::Result<Vec<TcpListener>> = (0..N).map(|_| listen()).collect();
    let addresses: io::Result<Vec<SocketAddr>> =
        listeners.and_then(|it| it.iter().map(TcpListener::local_addr).collect());
    let trouble = |error: String| {
        Failure::Trouble(format!("no free ports on 127.0.0.1: {error}; bring up the loopback"))
    };
    let addresses = addresses.map_err(|error| trouble(error.to_string()))?;
    addresses.try_into().map_err(|_| trouble("too few".to_owned()))
}

/// Whether Patroni's own account names a leader, a synchronous standby and three that run.
fn is_whole(said: &str) -> bool {
    let said = said.replace(' ', "");
    let running = ["running", "streaming"].map(|it| format!("\"state\":\"{it}\""));
    let n_running: usize = running.iter().map(|it| said.matches(it.as_str()).count()).sum();
    said.contains("\"role\":\"leader\"")
        && said.contains("\"role\":\"sync_standby\"")
        && n_running == N_NODES
}

/// What is said at a path of an HTTP server, head included, if there is an answer.
fn ask(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, ASK_LIMIT).ok()?;
    stream.set_read_timeout(Some(ASK_LIMIT)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut said = String::new();
    stream.read_to_string(&mut said).ok()?;
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_whole_when_all_run_and_one_follows_closely() {
        let said = |second: &str, third: &str| {
            format!(
                r#"{{"members": [{{"role": "leader", "state": "running"}},
                    {{"role": "{second}", "state": "running"}}, {{"role": "replica", "state": "{third}"}}]}}"#
            )
        };
        assert!(is_whole(&said("sync_standby", "running")));
        assert!(is_whole(&said("sync_standby", "streaming")));
        assert!(!is_whole(&said("replica", "running")));
        assert!(!is_whole(&said("sync_standby", "starting")));
    }
}
