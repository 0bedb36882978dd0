//! A throw-away PostgreSQL cluster: three nodes with synchronous replication.
//!
//! Patroni promotes a standby when the primary fails, etcd holds Patroni's leader lock, and HAProxy forwards connections
//! to the primary.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::postgres::PostgresBinaries;
use crate::supervisor::{Supervisor, find_free_ports, wait_until};

/// Supervisor of the cluster.
const SUPERVISOR: &str = include_str!("cluster.sh");

const N_NODES: usize = 3;

/// Timeout of starting a cluster. Creating the data and copying it twice takes ten seconds; a busy machine needs longer.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// Number of lines of each log to print after a failure.
const LOG_LINES: usize = 30;

/// Timeout of a request to Patroni.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A running cluster. Dropping it stops the cluster and removes its data.
#[derive(Debug)]
pub(crate) struct Cluster {
    supervisor: Supervisor,
    /// Address of HAProxy, which forwards to the primary.
    pub(crate) proxy: SocketAddr,
    pub(crate) nodes: Vec<ClusterNode>,
}

/// Addresses of a node's servers.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    pub(crate) postgres: SocketAddr,
    pub(crate) patroni: SocketAddr,
}

impl Cluster {
    /// Starts a cluster and returns when it has a primary and two standbys, one of them synchronous.
    pub(crate) fn start(binaries: &PostgresBinaries) -> Result<Cluster, Failure> {
        let programs = find_programs(binaries)?;
        let [etcd, peer, proxy, ports @ ..] = find_free_ports::<{ 3 + 2 * N_NODES }>()?;
        let nodes =
            ports.chunks(2).map(|it| ClusterNode { postgres: it[0], patroni: it[1] }).collect();
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

    /// The cluster's directory. The data of the nodes is in `n0/data`, `n1/data` and `n2/data`.
    pub(crate) fn directory(&self) -> &Path {
        self.supervisor.directory()
    }

    fn wait_until_whole(&mut self) -> Result<(), Failure> {
        let Cluster { supervisor, nodes, proxy, .. } = self;
        let start = wait_until(START_TIMEOUT, || {
            if supervisor.exit_status()?.is_some() {
                return Ok(Some(false));
            }
            let is_whole = http_get(nodes[0].patroni, "/cluster").is_some_and(|it| is_whole(&it))
                && TcpStream::connect(*proxy).is_ok();
            Ok(is_whole.then_some(true))
        });
        let what = match start {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => "the cluster has ended".to_owned(),
            Ok(None) => {
                format!("the cluster is not whole after {} seconds", START_TIMEOUT.as_secs())
            }
            Err(error) => format!("cannot watch the cluster start: {error}"),
        };
        self.print_logs();
        Err(Failure::Trouble(format!("{what}; follow the ends of its logs above, or try again")))
    }

    /// Prints the end of each log, because the logs are removed with the cluster.
    pub(crate) fn print_logs(&self) {
        for name in ["etcd.log", "haproxy.log", "n0/log", "n1/log", "n2/log"] {
            let text = fs::read_to_string(self.directory().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
            eprintln!("xtask: the end of {name}:\n{end}");
        }
    }
}

/// The directory with all of PostgreSQL's programs: Patroni needs `pg_rewind`, too, which is seldom linked into PATH.
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

/// Whether Patroni's status has a leader, a synchronous standby and three running nodes.
fn is_whole(status: &str) -> bool {
    let status = status.replace(' ', "");
    let running = ["running", "streaming"].map(|it| format!("\"state\":\"{it}\""));
    let n_running: usize = running.iter().map(|it| status.matches(it.as_str()).count()).sum();
    status.contains("\"role\":\"leader\"")
        && status.contains("\"role\":\"sync_standby\"")
        && n_running == N_NODES
}

/// Response of an HTTP server to `GET path`, headers included; `None` if there is no response.
fn http_get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, REQUEST_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_whole_when_all_run_and_one_follows_closely() {
        let status = |second: &str, third: &str| {
            format!(
                r#"{{"members": [{{"role": "leader", "state": "running"}},
                    {{"role": "{second}", "state": "running"}}, {{"role": "replica", "state": "{third}"}}]}}"#
            )
        };
        assert!(is_whole(&status("sync_standby", "running")));
        assert!(is_whole(&status("sync_standby", "streaming")));
        assert!(!is_whole(&status("replica", "running")));
        assert!(!is_whole(&status("sync_standby", "starting")));
    }
}
