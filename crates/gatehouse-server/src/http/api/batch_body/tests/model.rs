//! A simple model of both bodies over a JSON tree: the content of a valid body, or the invalid fields.

use super::*;
use gatehouse_core::{AccessId, ContractId, DeviceName, Username};

type ModelResult = Result<String, BTreeSet<String>>;

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|it| it.parse::<DeviceName>().is_ok())
}

fn is_password(text: &str) -> bool {
    (1..=72).contains(&text.len())
}

/// Adds the unknown fields of an object to the faults.
fn unknown(object: &Value, path: &str, known: &[&str], faults: &mut BTreeSet<String>) {
    for name in object.as_object().unwrap().keys() {
        if !known.contains(&name.as_str()) {
            faults.insert(format!("{path}{name}"));
        }
    }
}

fn finish(shown: String, faults: BTreeSet<String>) -> ModelResult {
    if faults.is_empty() { Ok(shown) } else { Err(faults) }
}

/// A field of a creation; `null` means absent.
fn given<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|it| !it.is_null())
}

/// Fields of a creation that are ignored.
const IGNORED: [&str; 3] = ["@type", "@baseType", "@schemaLocation"];

pub(in crate::http::api::batch_body::tests) fn new(body: &Value, max: usize) -> ModelResult {
    let mut faults = BTreeSet::new();
    if !body.is_object() {
        return Err(["body".to_owned()].into());
    }
    unknown(
        body,
        "",
        &[&IGNORED[..], &["contractId", "numberOfAccesses", "accesses"]].concat(),
        &mut faults,
    );
    if given(body, "numberOfAccesses").is_some() == given(body, "accesses").is_some() {
        faults.insert("body".into());
    }
    let contract = body["contractId"].as_str().filter(|it| it.parse::<ContractId>().is_ok());
    if contract.is_none() {
        faults.insert("contractId".into());
    }
    let mut shown = contract.unwrap_or_default().to_owned();
    if let Some(count) = given(body, "numberOfAccesses") {
        match count.as_f64().filter(|it| it.fract() == 0.0 && (1.0..=max as f64).contains(it)) {
            Some(count) => shown += &format!("\ncount {count}"),
            None => drop(faults.insert("numberOfAccesses".into())),
        }
    }
    if let Some(items) = given(body, "accesses") {
        let all = items.as_array().cloned().unwrap_or_default();
        if !(1..=max).contains(&all.len()) {
            faults.insert("accesses".into());
        }
        for (n, item) in all.iter().take(max).enumerate() {
            shown += &format!("\n{}", new_item(item, &format!("accesses[{n}]"), &mut faults));
        }
    }
    finish(shown, faults)
}

fn new_item(item: &Value, path: &str, faults: &mut BTreeSet<String>) -> String {
    if !item.is_object() {
        faults.insert(path.into());
        return String::new();
    }
    unknown(
        item,
        &format!("{path}."),
        &[&IGNORED[..], &["username", "password", "deviceName"]].concat(),
        faults,
    );
    let mut unfit = Vec::new();
    for field in ["username", "password", "deviceName"] {
        let Some(value) = given(item, field) else { continue };
        let Some(text) = value.as_str() else {
            faults.insert(format!("{path}.{field}"));
            continue;
        };
        let is_fit = match field {
            "username" => text.parse::<Username>().is_ok(),
            "password" => is_password(text),
            _ => is_name(value),
        };
        if !is_fit {
            unfit.push(field);
        }
    }
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    if unfit.is_empty() {
        let (username, password) = (text("username"), text("password"));
        return format!("fit {username:?} {password:?} {:?}", text("deviceName"));
    }
    let short =
        |name: &str| text(name).map(|it| it.chars().take(64).map(shown_char).collect::<String>());
    let (username, device_name) = (short("username"), short("deviceName"));
    format!("unfit {:?} {:?} {unfit:?}", username.as_deref(), device_name.as_deref())
}

pub(in crate::http::api::batch_body::tests) fn change(body: &Value, max: usize) -> ModelResult {
    let mut faults = BTreeSet::new();
    if !body.is_object() {
        return Err(["body".to_owned()].into());
    }
    let known = ["operationType", "accessFilter", "accessesIdList", "operationBody"];
    unknown(body, "", &known, &mut faults);
    let kind = body["operationType"].as_str().filter(|it| ["update", "terminate"].contains(it));
    if kind.is_none() {
        faults.insert("operationType".into());
    }
    let ids = body["accessesIdList"].as_array().cloned().unwrap_or_default();
    if !(1..=max).contains(&ids.len()) {
        faults.insert("accessesIdList".into());
    }
    let mut shown = String::new();
    for (n, id) in ids.iter().take(max).enumerate() {
        match id.as_str() {
            None => drop(faults.insert(format!("accessesIdList[{n}]"))),
            Some(_) if ids[..n].contains(id) => {}
            Some(text) if text.parse::<AccessId>().is_ok() => shown += &format!("\n{n} {text}"),
            Some(text) => {
                shown += &format!(
                    "\n{n} no {}",
                    text.chars().take(64).map(shown_char).collect::<String>()
                );
            }
        }
    }
    let operation = &body["operationBody"];
    match kind {
        _ if !operation.is_object() => drop(faults.insert("operationBody".into())),
        Some("terminate") => {
            if !operation.as_object().unwrap().is_empty() {
                faults.insert("operationBody".into());
            }
            shown = format!("terminate{shown}");
        }
        Some(_) | None => {
            if kind.is_some() && operation.as_object().unwrap().is_empty() {
                faults.insert("operationBody".into());
            }
            unknown(operation, "operationBody.", &["status", "password"], &mut faults);
            let text = |name: &str| operation.get(name).and_then(Value::as_str);
            let statuses = ["ACTIVE", "SUSPENDED", "TERMINATED"];
            let status = text("status").filter(|it| statuses.contains(it));
            let password = text("password").filter(|it| is_password(it));
            for (name, value) in [("status", status), ("password", password)] {
                if operation.get(name).is_some() && value.is_none() {
                    faults.insert(format!("operationBody.{name}"));
                }
            }
            shown = format!("update {status:?} {password:?}{shown}");
        }
    }
    finish(shown, faults)
}

fn shown_char(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}
