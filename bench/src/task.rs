//! Case 10: a complete response of a finished Task with 100,000 accesses.

use std::time::Duration;

use serde::Deserialize;

use crate::batches::batch::{self, Caller};
use crate::client::{self, Client};
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::TENANT;
use crate::memory::anonymous_mib;
use crate::result_line::ResultLine;

const N_ACCESSES: u32 = 100_000;

/// Most CPU as a multiple of sending its bytes, and most memory meanwhile.
const GOAL_CPU: f64 = 12.0;
const GOAL_MIB: f64 = 32.0;

struct Cost {
    n_bytes: u64,
    cpu: Duration,
    latency: Duration,
    most_mib: f64,
    body: Vec<u8>,
}

pub(crate) fn measure(fixture: &Fixture, n_rounds: usize) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: a Task of {N_ACCESSES}");
    let address = fixture.server.address().to_owned();
    let caller = Caller { address, token: fixture.token.clone() };
    let task = caller.make(&batch::by_number(N_ACCESSES), N_ACCESSES)?.id;
    let whole = client::get(&format!("/{TENANT}/access/batch/{task}"), &fixture.token);
    let compressed = client::with_header(&whole, "Accept-Encoding: gzip");
    let before = anonymous_mib(fixture.server.process_id())?;
    let first = fetch(fixture, &whole)?;
    check(&first.body)?;
    let n_bytes = first.n_bytes;
    let constant = client::get(&format!("/{TENANT}/yardstick?bytes={n_bytes}"), &fixture.token);
    fetch(fixture, &constant)?;

    let (mut cpu, mut times, mut small) = (Vec::new(), Vec::new(), Vec::new());
    let mut most_mib = first.most_mib;
    for _ in 0..n_rounds {
        let task = fetch(fixture, &whole)?;
        let bytes = fetch(fixture, &constant)?;
        let packed = fetch(fixture, &compressed)?;
        for taken in [&task, &bytes] {
            if taken.n_bytes != n_bytes {
                let why = format!("{} bytes of a Task instead of {n_bytes}", taken.n_bytes);
                return Err(Failure::WrongAnswer(why));
            }
        }
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        cpu.push((millis(task.cpu), millis(bytes.cpu)));
        times.push((millis(task.latency), millis(bytes.latency)));
        most_mib = most_mib.max(task.most_mib).max(packed.most_mib);
        small.push((millis(packed.cpu), millis(task.cpu)));
    }
    Ok(vec![
        ResultLine::new("CPU of the server for all of it", "ms", cpu).cpu().at_most(GOAL_CPU),
        ResultLine::new("until all of it is there", "ms", times),
        ResultLine::alone(
            "more anonymous memory than before the first",
            "MiB",
            vec![most_mib - before],
        )
        .at_most(GOAL_MIB),
        ResultLine::new("CPU of the server compressed, beside plain", "ms", small).cpu(),
    ])
}

/// Sends a request, and reads the server's memory while chunks arrive.
fn fetch(fixture: &Fixture, request: &[u8]) -> Result<Cost, Failure> {
    let id = fixture.server.process_id();
    let mut client = Client::connect(fixture.server.address())?;
    let reading = CpuReading::of_process(id).map_err(Failure::unreadable_usage)?;
    client.send(request)?;
    let mut most_mib = anonymous_mib(id)?;
    let streamed = client.receive_streamed(|| {
        most_mib = anonymous_mib(id)?.max(most_mib);
        Ok(())
    })?;
    let after = CpuReading::of_process(id).map_err(Failure::unreadable_usage)?;
    if streamed.status != 200 {
        return Err(Failure::WrongAnswer(format!("a Task gave {}", streamed.status)));
    }
    Ok(Cost {
        n_bytes: streamed.body.len() as u64,
        cpu: after.since(&reading),
        latency: streamed.latency,
        most_mib,
        body: streamed.body,
    })
}

/// Checks that every access is there, with a password.
fn check(body: &[u8]) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Task<'a> {
        #[serde(borrow)]
        accesses: Vec<Access<'a>>,
    }
    #[derive(Deserialize)]
    struct Access<'a> {
        #[serde(borrow)]
        password: &'a str,
    }
    let task: Task<'_> = serde_json::from_slice(body)
        .map_err(|cause| Failure::WrongAnswer(format!("a Task is no Task: {cause}")))?;
    let n_right = task.accesses.iter().filter(|access| access.password.len() == 24).count();
    match n_right == N_ACCESSES as usize && n_right == task.accesses.len() {
        true => Ok(()),
        false => Err(Failure::WrongAnswer(format!("{n_right} accesses with a password"))),
    }
}
