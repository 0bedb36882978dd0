//! Every Task has ended, has done what it shows and nothing else, and never went back to an earlier state.

use std::collections::BTreeMap;

use super::super::call::{Answer, Call, Items, Moment, Request};
use super::super::settled::{Settled, SettledTask, is_over};
use serde_json::Value;

pub(super) fn judge(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = judge_names(calls, settled);
    let mut made: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut statuses: BTreeMap<&str, &str> = BTreeMap::new();
    for access in &settled.accesses {
        let id = access["id"].as_str().unwrap_or_default();
        statuses.insert(id, access["status"].as_str().unwrap_or_default());
        if let Some(task) = access["createdBy"].as_str() {
            made.entry(task).or_default().push(id);
        }
    }
    for task in &settled.tasks {
        let Some((_, items)) = name_of(calls, task) else {
            faults.push(format!("no request created {task:?}"));
            continue;
        };
        let made = made.remove(task.id.as_str()).unwrap_or_default();
        let accesses: Vec<&str> = task.accesses().collect();
        let mut fault = |what: String| faults.push(format!("{} {}: {what}", task.id, task.state));
        judge_state(calls, task, items, &mut fault);
        if items.makes_accesses() && made != accesses {
            fault(format!("it made {made:?}, and says {accesses:?}"));
        }
        if let Items::Terminate { .. } = items {
            for access in &accesses {
                let status = statuses.get(access);
                let has_ended = settled.is_month_over && status == Some(&"TERMINATED");
                if status != Some(&"PENDING_TERMINATE") && !has_ended {
                    fault(format!("{access} is to end, and is {status:?}"));
                }
            }
        }
    }
    for (task, made) in made {
        faults.push(format!("there is no Task {task}, but {made:?} of it"));
    }
    faults.extend(judge_looks(calls));
    faults
}

/// Checks that every accepted batch exists, and each at most once.
fn judge_names(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    let mut tasks: BTreeMap<&str, &str> = BTreeMap::new();
    for call in calls {
        let Request::Batch { name, .. } = &call.request else { continue };
        let Some(id) = call.answer.done().and_then(|it| it["id"].as_str()) else { continue };
        if *tasks.entry(name).or_insert(id) != id {
            faults.push(format!("{name} has two Tasks, {} and {id}", tasks[name.as_str()]));
        }
        if !settled.tasks.iter().any(|it| it.id == id) {
            faults.push(format!("lost: {name}, answered {id}"));
        }
    }
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for task in &settled.tasks {
        let Some((name, _)) = name_of(calls, task) else { continue };
        if let Some(other) = named.insert(name, &task.id) {
            faults.push(format!("{name} was done twice, by {other} and {}", task.id));
        }
    }
    faults
}

fn judge_state(calls: &[&Call], task: &SettledTask, items: &Items, fault: &mut dyn FnMut(String)) {
    let stops = calls
        .iter()
        .filter(|it| matches!(&it.request, Request::Stop { task: stopped } if *stopped == task.id));
    let stops: Vec<&Answer> = stops.map(|it| &it.answer).collect();
    let (was_stopped, may_be_stopped) =
        (stops.iter().any(|it| it.done().is_some()), stops.iter().any(|it| !it.is_refusal()));
    let is_stopped = task.state == "TERMINATED";
    if was_stopped && !is_stopped || is_stopped && !may_be_stopped {
        fault(format!("stopping it was answered {stops:?}"));
    }
    let indices: Vec<u64> = task.items.iter().filter_map(|it| it["index"].as_u64()).collect();
    let n = if is_stopped { indices.len() } else { items.n() };
    if indices != (0..n as u64).collect::<Vec<_>>() || n > items.n() {
        fault(format!("of {} items it has done {indices:?}", items.n()));
    }
    let failing = items.failing().filter(|it| *it < n);
    let expected = if failing.is_some() { "FAILED" } else { "DONE" };
    if !is_stopped && task.state != expected {
        fault(format!("it should be {expected}"));
    }
    for item in &task.items {
        let is_failing = item["index"].as_u64() == failing.map(|it| it as u64);
        let says_why = item["error"]["status"].is_u64() && item["error"]["title"].is_string();
        let is_right = match item["state"].as_str() {
            Some("failed") => is_failing && says_why,
            Some("succeeded") => !is_failing && item["access"]["id"].is_string(),
            _ => false,
        };
        if !is_right {
            fault(format!("an item that should be otherwise: {item}"));
        }
    }
    let n_failed = u64::from(failing.is_some());
    let progress = ["total", "succeeded", "failed"].map(|name| task.progress[name].as_u64());
    let expected = [items.n() as u64, n as u64 - n_failed, n_failed].map(Some);
    if progress != expected {
        fault(format!("its progress is {}, and should be {expected:?}", task.progress));
    }
}

/// Once a client has seen the end of a Task, every client sees that end.
fn judge_looks(calls: &[&Call]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut over: BTreeMap<&str, (Moment, &Value)> = BTreeMap::new();
    let mut looks: Vec<(&Call, &String, &Value)> = Vec::new();
    for call in calls {
        let (Request::Look { task }, Some(shown)) = (&call.request, call.answer.done()) else {
            continue;
        };
        looks.push((call, task, shown));
        if is_over(shown) {
            let first = over.entry(task).or_insert((call.end, shown));
            first.0 = first.0.min(call.end);
        }
    }
    for (call, task, shown) in looks {
        let Some((at, end)) = over.get(task.as_str()) else { continue };
        if call.begin > *at && shown["state"] != end["state"] {
            faults.push(format!("{task} was {} before: {call:?}", end["state"]));
        }
    }
    faults
}

/// Name and items of a Task's batch, if its request succeeded.
pub(super) fn task_of<'a>(calls: &[&'a Call], id: &str) -> Option<(&'a str, &'a Items)> {
    calls.iter().find_map(|call| match (&call.request, call.answer.done()) {
        (Request::Batch { name, items, .. }, Some(task)) if task["id"] == id => {
            Some((name.as_str(), items))
        }
        _ => None,
    })
}

/// Name and items of a Task's batch, also if its response was lost: then by the new accesses' devices.
pub(super) fn name_of<'a>(calls: &[&'a Call], task: &SettledTask) -> Option<(&'a str, &'a Items)> {
    let by_device = || {
        let first = task.items.first().map(|it| match it["access"].is_object() {
            true => &it["access"]["deviceName"],
            false => &it["error"]["deviceName"],
        })?;
        calls.iter().find_map(|call| match &call.request {
            Request::Batch { name, items: items @ Items::Listed { devices, .. }, .. }
                if devices.first().is_some_and(|it| first == it) =>
            {
                Some((name.as_str(), items))
            }
            _ => None,
        })
    };
    task_of(calls, &task.id).or_else(by_device)
}

/// Time of a batch's first request.
pub(super) fn first_begin(calls: &[&Call], wanted: &str) -> Moment {
    let asked = calls
        .iter()
        .filter(|it| matches!(&it.request, Request::Batch { name, .. } if name == wanted));
    asked.map(|it| it.begin).min().unwrap_or(0)
}

/// Time at which a client first saw that a Task has ended.
pub(super) fn seen_ended_at(calls: &[&Call], id: &str) -> Moment {
    let looks = calls.iter().filter(|it| {
        matches!(&it.request, Request::Look { task } if task == id)
            && it.answer.done().is_some_and(is_over)
    });
    looks.map(|it| it.end).min().unwrap_or(Moment::MAX)
}
