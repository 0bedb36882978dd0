//! A request: how it is put together, and how it is sent until there is an answer.
//!
//! A server that is busy is asked again after as long as it says. When an answer is lost, nobody knows whether the request was
//! done; one that may be sent twice is sent again, for a while.

use std::time::{Duration, Instant};

use bytes::Bytes;
use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use super::answer::Answer;
use super::server::Server;
use crate::client::wire::{BUSY_MAX, retry_after, root_cause};
use crate::failure::Failure;

/// How long a request is sent again whose answer is lost: a server that is started anew is back by then.
const LOST_PATIENCE: Duration = Duration::from_secs(20);

/// Between two of these: at first, and at most.
const LOST_PAUSE_FIRST: Duration = Duration::from_millis(250);
const LOST_PAUSE_MAX: Duration = Duration::from_secs(4);

/// A request that is put together.
pub(crate) struct Ask<'s> {
    server: &'s Server,
    method: Method,
    url: String,
    headers: Vec<(HeaderName, String)>,
    body: Option<Value>,
    /// Whether it may be sent again when nobody knows what came of it.
    is_repeatable: bool,
    /// The name by which it is done once.
    key: Option<String>,
    /// A name in it that no address can hold: it would lead elsewhere.
    unspeakable: Option<String>,
}

impl Server {
    /// A request for a path under the server's address, whose segments are encoded here.
    pub(crate) fn ask(&self, method: Method, segments: &[&str]) -> Ask<'_> {
        let path: String = segments
            .iter()
            .map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT)))
            .collect();
        Ask::new(self, method, format!("{}{path}", self.url), segments)
    }
}

impl<'s> Ask<'s> {
    /// A request for an address below the server's, by its segments as they were given.
    pub(in crate::client::api) fn new(
        server: &'s Server,
        method: Method,
        url: String,
        segments: &[&str],
    ) -> Self {
        let unspeakable = segments.iter().find(|it| matches!(**it, "" | "." | ".."));
        Self {
            server,
            is_repeatable: method != Method::POST && method != Method::DELETE,
            method,
            url,
            headers: Vec::new(),
            body: None,
            key: None,
            unspeakable: unspeakable.map(|it| (*it).to_owned()),
        }
    }

    /// With this query, encoded as it is to be.
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

    /// A parameter that isn't known is an error, and not ignored: who mistypes a filter must not get everything.
    pub(crate) fn strictly(self) -> Self {
        self.header(HeaderName::from_static("prefer"), "handling=strict")
    }

    /// With this name, so that it is done once however often it is sent.
    pub(crate) fn keyed(mut self, key: &str) -> Self {
        self.is_repeatable = true;
        self.key = Some(key.to_owned());
        self.header(HeaderName::from_static("idempotency-key"), key)
    }

    /// Twice is as good as once.
    pub(crate) fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    pub(crate) fn body(self, body: Value) -> Self {
        let kind = match self.method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut ask = self.header(CONTENT_TYPE, kind);
        ask.body = Some(body);
        ask
    }

    /// Sends it, and reads the whole answer, whatever it says.
    pub(crate) async fn answer(self) -> Result<Answer, Failure> {
        let whole = async |response: Response| {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Ok((status, headers, response.bytes().await?))
        };
        let (status, headers, text) = self.send(whole).await?;
        let body = self.server.read_json(status, &text);
        // A proxy that can't reach the server says so in words of its own.
        let body = if status >= 500 { body.map_err(|why| self.doubted(why))? } else { body? };
        Ok(Answer { status, headers, body })
    }

    /// Sends it, and reads the whole answer, which must be a success.
    pub(crate) async fn success(self) -> Result<Answer, Failure> {
        let doubt = self.doubt();
        let answer = self.answer().await?;
        if answer.is_success() {
            return Ok(answer);
        }
        let failure = answer.failure();
        match doubt {
            Some(doubt) if leaves_in_doubt(&answer) => Err(failure.advise(doubt)),
            _ => Err(failure),
        }
    }

