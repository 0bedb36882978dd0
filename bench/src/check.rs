//! Cases 2 and 3: checking credentials, against the same requests without a look-up.

use serde_json::json;

use crate::client::{self, Client};
use crate::devices::Credentials;
use crate::failure::Failure;
use crate::fleet::{CONTRACTS, TENANT};
use crate::line::Line;
use crate::options::RoundPlan;
use crate::read::{self, of_bytes, typical_bytes};
use crate::stage::Stage;
use crate::turns::Ask;

/// Chosen passwords that are checked one after the other.
const N_CHOSEN: usize = 50;

/// Most CPU of a cached check of a chosen password, as a multiple of the yardstick's.
const GOAL_CHOSEN: f64 = 2.0;

/// Case 2: generated passwords, of devices from all over the store.
pub(crate) fn measure_generated(
    stage: &Stage,
    devices: &[Credentials],
    course: RoundPlan,
) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: checking generated passwords");
    measure(stage, devices, course, read::goal(stage))
}

/// Case 3: chosen passwords whose check is cached.
pub(crate) fn measure_chosen(stage: &Stage, course: RoundPlan) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: checking chosen passwords");
    measure(stage, &chosen(stage, N_CHOSEN)?, course, GOAL_CHOSEN)
}

fn measure(
    stage: &Stage,
    all: &[Credentials],
    course: RoundPlan,
    goal: f64,
) -> Result<Vec<Line>, Failure> {
    let asks: Vec<Ask> = all.iter().map(|it| let_in(stage, it)).collect();
    // The first check of each is not measured: it may be a slow one.
    let n_bytes = typical_bytes(stage, &asks)?;
    let yardstick: Vec<Ask> = all.iter().map(|it| without_look_up(stage, it, n_bytes)).collect();
    read::compare(stage, &asks, &yardstick, course, "a check", goal)
}

/// Creates accesses with chosen passwords.
pub(crate) fn chosen(stage: &Stage, n: usize) -> Result<Vec<Credentials>, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let make = |nth| {
        let password = format!("chosen by somebody {nth}");
        let body = json!({"contractId": CONTRACTS[1], "password": password}).to_string();
        let request = client::post(&format!("/{TENANT}/access"), &stage.token, &body);
        let made = client.ask_for_json(&request, 201)?;
        let username = made["username"].as_str().unwrap_or_default().to_owned();
        Ok(Credentials { username, password })
    };
    (0..n).map(make).collect()
}

/// A check that succeeds.
pub(crate) fn let_in(stage: &Stage, credentials: &Credentials) -> Ask {
    Ask::new(request(stage, "verify", credentials), |answer| match answer.status {
        200 => Ok(()),
        status => Err(format!("{status} {}", String::from_utf8_lossy(answer.body))),
    })
}

/// A request with the same body, which the server parses and answers with `n_bytes` bytes.
fn without_look_up(stage: &Stage, credentials: &Credentials, n_bytes: usize) -> Ask {
    let path = format!("yardstick?bytes={n_bytes}");
    Ask::new(request(stage, &path, credentials), move |answer| of_bytes(answer, n_bytes))
}

/// A request with credentials.
pub(crate) fn request(stage: &Stage, path: &str, credentials: &Credentials) -> Vec<u8> {
    let Credentials { username, password } = credentials;
    let body = json!({"username": username, "password": password}).to_string();
    client::post(&format!("/{TENANT}/{path}"), &stage.token, &body)
}
