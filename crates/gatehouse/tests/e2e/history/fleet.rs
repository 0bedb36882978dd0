//! A fleet of replicas: their addresses, and a record of every call.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::call::{Answer, Call, Moment, Request};
use super::{Replicas, TENANTS};
use reqwest::Response;
use serde_json::{Value, json};

/// Longest time for a response.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Accesses of a Task that a call's record keeps.
const N_REMEMBERED: usize = 40;

/// Replicas over one database.
pub(crate) struct Fleet {
    client: reqwest::Client,
    token: String,
    /// Each running replica's address.
    addresses: Mutex<Vec<Option<String>>>,
    began: Instant,
    calls: Mutex<Vec<Call>>,
}

impl Fleet {
    /// An empty fleet. The token is for all tenants, with all scopes.
    pub(crate) fn new(token: String) -> Self {
        let client = reqwest::Client::builder().timeout(DEADLINE).build().unwrap();
        let addresses = Mutex::new(Vec::new());
        Self { client, token, addresses, began: Instant::now(), calls: Mutex::new(Vec::new()) }
    }

    /// Adds a replica's address, as `http://…`.
    pub(crate) fn runs(&self, replica: usize, url: &str) {
        let mut addresses = self.addresses.lock().unwrap();
        let n = addresses.len().max(replica + 1);
        addresses.resize(n, None);
        addresses[replica] = Some(url.to_owned());
    }

    /// Removes a replica's address.
    pub(crate) fn is_gone(&self, replica: usize) {
        self.addresses.lock().unwrap()[replica] = None;
    }

    pub(crate) fn now(&self) -> Moment {
        self.began.elapsed().as_micros() as Moment
    }

    /// All calls, in the order of their responses.
    pub(crate) fn history(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap()
    }

    /// A request outside of the history; `None` without a successful response.
    pub(crate) async fn get(&self, replica: usize, path: &str) -> Option<Response> {
        let address = self.addresses.lock().unwrap()[replica].clone()?;
        let sent = self.client.get(format!("{address}{path}")).bearer_auth(&self.token);
        sent.send().await.ok()
    }
}

impl Replicas for Fleet {
    fn running(&self) -> Vec<usize> {
        let addresses = self.addresses.lock().unwrap();
        (0..addresses.len()).filter(|n| addresses[*n].is_some()).collect()
    }

    async fn call(&self, replica: usize, tenant: usize, request: &Request) -> Option<Answer> {
        let (method, path) = request.line();
        let address = self.addresses.lock().unwrap()[replica].clone()?;
        let url = format!("{address}/{}/{path}", TENANTS[tenant]);
        let mut sent = self.client.request(method.parse().unwrap(), url).bearer_auth(&self.token);
        if let Some(key) = request.key() {
            sent = sent.header("idempotency-key", key);
        }
        if let Some(body) = request.body() {
            let kind = match method {
                "PATCH" => "application/merge-patch+json",
                _ => "application/json",
            };
            sent = sent.header("content-type", kind).body(body.to_string());
        }
        let begin = self.now();
        let answer = match sent.send().await {
            Ok(response) => read(request, response).await,
            Err(error) if error.is_connect() => return None,
            Err(error) => broken(&error),
        };
        let end = self.now();
        let call =
            Call { replica, begin, end, tenant, request: request.clone(), answer: answer.clone() };
        self.history().push(call);
        Some(answer)
    }
}

async fn read(request: &Request, response: Response) -> Answer {
    let status = response.status().as_u16();
    let header = |name: &str| {
        response.headers().get(name).and_then(|it| it.to_str().ok()).and_then(|it| it.parse().ok())
    };
    let (retry_after, total): (Option<u64>, Option<u64>) =
        (header("retry-after"), header("x-total-count"));
    let mut body: Value = match response.bytes().await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(error) => return broken(&error),
    };
    // The history is kept whole, and Tasks are polled often.
    if let (Request::Look { .. }, Some(Value::Array(accesses))) =
        (request, body.get_mut("accesses"))
    {
        accesses.truncate(N_REMEMBERED);
    }
    match status {
        200 if *request == Request::Count => Answer::Done(json!({"total": total})),
        200..=299 => Answer::Done(body),
        503 => Answer::Unavailable { retry_after },
        400..=499 => {
            Answer::Refused { status, title: body["title"].as_str().unwrap_or_default().into() }
        }
        _ => Answer::Wrong(format!("{status} {body}")),
    }
}

fn broken(error: &reqwest::Error) -> Answer {
    if error.is_timeout() { Answer::Late } else { Answer::Lost }
}