    /// Sends it, and leaves the answer, which must be a success, to be read as it comes.
    pub(crate) async fn stream(self) -> Result<Response, Failure> {
        let response = self.send(async |response| Ok(response)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.bytes().await.map_err(|error| self.server.broke_off(&error))?;
        let body = self.server.read_json(status, &text)?;
        Err(Answer { status, headers, body }.failure())
    }

    /// Sends it until something can be taken from an answer.
    async fn send<T>(
        &self,
        take: impl AsyncFn(Response) -> Result<T, reqwest::Error>,
    ) -> Result<T, Failure> {
        if let Some(name) = &self.unspeakable {
            return Err(Failure::input(format!("nothing can be asked for by the name `{name}`")));
        }
        let headers = self.headers()?;
        let body = self.body.as_ref().map(|body| Bytes::from(body.to_string()));
        let talk = self.server.talk();
        let (mut n_busy, mut has_renewed) = (0, false);
        // Since when an answer is lost.
        let mut lost: Option<Instant> = None;
        let mut pause = LOST_PAUSE_FIRST;
        loop {
            // Who can't go on after a loss still doesn't know what came of it.
            let doubted = |why| if lost.is_some() { self.doubted(why) } else { why };
            let token = self.server.token().await.map_err(doubted)?;
            let sent = self.send_once(&headers, body.as_ref(), &token).await?;
            let is_refused = sent.as_ref().is_ok_and(|response| response.status() == 401);
            if is_refused && !std::mem::replace(&mut has_renewed, true) {
                let is_renewed = self.server.renew(&token).await.map_err(doubted)?;
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
                            talk.says(&format!("the answer broke off: {}", root_cause(&error)));
                            self.go_on(&mut lost, self.server.broke_off(&error))?;
                            pause
                        }
                    },
                },
                // Where nobody listens, nothing has arrived; unless it did before.
                Err(error) if (error.is_connect() || error.is_builder()) && lost.is_none() => {
                    return Err(self.server.unreachable(&error));
                }
                Err(error) => {
                    self.go_on(&mut lost, self.server.unreachable(&error))?;
                    pause
                }
            };
            talk.says(&format!("once more in {:.1} s", wait.as_secs_f64()));
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LOST_PAUSE_MAX);
        }
    }

    /// Whether it is sent again after an answer was lost.
    fn go_on(&self, lost: &mut Option<Instant>, why: Failure) -> Result<(), Failure> {
        let since = *lost.get_or_insert_with(Instant::now);
        if self.is_repeatable && since.elapsed() < LOST_PATIENCE {
            return Ok(());
        }
        Err(self.doubted(why))
    }

    /// Why there is no answer, with what that means for what was asked.
    fn doubted(&self, why: Failure) -> Failure {
        match self.doubt() {
            Some(doubt) => why.advise(doubt),
            None => why,
        }
    }

    /// Sends it: the head of the answer, or why there is none.
    async fn send_once(
        &self,
        headers: &HeaderMap,
        body: Option<&Bytes>,
        token: &str,
    ) -> Result<Result<Response, reqwest::Error>, Failure> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Failure::input("the token holds characters that no token has"))?;
        bearer.set_sensitive(true);
        let talk = self.server.talk();
        let began = talk.asks(&self.method, &self.url, &self.headers, self.body.as_ref());
        let mut request = self.server.client().request(self.method.clone(), &self.url);
        request = request.headers(headers.clone()).header(AUTHORIZATION, bearer);
        if let Some(body) = body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        match &sent {
            Ok(response) => talk.hears(began, response.status(), response.headers()),
            Err(error) => talk.misses(began, &root_cause(error)),
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

    /// How long to wait until it is sent again, if the server wants that.
    fn busy_for(&self, response: &Response) -> Option<Duration> {
        match response.status().as_u16() {
            429 => {}
            // Nobody may know what came of it.
            503 if self.is_repeatable => {}
            // The first that was sent with this name is still being worked on.
            409 if self.key.is_some() => {}
            _ => return None,
        }
        retry_after(response)
    }

    /// What to do when nobody knows whether it was done.
    fn doubt(&self) -> Option<String> {
        match (&self.key, &self.method) {
            (_, &Method::GET | &Method::HEAD) => None,
            (Some(key), _) => Some(format!(
                "it may have been done or not: give the same command once more with --idempotency-key {key}, and it is done once"
            )),
            (None, _) => Some("it may have been done or not: do it once more, or look".to_owned()),
        }
    }
}

/// Whether nobody knows after such an answer what came of the request.
fn leaves_in_doubt(answer: &Answer) -> bool {
    match (answer.status, answer.title()) {
        (409, title) => title == "Request under way",
        // These say that nothing was done.
        (503, "Busy" | "Store unavailable" | "Stopping" | "Issuer unavailable" | "Too slow") => {
            false
        }
        (status, _) => status >= 500,
    }
}
