//! Taking the measurements.
//!
//! All cases take turns, round after round. In a case's turn it runs on every store, with each store's
//! yardstick beside it, in thin slices that alternate. Whatever else the machine does then falls on all
//! of them alike, and a comparison within a turn is fair even while the machine is not.

use std::time::Duration;

use crate::cases::Case;
use crate::client::{self, Client};
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::server::Server;

/// How long a slice takes, where requests are not longer than that.
const SLICE: Duration = Duration::from_millis(40);

/// Slices of one runner in one turn. Even, so that nobody goes first more often.
const N_SLICES: u32 = 4;

/// Requests in one slice, however short they are.
const N_REQUESTS_MAX: u32 = 2000;

/// Requests before the first turn: caches fill, statements are prepared, and the pace is found. Long
/// ones are warm enough after a while.
const N_REQUESTS_WARM: u32 = 20;
const WARM_LIMIT: Duration = Duration::from_secs(2);

/// Cases that count take part in one round of so many.
const COUNTING_EVERY: usize = 5;

/// A server on a filled store, and what is asked of it.
pub(crate) struct Stage {
    pub(crate) n_accesses: u64,
    pub(crate) cases: Vec<Case>,
    pub(crate) server: Server,
    pub(crate) token: String,
    /// The parent of all processes of the database, where it has its own.
    pub(crate) database_process_id: Option<i32>,
}

/// One case in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// What the server used for a request.
    pub(crate) cpu_us: f64,
    /// What it used, in the same turn, for a request of the yardstick's.
    pub(crate) yardstick_cpu_us: f64,
    /// What the database's own processes used for it.
    pub(crate) database_cpu_us: Option<f64>,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) requests_per_second: f64,
}

/// The samples of one case, a place for each round.
pub(crate) type Samples = Vec<Option<Sample>>;

/// Measures every case of every stage. The samples stand as the stages and their cases do.
pub(crate) fn run(stages: &[Stage], n_rounds: usize) -> Result<Vec<Vec<Samples>>, Failure> {
    let mut paces = Vec::new();
    for stage in stages {
        eprintln!("bench: checking the answers about {} accesses", stage.n_accesses);
        let pace = stage.cases.iter().map(|case| find_pace(stage, case));
        paces.push(pace.collect::<Result<Vec<u32>, Failure>>()?);
    }
    let n_cases = stages.iter().map(|stage| stage.cases.len()).min().unwrap_or_default();
    let mut samples: Vec<Vec<Samples>> = vec![vec![Vec::new(); n_cases]; stages.len()];
    for round in 0..n_rounds {
        eprintln!("bench: round {} of {n_rounds}", round + 1);
        for position in 0..n_cases {
            let counts = stages.iter().any(|stage| stage.cases[position].counts());
            let turn = if counts && !round.is_multiple_of(COUNTING_EVERY) {
                vec![None; stages.len()]
            } else {
                take_turn(stages, &paces, position)?.into_iter().map(Some).collect()
            };
            for (samples, sample) in samples.iter_mut().zip(turn) {
                samples[position].push(sample);
            }
        }
    }
    Ok(samples)
}

/// Looks closely at the first answer, warms up, and gives the number of requests that fill a slice.
fn find_pace(stage: &Stage, case: &Case) -> Result<u32, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let request = client::get(&case.path, &stage.token);
    // This one also pays for what is not in memory yet, and tells nothing about the pace.
    let answer = client.ask(&request)?;
    case.expected.check_closely(&answer).map_err(|fault| wrong(stage, case, &fault))?;
    let (mut spent, mut n_asked) = (Duration::ZERO, 0);
    while n_asked < N_REQUESTS_WARM && spent < WARM_LIMIT {
        spent += client.ask(&request)?.latency;
        n_asked += 1;
    }
    Ok(requests_in_slice(spent / n_asked))
}

fn requests_in_slice(usual: Duration) -> u32 {
    let n = SLICE.as_nanos() / usual.as_nanos().max(1);
    u32::try_from(n).unwrap_or(N_REQUESTS_MAX).clamp(1, N_REQUESTS_MAX)
}

