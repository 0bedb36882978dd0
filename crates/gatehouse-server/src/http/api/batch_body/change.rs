//! The body of a batch of changes: of which accesses, and what is to be done with them.

use std::collections::HashSet;

use gatehouse_core::AccessId;
use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::TargetStatus;

use super::super::access::read_change;
use super::{Given, Problem, hand_on};
use crate::app::batch::{BatchChange, BatchOperation, NamedAccess};
use crate::fields::access;
use crate::fields::batch::{OPERATION_BODY, OPERATION_TYPE, OperationType, access_ids};
use crate::reader::{Faults, Keep, LongList, Reader, list, object, printable, text};

const ACCESS_IDS: &str = access_ids(0).name;

pub(in crate::http) fn read(bytes: &[u8], items_max: u64) -> Result<BatchChange, Problem> {
    let mut given = Given::new(ACCESS_IDS, items_max);
    let mut ids = Vec::new();
    let (mut known, mut unknown) = (HashSet::new(), HashSet::new());
    let json = LongList {
        known: &[OPERATION_TYPE.name, ACCESS_IDS, OPERATION_BODY.name],
        name: ACCESS_IDS,
        element: Keep::Outline,
        others: Keep::Fields(&[access::TARGET_STATUS.name, access::PASSWORD.name]),
        each: &mut |json| {
            let Some(index) = given.next() else { return };
            let id = match text(json) {
                Err(reason) => return given.fault(index, reason),
                Ok(text) => text.parse::<AccessId>().map_err(|_| text),
            };
            // One that is named again is still the one.
            let (is_new, id) = match id {
                Ok(id) => (known.insert(id), Ok(id)),
                Err(text) => {
                    let shown = printable(&text);
                    (unknown.insert(text), Err(shown))
                }
            };
            if is_new {
                ids.push(NamedAccess { index, id });
            }
        },
    };
    let json = json.parse(bytes).map_err(Problem::malformed)?;
    let mut faults = Faults::default();
    let mut body = Reader::new(json, "", &mut faults);
    let operation = body.required(OPERATION_TYPE);
    body.required_by(access_ids(items_max), |json| list(json).and_then(|_| given.check_count()));
    given.tell(&mut body);
    let change = body.required_by(OPERATION_BODY, object);
    let mut of_change = Faults::default();
    let operation = match (operation.into_known(), change.into_known()) {
        (Some(operation), Some(change)) => {
            let change = Reader::new(change, OPERATION_BODY.name, &mut of_change);
            Some(read_operation(operation, change))
        }
        // Whatever was meant, these are the fields that there are.
        (None, Some(change)) => {
            let change = Reader::new(change, OPERATION_BODY.name, &mut of_change);
            if !change.is_empty() {
                read_update(change);
            }
            None
        }
        (_, None) => None,
    };
    hand_on(of_change, &mut body);
    body.finish();
    faults.check().map_err(Problem::invalid)?;
    Ok(BatchChange {
        ids,
        operation: operation.expect("what is missing is a fault, and faults were checked"),
    })
}

/// Reads what is to change of all of them.
fn read_update(mut body: Reader<'_>) -> (Option<TargetStatus>, Option<Password>) {
    if body.is_empty() {
        body.fault_of_whole("must hold `status`, `password` or both");
    }
    let change = read_change(&mut body, "`status` and `password`");
    body.finish();
    change
}

fn read_operation(operation: OperationType, mut body: Reader<'_>) -> BatchOperation {
    match operation {
        OperationType::Update => {
            let (status, password) = read_update(body);
            BatchOperation::Update { status, password }
        }
        OperationType::Terminate => {
            if !body.is_empty() {
                body.fault_of_whole("must be empty, `{}`, for `terminate`");
            }
            BatchOperation::Terminate
        }
    }
}
