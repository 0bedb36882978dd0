//! The body of a batch of changes: the accesses, and the operation.

use std::collections::{BTreeSet, HashSet};

use gatehouse_core::{AccessId, LabelKey};

use super::super::access::read_update;
use super::{ElementCheck, Problem, report_faults};
use crate::app::access::AccessUpdate;
use crate::app::batch::{AccessSelection, BatchChange, BatchOperation, NamedAccess};
use crate::app::batch_filter::BatchFilter;
use crate::fields::access;
use crate::fields::batch::{
    ACCESS_FILTER, OPERATION_BODY, OPERATION_TYPE, OperationType, access_ids,
};
use crate::fields::label::LABEL_PATCH;
use crate::reader::{Fault, Faults, Keep, LongList, Reader, list, object, printable, text};

const ACCESS_IDS: &str = access_ids(0).name;

const UPDATE_FIELDS: &[&str] = &[
    access::TARGET_STATUS.name,
    access::PASSWORD.name,
    access::ROTATE_PASSWORD.name,
    LABEL_PATCH.name,
];

/// Parses the body of a tenant that filters by these labels.
pub(in crate::http) fn read(
    bytes: &[u8],
    items_max: u64,
    label_keys: &BTreeSet<LabelKey>,
) -> Result<BatchChange, Problem> {
    let mut elements = ElementCheck::new(ACCESS_IDS, items_max);
    let mut ids = Vec::new();
    let (mut known, mut unknown) = (HashSet::new(), HashSet::new());
    let json = LongList {
        known: &[OPERATION_TYPE.name, ACCESS_IDS, ACCESS_FILTER.name, OPERATION_BODY.name],
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
    let mut body = Reader::new(json, "", &mut faults).of_post();
    let operation = body.required(OPERATION_TYPE);
    let has_filter = body.holds(ACCESS_FILTER.name);
    let filter =
        body.optional_by(ACCESS_FILTER, text).map(|text| BatchFilter::parse(&text, label_keys));
    for reason in filter.as_ref().and_then(|it| it.as_ref().err()).into_iter().flatten() {
        body.fault(ACCESS_FILTER.name, reason.clone());
    }
    if has_filter && body.holds(ACCESS_IDS) {
        body.fault_of_whole("must hold `accessesIdList` or `accessFilter`, and holds both");
    }
    let check = |json| list(json).and_then(|_| elements.check_count());
    if has_filter || !body.names(ACCESS_IDS) {
        if !has_filter {
            body.fault_of_missing(ACCESS_IDS, ACCESS_FILTER.name);
        }
        body.optional_by(access_ids(items_max), check);
    } else {
        body.required_by(access_ids(items_max), check);
    }
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
    if let Err(mut faults) = faults.check() {
        // Alone, an unknown label is found later, because a request that was accepted before has no fault.
        let labels = filter.and_then(Result::ok).map(|filter| filter.with_labels(label_keys));
        let reasons = labels.and_then(Result::err).unwrap_or_default().into_iter();
        let fault = |reason| Fault { name: ACCESS_FILTER.name.to_owned(), reason };
        faults.extend(reasons.map(fault));
        return Err(Problem::invalid(faults));
    }
    let selection = match filter {
        Some(Ok(filter)) => AccessSelection::Matching { filter, n_max: items_max },
        // A faulty one is a fault.
        Some(Err(_)) | None => AccessSelection::Named(ids),
    };
    let operation = operation.expect("a missing field is a fault, and faults were checked");
    Ok(BatchChange { selection, operation })
}

fn read_operation(operation: OperationType, mut body: Reader<'_>) -> BatchOperation {
    match operation {
        OperationType::Update => {
            let AccessUpdate { status, password, labels } = read_update(body);
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
