//! Case 12: all devices reconnect at once, while the server has other work.
//!
//! Some thousands of checks, a fifth of which are wrong, arrive over many connections, as fast as they are answered:
//! alone, and while chosen passwords keep the pool of slow hashes full and batches run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::batch::{self, Caller};
use crate::check;
use crate::client::Client;
use crate::devices::Credentials;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::options::Options;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;

const N_CHECKS: usize = 50_000;
const N_CHECKS_QUICK: usize = 5_000;

/// Connections of the checks.
const N_CONNECTIONS: usize = 32;

/// Connections that send wrong chosen passwords, so that each has to be hashed.
const N_SLOW: usize = 16;

/// Accesses in a batch that runs meanwhile.
const N_BATCH: u32 = 100_000;

/// Highest p99 as a multiple of that without other work.
const GOAL: f64 = 4.0;

/// A check with its expected result.
struct Check {
    request: Vec<u8>,
    status: u16,
}

/// Measures storms, alternating with and without other work.
pub(crate) fn measure(
    fixture: &Fixture,
    devices: &[Credentials],
    options: &Options,
) -> Result<Vec<ResultLine>, Failure> {
    let n_checks = if options.quick { N_CHECKS_QUICK } else { N_CHECKS };
    let checks = checks(fixture, devices);
    let slow: Vec<Vec<u8>> = check::chosen(fixture, N_SLOW)?
        .into_iter()
        .map(|it| Credentials { password: "wrong".into(), ..it })
        .map(|it| check::request(fixture, "verify", &it))
        .collect();
    let address = fixture.server.address();
    let caller = Caller { address: address.to_owned(), token: fixture.token.clone() };
    let (mut p50, mut p99, mut during) = (Vec::new(), Vec::new(), Vec::new());
    let (mut n_slow, mut n_batches) = (Vec::new(), Vec::new());
    let n_rounds = options.rounds(5, 3);
    for round in 0..n_rounds {
        eprintln!("bench: a storm of {n_checks} checks, round {} of {n_rounds}", round + 1);
        let alone = || storm(address, &checks, n_checks);
        let busy = || with_other_work(&caller, &slow, || storm(address, &checks, n_checks));
        let (alone, (busy, done)) = if round.is_multiple_of(2) {
            (alone()?, busy()?)
        } else {
            let busy = busy()?;
            (alone()?, busy)
        };
        if done.slow_per_second == 0.0 || done.n_batches == 0 {
            let why = format!("nothing else went on during a storm: {done:?}");
            return Err(Failure::Step(why));
        }
        p50.push((busy.p50_us, alone.p50_us));
        p99.push((busy.p99_us, alone.p99_us));
        during.push(busy);
        n_slow.push(done.slow_per_second);
        n_batches.push(done.n_batches as f64);
    }
    let latencies = Latencies::median(during.into_iter());
    Ok(vec![
        ResultLine::new("p99 while all else goes on", "µs", p99)
            .at_most(GOAL)
            .with_latencies(latencies),
        ResultLine::new("p50 while all else goes on", "µs", p50),
        ResultLine::alone("slow hashes meanwhile", "1/s", n_slow),
        ResultLine::alone("batches of 100,000 begun meanwhile", "", n_batches),
    ])
}

/// Four in five are right; the others have another device's password. Unknown usernames are left out: for half of them
/// the server does a slow hash, so that timing reveals no usernames.
fn checks(fixture: &Fixture, devices: &[Credentials]) -> Vec<Check> {
    let check = |(nth, device): (usize, &Credentials)| {
        let other = &devices[(nth + 1) % devices.len()];
        let (credentials, status) = match nth % 5 {
            3 => (Credentials { password: other.password.clone(), ..device.clone() }, 401),
            _ => (device.clone(), 200),
        };
        Check { request: check::request(fixture, "verify", &credentials), status }
    };
    devices.iter().enumerate().map(check).collect()
}

/// Sends checks over all connections together.
fn storm(address: &str, checks: &[Check], n_checks: usize) -> Result<Latencies, Failure> {
    let next = AtomicUsize::new(0);
    let begun = Instant::now();
    let latencies = thread::scope(|scope| {
        let next = &next;
        let clients: Vec<_> = (0..N_CONNECTIONS)
            .map(|_| scope.spawn(move || check_until(address, checks, next, n_checks)))
            .collect();
        let latencies =
            clients.into_iter().map(|client| client.join().map_err(|_| panicked()).flatten());
        latencies.collect::<Result<Vec<_>, Failure>>()
    })?;
    Ok(Latencies::of(latencies, begun.elapsed()))
}

fn check_until(
    address: &str,
    checks: &[Check],
    next: &AtomicUsize,
    n_checks: usize,
) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(address)?;
    let mut latencies = Vec::new();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        if nth >= n_checks {
            return Ok(latencies);
        }
        let check = &checks[nth % checks.len()];
        let answer = client.call(&check.request)?;
        if answer.status != check.status {
            let said = String::from_utf8_lossy(answer.body);
            return Err(Failure::WrongAnswer(format!(
                "a check gave {} instead of {}: {said}",
                answer.status, check.status
            )));
        }
        latencies.push(answer.latency);
    }
}

/// Other work that was done.
#[derive(Debug)]
struct OtherWork {
    slow_per_second: f64,
    n_batches: u32,
}

/// Does some work while slow hashes fill their pool and batches run one after the other.
fn with_other_work(
    caller: &Caller,
    slow: &[Vec<u8>],
    work: impl FnOnce() -> Result<Latencies, Failure>,
) -> Result<(Latencies, OtherWork), Failure> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let hashing: Vec<_> = slow
            .iter()
            .map(|request| scope.spawn(move || fail_until(&caller.address, request, is_over)))
            .collect();
        let batches = scope.spawn(move || batches_until(caller, is_over));
        let begun = Instant::now();
        let latencies = work();
        let seen = begun.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let mut n_slow = 0;
        for client in hashing {
            n_slow += client.join().map_err(|_| panicked()).flatten()?;
        }
        let n_batches = batches.join().map_err(|_| panicked()).flatten()?;
        let slow_per_second = f64::from(n_slow) / seen.as_secs_f64();
        Ok((latencies?, OtherWork { slow_per_second, n_batches }))
    })
}

/// Sends wrong passwords until the work has ended; returns how many were hashed. Refusals don't count.
fn fail_until(address: &str, request: &[u8], is_over: &AtomicBool) -> Result<u32, Failure> {
    let mut client = Client::connect(address)?;
    let mut n_hashed = 0;
    while !is_over.load(Ordering::Relaxed) {
        let answer = client.call(request)?;
        match answer.status {
            401 => n_hashed += 1,
            503 => {}
            status => {
                let said = String::from_utf8_lossy(answer.body);
                return Err(Failure::WrongAnswer(format!(
                    "a wrong password gave {status}: {said}"
                )));
            }
        }
    }
    Ok(n_hashed)
}

fn batches_until(caller: &Caller, is_over: &AtomicBool) -> Result<u32, Failure> {
    let mut n_batches = 0;
    while !is_over.load(Ordering::Relaxed) {
        caller.make(&batch::by_number(N_BATCH), N_BATCH)?;
        n_batches += 1;
    }
    Ok(n_batches)
}

fn panicked() -> Failure {
    Failure::Step("a client panicked".to_owned())
}