/// Measures one case on every stage.
fn take_turn(
    stages: &[Stage],
    paces: &[Vec<u32>],
    position: usize,
) -> Result<Vec<Sample>, Failure> {
    let mut runners = Vec::new();
    for (stage, paces) in stages.iter().zip(paces) {
        let case = Runner::new(stage, &stage.cases[position], paces[position])?;
        let yardstick = Runner::new(stage, &stage.cases[0], paces[0])?;
        runners.push((case, yardstick));
    }
    for slice in 0..N_SLICES {
        for (case, yardstick) in &mut runners {
            let (first, second) =
                if slice.is_multiple_of(2) { (case, yardstick) } else { (yardstick, case) };
            first.run_slice()?;
            second.run_slice()?;
        }
    }
    Ok(runners.into_iter().map(|(case, yardstick)| case.into_sample(&yardstick)).collect())
}

/// A connection over which one case is asked for again and again.
struct Runner<'a> {
    stage: &'a Stage,
    case: &'a Case,
    client: Client,
    request: Vec<u8>,
    n_requests: u32,
    latencies: Vec<Duration>,
    cpu: Duration,
    database_cpu: Option<Duration>,
}

impl<'a> Runner<'a> {
    fn new(stage: &'a Stage, case: &'a Case, n_requests: u32) -> Result<Self, Failure> {
        let mut client = Client::connect(stage.server.address())?;
        let request = client::get(&case.path, &stage.token);
        // Not measured: it also pays for the connection.
        client.ask(&request)?;
        let latencies = Vec::with_capacity((n_requests * N_SLICES) as usize);
        let (cpu, database_cpu) = (Duration::ZERO, None);
        Ok(Self { stage, case, client, request, n_requests, latencies, cpu, database_cpu })
    }

    /// Sends the requests of one slice, and checks every answer.
    fn run_slice(&mut self) -> Result<(), Failure> {
        let before = Readings::take(self.stage)?;
        for _ in 0..self.n_requests {
            let answer = self.client.ask(&self.request)?;
            self.latencies.push(answer.latency);
            let checked = self.case.expected.check(&answer);
            checked.map_err(|fault| wrong(self.stage, self.case, &fault))?;
        }
        let after = Readings::take(self.stage)?;
        self.cpu += after.server.since(&before.server);
        if let (Some(after), Some(before)) = (after.database, before.database) {
            *self.database_cpu.get_or_insert_default() += after.since(&before);
        }
        Ok(())
    }

    fn per_request(&self, used: Duration) -> f64 {
        micros(used) / self.latencies.len() as f64
    }

    fn into_sample(mut self, yardstick: &Self) -> Sample {
        self.latencies.sort();
        let spent: Duration = self.latencies.iter().sum();
        Sample {
            cpu_us: self.per_request(self.cpu),
            yardstick_cpu_us: yardstick.per_request(yardstick.cpu),
            database_cpu_us: self.database_cpu.map(|used| self.per_request(used)),
            p50_us: micros(percentile(&self.latencies, 50)),
            p99_us: micros(percentile(&self.latencies, 99)),
            requests_per_second: self.latencies.len() as f64 / spent.as_secs_f64(),
        }
    }
}

/// The accounts of all who work for the answers.
struct Readings {
    server: CpuReading,
    database: Option<CpuReading>,
}

impl Readings {
    fn take(stage: &Stage) -> Result<Self, Failure> {
        let unreadable = |cause| Failure::Trouble(format!("no account of the CPU used: {cause}"));
        let server = CpuReading::of_process(stage.server.process_id()).map_err(unreadable)?;
        let database = stage.database_process_id.map(CpuReading::of_family);
        Ok(Self { server, database: database.transpose().map_err(unreadable)? })
    }
}

fn wrong(stage: &Stage, case: &Case, fault: &str) -> Failure {
    Failure::WrongAnswer(format!("{} of {} accesses: {fault}", case.path, stage.n_accesses))
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The value that so many of a hundred are not above. Takes them sorted.
pub(crate) fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let position = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(position).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
