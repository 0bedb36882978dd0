//! Batch requests, and single requests to send at the same time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::load;
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::fleet::{CONTRACTS, TENANT};

/// Time between two polls of a batch's progress. Each poll takes time from the batch.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const LONG_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Age from which a batch is polled less often.
const LONG: Duration = Duration::from_secs(10);

/// Address and token of a server.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) address: String,
    pub(crate) token: String,
}

#[derive(Clone, Debug)]
pub(crate) struct FinishedBatch {
    pub(crate) id: String,
    pub(crate) took: Duration,
}

impl Caller {
    /// Runs a batch that creates so many accesses; returns its duration, from before the request.
    pub(crate) fn make(&self, body: &str, n_items: u32) -> Result<FinishedBatch, Failure> {
        self.run("batch", body, n_items)
    }

    /// Runs a batch that changes so many accesses.
    pub(crate) fn change(&self, body: &str, n_items: u32) -> Result<FinishedBatch, Failure> {
        self.run("batchUpdate", body, n_items)
    }

    pub(crate) fn run(
        &self,
        path: &str,
        body: &str,
        n_items: u32,
    ) -> Result<FinishedBatch, Failure> {
        let mut client = Client::connect(&self.address)?;
        let begun = Instant::now();
        let request = client::post(&format!("/{TENANT}/access/{path}"), &self.token, body);
        let id = text_in(&client.call_for_json(&request, 202)?, "id")?;
        let look = client::get(&format!("/{TENANT}/access/batch/{id}/progress"), &self.token);
        loop {
            let progress = client.call_for_json(&look, 200)?;
            if progress["failed"] != 0 {
                return Err(Failure::WrongAnswer(format!("items of a batch failed: {progress}")));
            }
            if progress["succeeded"] == n_items {
                return Ok(FinishedBatch { id, took: begun.elapsed() });
            }
            let is_long = begun.elapsed() > LONG;
            load::pause(if is_long { LONG_POLL_INTERVAL } else { POLL_INTERVAL })?;
        }
    }

    /// A request for one new access, of another contract than those of batches.
    pub(crate) fn create_one(&self) -> Vec<u8> {
        let body = json!({"contractId": CONTRACTS[1]});
        client::post(&format!("/{TENANT}/access"), &self.token, &body.to_string())
    }

    /// Requests that check credentials: a generated password, and a chosen one whose check is cached.
    pub(crate) fn checks(&self) -> Result<[Vec<u8>; 2], Failure> {
        let mut client = Client::connect(&self.address)?;
        let chosen = "correct horse battery staple";
        let mut check = |body: Value| {
            let path = format!("/{TENANT}/access");
            let request = client::post(&path, &self.token, &body.to_string());
            let made = client.call_for_json(&request, 201)?;
            let password = made["password"].as_str().unwrap_or(chosen);
            let body = json!({"username": text_in(&made, "username")?, "password": password});
            let request =
                client::post(&format!("/{TENANT}/verify"), &self.token, &body.to_string());
            client.call_for_json(&request, 200)?;
            Ok::<_, Failure>(request)
        };
        let contract_id = CONTRACTS[1];
        let generated = check(json!({"contractId": contract_id}))?;
        Ok([generated, check(json!({"contractId": contract_id, "password": chosen}))?])
    }
}

/// A batch of `n_items` accesses without further values.
pub(crate) fn by_number(n_items: u32) -> String {
    json!({"contractId": CONTRACTS[0], "numberOfAccesses": n_items}).to_string()
}

/// A batch that gives these accesses a status.
pub(crate) fn with_status(ids: &[String], status: &str) -> String {
    change(ids, &json!({"status": status}))
}

/// A batch that changes each of these accesses alike.
pub(crate) fn change(ids: &[String], operation: &Value) -> String {
    json!({"operationType": "update", "operationBody": operation, "accessesIdList": ids})
        .to_string()
}

/// A batch of accesses with chosen passwords.
pub(crate) fn with_passwords(n_items: u32) -> String {
    let items = (0..n_items).map(|n| json!({"password": format!("chosen by somebody {n}")}));
    json!({"contractId": CONTRACTS[0], "accesses": items.collect::<Vec<_>>()}).to_string()
}

fn text_in(body: &Value, name: &str) -> Result<String, Failure> {
    let text = body[name].as_str().map(str::to_owned);
    text.ok_or_else(|| Failure::WrongAnswer(format!("no `{name}` in {body}")))
}
