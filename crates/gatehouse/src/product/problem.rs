//! What is missing of an answer about connections, and why. It is told, always: what others gave is not the whole.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::failure::{Failure, Kind};
use crate::output::text;
use crate::screen::harmless;

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
            if self.told.insert(line(error)) {
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
            eprintln!("! {}", harmless(&line(error)));
        }
    }

    /// How a command ends that wanted all of it.
    pub(crate) fn judge(&self) -> Result<(), Failure> {
        match self.all.first() {
            None => Ok(()),
            Some(first) => {
                let said = "this is not all: some of it could not be had, as told above";
                Err(Failure::new(Kind::Partial, said).under(Some(text(first, "correlationId"))))
            }
        }
    }
}

/// A problem in a line.
fn line(error: &Value) -> String {
    let [status, title, detail] = ["status", "title", "detail"].map(|name| text(error, name));
    format!("{status} {title}: {detail}")
}
