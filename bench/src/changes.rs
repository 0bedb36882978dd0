//! Case 16: changes that lists by status and label show, against changes of a label that no list is filtered by.
//!
//! Both write the access's row. The first also take it out of one counted set and put it into another.

use serde_json::{Value, json};

use crate::batches::batch::{self, Caller};
use crate::batches::measure_usage;
use crate::client;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::{CONTRACTS, Fleet, TENANT, shuffle};
use crate::options::Options;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;
use crate::runner::{self, CheckedRequest, Runner, Sample};

/// Different accesses that single requests change, from all over the store.
const N_ACCESSES: usize = 20_000;

/// Accesses that a batch changes.
const N_BATCH: usize = 100_000;

/// Most CPU of server and database, as a multiple of the yardstick's.
const GOAL_ONE: f64 = 2.0;
const GOAL_MANY: f64 = 3.0;
const GOAL_IN_ORDER: f64 = 1.2;
const GOAL_AT_RANDOM: f64 = 2.0;
const GOAL_THREE_LABELS: f64 = 1.5;

pub(crate) fn measure(fixture: &Fixture, options: &Options) -> Result<Vec<ResultLine>, Failure> {
    let mut lines = singles(fixture, options)?;
    lines.extend(batches(fixture, options)?);
    lines.push(labelled_creations(fixture, options)?);
    Ok(lines)
}

/// Changes of one access each.
fn singles(fixture: &Fixture, options: &Options) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: changes of single accesses");
    let plan = options.round_plan(15, 3);
    let ids = spread_ids(fixture.fleet, N_ACCESSES);
    let statuses =
        patches(fixture, &ids, &json!({"status": "SUSPENDED"}), &json!({"status": "ACTIVE"}));
    let unlisted = patches(
        fixture,
        &ids,
        &json!({"labels": {"unlisted": "a"}}),
        &json!({"labels": {"unlisted": "b"}}),
    );
    let mut lines = Vec::new();
    for (n_connections, how, goal) in
        [(1, "one connection", GOAL_ONE), (64, "64 connections", GOAL_MANY)]
    {
        let mut measured = Runner::new(fixture, &statuses, n_connections)?;
        let mut beside = Runner::new(fixture, &unlisted, n_connections)?;
        let mut rounds = Vec::new();
        for _ in 0..plan.n_rounds {
            rounds.push(runner::run_round([&mut measured, &mut beside], plan.n_slices)?);
        }
        lines.push(line(&format!("a change of the status, {how}"), &rounds).at_most(goal));
    }
    Ok(lines)
}

/// Batches that change many accesses, in the order of their numbers and at random.
fn batches(fixture: &Fixture, options: &Options) -> Result<Vec<ResultLine>, Failure> {
    let address = fixture.server.address().to_owned();
    let caller = Caller { address, token: fixture.token.clone() };
    let in_order = oldest_ids(fixture.fleet, N_BATCH);
    let at_random = spread_ids(fixture.fleet, N_BATCH);

    let n_rounds = options.rounds(4, 2);
    let mut lines = Vec::new();
    for (how, ids, goal) in
        [("in order", in_order, GOAL_IN_ORDER), ("at random", at_random, GOAL_AT_RANDOM)]
    {
        let mut rounds = Vec::new();
        for round in 0..n_rounds {
            eprintln!("bench: {N_BATCH} changes {how}, round {} of {n_rounds}", round + 1);
            let change = |operation: Value| -> Result<f64, Failure> {
                let body = batch::change(&ids, &operation);
                let run = || Ok(caller.change(&body, ids.len() as u32)?.took);
                let server = fixture.server.process_id();
                let used = measure_usage(server, fixture.database_process_id, run)?;
                Ok(used.cpu_seconds)
            };
            let is_even = round.is_multiple_of(2);
            let (status, value) = if is_even { ("SUSPENDED", "a") } else { ("ACTIVE", "b") };
            let status = change(json!({"status": status}))?;
            rounds.push((status, change(json!({"labels": {"unlisted": value}}))?));
        }
        let what = format!("{N_BATCH} changes of the status in a batch, {how}");
        lines.push(ResultLine::new(&what, "s", rounds).cpu().at_most(goal));
    }
    Ok(lines)
}

/// Creations with labels that lists are filtered by, against creations without labels.
fn labelled_creations(fixture: &Fixture, options: &Options) -> Result<ResultLine, Failure> {
    eprintln!("bench: creations with labels");
    let plan = options.round_plan(7, 3);
    let labels = json!({"site": "hamburg", "team": "north", "model": "x1"});
    let with = [creation(fixture, &json!({"contractId": CONTRACTS[1], "labels": labels}))];
    let without = [creation(fixture, &json!({"contractId": CONTRACTS[1]}))];
    let mut measured = Runner::new(fixture, &with, 64)?;
    let mut beside = Runner::new(fixture, &without, 64)?;
    let mut rounds = Vec::new();
    for _ in 0..plan.n_rounds {
        rounds.push(runner::run_round([&mut measured, &mut beside], plan.n_slices)?);
    }
    let what = "a creation with three labels, beside none, 64 connections";
    Ok(line(what, &rounds).at_most(GOAL_THREE_LABELS))
}

/// CPU of the server and of the database, for requests and their yardstick.
fn line(what: &str, rounds: &[[Sample; 2]]) -> ResultLine {
    let cpu_us = |it: &Sample| it.cpu_us + it.database_cpu_us.unwrap_or_default();
    let figures = rounds.iter().map(|[one, other]| (cpu_us(one), cpu_us(other)));
    let latencies = Latencies::median(rounds.iter().map(|[one, _]| one.latencies));
    ResultLine::new(what, "µs", figures.collect()).cpu().with_latencies(latencies)
}

/// The oldest active accesses, in the order of the list.
pub(crate) fn oldest_ids(fleet: Fleet, n: usize) -> Vec<String> {
    fleet.active().take(n).map(|it| it.id().to_string()).collect()
}

/// Active accesses from all over the store, in no order.
pub(crate) fn spread_ids(fleet: Fleet, n: usize) -> Vec<String> {
    let apart = (fleet.n_active() as usize / n).max(1);
    let accesses = fleet.active().step_by(apart).take(n);
    let mut ids: Vec<String> = accesses.map(|it| it.id().to_string()).collect();
    shuffle(&mut ids);
    ids
}

/// Requests that change each access in one way, and then each in the other, so that every request changes something.
fn patches(fixture: &Fixture, ids: &[String], one: &Value, other: &Value) -> Vec<CheckedRequest> {
    let patch = |id: &String, body: &Value| {
        let path = format!("/{TENANT}/access/{id}");
        let request = client::patch(&path, &fixture.token, &body.to_string());
        CheckedRequest::new(request, |answer| of_status(answer.status, 200))
    };
    let of_all = |body| ids.iter().map(move |id| patch(id, body));
    of_all(one).chain(of_all(other)).collect()
}

fn creation(fixture: &Fixture, body: &Value) -> CheckedRequest {
    let path = format!("/{TENANT}/access");
    let request = client::post(&path, &fixture.token, &body.to_string());
    CheckedRequest::new(request, |answer| of_status(answer.status, 201))
}

fn of_status(status: u16, expected: u16) -> Result<(), String> {
    if status == expected { Ok(()) } else { Err(format!("{status} instead of {expected}")) }
}
