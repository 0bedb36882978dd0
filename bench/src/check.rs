//! Cases 2 and 3: checking credentials, against the same requests without a look-up.

use serde_json::json;

use crate::client::{self, Client};
use crate::devices::Credentials;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::fleet::{CONTRACTS, TENANT};
use crate::options::RoundPlan;
use crate::read::{self, of_bytes, typical_bytes};
use crate::result_line::ResultLine;
use crate::runner::CheckedRequest;

/// Chosen passwords that are checked one after the other.
const N_CHOSEN: usize = 50;

/// Most CPU of a cached check of a chosen password, as a multiple of the yardstick's.
const GOAL_CHOSEN: f64 = 2.0;

/// Case 2: generated passwords, of devices from all over the store.
pub(crate) fn measure_generated(
    fixture: &Fixture,
    devices: &[Credentials],
    plan: RoundPlan,
) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: checking generated passwords");
    measure(fixture, devices, plan, read::goal(fixture))
}

/// Case 3: chosen passwords whose check is cached.
pub(crate) fn measure_chosen(
    fixture: &Fixture,
    plan: RoundPlan,
) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: checking chosen passwords");
    measure(fixture, &chosen(fixture, N_CHOSEN)?, plan, GOAL_CHOSEN)
}

fn measure(
    fixture: &Fixture,
    all: &[Credentials],
    plan: RoundPlan,
    goal: f64,
) -> Result<Vec<ResultLine>, Failure> {
    let requests: Vec<CheckedRequest> = all.iter().map(|it| accepted_check(fixture, it)).collect();
    // The first check of each is not measured: it may be a slow one.
    let n_bytes = typical_bytes(fixture, &requests)?;
    let yardstick: Vec<CheckedRequest> =
        all.iter().map(|it| without_look_up(fixture, it, n_bytes)).collect();
    read::compare(fixture, &requests, &yardstick, plan, "a check", goal)
}

/// Creates accesses with chosen passwords.
pub(crate) fn chosen(fixture: &Fixture, n: usize) -> Result<Vec<Credentials>, Failure> {
    let mut client = Client::connect(fixture.server.address())?;
    let make = |nth| {
        let password = format!("chosen by somebody {nth}");
        let body = json!({"contractId": CONTRACTS[1], "password": password}).to_string();
        let request = client::post(&format!("/{TENANT}/access"), &fixture.token, &body);
        let made = client.call_for_json(&request, 201)?;
        let username = made["username"].as_str().unwrap_or_default().to_owned();
        Ok(Credentials { username, password })
    };
    (0..n).map(make).collect()
}

/// A check that succeeds.
pub(crate) fn accepted_check(fixture: &Fixture, credentials: &Credentials) -> CheckedRequest {
    CheckedRequest::new(request(fixture, "verify", credentials), |answer| match answer.status {
        200 => Ok(()),
        status => Err(format!("{status} {}", String::from_utf8_lossy(answer.body))),
    })
}

/// A request with the same body, which the server parses and answers with `n_bytes` bytes.
fn without_look_up(fixture: &Fixture, credentials: &Credentials, n_bytes: usize) -> CheckedRequest {
    let path = format!("yardstick?bytes={n_bytes}");
    CheckedRequest::new(request(fixture, &path, credentials), move |answer| {
        of_bytes(answer, n_bytes)
    })
}

pub(crate) fn request(fixture: &Fixture, path: &str, credentials: &Credentials) -> Vec<u8> {
    let Credentials { username, password } = credentials;
    let body = json!({"username": username, "password": password}).to_string();
    client::post(&format!("/{TENANT}/{path}"), &fixture.token, &body)
}
