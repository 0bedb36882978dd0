//! Failures in results about connections. They are always reported, because the result is incomplete.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::client::api::explained;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::text;
use crate::terminal::screen::harmless;

/// Problems of several responses, without duplicates.
#[derive(Default)]
pub(crate) struct Problems {
    reported: BTreeSet<String>,
    all: Vec<Value>,
}

impl Problems {
    /// Adds a response's problems.
    pub(crate) fn add(&mut self, errors: &[Value]) {
        for error in errors {
            if self.reported.insert(explained(error)) {
                self.all.push(error.clone());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn all(&self) -> &[Value] {
        &self.all
    }

    /// Prints the problems on standard error.
    pub(crate) fn print(&self) {
        for error in &self.all {
            eprintln!("! {}", harmless(&explained(error)));
        }
    }

    /// The exit code of a command that needs a complete result.
    pub(crate) fn exit_result(&self) -> Result<(), Failure> {
        if self.all.is_empty() {
            return Ok(());
        }
        let message = "the list is incomplete: some accounts failed, as shown above";
        Err(Failure::new(FailureKind::Partial, message).with_correlation(self.correlation()))
    }

    /// The first problem's ID in the server's log.
    pub(crate) fn correlation(&self) -> Option<String> {
        self.all.first().map(|first| text(first, "correlationId"))
    }
}
