//! Asking a server: requests that go out, answers and problems that come back.

use std::time::Duration;

use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Method, Response};
use serde_json::Value;

use super::Talk;
use super::advice;
use crate::failure::{Failure, Kind};
use crate::session::Session;

/// How often a request is sent again that a busy server refused, or whose answer was lost.
pub(crate) const ATTEMPTS_MAX: u32 = 4;

/// Longest that a busy server is waited for before it is asked again.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// A server that is asked.
pub(crate) struct Server {
    client: Client,
    url: String,
    session: Session,
    talk: Talk,
}

/// A server as one of its tenants sees it.
pub(crate) struct TenantServer {
    pub(crate) server: Server,
    pub(crate) tenant: String,
}

/// A request that is put together.
pub(crate) struct Ask<'s> {
    server: &'s Server,
    method: Method,
    url: String,
    headers: Vec<(HeaderName, String)>,
    body: Option<Value>,
    /// Whether it may be sent again when nobody knows what came of it.
    is_repeatable: bool,
    /// A name in it that no address can hold: it would lead elsewhere.
    unspeakable: Option<String>,
}

/// What a server answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl TenantServer {
    /// A request for something of the tenant's.
    pub(crate) fn ask(&self, method: Method, segments: &[&str]) -> Ask<'_> {
        let mut path = vec![self.tenant.as_str()];
        path.extend(segments);
        self.server.ask(method, &path)
    }

    pub(crate) fn get(&self, segments: &[&str]) -> Ask<'_> {
        self.ask(Method::GET, segments)
    }
}

impl Server {
    pub(super) fn new(client: Client, url: String, session: Session, talk: Talk) -> Self {
        Self { client, url, session, talk }
    }

    /// A request for a path under the server's address, whose segments are encoded here.
    pub(crate) fn ask(&self, method: Method, segments: &[&str]) -> Ask<'_> {
        let path: String = segments
            .iter()
            .map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT)))
            .collect();
        let unspeakable = segments.iter().find(|it| matches!(**it, "" | "." | ".."));
        Ask {
            server: self,
            unspeakable: unspeakable.map(|it| (*it).to_owned()),
            is_repeatable: method != Method::POST && method != Method::DELETE,
            method,
            url: format!("{}{path}", self.url),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Every item of a list, page by page, at this server's own address: the links of an answer may
    /// lead elsewhere, and a token is not for everyone.
    pub(crate) async fn all(&self, segments: &[&str]) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        for number in 1.. {
            let ask = self.ask(Method::GET, segments).query(&format!("pageNumber={number}"));
            match ask.success().await?.body {
                Value::Array(page) if page.is_empty() => break,
                Value::Array(page) => items.extend(page),
                _ => return Err(self.not_understood()),
            }
        }
        Ok(items)
    }

    /// The token that requests go out with.
    pub(crate) async fn token(&self) -> Result<String, Failure> {
        self.session.token(&self.client, self.talk).await
    }

    /// An answer that no gatehouse gives.
    pub(crate) fn not_understood(&self) -> Failure {
        let said = format!("{} answered something that can't be understood", self.url);
        Failure::new(Kind::Unreachable, said)
            .advise("is --url the address of a gatehouse, and is it no older than this program?")
    }

    /// An answer that ended in the middle.
    pub(crate) fn broke_off(&self, error: &reqwest::Error) -> Failure {
        let said = format!("the answer of {} broke off: {}", self.url, root_cause(error));
        Failure::new(Kind::Unreachable, said).advise("try again")
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = root_cause(error);
        Failure::new(Kind::Unreachable, format!("{} can't be reached: {why}", self.url))
            .advise("is the server running, and is --url right?")
    }
}

/// What lies beneath an error of the HTTP library, whose own words name only the address.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut why: &dyn std::error::Error = error;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}

