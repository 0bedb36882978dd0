//! PostgreSQL for one chore: the server's programs on this machine, a throw-away server, and PgBouncer in front of it.

mod binaries;
mod pgbouncer;
mod server;

pub(crate) use binaries::PostgresBinaries;
pub(crate) use pgbouncer::ThrowawayPgBouncer;
pub(crate) use server::{Commits, ThrowawayPostgres};
