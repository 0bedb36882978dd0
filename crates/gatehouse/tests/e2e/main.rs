//! Tests across crates: the binary as a process, on both stores.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod apply;
mod audit;
mod backup;
mod batch;
mod cli;
mod client;
mod collector;
mod connector;
mod crash;
mod disconnect;
mod disk;
mod doctor;
mod followed_copy;
mod handover;
mod history;
mod hostile;
mod http2;
mod issued;
mod issuer;
mod key_change;
mod keys;
mod kills;
mod limits;
mod locked_rows;
mod log;
mod login;
mod migrate;
mod operator;
mod outcomes;
mod process;
mod recording;
mod replicas;
mod search;
mod secrets;
mod serve;
mod shares;
mod simulate;
mod slow_reader;
mod socket;
mod subscriber_libraries;
mod tls;
mod token;
mod traces;
mod tutorial;
