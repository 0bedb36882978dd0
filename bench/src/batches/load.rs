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
pub(crate) struct RepeatingClient<'a> {
    pub(crate) address: &'a str,
    pub(crate) requests: Vec<&'a [u8]>,
}

/// Does some work while clients, one per request, repeat their requests. Returns the work's duration, and each client's
/// latencies.
pub(crate) fn during_load<T>(
    caller: &Caller,
    requests: &[Vec<u8>],
    status: u16,
    pace: Option<Duration>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Duration, Vec<Vec<Duration>>), Failure> {
    let address = caller.address.as_str();
    let clients =
        requests.iter().map(|it| RepeatingClient { address, requests: vec![it.as_slice()] });
    let (took, latencies, _) =
        during_load_of_each(&clients.collect::<Vec<_>>(), status, pace, work)?;
    Ok((took, latencies))
}

/// Does some work while each client repeats its requests at its own address. Also returns the work's result.
pub(crate) fn during_load_of_each<T>(
    repeating: &[RepeatingClient<'_>],
    status: u16,
    pace: Option<Duration>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Duration, Vec<Vec<Duration>>, T), Failure> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let clients: Vec<_> = repeating
            .iter()
            .map(|client| scope.spawn(move || repeat_until(client, status, pace, is_over)))
            .collect();
        let begun = Instant::now();
        let worked = work();
        let took = begun.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let latencies = clients.into_iter().map(|client| match client.join() {
            Ok(latencies) => latencies,
            Err(_) => Err(Failure::Step("a client panicked".to_owned())),
        });
        let latencies = latencies.collect::<Result<Vec<_>, Failure>>()?;
        worked.map(|worked| (took, latencies, worked))
    })
}

fn repeat_until(
    repeating: &RepeatingClient<'_>,
    status: u16,
    pace: Option<Duration>,
    is_over: &AtomicBool,
) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(repeating.address)?;
    let mut latencies = Vec::new();
    for request in
        repeating.requests.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed))
    {
        let answer = client.call(request)?;
        if answer.status != status {
            let text = String::from_utf8_lossy(answer.body);
            return Err(Failure::WrongAnswer(format!("{} {text}", answer.status)));
        }
        latencies.push(answer.latency);
        if let Some(pace) = pace {
            pause(pace)?;
        }
    }
    Ok(latencies)
}

#[expect(clippy::disallowed_methods, reason = "time is what is measured here")]
pub(crate) fn pause(time: Duration) -> Result<(), Failure> {
    thread::sleep(time);
    Ok(())
}