impl Ask<'_> {
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
        self.header(HeaderName::from_static("idempotency-key"), key)
    }

    /// A question, although it is a POST: nothing is done by it.
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

    /// Sends it, and waits for the head of the answer, whatever that says.
    pub(crate) async fn send(self) -> Result<Response, Failure> {
        if let Some(name) = &self.unspeakable {
            return Err(Failure::input(format!("nothing can be asked for by the name `{name}`")));
        }
        let body = self.body.as_ref().map(|body| bytes::Bytes::from(body.to_string()));
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = |_| Failure::input(format!("`{value}` can't be sent as {name}"));
            headers.insert(name.clone(), HeaderValue::from_str(value).map_err(bad)?);
        }
        for attempt in 1.. {
            let is_last = attempt == ATTEMPTS_MAX || !self.is_repeatable;
            let token = self.server.token().await?;
            let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Failure::input("the token holds characters that no token has"))?;
            bearer.set_sensitive(true);
            let talk = self.server.talk;
            let began = talk.asks(&self.method, &self.url, &self.headers, self.body.as_ref());
            let mut request = self.server.client.request(self.method.clone(), &self.url);
            request = request.headers(headers.clone()).header(AUTHORIZATION, bearer);
            if let Some(body) = &body {
                request = request.body(body.clone());
            }
            let wait = match request.send().await {
                Ok(response) => {
                    talk.hears(began, response.status(), response.headers());
                    match retry_after(&response) {
                        Some(wait) if !is_last => wait,
                        _ => return Ok(response),
                    }
                }
                Err(error) => {
                    talk.misses(began, &root_cause(&error));
                    // Where nobody listens, nobody will in a second.
                    if is_last || error.is_connect() {
                        return Err(self.server.unreachable(&error));
                    }
                    Duration::from_millis(200) * attempt
                }
            };
            talk.says(&format!("once more in {:.1} s", wait.as_secs_f64()));
            tokio::time::sleep(wait).await;
        }
        unreachable!("the last attempt returns")
    }

    /// Sends it, and reads the whole answer, whatever it says.
    pub(crate) async fn answer(self) -> Result<Answer, Failure> {
        let server = self.server;
        read(server, self.send().await?).await
    }

    /// Sends it, and reads the whole answer, which must be a success.
    pub(crate) async fn success(self) -> Result<Answer, Failure> {
        let answer = self.answer().await?;
        if answer.is_success() { Ok(answer) } else { Err(answer.failure()) }
    }

    /// Sends it, and leaves the answer, which must be a success, to be read as it comes.
    pub(crate) async fn stream(self) -> Result<Response, Failure> {
        let server = self.server;
        let response = self.send().await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(read(server, response).await?.failure())
    }
}

async fn read(server: &Server, response: Response) -> Result<Answer, Failure> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.bytes().await.map_err(|error| server.unreachable(&error))?;
    let body = if text.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&text).map_err(|_| {
            let said = format!("{} answered {status} with something that is not JSON", server.url);
            Failure::new(Kind::Unreachable, said).advise("is --url the address of a gatehouse?")
        })?
    };
    Ok(Answer { status, headers, body })
}

/// How long a busy server wants to be left alone.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    if !matches!(response.status().as_u16(), 429 | 503) {
        return None;
    }
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    let wait = Duration::from_secs(seconds);
    (wait <= WAIT_MAX).then_some(wait)
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header that is a number.
    pub(crate) fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.to_str().ok()?.parse().ok()
    }

    /// Whether a page follows this one.
    pub(crate) fn has_next(&self) -> bool {
        let links = self.headers.get("link").and_then(|links| links.to_str().ok());
        links.is_some_and(|links| links.contains("rel=\"next\""))
    }

    /// What a problem says, on one line.
    pub(crate) fn explain(&self) -> String {
        let title = self.text("title").unwrap_or("no reason given");
        match self.text("detail") {
            Some(detail) if !detail.is_empty() => format!("{} {title}: {detail}", self.status),
            _ => format!("{} {title}", self.status),
        }
    }

    /// The answer as the reason why a command did not do what it was asked.
    pub(crate) fn failure(&self) -> Failure {
        let failure = Failure::new(Kind::of_status(self.status), self.explain());
        let failure = match advice::on(self.status, self.text("title").unwrap_or_default()) {
            Some(advice) => failure.advise(advice),
            None => failure,
        };
        failure.under(self.correlation())
    }

    fn correlation(&self) -> Option<String> {
        let header = || self.headers.get("x-correlation-id")?.to_str().ok();
        self.text("correlationId").or_else(header).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.body.get(name).and_then(Value::as_str)
    }
}
