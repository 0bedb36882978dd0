//! The bodies of batches: long lists, parsed item by item.
//!
//! A wrong type or field name is a fault of the request, named by its position. A value out of bounds is a fault of its
//! item alone, which fails in the Task.

pub(in crate::http) mod change;
pub(in crate::http) mod new;

use bytes::Bytes;

use crate::app::batch::{BatchChange, NewBatch};
use crate::http::answer::problem::Problem;
use crate::http::intake::large_bodies::process_body;
use crate::http::route::call::Call;
use crate::reader::{Fault, Faults, Reader};

/// Reads the body of a batch of new accesses, and takes it out of the call.
pub(in crate::http) async fn new_batch(call: &mut Call) -> Result<NewBatch, Problem> {
    read_body(call, new::read).await
}

/// Reads the body of a batch of changes, and takes it out of the call.
pub(in crate::http) async fn batch_change(call: &mut Call) -> Result<BatchChange, Problem> {
    let label_keys = call.label_keys().await?;
    let read = move |body: &[u8], items_max| change::read(body, items_max, &label_keys);
    read_body(call, read).await
}

async fn read_body<T: Send + 'static>(call: &mut Call, read: impl Read<T>) -> Result<T, Problem> {
    read_bytes(std::mem::take(&mut call.body), call.limits().batch_items, read).await
}

/// Parser of a body with a maximum number of items.
trait Read<T>: FnOnce(&[u8], u64) -> Result<T, Problem> + Send + 'static {}

impl<T, R: FnOnce(&[u8], u64) -> Result<T, Problem> + Send + 'static> Read<T> for R {}

async fn read_bytes<T: Send + 'static>(
    body: Bytes,
    items_max: u64,
    read: impl Read<T>,
) -> Result<T, Problem> {
    process_body(body.len(), move || read(&body, items_max)).await?
}

/// Number and faults of the elements of a long list.
struct ElementCheck {
    name: &'static str,
    n_elements: u64,
    n_max: u64,
    faults: Faults,
}

impl ElementCheck {
    fn new(name: &'static str, n_max: u64) -> Self {
        Self { name, n_elements: 0, n_max, faults: Faults::default() }
    }

    /// Counts an element and returns its position; `None` if there are too many.
    fn next(&mut self) -> Option<u32> {
        let index = self.n_elements;
        self.n_elements += 1;
        u32::try_from(index).ok().filter(|_| index < self.n_max)
    }

    fn fault(&mut self, index: u32, reason: String) {
        self.faults.add(format!("{}[{index}]", self.name), reason);
    }

    fn check_count(&self) -> Result<(), String> {
        let Self { n_elements, n_max, .. } = self;
        if (1..=*n_max).contains(n_elements) {
            return Ok(());
        }
        Err(format!("must have 1 to {n_max} elements, not {n_elements}"))
    }

    /// Adds the faults of the elements to those of the body.
    fn report(&mut self, body: &mut Reader<'_>) {
        report_faults(std::mem::take(&mut self.faults), body);
    }
}

/// Adds faults to those of the body.
fn report_faults(faults: Faults, body: &mut Reader<'_>) {
    for Fault { name, reason } in faults.check().err().unwrap_or_default() {
        body.fault(&name, reason);
    }
}

#[cfg(test)]
mod tests;
