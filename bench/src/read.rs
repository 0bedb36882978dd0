//! Case 1: reading one access, against a constant response of the same size.

use crate::client::{self, Answer, Client};
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::{TENANT, shuffle};
use crate::options::RoundPlan;
use crate::result_line::ResultLine;
use crate::runner::{self, CheckedRequest, Runner};

/// Connections: many, as on a busy server, and one.
const N_CONNECTIONS: [(usize, &str); 2] = [(16, "16 connections"), (1, "one connection")];

/// Different accesses that are read, from all over the store: more than the server's cache has.
const N_ACCESSES: u64 = 20_000;

/// Most CPU as a multiple of the yardstick's.
pub(crate) const GOAL_SQLITE: f64 = 1.8;
pub(crate) const GOAL_POSTGRES: f64 = 2.0;

/// The goal of one look-up on a busy server.
pub(crate) fn goal(fixture: &Fixture) -> f64 {
    if fixture.database_process_id.is_some() { GOAL_POSTGRES } else { GOAL_SQLITE }
}

pub(crate) fn measure(fixture: &Fixture, plan: RoundPlan) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: reading accesses");
    let requests = reads(fixture);
    let yardstick = [constant(fixture, typical_bytes(fixture, &requests)?)];
    compare(fixture, &requests, &yardstick, plan, "a read", goal(fixture))
}

/// Measures requests against a yardstick, over many connections and over one. The goal is for many.
pub(crate) fn compare(
    fixture: &Fixture,
    requests: &[CheckedRequest],
    yardstick: &[CheckedRequest],
    plan: RoundPlan,
    what: &str,
    goal: f64,
) -> Result<Vec<ResultLine>, Failure> {
    let mut lines = Vec::new();
    for (n_connections, how) in N_CONNECTIONS {
        let mut measured = Runner::new(fixture, requests, n_connections)?;
        let mut beside = Runner::new(fixture, yardstick, n_connections)?;
        let mut rounds = Vec::new();
        for _ in 0..plan.n_rounds {
            rounds.push(runner::run_round([&mut measured, &mut beside], plan.n_slices)?.into());
        }
        let line = ResultLine::of_cpu(&format!("{what}, {how}"), &rounds);
        lines.push(if n_connections > 1 { line.at_most(goal) } else { line });
    }
    Ok(lines)
}

/// Requests for accesses from all over the store.
pub(crate) fn reads(fixture: &Fixture) -> Vec<CheckedRequest> {
    let apart = (fixture.fleet.n_accesses / N_ACCESSES).max(1) as usize;
    // An odd step, so that accesses of every kind are among them.
    let accesses = fixture.fleet.accesses().step_by(apart | 1);
    let checked = accesses.map(|access| {
        let request = client::get(&format!("/{TENANT}/access/{}", access.id()), &fixture.token);
        let username = access.username();
        CheckedRequest::new(request, move |answer| {
            let body = String::from_utf8_lossy(answer.body);
            match answer.status == 200 && body.contains(&username) {
                true => Ok(()),
                false => Err(format!("{} instead of {username}: {body}", answer.status)),
            }
        })
    });
    let mut requests: Vec<CheckedRequest> = checked.collect();
    shuffle(&mut requests);
    requests
}

/// A request for a constant response of `n_bytes` bytes.
fn constant(fixture: &Fixture, n_bytes: usize) -> CheckedRequest {
    let path = format!("/{TENANT}/yardstick?bytes={n_bytes}");
    CheckedRequest::new(client::get(&path, &fixture.token), move |answer| of_bytes(answer, n_bytes))
}

/// Checks that a response has `n_bytes` bytes.
pub(crate) fn of_bytes(answer: &Answer<'_>, n_bytes: usize) -> Result<(), String> {
    match (answer.status, answer.body.len()) {
        (200, length) if length == n_bytes => Ok(()),
        (status, length) => Err(format!("{status} with {length} bytes instead of {n_bytes}")),
    }
}

pub(crate) fn typical_bytes(
    fixture: &Fixture,
    requests: &[CheckedRequest],
) -> Result<usize, Failure> {
    let mut client = Client::connect(fixture.server.address())?;
    let mut lengths = Vec::new();
    for checked in requests {
        let answer = client.call(&checked.request)?;
        checked.check(&answer)?;
        lengths.push(answer.body.len());
    }
    lengths.sort_unstable();
    Ok(lengths.get(lengths.len() / 2).copied().unwrap_or(1))
}
