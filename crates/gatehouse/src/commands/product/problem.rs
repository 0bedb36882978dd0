//! What is missing of an answer about connections, and why. It is told, always: what others gave is not the whole.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::client::api::explained;
use crate::failure::{Failure, Kind};
use crate::terminal::output::text;
use crate::terminal::screen::harmless;

/// Problems of several answers, each told once.
#[derive(Default)]
pub(crate) struct Problems {
    told: BTreeSet<String>,
    all: Vec<Value>,
}

impl Problems {
    /// Adds those of an answer.
    pub(crate) fn add(&mut self, errors: &[Value]) {
        for error in errors {
            if self.told.insert(explained(error)) {
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

    /// Tells them on standard error.
    pub(crate) fn tell(&self) {
        for error in &self.all {
            eprintln!("! {}", harmless(&explained(error)));
        }
    }

    /// How a command ends that wanted all of it.
    pub(crate) fn judge(&self) -> Result<(), Failure> {
        if self.all.is_empty() {
            return Ok(());
        }
        let said = "this is not all: some of it could not be had, as told above";
        Err(Failure::new(Kind::Partial, said).under(self.correlation()))
    }

    /// Under which name the server's log knows the first of them.
    pub(crate) fn correlation(&self) -> Option<String> {
        self.all.first().map(|first| text(first, "correlationId"))
    }
}
