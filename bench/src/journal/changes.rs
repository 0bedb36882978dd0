//! Changes with events, against the same changes without.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Pair;
use super::size::JournalFile;
use crate::batches::batch::{self, Caller};
use crate::batches::{load, measure_usage};
use crate::changes::{oldest_ids, spread_ids};
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::{CONTRACTS, TENANT};
use crate::options::Options;
use crate::result_line::ResultLine;

/// Accesses in a batch.
const N_BATCH: u32 = 100_000;

/// Clients that change accesses at the same time.
const N_CLIENTS: usize = 64;

/// Most CPU of server and database, as a multiple of that without a journal.
const GOAL_BATCH: f64 = 1.15;
const GOAL_CREATION: f64 = 1.25;
const GOAL_CHANGE: f64 = 1.4;

/// Most bytes of the journal for an event of a batch.
const GOAL_BYTES: f64 = 4.0;

/// Longest wait for the number of a committed event.
const NUMBERED_WITHIN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct Measured {
    pub(crate) lines: Vec<ResultLine>,
    /// Number of the first event that was written meanwhile.
    pub(crate) first_event: u64,
}

/// Batches that create accesses and that change them, in the order of their numbers and at random.
pub(crate) fn batches(
    pair: &Pair,
    file: &JournalFile<'_>,
    n_rounds: usize,
) -> Result<Measured, Failure> {
    let first_event = last_event(&pair.with_journal)? + 1;
    let fleet = pair.with_journal.fleet;
    let [in_order, at_random] =
        [oldest_ids(fleet, N_BATCH as usize), spread_ids(fleet, N_BATCH as usize)];
    let status = |round: usize| if round.is_multiple_of(2) { "SUSPENDED" } else { "ACTIVE" };
    type Body<'a> = Box<dyn Fn(usize) -> String + 'a>;
    let batches: [(&str, &str, Body<'_>); 3] = [
        ("batch", "creations", Box::new(|_| batch::by_number(N_BATCH))),
        (
            "batchUpdate",
            "changes of the status, in order",
            Box::new(|round| batch::with_status(&in_order, status(round))),
        ),
        (
            "batchUpdate",
            "changes of the status, at random",
            Box::new(|round| batch::with_status(&at_random, status(round))),
        ),
    ];
    let (mut lines, mut sizes) = (Vec::new(), Vec::new());
    for (path, what, body) in &batches {
        let (mut rounds, n_bytes_before) = (Vec::new(), file.n_bytes()?);
        for round in 0..n_rounds {
            eprintln!("bench: {N_BATCH} {what}, round {} of {n_rounds}", round + 1);
            let body = body(round);
            let cost = |fixture: &Fixture, has_journal| {
                run(fixture, has_journal, N_BATCH.into(), || {
                    let address = fixture.server.address().to_owned();
                    let caller = Caller { address, token: fixture.token.clone() };
                    Ok(caller.run(path, &body, N_BATCH)?.took)
                })
            };
            rounds.push(in_turn(round, pair, cost)?);
        }
        let n_bytes = (file.n_bytes()? - n_bytes_before) as f64;
        let n_events = n_rounds as f64 * f64::from(N_BATCH);
        sizes.push(
            ResultLine::alone(&format!("bytes of an event: {what}"), "", vec![n_bytes / n_events])
                .at_most(GOAL_BYTES),
        );
        let what = format!("a batch of {N_BATCH} {what}");
        lines.push(ResultLine::new(&what, "µs", rounds).cpu().at_most(GOAL_BATCH));
    }
    lines.extend(sizes);
    Ok(Measured { lines, first_event })
}

/// Creations and changes of one access each.
pub(crate) fn singles(pair: &Pair, options: &Options) -> Result<Measured, Failure> {
    let first_event = last_event(&pair.with_journal)? + 1;
    let n_each = if options.quick { 16 } else { 64 };
    let n_rounds = options.rounds(7, 3);
    let ids = spread_ids(pair.with_journal.fleet, N_CLIENTS * n_each);
    let creation = |token: &str, _: &String, _: &str| {
        let body = json!({"contractId": CONTRACTS[1]}).to_string();
        client::post(&format!("/{TENANT}/access"), token, &body)
    };
    let change = |token: &str, id: &String, status: &str| {
        let body = json!({"status": status}).to_string();
        client::patch(&format!("/{TENANT}/access/{id}"), token, &body)
    };
    type Request<'a> = &'a dyn Fn(&str, &String, &str) -> Vec<u8>;
    let singles: [(&str, Request<'_>, u16, usize, f64); 3] = [
        ("a creation, 64 connections", &creation, 201, N_CLIENTS, GOAL_CREATION),
        ("a change of the status, one connection", &change, 200, 1, GOAL_CHANGE),
        ("a change of the status, 64 connections", &change, 200, N_CLIENTS, GOAL_CHANGE),
    ];
    let mut lines = Vec::new();
    for (what, request, expected, n_clients, goal) in singles {
        let ids: Vec<&[String]> = ids.chunks(n_each * N_CLIENTS / n_clients).collect();
        let mut rounds = Vec::new();
        // The first round opens connections and prepares statements, and is not counted. Each round changes every
        // access: an even number of rounds leaves them as they were.
        for round in 0..=n_rounds {
            eprintln!("bench: {what}, with and without events, round {round} of {n_rounds}");
            let status = if round.is_multiple_of(2) { "SUSPENDED" } else { "ACTIVE" };
            let cost = |fixture: &Fixture, has_journal| {
                let of_client = |ids: &&[String]| {
                    ids.iter().map(|id| request(&fixture.token, id, status)).collect()
                };
                let requests: Vec<Vec<Vec<u8>>> = ids.iter().map(of_client).collect();
                let n_events = requests.iter().map(Vec::len).sum::<usize>() as u64;
                run(fixture, has_journal, n_events, || {
                    send_all(fixture.server.address(), &requests, expected)
                })
            };
            let both = in_turn(round, pair, cost)?;
            if round > 0 {
                rounds.push(both);
            }
        }
        lines.push(ResultLine::new(what, "µs", rounds).cpu().at_most(goal));
    }
    Ok(Measured { lines, first_event })
}

/// Measures both servers; the one that goes first changes with each round.
fn in_turn(
    round: usize,
    pair: &Pair,
    cost: impl Fn(&Fixture, bool) -> Result<f64, Failure>,
) -> Result<(f64, f64), Failure> {
    if round.is_multiple_of(2) {
        let with_journal = cost(&pair.with_journal, true)?;
        Ok((with_journal, cost(&pair.without, false)?))
    } else {
        let without = cost(&pair.without, false)?;
        Ok((cost(&pair.with_journal, true)?, without))
    }
}

/// CPU in microseconds for each of so many changes, until their events have numbers if the server has a journal.
fn run(
    fixture: &Fixture,
    has_journal: bool,
    n_changes: u64,
    work: impl FnOnce() -> Result<Duration, Failure>,
) -> Result<f64, Failure> {
    let before = last_event(fixture)?;
    let cost = measure_usage(fixture.server.process_id(), fixture.database_process_id, || {
        let took = work()?;
        if has_journal {
            wait_until_numbered(fixture, before + n_changes)?;
        }
        Ok(took)
    })?;
    if !has_journal && last_event(fixture)? != before {
        let why = "the server without a journal has written events".to_owned();
        return Err(Failure::WrongAnswer(why));
    }
    Ok(cost.cpu_seconds * 1e6 / n_changes as f64)
}

/// Each client sends its requests one after the other; returns the duration.
fn send_all(address: &str, requests: &[Vec<Vec<u8>>], expected: u16) -> Result<Duration, Failure> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> = requests
            .iter()
            .map(|requests| {
                scope.spawn(move || {
                    let mut client = Client::connect(address)?;
                    for request in requests {
                        client.call_for_json(request, expected)?;
                    }
                    Ok(())
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| {
            client.join().map_err(|_| Failure::Step("a client panicked".to_owned()))?
        })
    })?;
    Ok(begun.elapsed())
}

fn last_event(fixture: &Fixture) -> Result<u64, Failure> {
    let path = format!("/{TENANT}/event?after=last&pageSize=1");
    let mut client = Client::connect(fixture.server.address())?;
    let answer = client.call(&client::get(&path, &fixture.token))?;
    answer.event_number.ok_or_else(|| {
        let body = String::from_utf8_lossy(answer.body);
        Failure::WrongAnswer(format!("{} {body} instead of the last event", answer.status))
    })
}

fn wait_until_numbered(fixture: &Fixture, number: u64) -> Result<(), Failure> {
    let begun = Instant::now();
    while last_event(fixture)? < number {
        if begun.elapsed() > NUMBERED_WITHIN {
            let why = format!("no event has the number {number} after {NUMBERED_WITHIN:?}");
            return Err(Failure::WrongAnswer(why));
        }
        load::pause(POLL_INTERVAL)?;
    }
    Ok(())
}
