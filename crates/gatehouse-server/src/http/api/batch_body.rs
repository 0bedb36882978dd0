//! The bodies of batches: long lists, read item by item.
//!
//! What is ill-formed is a fault of the whole request, and named by its position. A value out of bounds is
//! a fault of its item alone, which fails inside the Task.

pub(in crate::http) mod change;
pub(in crate::http) mod new;

use bytes::Bytes;

use crate::app::batch::{BatchChange, NewBatch};
use crate::http::answer::problem::Problem;
use crate::http::intake::large_bodies::process_body;
use crate::http::route::call::Call;
use crate::reader::{Fault, Faults, Reader};

/// Reads the body of a batch of new accesses. It is gone afterwards.
pub(in crate::http) async fn new_batch(call: &mut Call) -> Result<NewBatch, Problem> {
    read_body(call, new::read).await
}

/// Reads the body of a batch of changes. It is gone afterwards.
pub(in crate::http) async fn batch_change(call: &mut Call) -> Result<BatchChange, Problem> {
    read_body(call, change::read).await
}

async fn read_body<T: Send + 'static>(call: &mut Call, read: Read<T>) -> Result<T, Problem> {
    read_bytes(std::mem::take(&mut call.body), call.limits().batch_items, read).await
}

/// Reads a body with so many items at most.
type Read<T> = fn(&[u8], u64) -> Result<T, Problem>;

async fn read_bytes<T: Send + 'static>(
    body: Bytes,
    items_max: u64,
    read: Read<T>,
) -> Result<T, Problem> {
    process_body(body.len(), move || read(&body, items_max)).await?
}

/// The elements of a list that may be long: how many there are, and what is wrong with them.
struct Given {
    name: &'static str,
    n_given: u64,
    n_max: u64,
    faults: Faults,
}

impl Given {
    fn new(name: &'static str, n_max: u64) -> Self {
        Self { name, n_given: 0, n_max, faults: Faults::default() }
    }

    /// The position of one more; nothing when there are too many already.
    fn next(&mut self) -> Option<u32> {
        let index = self.n_given;
        self.n_given += 1;
        u32::try_from(index).ok().filter(|_| index < self.n_max)
    }

    fn fault(&mut self, index: u32, reason: String) {
        self.faults.add(format!("{}[{index}]", self.name), reason);
    }

    fn check_count(&self) -> Result<(), String> {
        let Self { n_given, n_max, .. } = self;
        if (1..=*n_max).contains(n_given) {
            return Ok(());
        }
        Err(format!("must have 1 to {n_max} elements, not {n_given}"))
    }

    /// Tells what is wrong with the elements, beside what is wrong with the body.
    fn tell(&mut self, body: &mut Reader<'_>) {
        hand_on(std::mem::take(&mut self.faults), body);
    }
}

/// Tells the body's reader of faults that were found elsewhere in it.
fn hand_on(faults: Faults, body: &mut Reader<'_>) {
    for Fault { name, reason } in faults.check().err().unwrap_or_default() {
        body.fault(&name, reason);
    }
}

#[cfg(test)]
mod tests;
