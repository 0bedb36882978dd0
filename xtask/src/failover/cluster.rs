//! Three PostgreSQL nodes with synchronous replication, for the duration of one chore: Patroni lets one take over
//! for another, etcd is what it agrees by, and HAProxy leads to whichever is the primary.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::postgres::PostgresBinaries;
use crate::supervisor::{Supervisor, find_free_ports, wait_until};

const SUPERVISOR: &str = include_str!("cluster.sh");

const N_NODES: usize = 3;

/// Creating the data and copying it twice takes some ten seconds; a busy machine gets much longer.
const START_LIMIT: Duration = Duration::from_secs(180);

/// Lines of each log that are shown when something is wrong.
const LOG_LINES: usize = 30;

/// What nobody answers in this time is not there yet.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// A running cluster. Dropping it stops all of it and removes its data.
#[derive(Debug)]
pub(crate) struct Cluster {
    supervisor: Supervisor,
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
        let programs = find_programs(binaries)?;
        let [etcd, peer, proxy, ports @ ..] = find_free_ports::<{ 3 + 2 * N_NODES }>()?;
        let nodes = ports.chunks(2).map(|it| Node { postgres: it[0], patroni: it[1] }).collect();
        let numbers = [etcd, peer, proxy].into_iter().chain(ports);
        let numbers = numbers.map(|it| OsString::from(it.port().to_string()));
        let arguments = std::iter::once(programs.into()).chain(numbers);
        let supervisor = Supervisor::start("the cluster", SUPERVISOR, arguments)?;
        let mut cluster = Cluster { supervisor, proxy, nodes };
        eprintln!(
            "xtask: starting three nodes of PostgreSQL {} behind {}, with their data in {}",
            binaries.version(),
            cluster.proxy,
            cluster.directory().display()
        );
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// With the data of each node in `n0/data` and so on.
    pub(crate) fn directory(&self) -> &Path {
        self.supervisor.directory()
    }

    fn wait_until_whole(&mut self) -> Result<(), Failure> {
        let Cluster { supervisor, nodes, proxy, .. } = self;
        let start = wait_until(START_LIMIT, || {
            if supervisor.ended()?.is_some() {
                return Ok(Some(false));
            }
            let is_whole = ask(nodes[0].patroni, "/cluster").is_some_and(|said| is_whole(&said))
                && TcpStream::connect(*proxy).is_ok();
            Ok(is_whole.then_some(true))
        });
        let what = match start {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => "the cluster's supervisor has ended".to_owned(),
            Ok(None) => format!("the cluster is not whole after {} seconds", START_LIMIT.as_secs()),
            Err(error) => format!("cannot watch the cluster start: {error}"),
        };
        self.show_logs();
        Err(Failure::Trouble(format!("{what}; follow the ends of its logs above, or try again")))
    }

    /// The logs go with the directory, so they are shown before.
    pub(crate) fn show_logs(&self) {
        for name in ["etcd.log", "haproxy.log", "n0/log", "n1/log", "n2/log"] {
            let text = fs::read_to_string(self.directory().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
            eprintln!("xtask: the end of {name}:\n{end}");
        }
    }
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
