//! Case 6: reads of single accesses while other clients request lists that have to be counted.

use std::time::{Duration, Instant};

use crate::batches::load::{self, Asks};
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::line::Line;
use crate::lists::pages::{self, Page};
use crate::options::Options;
use crate::quantiles::Waits;
use crate::read;
use crate::stage::Stage;
use crate::turns::Ask;

/// Least duration of reads in each round.
const STRETCH: Duration = Duration::from_secs(3);
const STRETCH_QUICK: Duration = Duration::from_millis(500);

/// Connections that read, each with a pause after every response.
const N_READERS: usize = 4;

/// Highest p99 as a multiple of that without lists.
const GOAL: f64 = 2.0;

/// Measures reads alone, and during each of the lists that count.
pub(crate) fn measure(stage: &Stage, options: &Options) -> Result<Vec<Line>, Failure> {
    let (n_rounds, stretch) =
        (options.rounds(5, 3), if options.quick { STRETCH_QUICK } else { STRETCH });
    let reads = read::reads(stage);
    let readers: Vec<Asks<'_>> = reads
        .chunks(reads.len().div_ceil(N_READERS))
        .map(|own| Asks {
            address: stage.server.address(),
            requests: own.iter().map(|ask| ask.request.as_slice()).collect(),
        })
        .collect();
    let mut lines = Vec::new();
    for list in &pages::counted(stage.fleet) {
        let (mut p50, mut p99, mut during, mut times) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..n_rounds {
            let name = list.list;
            eprintln!("bench: reads beside a list by {name}, round {} of {n_rounds}", round + 1);
            let alone = || {
                let paused = || load::pause(stretch);
                let (seen, waits, ()) = load::beside_each(&readers, 200, Some(load::PACE), paused)?;
                Ok::<_, Failure>(Waits::of(waits, seen))
            };
            let mut beside = || {
                let listed = || list_for(stage, list, stretch);
                let (seen, waits, took) =
                    load::beside_each(&readers, 200, Some(load::PACE), listed)?;
                times.extend(took);
                Ok::<_, Failure>(Waits::of(waits, seen))
            };
            let (alone, beside) = if round.is_multiple_of(2) {
                (alone()?, beside()?)
            } else {
                let beside = beside()?;
                (alone()?, beside)
            };
            p50.push((beside.p50_us, alone.p50_us));
            p99.push((beside.p99_us, alone.p99_us));
            during.push(beside);
        }
        let what = |what: &str| format!("{what} beside lists by {}", list.list);
        let waits = Waits::median(during.into_iter());
        lines.push(Line::new(&what("p99 of reads"), "µs", p99).at_most(GOAL).with_waits(waits));
        lines.push(Line::new(&what("p50 of reads"), "µs", p50));
        lines.push(Line::alone(&format!("a list by {} itself", list.list), "ms", times));
    }
    Ok(lines)
}

/// Repeats a list request; returns the durations in milliseconds.
fn list_for(stage: &Stage, list: &Page, stretch: Duration) -> Result<Vec<f64>, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let expected = list.expected.clone();
    let ask = Ask::new(client::get(&list.path, &stage.token), move |answer| expected.check(answer));
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < stretch {
        let answer = client.ask(&ask.request)?;
        ask.check(&answer)?;
        times.push(answer.latency.as_secs_f64() * 1e3);
    }
    Ok(times)
}
