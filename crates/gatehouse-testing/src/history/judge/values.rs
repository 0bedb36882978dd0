//! Every later check and read, on every replica, sees every successful change.
//!
//! The possible values of an access at the time of a check follow from the changes: each may have been the last one,
//! unless it begins after the check has ended, or a change that certainly happened is entirely between the two. A
//! change with an unknown outcome may have happened, until a later change certainly has.

use std::collections::{BTreeMap, BTreeSet};

use super::super::call::{Call, Items, Moment, Request, Wanted};
use super::super::settled::Settled;
use super::tasks::{first_begin, seen_ended_at, task_of};

/// A change of one access.
struct Change<'a> {
    begin: Moment,
    end: Moment,
    is_certain: bool,
    lets_in: Option<bool>,
    password: Option<&'a str>,
}

pub(super) fn judge(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    let changes = changes(calls, settled);
    for call in calls {
        let (access, password) = match &call.request {
            Request::Check { access, password, .. } => (access, Some(password.as_str())),
            Request::Read { access } => (access, None),
            _ => continue,
        };
        let Some(changes) = changes.get(access.as_str()) else {
            faults.push(format!("no request created this access: {call:?}"));
            continue;
        };
        let lets_in = possible(changes, call, |it| it.lets_in);
        let (seen, may_be) = match (password, call.answer.done()) {
            (None, None) => continue,
            (None, Some(shown)) => {
                let seen = shown["status"] != "SUSPENDED";
                (seen, lets_in.contains(&seen))
            }
            (Some(password), Some(_)) => {
                let passwords = possible(changes, call, |it| it.password);
                (true, lets_in.contains(&true) && passwords.contains(password))
            }
            (Some(password), None) if call.answer.is_refusal() => {
                let passwords = possible(changes, call, |it| it.password);
                (false, lets_in.contains(&false) || passwords.iter().any(|it| *it != password))
            }
            (Some(_), None) => continue,
        };
        if !may_be {
            let seen = if seen { "lets in" } else { "doesn't let in" };
            let passwords = possible(changes, call, |it| it.password);
            faults.push(format!(
                "replica {} {seen}, but it may only be that lets_in is one of {lets_in:?} and the \
                 password one of {passwords:?}: {call:?}",
                call.replica
            ));
        }
    }
    faults
}

/// The possible values at the time of a call.
fn possible<'a, T: Ord>(
    changes: &[Change<'a>],
    call: &Call,
    of: impl Fn(&Change<'a>) -> Option<T>,
) -> BTreeSet<T> {
    let about = || changes.iter().filter(|it| of(it).is_some() && it.begin < call.end);
    let settled = about().filter(|it| it.is_certain && it.end < call.begin);
    let last_settled = settled.map(|it| it.begin).max().unwrap_or(0);
    about().filter(|it| it.end >= last_settled).filter_map(&of).collect()
}

/// All changes of each access, batches and the creation included.
fn changes<'a>(calls: &[&'a Call], settled: &'a Settled) -> BTreeMap<&'a str, Vec<Change<'a>>> {
    let mut changes: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    for call in calls {
        let (begin, end, is_certain) = (call.begin, call.end, call.answer.done().is_some());
        let change = |wanted: &'a Wanted| Change {
            begin,
            end,
            is_certain,
            lets_in: wanted.lets_in,
            password: wanted.password.as_deref(),
        };
        match &call.request {
            Request::Create { .. } => {
                let Some(made) = call.answer.done() else { continue };
                let (Some(id), password) = (made["id"].as_str(), made["password"].as_str()) else {
                    continue;
                };
                // A second response to the same key is no second creation.
                let known = changes.entry(id).or_default();
                if known.is_empty() {
                    known.push(Change { begin, end, is_certain, lets_in: Some(true), password });
                }
            }
            Request::Change { access, wanted } if !call.answer.is_refusal() => {
                changes.entry(access).or_default().push(change(wanted));
            }
            _ => {}
        }
    }
    for task in &settled.tasks {
        let Some((name, Items::Update { wanted, .. })) = task_of(calls, &task.id) else { continue };
        let (begin, end) = (first_begin(calls, name), seen_ended_at(calls, &task.id));
        for access in task.accesses() {
            let change = Change {
                begin,
                end,
                is_certain: true,
                lets_in: wanted.lets_in,
                password: wanted.password.as_deref(),
            };
            changes.entry(access).or_default().push(change);
        }
    }
    changes
}
