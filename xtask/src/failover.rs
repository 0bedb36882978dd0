//! The failover test: the primary of a PostgreSQL cluster is killed under load.
//!
//! The test is a chore of its own, because it needs a cluster and takes minutes.

mod cluster;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;

use crate::cargo;
use crate::failure::Failure;
use crate::postgres::PostgresBinaries;
use cluster::Cluster;

/// Starts a cluster, and runs the failover test against it.
pub(crate) fn test(binary: &Path, postgres_binaries: &PostgresBinaries) -> Result<(), Failure> {
    let cluster = Cluster::start(postgres_binaries)?;
    let join = |addresses: &mut dyn Iterator<Item = SocketAddr>| {
        addresses.map(|it| it.to_string()).collect::<Vec<_>>().join(",")
    };
    let postgres = join(&mut cluster.nodes.iter().map(|it| it.postgres));
    let patroni = join(&mut cluster.nodes.iter().map(|it| it.patroni));
    let proxy = cluster.proxy.to_string();
    let environment = [
        ("TEST_GATEHOUSE_BINARY", binary.as_os_str()),
        ("TEST_CLUSTER_DIRECTORY", cluster.directory().as_os_str()),
        ("TEST_CLUSTER_POSTGRES", OsStr::new(&postgres)),
        ("TEST_CLUSTER_PATRONI", OsStr::new(&patroni)),
        ("TEST_CLUSTER_PROXY", OsStr::new(&proxy)),
    ];
    let test = ["test", "--package", "gatehouse", "--test", "failover", "--", "--nocapture"];
    let outcome = cargo::run(&test, &environment);
    if outcome.is_err() {
        cluster.print_logs();
    }
    outcome
}
