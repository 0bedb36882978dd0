//! Runs requests that are compared in short, alternating time slices.
//!
//! So other work of the machine affects all of them alike, and a comparison within a round is fair even while the
//! machine is not.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::quantiles::{Latencies, micros};

/// Duration of a slice, unless a single request takes longer.
const SLICE: Duration = Duration::from_millis(40);

/// Most requests in one slice.
const N_REQUESTS_MAX: usize = 2000;

/// Warm-up requests: they fill caches, prepare statements and show the pace. Slow requests need fewer.
const N_REQUESTS_WARM: u32 = 20;
const WARM_LIMIT: Duration = Duration::from_secs(2);

/// Returns the fault of a response.
type ResponseCheck = dyn Fn(&Answer<'_>) -> Result<(), String>;

/// A request, with a check of its response.
pub(crate) struct CheckedRequest {
    pub(crate) request: Vec<u8>,
    check: Box<ResponseCheck>,
}

impl CheckedRequest {
    pub(crate) fn new(
        request: Vec<u8>,
        check: impl Fn(&Answer<'_>) -> Result<(), String> + 'static,
    ) -> Self {
        Self { request, check: Box::new(check) }
    }

    pub(crate) fn check(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        (self.check)(answer).map_err(|fault| {
            let head = self.request.split(|byte| *byte == b'\r').next().unwrap_or_default();
            Failure::WrongAnswer(format!("{}: {fault}", String::from_utf8_lossy(head)))
        })
    }
}

/// Result of some requests in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// CPU of the server per request.
    pub(crate) cpu_us: f64,
    /// CPU of the database's own processes per request.
    pub(crate) database_cpu_us: Option<f64>,
    pub(crate) latencies: Latencies,
}

/// Connections that repeat requests.
pub(crate) struct Runner<'a> {
    fixture: &'a Fixture,
    requests: &'a [CheckedRequest],
    clients: Vec<Client>,
    /// Requests of each client in a slice.
    n_requests_per_client: usize,
    next: usize,
    totals: Totals,
}

/// Totals of a round so far.
#[derive(Default)]
struct Totals {
    latencies: Vec<Duration>,
    spent: Duration,
    cpu: Duration,
    database_cpu: Option<Duration>,
}

impl<'a> Runner<'a> {
    /// Connects, warms up, and finds out how many requests fit into a slice.
    pub(crate) fn new(
        fixture: &'a Fixture,
        requests: &'a [CheckedRequest],
        n_connections: usize,
    ) -> Result<Self, Failure> {
        let clients = (0..n_connections).map(|_| Client::connect(fixture.server.address()));
        let clients = clients.collect::<Result<_, _>>()?;
        let mut runner = Self {
            fixture,
            requests,
            clients,
            n_requests_per_client: 1,
            next: 0,
            totals: Totals::default(),
        };
        // The first requests also pay for the connections and cold caches.
        runner.call_all()?;
        let (begun, mut n_sent) = (Instant::now(), 0);
        while n_sent < N_REQUESTS_WARM && begun.elapsed() < WARM_LIMIT {
            runner.call_all()?;
            n_sent += 1;
        }
        runner.n_requests_per_client = requests_per_slice(begun.elapsed() / n_sent, n_connections);
        runner.totals = Totals::default();
        Ok(runner)
    }

    /// Every client sends a request and receives the response.
    fn call_all(&mut self) -> Result<(), Failure> {
        let (requests, first) = (self.requests, self.next);
        self.next = (first + self.clients.len()) % requests.len();
        let of = |n: usize| &requests[(first + n) % requests.len()];
        for (n, client) in self.clients.iter_mut().enumerate() {
            client.send(&of(n).request)?;
        }
        for (n, client) in self.clients.iter_mut().enumerate() {
            let answer = client.receive()?;
            self.totals.latencies.push(answer.latency);
            of(n).check(&answer)?;
        }
        Ok(())
    }

    fn run_slice(&mut self) -> Result<(), Failure> {
        let (before, begun) = (Readings::take(self.fixture)?, Instant::now());
        for _ in 0..self.n_requests_per_client {
            self.call_all()?;
        }
        self.totals.spent += begun.elapsed();
        let after = Readings::take(self.fixture)?;
        self.totals.cpu += after.server.since(&before.server);
        if let (Some(after), Some(before)) = (after.database, before.database) {
            *self.totals.database_cpu.get_or_insert_default() += after.since(&before);
        }
        Ok(())
    }

    fn take_sample(&mut self) -> Sample {
        let Totals { latencies, spent, cpu, database_cpu } = std::mem::take(&mut self.totals);
        let n_requests = latencies.len() as f64;
        Sample {
            cpu_us: micros(cpu) / n_requests,
            database_cpu_us: database_cpu.map(|used| micros(used) / n_requests),
            latencies: Latencies::of(vec![latencies], spent),
        }
    }
}

/// Runs one round of all runners; the samples have their order.
pub(crate) fn run_round<const N: usize>(
    mut runners: [&mut Runner<'_>; N],
    n_slices: usize,
) -> Result<[Sample; N], Failure> {
    for _ in 0..n_slices {
        for runner in &mut runners {
            runner.run_slice()?;
        }
        // The runner that went first goes last.
        runners.reverse();
    }
    Ok(runners.map(Runner::take_sample))
}

fn requests_per_slice(usual: Duration, n_connections: usize) -> usize {
    let n = SLICE.as_nanos() / usual.as_nanos().max(1);
    usize::try_from(n).unwrap_or(N_REQUESTS_MAX).clamp(1, N_REQUESTS_MAX / n_connections)
}

/// CPU readings of the server and the database.
struct Readings {
    server: CpuReading,
    database: Option<CpuReading>,
}

impl Readings {
    fn take(fixture: &Fixture) -> Result<Self, Failure> {
        let server = CpuReading::of_process(fixture.server.process_id());
        let database = fixture.database_process_id.map(CpuReading::of_family);
        Ok(Self {
            server: server.map_err(Failure::unreadable_usage)?,
            database: database.transpose().map_err(Failure::unreadable_usage)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_has_few_slow_or_many_fast_requests() {
        assert_eq!(requests_per_slice(Duration::from_secs(3), 1), 1);
        assert_eq!(requests_per_slice(Duration::from_millis(1), 1), 40);
        assert_eq!(requests_per_slice(Duration::ZERO, 1), N_REQUESTS_MAX);
        assert_eq!(requests_per_slice(Duration::ZERO, 16), N_REQUESTS_MAX / 16);
    }
}
