//! What is done while nobody waits for it: batches, ends that have come, secrets and Tasks that have had
//! their time.
//!
//! A worker is a value with one method, `run_one`, which takes up one piece of work that is due, does one
//! step of it and says what it did. Tests step workers; a server has each in a loop (`Workers`).

pub mod pace;
pub mod task;
