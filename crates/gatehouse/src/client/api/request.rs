//! An API request: building it, and sending it until a response arrives.
//!
//! A busy server is asked again after its `Retry-After`. When a response is lost, the outcome is unknown: a request
//! that may be sent twice is retried for a while.

use std::time::{Duration, Instant};

use bytes::Bytes;
use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use super::response::ApiResponse;
use super::server::Server;
use crate::client::wire::{BUSY_MAX, retry_after, root_cause};
use crate::failure::Failure;

/// Time for which a request without a response is retried: long enough for a server to restart.
const LOST_RETRY_TIME: Duration = Duration::from_secs(20);

/// Pause between retries: the first, and the longest.
const LOST_PAUSE_FIRST: Duration = Duration::from_millis(250);
const LOST_PAUSE_MAX: Duration = Duration::from_secs(4);

/// A request under construction.
pub(crate) struct ApiRequest<'s> {
    server: &'s Server,
    method: Method,
    url: String,
    headers: Vec<(HeaderName, String)>,
    body: Option<Value>,
    /// Whether the request may be sent again when its outcome is unknown.
    is_repeatable: bool,
    /// The idempotency key.
    key: Option<String>,
    /// A segment that a URL can't hold, because it would change the path.
    invalid_segment: Option<String>,
}

impl Server {
    /// A request for a path under the server's address; encodes the segments.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> ApiRequest<'_> {
        let path: String = segments
            .iter()
            .map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT)))
            .collect();
        ApiRequest::new(self, method, format!("{}{path}", self.url), segments)
    }
}

impl<'s> ApiRequest<'s> {
    /// A request for an address below the server's, with its segments as they were given.
    pub(in crate::client::api) fn new(
        server: &'s Server,
        method: Method,
        url: String,
        segments: &[&str],
    ) -> Self {
        let invalid_segment = segments.iter().find(|it| matches!(**it, "" | "." | ".."));
        Self {
            server,
            is_repeatable: method != Method::POST && method != Method::DELETE,
            method,
            url,
            headers: Vec::new(),
            body: None,
            key: None,
            invalid_segment: invalid_segment.map(|it| (*it).to_owned()),
        }
    }

