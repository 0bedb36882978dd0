//! Case 1: reading one access, against a constant response of the same size.

use crate::client::{self, Answer, Client};
use crate::failure::Failure;
use crate::fleet::{TENANT, mix_up};
use crate::line::Line;
use crate::options::RoundPlan;
use crate::stage::Stage;
use crate::turns::{self, Ask, Runner};

/// Connections: many, as on a busy server, and one.
const N_CONNECTIONS: [(usize, &str); 2] = [(16, "16 connections"), (1, "one connection")];

/// Different accesses that are read, from all over the store: more than the server's cache has.
const N_ACCESSES: u64 = 20_000;

/// Most CPU as a multiple of the yardstick's.
pub(crate) const GOAL_SQLITE: f64 = 1.8;
pub(crate) const GOAL_POSTGRES: f64 = 2.0;

/// The goal of one look-up on a busy server.
pub(crate) fn goal(stage: &Stage) -> f64 {
    if stage.database_process_id.is_some() { GOAL_POSTGRES } else { GOAL_SQLITE }
}

/// Measures reads.
pub(crate) fn measure(stage: &Stage, course: RoundPlan) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: reading accesses");
    let asks = reads(stage);
    let yardstick = [constant(stage, typical_bytes(stage, &asks)?)];
    compare(stage, &asks, &yardstick, course, "a read", goal(stage))
}

/// Measures requests against a yardstick, over many connections and over one. The goal is for many.
pub(crate) fn compare(
    stage: &Stage,
    asks: &[Ask],
    yardstick: &[Ask],
    course: RoundPlan,
    what: &str,
    goal: f64,
) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for (n_connections, how) in N_CONNECTIONS {
        let mut measured = Runner::new(stage, asks, n_connections)?;
        let mut beside = Runner::new(stage, yardstick, n_connections)?;
        let mut rounds = Vec::new();
        for _ in 0..course.n_rounds {
            rounds.push(turns::take([&mut measured, &mut beside], course.n_slices)?.into());
        }
        let line = Line::of_cpu(&format!("{what}, {how}"), &rounds);
        lines.push(if n_connections > 1 { line.at_most(goal) } else { line });
    }
    Ok(lines)
}

/// Requests for accesses from all over the store.
pub(crate) fn reads(stage: &Stage) -> Vec<Ask> {
    let apart = (stage.fleet.n_accesses / N_ACCESSES).max(1) as usize;
    // An odd step, so that accesses of every kind are among them.
    let accesses = stage.fleet.accesses().step_by(apart | 1);
    let ask = accesses.map(|access| {
        let request = client::get(&format!("/{TENANT}/access/{}", access.id()), &stage.token);
        let username = access.username();
        Ask::new(request, move |answer| {
            let body = String::from_utf8_lossy(answer.body);
            match answer.status == 200 && body.contains(&username) {
                true => Ok(()),
                false => Err(format!("{} instead of {username}: {body}", answer.status)),
            }
        })
    });
    let mut asks: Vec<Ask> = ask.collect();
    mix_up(&mut asks);
    asks
}

/// A request for a constant response of `n_bytes` bytes.
fn constant(stage: &Stage, n_bytes: usize) -> Ask {
    let path = format!("/{TENANT}/yardstick?bytes={n_bytes}");
    Ask::new(client::get(&path, &stage.token), move |answer| of_bytes(answer, n_bytes))
}

/// Checks that a response has `n_bytes` bytes.
pub(crate) fn of_bytes(answer: &Answer<'_>, n_bytes: usize) -> Result<(), String> {
    match (answer.status, answer.body.len()) {
        (200, length) if length == n_bytes => Ok(()),
        (status, length) => Err(format!("{status} with {length} bytes instead of {n_bytes}")),
    }
}

/// The median length of the responses.
pub(crate) fn typical_bytes(stage: &Stage, asks: &[Ask]) -> Result<usize, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let mut lengths = Vec::new();
    for ask in asks {
        let answer = client.ask(&ask.request)?;
        ask.check(&answer)?;
        lengths.push(answer.body.len());
    }
    lengths.sort_unstable();
    Ok(lengths.get(lengths.len() / 2).copied().unwrap_or(1))
}
