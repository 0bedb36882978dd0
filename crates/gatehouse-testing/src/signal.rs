//! Signals to processes that a test has started.

use std::process::Child;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

/// Sends a signal to a child process.
///
/// # Panics
///
/// When the process has ended, or can't be signalled.
pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a child process takes signals");
}
