//! The client side of the API, for the commands that use a running server.

use std::time::Duration;

use clap::Args;
use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::Value;

/// How long a server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Which server, and who asks.
#[derive(Args)]
pub(crate) struct Connection {
    /// The server's address
    #[arg(
        long,
        value_name = "URL",
        env = "GATEHOUSE_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// A token, such as `gatehouse token` makes
    #[arg(long, value_name = "TOKEN", env = "GATEHOUSE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// A server that is asked.
pub(crate) struct Server {
    client: Client,
    url: String,
    token: String,
}

/// What it answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Connection {
    pub(crate) fn open(self) -> Result<Server, String> {
        let token = self.token.ok_or(
            "a token is needed: give one with --token or in GATEHOUSE_TOKEN, such as \
             `gatehouse token --tenant '*' --scope admin` makes",
        )?;
        if !self.url.starts_with("http://") && !self.url.starts_with("https://") {
            let url = self.url;
            return Err(format!("--url must begin with http:// or https://, not `{url}`"));
        }
        let client = Client::builder().timeout(TIMEOUT).build();
        let client = client.map_err(|cause| format!("no HTTP client: {cause}"))?;
        Ok(Server { client, url: self.url.trim_end_matches('/').to_owned(), token })
    }
}

impl Server {
    /// Asks for a path under the server's address, whose segments are encoded here.
    pub(crate) fn ask(
        &self,
        method: Method,
        segments: &[&str],
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        self.ask_at(method, &self.url_of(segments), body)
    }

    /// Every item of a list, page by page, at this server's own address: the links of an answer may
    /// lead elsewhere, and a token is not for everyone.
    pub(crate) fn all(&self, segments: &[&str]) -> Result<Vec<Value>, String> {
        let mut items = Vec::new();
        for number in 1.. {
            let url = format!("{}?pageNumber={number}", self.url_of(segments));
            let answer = self.ask_at(Method::GET, &url, None)?;
            match answer.body {
                Value::Array(page) if answer.status == 200 && page.is_empty() => break,
                Value::Array(page) if answer.status == 200 => items.extend(page),
                _ => return Err(answer.explain()),
            }
        }
        Ok(items)
    }

    fn url_of(&self, segments: &[&str]) -> String {
        let path: String = segments
            .iter()
            .map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT)))
            .collect();
        format!("{}{path}", self.url)
    }

    fn ask_at(&self, method: Method, url: &str, body: Option<&Value>) -> Result<Answer, String> {
        let mut request = self.client.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        let text = response.text().map_err(|error| self.unreachable(&error))?;
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).map_err(|_| {
                format!("{} answered {status} with something that is not JSON", self.url)
            })?
        };
        Ok(Answer { status, body })
    }

    fn unreachable(&self, error: &reqwest::Error) -> String {
        let mut why: &dyn std::error::Error = error;
        while let Some(source) = why.source() {
            why = source;
        }
        format!("{} can't be reached ({why}): is the server running, and is --url right?", self.url)
    }
}

impl Answer {
    /// What a problem body says, on one line.
    pub(crate) fn explain(&self) -> String {
        let text = |name: &str| self.body.get(name).and_then(Value::as_str);
        let title = text("title").unwrap_or("no reason given");
        let detail = text("detail").unwrap_or_default();
        let correlation = text("correlationId").unwrap_or("none");
        format!("{} {title}: {detail} (correlation ID {correlation})", self.status)
    }
}
