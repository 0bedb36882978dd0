//! A throw-away PgBouncer in front of the throw-away PostgreSQL, in transaction mode.
//!
//! Each transaction may run on another connection to PostgreSQL, so code that relies on a connection's state fails.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::server::{PORT_ATTEMPTS, START_TIMEOUT};
use crate::failure::Failure;
use crate::supervisor::{Supervisor, find_free_ports, wait_until};
use crate::tools::program;

/// Supervisor of PgBouncer. Its arguments are the directory to make, the settings to write there, and PgBouncer's path.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
directory=$1 settings=$2 pgbouncer=$3
exec 3<&0 </dev/null
umask 077
mkdir "$directory" || exit 1
printf '%s\n' "$settings" >"$directory/pgbouncer.ini"
"$pgbouncer" "$directory/pgbouncer.ini" 3<&- >"$directory/log" 2>&1 &
server=$!
{
    read -r _ <&3
    while kill -TERM "$server" 2>/dev/null; do sleep 0.1; done
} &
watch=$!
wait "$server"
kill -KILL "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
rm -rf "$directory"
"#;

/// A running PgBouncer. Dropping it stops PgBouncer.
#[derive(Debug)]
pub(crate) struct ThrowawayPgBouncer {
    supervisor: Supervisor,
    address: SocketAddr,
}

impl ThrowawayPgBouncer {
    /// Starts PgBouncer in front of the server at `postgres`; returns when PgBouncer accepts connections.
    ///
    /// Needs [`PGBOUNCER`](crate::tools::requirement::PGBOUNCER).
    pub(crate) fn start(postgres: SocketAddr) -> Result<Self, Failure> {
        let program = program::find("pgbouncer")
            .ok_or_else(|| Failure::Trouble("PgBouncer is not in PATH".to_owned()))?;
        for _ in 0..PORT_ATTEMPTS {
            let [address] = find_free_ports()?;
            eprintln!("xtask: starting PgBouncer on {address}");
            let mut pooler = Self::spawn(&program, address, postgres)?;
            let supervisor = &mut pooler.supervisor;
            let started = wait_until(START_TIMEOUT, || {
                let has_ended = supervisor.exit_status()?.is_some();
                let listens = TcpStream::connect(address).is_ok();
                Ok((has_ended || listens).then_some(!has_ended))
            });
            match started {
                Ok(Some(true)) => return Ok(pooler),
                // Another process may have taken the port.
                Ok(Some(false)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let program = program.display();
        Err(Failure::Trouble(format!("PgBouncer did not start; run {program} by hand to see why")))
    }

    /// URL of the server's maintenance database, through PgBouncer.
    pub(crate) fn url(&self) -> String {
        format!("postgres://gatehouse@{}/postgres", self.address)
    }

    fn spawn(program: &Path, address: SocketAddr, postgres: SocketAddr) -> Result<Self, Failure> {
        let arguments = [OsString::from(settings(address, postgres)), program.into()];
        Ok(Self { supervisor: Supervisor::start("PgBouncer", SUPERVISOR, arguments)?, address })
    }
}

/// PgBouncer's settings: few connections, used in turns, so that a client seldom gets the same connection twice.
fn settings(address: SocketAddr, postgres: SocketAddr) -> String {
    let (ip, port) = (address.ip(), address.port());
    let (server, server_port) = (postgres.ip(), postgres.port());
    format!(
        "[databases]\n\
         * = host={server} port={server_port} user=gatehouse\n\
         [pgbouncer]\n\
         listen_addr = {ip}\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = 6\n\
         server_round_robin = 1\n\
         server_idle_timeout = 5\n\
         server_login_retry = 1\n\
         max_client_conn = 2000"
    )
}
