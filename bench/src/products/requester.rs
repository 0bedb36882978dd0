//! Requests for products, with complete checks of the responses.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::client::{self, Client};
use crate::failure::Failure;

/// Address and token of a server.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    pub(crate) address: String,
    pub(crate) token: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected<'a> {
    pub(crate) status: u16,
    pub(crate) n_products: usize,
    /// The statuses among its errors, each with its count.
    pub(crate) errors: &'a [(u16, usize)],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) number: u64,
    pub(crate) size: usize,
    /// Further parameters of the query.
    pub(crate) more: &'a str,
}

impl Page<'_> {
    /// A page to which every account contributes its whole share.
    pub(crate) fn full(&self) -> Expected<'static> {
        Expected { status: 206, n_products: self.size, errors: &[] }
    }
}

#[derive(Deserialize)]
struct Envelope {
    entities: Vec<IgnoredAny>,
    errors: Vec<AccountError>,
}

#[derive(Deserialize)]
struct AccountError {
    status: u16,
}

impl Requester {
    pub(crate) fn connect(&self) -> Result<Client, Failure> {
        Client::connect(&self.address)
    }

    pub(crate) fn page(&self, page: &Page<'_>) -> Vec<u8> {
        let Page { tenant, number, size, more } = page;
        let path = format!("/{tenant}/product?pageNumber={number}&pageSize={size}{more}");
        client::get(&path, &self.token)
    }

    /// A request that finds cards.
    pub(crate) fn find(&self, tenant: &str, iccids: &[&str]) -> Vec<u8> {
        let body = json!({"iccidList": iccids}).to_string();
        client::post(&format!("/{tenant}/product/find"), &self.token, &body)
    }

    /// Requests pages at once, each over its own connection; returns the total duration, and that of each page.
    pub(crate) fn pages_at_once(
        &self,
        clients: &mut [Client],
        requests: &[Vec<u8>],
        expected: &Expected<'_>,
    ) -> Result<(Duration, Vec<Duration>), Failure> {
        let begun = Instant::now();
        for (client, request) in clients.iter_mut().zip(requests) {
            client.send(request)?;
        }
        let waiting = clients.iter_mut().take(requests.len());
        let answers = waiting.map(Client::receive);
        let answers = answers.collect::<Result<Vec<_>, Failure>>()?;
        let took = begun.elapsed();
        for answer in &answers {
            expected.check(answer.status, answer.body)?;
        }
        Ok((took, answers.iter().map(|answer| answer.latency).collect()))
    }
}

/// Sends a request, checks the response, and returns the duration.
pub(crate) fn call(
    client: &mut Client,
    request: &[u8],
    expected: &Expected<'_>,
) -> Result<Duration, Failure> {
    let answer = client.call(request)?;
    expected.check(answer.status, answer.body)?;
    Ok(answer.latency)
}

impl Expected<'_> {
    pub(crate) fn check(&self, status: u16, body: &[u8]) -> Result<(), Failure> {
        let Self { n_products, errors, .. } = self;
        let wrong = |what: String| {
            let shown = String::from_utf8_lossy(&body[..body.len().min(1000)]).into_owned();
            Failure::WrongAnswer(format!("{what}: {shown}"))
        };
        if status != self.status {
            return Err(wrong(format!("{status} instead of {}", self.status)));
        }
        let envelope: Envelope =
            serde_json::from_slice(body).map_err(|_| wrong("no envelope".to_owned()))?;
        let n_found = envelope.entities.len();
        let n_with = |status: u16| envelope.errors.iter().filter(|it| it.status == status).count();
        let n_expected: usize = errors.iter().map(|(_, n)| n).sum();
        let is_right = n_found == *n_products
            && envelope.errors.len() == n_expected
            && errors.iter().all(|(status, n)| n_with(*status) == *n);
        if is_right {
            return Ok(());
        }
        let statuses: Vec<u16> = envelope.errors.iter().take(20).map(|it| it.status).collect();
        Err(wrong(format!(
            "{n_found} products instead of {n_products}, and errors {statuses:?} instead of {errors:?}"
        )))
    }
}

#[cfg(test)]
mod tests;
