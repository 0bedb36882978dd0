//! Clients that repeat requests during some work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::batch::Caller;
use crate::client::Client;
use crate::failure::Failure;

/// Pause of a client between a response and the next request.
pub(crate) const PACE: Duration = Duration::from_millis(2);

/// A client that repeats requests: its server's address, and the requests in turn.
#[derive(Clone, Debug)]
pub(crate) struct Asks<'a> {
    pub(crate) address: &'a str,
    pub(crate) requests: Vec<&'a [u8]>,
}

/// Does some work while clients, one per request, repeat their requests. Returns the work's duration, and each client's
/// latencies.
pub(crate) fn beside<T>(
    caller: &Caller,
    requests: &[Vec<u8>],
    status: u16,
    pace: Option<Duration>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Duration, Vec<Vec<Duration>>), Failure> {
    let address = caller.address.as_str();
    let asks = requests.iter().map(|it| Asks { address, requests: vec![it.as_slice()] });
    let (took, waits, _) = beside_each(&asks.collect::<Vec<_>>(), status, pace, work)?;
    Ok((took, waits))
}

/// Does some work while each client repeats its requests at its own address. Also returns the work's result.
pub(crate) fn beside_each<T>(
    asks: &[Asks<'_>],
    status: u16,
    pace: Option<Duration>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Duration, Vec<Vec<Duration>>, T), Failure> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let clients: Vec<_> = asks
            .iter()
            .map(|asks| scope.spawn(move || ask_until(asks, status, pace, is_over)))
            .collect();
        let begun = Instant::now();
        let worked = work();
        let took = begun.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let waits = clients.into_iter().map(|client| match client.join() {
            Ok(waits) => waits,
            Err(_) => Err(Failure::Trouble("a client panicked".to_owned())),
        });
        let waits = waits.collect::<Result<Vec<_>, Failure>>()?;
        worked.map(|worked| (took, waits, worked))
    })
}

fn ask_until(
    asks: &Asks<'_>,
    status: u16,
    pace: Option<Duration>,
    is_over: &AtomicBool,
) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(asks.address)?;
    let mut waits = Vec::new();
    for request in asks.requests.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
        let answer = client.ask(request)?;
        if answer.status != status {
            let said = String::from_utf8_lossy(answer.body);
            return Err(Failure::WrongAnswer(format!("{} {said}", answer.status)));
        }
        waits.push(answer.latency);
        if let Some(pace) = pace {
            pause(pace)?;
        }
    }
    Ok(waits)
}

/// Sleeps.
#[expect(clippy::disallowed_methods, reason = "time is what is measured here")]
pub(crate) fn pause(time: Duration) -> Result<(), Failure> {
    thread::sleep(time);
    Ok(())
}
