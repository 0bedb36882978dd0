//! Taking turns: requests that are to be compared run in thin slices that alternate.
//!
//! Whatever else the machine does then falls on all of them alike, and a comparison within a turn is fair even
//! while the machine is not.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::quantiles::{Waits, micros};
use crate::stage::Stage;

/// How long a slice takes, where requests are not longer than that.
const SLICE: Duration = Duration::from_millis(40);

/// Requests in one slice, however short they are.
const N_REQUESTS_MAX: usize = 2000;

/// Requests before the first turn: caches fill, statements are prepared, and the pace is found. Long
/// ones are warm enough after a while.
const N_REQUESTS_WARM: u32 = 20;
const WARM_LIMIT: Duration = Duration::from_secs(2);

/// Says what is wrong with an answer.
type Judge = dyn Fn(&Answer<'_>) -> Result<(), String>;

/// A request, and how its answer is checked.
pub(crate) struct Ask {
    pub(crate) request: Vec<u8>,
    check: Box<Judge>,
}

impl Ask {
    pub(crate) fn new(
        request: Vec<u8>,
        check: impl Fn(&Answer<'_>) -> Result<(), String> + 'static,
    ) -> Self {
        Self { request, check: Box::new(check) }
    }

    /// Says what is wrong with an answer.
    pub(crate) fn check(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        (self.check)(answer).map_err(|fault| {
            let head = self.request.split(|byte| *byte == b'\r').next().unwrap_or_default();
            Failure::WrongAnswer(format!("{}: {fault}", String::from_utf8_lossy(head)))
        })
    }
}

/// Some requests in one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// What the server used for one.
    pub(crate) cpu_us: f64,
    /// What the database's own processes used for it.
    pub(crate) database_cpu_us: Option<f64>,
    pub(crate) waits: Waits,
}

/// Connections over which the same is asked for again and again.
pub(crate) struct Runner<'a> {
    stage: &'a Stage,
    asks: &'a [Ask],
    clients: Vec<Client>,
    /// How often each client asks in a slice.
    n_waves: usize,
    next: usize,
    turn: Turn,
}

/// What a turn has brought so far.
#[derive(Default)]
struct Turn {
    latencies: Vec<Duration>,
    spent: Duration,
    cpu: Duration,
    database_cpu: Option<Duration>,
}

impl<'a> Runner<'a> {
    /// One that asks over so many connections at once. Warms up, and finds out how much fits into a slice.
    pub(crate) fn new(
        stage: &'a Stage,
        asks: &'a [Ask],
        n_connections: usize,
    ) -> Result<Self, Failure> {
        let clients = (0..n_connections).map(|_| Client::connect(stage.server.address()));
        let clients = clients.collect::<Result<_, _>>()?;
        let mut runner = Self { stage, asks, clients, n_waves: 1, next: 0, turn: Turn::default() };
        // The first also pays for the connections, and for what is not in memory yet.
        runner.ask_all()?;
        let (begun, mut n_asked) = (Instant::now(), 0);
        while n_asked < N_REQUESTS_WARM && begun.elapsed() < WARM_LIMIT {
            runner.ask_all()?;
            n_asked += 1;
        }
        runner.n_waves = waves_in_slice(begun.elapsed() / n_asked, n_connections);
        runner.turn = Turn::default();
        Ok(runner)
    }

    /// Every client asks for something, and gets its answer.
    fn ask_all(&mut self) -> Result<(), Failure> {
        let (asks, first) = (self.asks, self.next);
        self.next = (first + self.clients.len()) % asks.len();
        let of = |n: usize| &asks[(first + n) % asks.len()];
        for (n, client) in self.clients.iter_mut().enumerate() {
            client.send(&of(n).request)?;
        }
        for (n, client) in self.clients.iter_mut().enumerate() {
            let answer = client.receive()?;
            self.turn.latencies.push(answer.latency);
            of(n).check(&answer)?;
        }
        Ok(())
    }

    fn run_slice(&mut self) -> Result<(), Failure> {
        let (before, begun) = (Readings::take(self.stage)?, Instant::now());
        for _ in 0..self.n_waves {
            self.ask_all()?;
        }
        self.turn.spent += begun.elapsed();
        let after = Readings::take(self.stage)?;
        self.turn.cpu += after.server.since(&before.server);
        if let (Some(after), Some(before)) = (after.database, before.database) {
            *self.turn.database_cpu.get_or_insert_default() += after.since(&before);
        }
        Ok(())
    }

    fn take_sample(&mut self) -> Sample {
        let Turn { latencies, spent, cpu, database_cpu } = std::mem::take(&mut self.turn);
        let n_requests = latencies.len() as f64;
        Sample {
            cpu_us: micros(cpu) / n_requests,
            database_cpu_us: database_cpu.map(|used| micros(used) / n_requests),
            waits: Waits::of(vec![latencies], spent),
        }
    }
}

/// Everyone's turn once; their samples stand as they do.
pub(crate) fn take<const N: usize>(
    mut runners: [&mut Runner<'_>; N],
    n_slices: usize,
) -> Result<[Sample; N], Failure> {
    for _ in 0..n_slices {
        for runner in &mut runners {
            runner.run_slice()?;
        }
        // Whoever went first goes last.
        runners.reverse();
    }
    Ok(runners.map(Runner::take_sample))
}

fn waves_in_slice(usual: Duration, n_connections: usize) -> usize {
    let n = SLICE.as_nanos() / usual.as_nanos().max(1);
    usize::try_from(n).unwrap_or(N_REQUESTS_MAX).clamp(1, N_REQUESTS_MAX / n_connections)
}

/// The accounts of all who work for the answers.
struct Readings {
    server: CpuReading,
    database: Option<CpuReading>,
}

impl Readings {
    fn take(stage: &Stage) -> Result<Self, Failure> {
        let server = CpuReading::of_process(stage.server.process_id());
        let database = stage.database_process_id.map(CpuReading::of_family);
        Ok(Self {
            server: server.map_err(Failure::without_account)?,
            database: database.transpose().map_err(Failure::without_account)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_requests_are_few_and_fast_ones_many_in_a_slice() {
        assert_eq!(waves_in_slice(Duration::from_secs(3), 1), 1);
        assert_eq!(waves_in_slice(Duration::from_millis(1), 1), 40);
        assert_eq!(waves_in_slice(Duration::ZERO, 1), N_REQUESTS_MAX);
        assert_eq!(waves_in_slice(Duration::ZERO, 16), N_REQUESTS_MAX / 16);
    }
}
