//! Case 6: reading single accesses while others ask for lists that have to be counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::load;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::line::Line;
use crate::lists::pages::{self, Page};
use crate::quantiles::Waits;
use crate::read;
use crate::stage::Stage;
use crate::turns::Ask;

/// How long reads are watched at least, in each turn.
const STRETCH: Duration = Duration::from_secs(3);

/// Connections that read, each with a pause behind every answer.
const N_READERS: usize = 4;

/// How many times longer one in a hundred may wait.
const GOAL: f64 = 2.0;

/// Measures reads alone, and beside each of the lists that count.
pub(crate) fn measure(stage: &Stage, n_rounds: usize) -> Result<Vec<Line>, Failure> {
    let reads = read::reads(stage);
    let reads: Vec<&[u8]> = reads.iter().map(|ask| ask.request.as_slice()).collect();
    let counted = pages::counted(stage.fleet);
    let mut lines = Vec::new();
    for list in &counted {
        let (mut p50, mut p99, mut during, mut times) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..n_rounds {
            eprintln!(
                "bench: reads beside a list by {}, round {} of {n_rounds}",
                list.list,
                round + 1
            );
            let (alone, _) = read_beside(stage, &reads, || load::pause(STRETCH))?;
            let (beside, took) = read_beside(stage, &reads, || list_for(stage, list))?;
            p50.push((beside.p50_us, alone.p50_us));
            p99.push((beside.p99_us, alone.p99_us));
            during.push(beside);
            times.extend(took);
        }
        let what = |what: &str| format!("{what} beside lists by {}", list.list);
        let waits = Waits::median(during.into_iter());
        lines.push(Line::new(&what("p99 of reads"), "µs", p99).at_most(GOAL).with_waits(waits));
        lines.push(Line::new(&what("p50 of reads"), "µs", p50));
        lines.push(Line::alone(&format!("a list by {} itself", list.list), "ms", times));
    }
    Ok(lines)
}

/// Asks for a list again and again; tells how long it took each time, in milliseconds.
fn list_for(stage: &Stage, list: &Page) -> Result<Vec<f64>, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let expected = list.expected.clone();
    let ask = Ask::new(client::get(&list.path, &stage.token), move |answer| expected.check(answer));
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < STRETCH {
        let answer = client.ask(&ask.request)?;
        ask.check(&answer)?;
        times.push(answer.latency.as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Reads while something else is done.
fn read_beside<T>(
    stage: &Stage,
    reads: &[&[u8]],
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Waits, T), Failure> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let readers: Vec<_> = (0..N_READERS)
            .map(|nth| scope.spawn(move || read_until(stage.server.address(), reads, nth, is_over)))
            .collect();
        let begun = Instant::now();
        let worked = work();
        let seen = begun.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let waits = readers.into_iter().map(|reader| match reader.join() {
            Ok(waits) => waits,
            Err(_) => Err(Failure::Trouble("a reader panicked".to_owned())),
        });
        let waits = waits.collect::<Result<Vec<_>, Failure>>()?;
        Ok((Waits::of(waits, seen), worked?))
    })
}

fn read_until(
    address: &str,
    reads: &[&[u8]],
    nth: usize,
    is_over: &AtomicBool,
) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(address)?;
    let mut waits = Vec::new();
    let own = reads.iter().cycle().skip(nth * reads.len() / N_READERS);
    for request in own.take_while(|_| !is_over.load(Ordering::Relaxed)) {
        let answer = client.ask(request)?;
        if answer.status != 200 {
            return Err(Failure::WrongAnswer(format!("{} for an access", answer.status)));
        }
        waits.push(answer.latency);
        load::pause(load::PACE)?;
    }
    Ok(waits)
}
