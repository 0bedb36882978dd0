//! Pages of a thousand events, against a page of a thousand accesses.

use serde::de::IgnoredAny;

use crate::client::{self, Answer};
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::TENANT;
use crate::options::RoundPlan;
use crate::result_line::ResultLine;
use crate::runner::{self, CheckedRequest, Runner};

const PAGE_SIZE: usize = 1000;

/// Most CPU, as a multiple of the page of accesses.
const GOAL: f64 = 2.0;

/// Measures pages of different kinds of events, each from its first event on.
pub(crate) fn measure(
    fixture: &Fixture,
    first_events: [(&str, u64); 2],
    plan: RoundPlan,
) -> Result<Vec<ResultLine>, Failure> {
    let accesses = [page(fixture, "access?")];
    let mut lines = Vec::new();
    for (which, first) in first_events {
        eprintln!("bench: pages of events {which}");
        let events = [page(fixture, &format!("event?after={}&", first - 1))];
        let mut measured = Runner::new(fixture, &events, 1)?;
        let mut beside = Runner::new(fixture, &accesses, 1)?;
        let mut rounds = Vec::new();
        for _ in 0..plan.n_rounds {
            let [events, accesses] =
                runner::run_round([&mut measured, &mut beside], plan.n_slices)?;
            rounds.push((events, accesses));
        }
        let what = format!("a page of {PAGE_SIZE} events {which}, beside one of accesses");
        lines.push(ResultLine::of_cpu(&what, &rounds).at_most(GOAL));
    }
    Ok(lines)
}

fn page(fixture: &Fixture, path: &str) -> CheckedRequest {
    let path = format!("/{TENANT}/{path}pageSize={PAGE_SIZE}");
    CheckedRequest::new(client::get(&path, &fixture.token), is_full)
}

fn is_full(answer: &Answer<'_>) -> Result<(), String> {
    let items = serde_json::from_slice::<Vec<IgnoredAny>>(answer.body).unwrap_or_default();
    match (answer.status, items.len()) {
        (200, PAGE_SIZE) => Ok(()),
        (status, n) => Err(format!("{status} with {n} items instead of {PAGE_SIZE}")),
    }
}
