//! What crosses crates: the binary that people run, as a process, on both stores.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod apply;
mod client;
mod collector;
mod crash;
mod doctor;
mod hostile;
mod issuer;
mod keys;
mod log;
mod process;
mod secrets;
mod serve;
mod token;
mod traces;
