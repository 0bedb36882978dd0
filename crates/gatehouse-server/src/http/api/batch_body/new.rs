//! The body of a batch of new accesses: a number, or a list.

use std::fmt::Display;

use gatehouse_core::credential::Password;
use gatehouse_vault::ForeignHash;

use super::{ElementCheck, Problem};
use crate::app::batch::{InvalidItem, NewBatch, NewItem, NewItems, ValidItem};
use crate::app::chosen_password::ChosenPassword;
use crate::fields::access;
use crate::fields::batch::{accesses, number_of_accesses};
use crate::fields::label::{self, LABELS, LabelFaults};
use crate::fields::password_hash::{self, PASSWORD_HASH};
use crate::reader::{Fault, Faults, Json, Keep, LongList, Reader, list, printable, text};

const ITEM_FIELDS: &[&str] = &[
    access::USERNAME.name,
    access::PASSWORD.name,
    PASSWORD_HASH.name,
    access::DEVICE_NAME.name,
    LABELS.name,
];

const NUMBER: &str = number_of_accesses(0).name;
const ACCESSES: &str = accesses(0).name;

pub(in crate::http) fn read(bytes: &[u8], items_max: u64) -> Result<NewBatch, Problem> {
    let mut elements = ElementCheck::new(ACCESSES, items_max);
    let mut items = Vec::new();
    let json = LongList {
        known: &[access::CONTRACT_ID.name, NUMBER, ACCESSES, LABELS.name],
        name: ACCESSES,
        element: Keep::FieldsAndInside(ITEM_FIELDS, LABELS.name),
        // For the labels.
        others: Keep::Fields(&[]),
        each: &mut |json| {
            if let Some(index) = elements.next() {
                items.push(read_item(json, index, &mut elements.faults));
            }
        },
    };
    let json = json.parse(bytes).map_err(Problem::malformed)?;
    let mut faults = Faults::default();
    let mut body = Reader::new(json, "", &mut faults).of_creation();
    match (body.holds(NUMBER), body.holds(ACCESSES)) {
        (true, true) => {
            body.fault_of_whole("must hold `numberOfAccesses` or `accesses`, and holds both");
        }
        (false, false) => body.fault_of_whole("must hold `numberOfAccesses` or `accesses`"),
        _ => {}
    }
    if body.holds(ACCESSES) && body.holds(LABELS.name) {
        let reason = "is for `numberOfAccesses`; of `accesses`, each has its own labels";
        body.fault(LABELS.name, reason);
    }
    let contract_id = body.required(access::CONTRACT_ID);
    let count = body.optional(number_of_accesses(items_max));
    body.optional_by(accesses(items_max), |json| list(json).and_then(|_| elements.check_count()));
    let labels = label::optional_labels(&mut body).unwrap_or_default();
    elements.report(&mut body);
    body.finish();
    faults.check().map_err(Problem::invalid)?;
    let count = count.map(|count| u32::try_from(count).expect("no batch is allowed more"));
    let items = match count {
        Some(n) => NewItems::Count(n, labels),
        None => NewItems::Explicit(items),
    };
    Ok(NewBatch { contract_id: contract_id.value(), items })
}

fn read_item(json: Json, index: u32, faults: &mut Faults) -> NewItem {
    let mut item = Reader::new(json, &format!("{ACCESSES}[{index}]"), faults).of_creation();
    let username = item.optional_by(access::USERNAME, text);
    password_hash::refuse_both(&mut item);
    let password = item.optional_by(access::PASSWORD, text);
    let hash = item.optional_by(PASSWORD_HASH, text);
    let device_name = item.optional_by(access::DEVICE_NAME, text);
    let mut of_labels = LabelFaults::default();
    let labels = item.optional_by(LABELS, |json| label::read_labels(json, &mut of_labels));
    for Fault { name, reason } in of_labels.ill_formed {
        item.fault(&name, reason);
    }
    item.finish();
    let mut faults = of_labels.out_of_bounds;
    let valid_username =
        username.as_deref().and_then(|it| valid(access::USERNAME.name, it.parse(), &mut faults));
    let password =
        password.and_then(|it| valid(access::PASSWORD.name, Password::new(it), &mut faults));
    let hash = hash.and_then(|it| valid(PASSWORD_HASH.name, ForeignHash::parse(it), &mut faults));
    let item = ValidItem {
        username: valid_username,
        password: ChosenPassword::of_fields(password, hash),
        device_name: device_name
            .as_deref()
            .and_then(|it| valid(access::DEVICE_NAME.name, it.parse(), &mut faults)),
        labels: labels.unwrap_or_default(),
    };
    if faults.is_empty() {
        return NewItem::Valid(item);
    }
    let [username, device_name] = [username, device_name].map(|it| it.map(|it| printable(&it)));
    NewItem::Invalid(InvalidItem { username, device_name, faults })
}

/// The value of a field; an invalid value becomes a fault of its item.
fn valid<T, E: Display>(name: &str, value: Result<T, E>, faults: &mut Vec<Fault>) -> Option<T> {
    let add_fault = |bad: E| faults.push(Fault { name: name.to_owned(), reason: bad.to_string() });
    value.map_err(add_fault).ok()
}
