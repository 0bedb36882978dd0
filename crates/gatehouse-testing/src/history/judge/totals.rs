//! Totals equal the accesses that exist: exactly at the end, and within the possible range before.

use std::collections::{BTreeMap, BTreeSet};

use super::super::call::{Call, Moment, Request};
use super::super::settled::Settled;
use super::tasks::{first_begin, name_of, seen_ended_at};

pub(super) fn judge(calls: &[&Call], settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    let n = settled.accesses.len() as u64;
    let ids: BTreeSet<&str> = settled.accesses.iter().filter_map(|it| it["id"].as_str()).collect();
    if ids.len() as u64 != n {
        faults.push(format!("the whole list has {n} accesses, but {} IDs", ids.len()));
    }
    for total in settled.totals.iter().filter(|it| **it != n) {
        faults.push(format!("the total is {total}, and the whole list has {n}"));
    }
    for summary in &settled.summaries {
        let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
        for access in &settled.accesses {
            *statuses.entry(access["status"].as_str().unwrap_or_default()).or_default() += 1;
        }
        let by_status = summary["byStatus"].as_object();
        let shown = by_status.into_iter().flatten().filter_map(|(k, n)| Some((k, n.as_u64()?)));
        let shown: BTreeMap<&str, u64> =
            shown.filter(|(_, n)| *n > 0).map(|(status, n)| (status.as_str(), n)).collect();
        let per_day = summary["perDay"].as_array().into_iter().flatten();
        let per_day: u64 = per_day.filter_map(|it| it["created"].as_u64()).sum();
        if summary["total"].as_u64() != Some(n) || shown != statuses || per_day != n {
            faults.push(format!("there are {n}, {statuses:?}, and the summary has {summary}"));
        }
    }
    let making = CreationTimes::of(calls, settled);
    for call in calls.iter().filter(|it| it.request == Request::Count) {
        let Some(total) = call.answer.done().and_then(|it| it["total"].as_u64()) else { continue };
        let (sure, possible) = (making.sure(call.begin), making.possible(call.end));
        if total < sure || total > possible {
            faults.push(format!(
                "replica {} says {total}, and {sure} were there and {possible} at most: {call:?}",
                call.replica
            ));
        }
    }
    faults
}

/// Times at which creations started and were certain, with their numbers.
struct CreationTimes {
    begun: Vec<(Moment, u64)>,
    there: Vec<(Moment, u64)>,
}

impl CreationTimes {
    fn of(calls: &[&Call], settled: &Settled) -> Self {
        let (mut begun, mut there) = (BTreeMap::new(), BTreeMap::new());
        for call in calls {
            let Request::Create { device, .. } = &call.request else { continue };
            let first = begun.entry(device).or_insert(call.begin);
            *first = call.begin.min(*first);
            if call.answer.done().is_some() {
                let first = there.entry(device).or_insert(call.end);
                *first = call.end.min(*first);
            }
        }
        let one = |it: BTreeMap<&String, Moment>| it.into_values().map(|at| (at, 1)).collect();
        let mut making = Self { begun: one(begun), there: one(there) };
        for task in &settled.tasks {
            let Some((name, items)) = name_of(calls, task) else { continue };
            if items.makes_accesses() {
                let n = task.accesses().count() as u64;
                making.begun.push((first_begin(calls, name), n));
                making.there.push((seen_ended_at(calls, &task.id), n));
            }
        }
        making
    }

    fn sure(&self, before: Moment) -> u64 {
        self.there.iter().filter(|it| it.0 < before).map(|it| it.1).sum()
    }

    fn possible(&self, before: Moment) -> u64 {
        self.begun.iter().filter(|it| it.0 < before).map(|it| it.1).sum()
    }
}
