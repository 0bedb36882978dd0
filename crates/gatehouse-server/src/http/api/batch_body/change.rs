//! The body of a batch of changes: the accesses, and the operation.

use std::collections::{BTreeSet, HashSet};

use gatehouse_core::filter::access::{self as filter, AccessFilter};
use gatehouse_core::filter::{Expression, FilterFault, FilterFields};
use gatehouse_core::{AccessId, LabelKey};

use super::super::access::read_update;
use super::{ElementCheck, Problem, report_faults};
use crate::app::access::AccessUpdate;
use crate::app::batch::{AccessSelection, BatchChange, BatchOperation, NamedAccess};
use crate::fields::access;
use crate::fields::batch::{
    ACCESS_FILTER, OPERATION_BODY, OPERATION_TYPE, OperationType, access_ids,
};
use crate::fields::label::LABEL_PATCH;
use crate::reader::{
    Fault, Faults, Keep, LongList, Reader, list, object, printable, shortened, text,
};

/// The language of [`ACCESS_FILTER`]: that of a list without the parameters of its request.
const FILTER_FIELDS: FilterFields = FilterFields { request: &[], ..filter::FILTER_FIELDS };

const ACCESS_IDS: &str = access_ids(0).name;

const UPDATE_FIELDS: &[&str] = &[
    access::TARGET_STATUS.name,
    access::PASSWORD.name,
    access::ROTATE_PASSWORD.name,
    LABEL_PATCH.name,
];

/// A batch of changes as the client describes it.
#[derive(Debug)]
pub(in crate::http) struct RequestedChange {
    /// The accesses that the client names.
    named: Vec<NamedAccess>,
    /// The filter that the client gives instead. Its only faults may be labels that the tenant doesn't filter by.
    expression: Option<Expression>,
    operation: BatchOperation,
    items_max: u64,
}

impl RequestedChange {
    /// Whether the filter compares labels.
    pub(in crate::http) fn names_labels(&self) -> bool {
        self.expression.as_ref().is_some_and(Expression::names_labels)
    }

    /// The change, for a tenant that filters by these labels.
    pub(in crate::http) fn with_labels(
        self,
        filterable: &BTreeSet<LabelKey>,
    ) -> Result<BatchChange, Problem> {
        let Self { named, expression, operation, items_max } = self;
        let Some(mut expression) = expression else {
            let selection = AccessSelection::Named(named);
            return Ok(BatchChange { selection, operation });
        };
        expression.ignore_other_labels(filterable);
        let faults = filter_faults(&expression);
        let filter = AccessFilter::read(&expression);
        let filter = filter.ok().filter(|_| faults.is_empty()).ok_or_else(|| {
            let faults = faults.into_iter();
            let fault = |reason| Fault { name: ACCESS_FILTER.name.to_owned(), reason };
            Problem::invalid(faults.map(fault).collect())
        })?;
        let selection = AccessSelection::Matching { filter, n_max: items_max };
        Ok(BatchChange { selection, operation })
    }
}

/// The faults of a filter. Nothing in it is ignored: a typing error must not change a fleet.
fn filter_faults(expression: &Expression) -> Vec<String> {
    let ignored = expression.ignored.iter().map(|it| (it.name.as_str(), &it.reason));
    let read = AccessFilter::read(expression).err().unwrap_or_default();
    let read = read.iter().map(|FilterFault { name, reason }| (name.as_str(), reason));
    let fault = |(name, reason): (&str, &String)| match name {
        "filter" => reason.clone(),
        name => format!("`{}` {reason}", shortened(name)),
    };
    let faults: Vec<String> = ignored.chain(read).map(fault).collect();
    if faults.is_empty() && expression.is_empty() {
        return vec!["must hold a condition, such as `contractId=C-PAYG`".into()];
    }
    faults
}

pub(in crate::http) fn read(bytes: &[u8], items_max: u64) -> Result<RequestedChange, Problem> {
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
    let expression = body.optional_by(ACCESS_FILTER, text);
    let expression = expression.map(|text| Expression::parse(&text, &FILTER_FIELDS));
    for reason in expression.as_ref().map(filter_faults).unwrap_or_default() {
        body.fault(ACCESS_FILTER.name, reason);
    }
    if has_filter && body.holds(ACCESS_IDS) {
        body.fault_of_whole("must hold `accessesIdList` or `accessFilter`, and holds both");
    }
    let check = |json| list(json).and_then(|_| elements.check_count());
    if has_filter {
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
    faults.check().map_err(Problem::invalid)?;
    Ok(RequestedChange {
        named: ids,
        expression,
        operation: operation.expect("a missing field is a fault, and faults were checked"),
        items_max,
    })
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
