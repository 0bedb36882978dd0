//! What was made alone is there once: surely when it was answered, at most when nobody knows.

use std::collections::BTreeMap;

use super::super::call::{Call, Request};
use super::super::settled::Settled;
use serde_json::Value;

pub(super) fn judge(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    let mut there: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for access in settled.accesses.iter().filter(|it| it["createdBy"].is_null()) {
        let Some(device) = access["deviceName"].as_str() else {
            faults.push(format!("nobody asked for {access}"));
            continue;
        };
        there.entry(device).or_default().push(access);
    }
    for twice in there.values().filter(|it| it.len() > 1) {
        faults.push(format!("made twice: {} and {}", twice[0], twice[1]));
    }
    let mut asked: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        if let Request::Create { device, .. } = &call.request {
            asked.entry(device).or_default().push(call);
        }
    }
    for device in there.keys().filter(|it| !asked.contains_key(**it)) {
        faults.push(format!("nobody asked for {device}"));
    }
    for (device, calls) in &asked {
        let answers: Vec<&Value> = calls.iter().filter_map(|it| it.answer.done()).collect();
        // The address is that of the replica that was asked.
        let said = |it: &Value| {
            ["id", "username", "password", "deviceName", "status"].map(|name| it[name].clone())
        };
        for other in answers.iter().filter(|it| said(it) != said(answers[0])) {
            faults.push(format!("{device}: two answers to one key: {} and {other}", answers[0]));
        }
        match (answers.first(), there.get(device)) {
            (Some(answer), None) => faults.push(format!("lost: {device}, answered {answer}")),
            (Some(answer), Some(there)) => {
                if there.iter().any(|it| it["id"] != answer["id"]) {
                    faults.push(format!("{device} is another than was answered: {answer}"));
                }
                if there.iter().any(|it| it["username"] != answer["username"]) {
                    faults.push(format!("{device} has another username than answered: {answer}"));
                }
            }
            (None, Some(there)) if calls.iter().all(|it| it.answer.is_refusal()) => {
                faults.push(format!("{device} was refused, and yet there is {}", there[0]));
            }
            (None, _) => {}
        }
    }
    faults
}
