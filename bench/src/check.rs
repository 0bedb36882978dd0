//! Cases 2 and 3: checking credentials, beside the same requests without a look-up.

use serde_json::json;

use crate::client::{self, Client};
use crate::failure::Failure;
use crate::fleet::{CONTRACTS, TENANT};
use crate::line::Line;
use crate::read::{self, of_bytes, typical_bytes};
use crate::stage::Stage;
use crate::turns::Ask;

/// Credentials that are checked in turn. A chosen password takes long to hash, so they are fewer.
const N_GENERATED: usize = 500;
const N_CHOSEN: usize = 50;

/// How many times the CPU of the yardstick a chosen password may use that was right before.
const GOAL_CHOSEN: f64 = 2.0;

/// A username and its password.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) username: String,
    pub(crate) password: String,
}

/// Case 2: passwords that were generated.
pub(crate) fn measure_generated(stage: &Stage, n_rounds: usize) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: checking generated passwords");
    measure(stage, &generated(stage, N_GENERATED)?, n_rounds, read::goal(stage))
}

/// Case 3: passwords that were chosen, and checked before.
pub(crate) fn measure_chosen(stage: &Stage, n_rounds: usize) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: checking chosen passwords");
    measure(stage, &chosen(stage, N_CHOSEN)?, n_rounds, GOAL_CHOSEN)
}

fn measure(
    stage: &Stage,
    all: &[Credentials],
    n_rounds: usize,
    goal: f64,
) -> Result<Vec<Line>, Failure> {
    let asks: Vec<Ask> = all.iter().map(|it| let_in(stage, it)).collect();
    // The first check of each is not measured: it may be a slow one.
    let n_bytes = typical_bytes(stage, &asks)?;
    let yardstick: Vec<Ask> = all.iter().map(|it| without_look_up(stage, it, n_bytes)).collect();
    read::compare(stage, &asks, &yardstick, n_rounds, "a check", goal)
}

/// Accesses whose passwords are generated.
pub(crate) fn generated(stage: &Stage, n: usize) -> Result<Vec<Credentials>, Failure> {
    make(stage, n, |_| None)
}

/// Accesses whose passwords are chosen.
pub(crate) fn chosen(stage: &Stage, n: usize) -> Result<Vec<Credentials>, Failure> {
    make(stage, n, |nth| Some(format!("chosen by somebody {nth}")))
}

fn make(
    stage: &Stage,
    n: usize,
    password: impl Fn(usize) -> Option<String>,
) -> Result<Vec<Credentials>, Failure> {
    let mut client = Client::connect(stage.server.address())?;
    let make = |nth| {
        let mut body = json!({"contractId": CONTRACTS[1]});
        if let Some(password) = password(nth) {
            body["password"] = password.into();
        }
        let request = client::post(&format!("/{TENANT}/access"), &stage.token, &body.to_string());
        let made = client.ask_for_json(&request, 201)?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        Ok(Credentials { username: text("username"), password: text("password") })
    };
    (0..n).map(make).collect()
}

/// A request that lets a device in.
pub(crate) fn let_in(stage: &Stage, credentials: &Credentials) -> Ask {
    Ask::new(request(stage, "verify", credentials), |answer| match answer.status {
        200 => Ok(()),
        status => Err(format!("{status} {}", String::from_utf8_lossy(answer.body))),
    })
}

/// The same request, which is read and answered with so many bytes.
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
