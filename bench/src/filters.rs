//! Case 6: reads of single accesses while other clients request lists that have to be counted.

use std::time::{Duration, Instant};

use crate::batches::load::{self, RepeatingClient};
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::lists::pages::{self, Page};
use crate::options::Options;
use crate::quantiles::Latencies;
use crate::read;
use crate::result_line::ResultLine;
use crate::runner::CheckedRequest;

/// Least duration of reads in each round.
const STRETCH: Duration = Duration::from_secs(3);
const STRETCH_QUICK: Duration = Duration::from_millis(500);

/// Connections that read, each with a pause after every response.
const N_READERS: usize = 4;

/// Highest p99 as a multiple of that without lists.
const GOAL: f64 = 2.0;

/// Measures reads alone, and during each of the lists that count.
pub(crate) fn measure(fixture: &Fixture, options: &Options) -> Result<Vec<ResultLine>, Failure> {
    let (n_rounds, period) =
        (options.rounds(5, 3), if options.quick { STRETCH_QUICK } else { STRETCH });
    let reads = read::reads(fixture);
    let readers: Vec<RepeatingClient<'_>> = reads
        .chunks(reads.len().div_ceil(N_READERS))
        .map(|own| RepeatingClient {
            address: fixture.server.address(),
            requests: own.iter().map(|checked| checked.request.as_slice()).collect(),
        })
        .collect();
    let mut lines = Vec::new();
    for list in &pages::counted(fixture.fleet) {
        let (mut p50, mut p99, mut during, mut times) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..n_rounds {
            let name = list.list;
            eprintln!("bench: reads during lists by {name}, round {} of {n_rounds}", round + 1);
            let alone = || {
                let paused = || load::pause(period);
                let (seen, latencies, ()) =
                    load::during_load_of_each(&readers, 200, Some(load::PACE), paused)?;
                Ok::<_, Failure>(Latencies::of(latencies, seen))
            };
            let mut beside = || {
                let listed = || list_for(fixture, list, period);
                let (seen, latencies, took) =
                    load::during_load_of_each(&readers, 200, Some(load::PACE), listed)?;
                times.extend(took);
                Ok::<_, Failure>(Latencies::of(latencies, seen))
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
        let latencies = Latencies::median(during.into_iter());
        lines.push(
            ResultLine::new(&what("p99 of reads"), "µs", p99)
                .at_most(GOAL)
                .with_latencies(latencies),
        );
        lines.push(ResultLine::new(&what("p50 of reads"), "µs", p50));
        lines.push(ResultLine::alone(&format!("a list by {} itself", list.list), "ms", times));
    }
    Ok(lines)
}

/// Repeats a list request; returns the durations in milliseconds.
fn list_for(fixture: &Fixture, list: &Page, period: Duration) -> Result<Vec<f64>, Failure> {
    let mut client = Client::connect(fixture.server.address())?;
    let expected = list.expected.clone();
    let checked = CheckedRequest::new(client::get(&list.path, &fixture.token), move |answer| {
        expected.check(answer)
    });
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < period {
        let answer = client.call(&checked.request)?;
        checked.check(&answer)?;
        times.push(answer.latency.as_secs_f64() * 1e3);
    }
    Ok(times)
}
