//! Checks single creations: a creation exists once if it succeeded, and at most once if its outcome is unknown.

use std::collections::BTreeMap;

use super::super::call::{Call, Request};
use super::super::settled::Settled;
use serde_json::Value;

pub(super) fn judge(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    let mut existing: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for access in settled.accesses.iter().filter(|it| it["createdBy"].is_null()) {
        let Some(device) = access["deviceName"].as_str() else {
            faults.push(format!("no request created {access}"));
            continue;
        };
        existing.entry(device).or_default().push(access);
    }
    for copies in existing.values().filter(|it| it.len() > 1) {
        faults.push(format!("created twice: {} and {}", copies[0], copies[1]));
    }
    let mut requested: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        if let Request::Create { device, .. } = &call.request {
            requested.entry(device).or_default().push(call);
        }
    }
    for device in existing.keys().filter(|it| !requested.contains_key(**it)) {
        faults.push(format!("no request created {device}"));
    }
    for (device, calls) in &requested {
        let answers: Vec<&Value> = calls.iter().filter_map(|it| it.answer.done()).collect();
        // The location names the replica that responded.
        let values = |it: &Value| {
            ["id", "username", "password", "deviceName", "status"].map(|name| it[name].clone())
        };
        for other in answers.iter().filter(|it| values(it) != values(answers[0])) {
            faults.push(format!("{device}: two answers to one key: {} and {other}", answers[0]));
        }
        match (answers.first(), existing.get(device)) {
            (Some(answer), None) => faults.push(format!("lost: {device}, answered {answer}")),
            (Some(answer), Some(existing)) => {
                if existing.iter().any(|it| it["id"] != answer["id"]) {
                    faults.push(format!("{device} is another than was answered: {answer}"));
                }
                if existing.iter().any(|it| it["username"] != answer["username"]) {
                    faults.push(format!("{device} has another username than answered: {answer}"));
                }
            }
            (None, Some(existing)) if calls.iter().all(|it| it.answer.is_refusal()) => {
                faults.push(format!("{device} was refused, and yet there is {}", existing[0]));
            }
            (None, _) => {}
        }
    }
    faults
}
