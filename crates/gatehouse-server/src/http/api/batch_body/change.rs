//! The body of a batch of changes: the accesses, and the operation.

use std::collections::HashSet;

use gatehouse_core::AccessId;
use gatehouse_core::credential::Password;
use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::TargetStatus;

use super::super::access::read_change;
use super::{ElementCheck, Problem, report_faults};
use crate::app::batch::{BatchChange, BatchOperation, NamedAccess};
use crate::fields::access;
use crate::fields::batch::{OPERATION_BODY, OPERATION_TYPE, OperationType, access_ids};
use crate::fields::label::LABEL_PATCH;
use crate::reader::{Faults, Keep, LongList, Reader, list, object, printable, text};

const ACCESS_IDS: &str = access_ids(0).name;

const UPDATE_FIELDS: &[&str] =
    &[access::TARGET_STATUS.name, access::PASSWORD.name, LABEL_PATCH.name];

pub(in crate::http) fn read(bytes: &[u8], items_max: u64) -> Result<BatchChange, Problem> {
    let mut elements = ElementCheck::new(ACCESS_IDS, items_max);
    let mut ids = Vec::new();
    let (mut known, mut unknown) = (HashSet::new(), HashSet::new());
    let json = LongList {
        known: &[OPERATION_TYPE.name, ACCESS_IDS, OPERATION_BODY.name],
        name: ACCESS_IDS,
        element: Keep::Outline,
        others: Keep::FieldsAndInside(UPDATE_FIELDS, LABEL_PATCH.name),
        each: &mut |json| {
            let Some(index) = elements.next() else { return };
            let id = match text(json) {
                Err(reason) => return elements.fault(index, reason),
                Ok(text) => text.parse::<AccessId>().map_err(|_| text),
            };
            // A duplicate counts once.
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
    body.required_by(access_ids(items_max), |json| list(json).and_then(|_| elements.check_count()));
    elements.report(&mut body);
    let change = body.required_by(OPERATION_BODY, object);
    let mut change_faults = Faults::default();
    let operation = match (operation.into_option(), change.into_option()) {
        (Some(operation), Some(change)) => {
            let change = Reader::new(change, OPERATION_BODY.name, &mut change_faults);
            Some(read_operation(operation, change))
        }
        // Without a valid operation, the fields of an update are checked.
        (None, Some(change)) => {
            let change = Reader::new(change, OPERATION_BODY.name, &mut change_faults);
            if !change.is_empty() {
                read_update(change);
            }
            None
        }
        (_, None) => None,
    };
    report_faults(change_faults, &mut body);
    body.finish();
    faults.check().map_err(Problem::invalid)?;
    Ok(BatchChange {
        ids,
        operation: operation.expect("a missing field is a fault, and faults were checked"),
    })
}

/// The fields of an update: status, password and labels.
type UpdateFields = (Option<TargetStatus>, Option<Password>, Option<LabelPatch>);

/// Reads the change of an update.
fn read_update(mut body: Reader<'_>) -> UpdateFields {
    if body.is_empty() {
        body.fault_of_whole("must hold `status`, `password`, `labels` or several of them");
    }
    let change = read_change(&mut body, "`status`, `password` and `labels`");
    body.finish();
    change
}

fn read_operation(operation: OperationType, mut body: Reader<'_>) -> BatchOperation {
    match operation {
        OperationType::Update => {
            let (status, password, labels) = read_update(body);
            BatchOperation::Update { status, password, labels }
        }
        OperationType::Terminate => {
            if !body.is_empty() {
                body.fault_of_whole("must be empty, `{}`, for `terminate`");
            }
            BatchOperation::Terminate
        }
    }
}
