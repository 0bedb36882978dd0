//! What crosses crates: the binary that people run, as a process, on both stores.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod apply;
mod crash;
mod doctor;
mod hostile;
mod http2;
mod keys;
mod limits;
mod operator;
mod process;
mod serve;
mod socket;
mod tls;
mod token;
