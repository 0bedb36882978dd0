//! The program: the server, and the commands around it. `main.rs` only starts it.

mod client;
mod commands;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod host;
mod runtime;
mod terminal;

pub use commands::run;