    /// Adds an encoded query.
    pub(crate) fn query(mut self, query: &str) -> Self {
        if !query.is_empty() {
            self.url = format!("{}?{query}", self.url);
        }
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn accept(self, media_type: &str) -> Self {
        self.header(ACCEPT, media_type)
    }

    /// Makes unknown parameters an error: a mistyped filter must not return everything.
    pub(crate) fn strictly(self) -> Self {
        self.header(HeaderName::from_static("prefer"), "handling=strict")
    }

    /// Adds an idempotency key, so that the server processes the request once.
    pub(crate) fn idempotent(mut self, key: &str) -> Self {
        self.is_repeatable = true;
        self.key = Some(key.to_owned());
        self.header(HeaderName::from_static("idempotency-key"), key)
    }

    /// Marks the request as idempotent.
    pub(crate) fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Marks the request as not idempotent: sent again, it would have another effect.
    pub(crate) fn not_repeatable(mut self) -> Self {
        self.is_repeatable = false;
        self
    }

    pub(crate) fn body(self, body: Value) -> Self {
        let kind = match self.method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = self.header(CONTENT_TYPE, kind);
        request.body = Some(body);
        request
    }

    /// Sends the request and reads the whole response, of any status.
    pub(crate) async fn response(self) -> Result<ApiResponse, Failure> {
        let whole = async |response: Response| {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Ok((status, headers, response.bytes().await?))
        };
        let (status, headers, text) = self.send(whole).await?;
        let body = self.server.read_json(status, &text);
        // A proxy that can't reach the server responds in its own format.
        let body =
            if status >= 500 { body.map_err(|why| self.with_outcome_advice(why))? } else { body? };
        Ok(ApiResponse { status, headers, body })
    }

    /// Sends the request and reads the whole response; fails unless it is a success.
    pub(crate) async fn success(self) -> Result<ApiResponse, Failure> {
        let advice = self.outcome_advice();
        let response = self.response().await?;
        if response.is_success() {
            return Ok(response);
        }
        let failure = response.failure();
        match advice {
            Some(advice) if is_outcome_unknown(&response) => Err(failure.advise(advice)),
            _ => Err(failure),
        }
    }

    /// Sends the request and returns the response as a stream; fails unless it is a success.
    pub(crate) async fn stream(self) -> Result<Response, Failure> {
        let response = self.send(async |response| Ok(response)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.bytes().await.map_err(|error| self.server.broke_off(&error))?;
        let body = self.server.read_json(status, &text)?;
        Err(ApiResponse { status, headers, body }.failure())
    }

    /// Sends the request until `take` succeeds on a response.
    async fn send<T>(
        &self,
        take: impl AsyncFn(Response) -> Result<T, reqwest::Error>,
    ) -> Result<T, Failure> {
        if let Some(name) = &self.invalid_segment {
            return Err(Failure::input(format!("`{name}` can't be part of an address")));
        }
        let headers = self.headers()?;
        let body = self.body.as_ref().map(|body| Bytes::from(body.to_string()));
        let verbose = self.server.verbose();
        let (mut n_busy, mut has_renewed) = (0, false);
        // When the first response was lost.
        let mut lost: Option<Instant> = None;
        let mut pause = LOST_PAUSE_FIRST;
        loop {
            // After a lost response, every later failure leaves the outcome unknown.
            let advised = |why| if lost.is_some() { self.with_outcome_advice(why) } else { why };
            let token = self.server.token().await.map_err(advised)?;
            let sent = self.send_once(&headers, body.as_ref(), &token).await?;
            let is_refused = sent.as_ref().is_ok_and(|response| response.status() == 401);
            if is_refused && !std::mem::replace(&mut has_renewed, true) {
                let is_renewed = self.server.renew(&token).await.map_err(advised)?;
                if is_renewed {
                    continue;
                }
            }
            let wait = match sent {
                Ok(response) => match self.busy_for(&response) {
                    Some(wait) if n_busy < BUSY_MAX => {
                        n_busy += 1;
                        wait
                    }
                    _ => match take(response).await {
                        Ok(taken) => return Ok(taken),
                        Err(error) => {
                            verbose
                                .note(&format!("the response ended early: {}", root_cause(&error)));
                            self.check_retry(&mut lost, self.server.broke_off(&error))?;
                            pause
                        }
                    },
                },
                // Without a listener nothing has arrived, unless an earlier attempt did.
                Err(error) if (error.is_connect() || error.is_builder()) && lost.is_none() => {
                    return Err(self.server.unreachable(&error));
                }
                Err(error) => {
                    self.check_retry(&mut lost, self.server.unreachable(&error))?;
                    pause
                }
            };
            verbose.note(&format!("retrying in {:.1} s", wait.as_secs_f64()));
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LOST_PAUSE_MAX);
        }
    }

    /// Fails unless the request is sent again after a lost response.
    fn check_retry(&self, lost: &mut Option<Instant>, why: Failure) -> Result<(), Failure> {
        let since = *lost.get_or_insert_with(Instant::now);
        if self.is_repeatable && since.elapsed() < LOST_RETRY_TIME {
            return Ok(());
        }
        Err(self.with_outcome_advice(why))
    }

    /// Adds advice on the unknown outcome.
    fn with_outcome_advice(&self, why: Failure) -> Failure {
        match self.outcome_advice() {
            Some(advice) => why.advise(advice),
            None => why,
        }
    }

    /// Sends the request once: the response's head, or the transport error.
    async fn send_once(
        &self,
        headers: &HeaderMap,
        body: Option<&Bytes>,
        token: &str,
    ) -> Result<Result<Response, reqwest::Error>, Failure> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Failure::input("the token holds characters that no token has"))?;
        bearer.set_sensitive(true);
        let verbose = self.server.verbose();
        let began = verbose.request(&self.method, &self.url, &self.headers, self.body.as_ref());
        let mut request = self.server.client().request(self.method.clone(), &self.url);
        request = request.headers(headers.clone()).header(AUTHORIZATION, bearer);
        if let Some(body) = body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        match &sent {
            Ok(response) => verbose.response(began, response.status(), response.headers()),
            Err(error) => verbose.no_response(began, &root_cause(error)),
        }
        Ok(sent)
    }

    fn headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = |_| Failure::input(format!("`{value}` can't be sent as {name}"));
            headers.insert(name.clone(), HeaderValue::from_str(value).map_err(bad)?);
        }
        Ok(headers)
    }

    /// The pause before a retry that the server asks for.
    fn busy_for(&self, response: &Response) -> Option<Duration> {
        match response.status().as_u16() {
            429 => {}
            // The outcome may be unknown.
            503 if self.is_repeatable => {}
            // The first request with this key is still in progress.
            409 if self.key.is_some() => {}
            _ => return None,
        }
        retry_after(response)
    }

    /// Advice when the outcome is unknown.
    fn outcome_advice(&self) -> Option<String> {
        match (&self.key, &self.method) {
            (_, &Method::GET | &Method::HEAD) => None,
            (Some(key), _) => Some(format!(
                "it may have been done or not: repeat the command with --idempotency-key {key}, and it is done once"
            )),
            (None, _) => {
                Some("it may have been done or not: check, or repeat the command".to_owned())
            }
        }
    }
}

/// Whether the request's outcome is unknown after this response.
fn is_outcome_unknown(response: &ApiResponse) -> bool {
    match (response.status, response.title()) {
        (409, title) => title == "Request under way",
        // These titles guarantee that nothing was done.
        (503, "Busy" | "Store unavailable" | "Stopping" | "Issuer unavailable" | "Too slow") => {
            false
        }
        (status, _) => status >= 500,
    }
}
