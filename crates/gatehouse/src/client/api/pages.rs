//! Lists, page by page, at the server's own address: a response's links may point to another host, which must not get
//! the token.

use reqwest::Method;
use serde_json::Value;

use super::response::ApiResponse;
use super::server::Server;
use crate::failure::Failure;

/// Page size without a request for another: the largest that servers allow by default.
const SIZE_MAX: u64 = 1000;

/// An iterator over the pages of a list.
pub(crate) struct Pages<'s> {
    server: &'s Server,
    path: Vec<String>,
    /// The query in front of the page number.
    query: String,
    number: u64,
    size: PageSize,
    is_finished: bool,
}

enum PageSize {
    Requested(u64),
    Largest,
    ServerDefault,
}

impl Server {
    /// A list in large pages, filtered by the query.
    pub(crate) fn pages(&self, segments: &[&str], query: &str) -> Pages<'_> {
        Pages::new(self, segments, query)
    }

    /// Every item of a list.
    pub(crate) async fn all(&self, segments: &[&str]) -> Result<Vec<Value>, Failure> {
        let (mut items, mut pages) = (Vec::new(), self.pages(segments, ""));
        while let Some((_, page)) = pages.next().await? {
            items.extend(page);
        }
        Ok(items)
    }
}

impl<'s> Pages<'s> {
    /// All pages of a list, large ones, filtered by the query.
    pub(in crate::client::api) fn new(server: &'s Server, path: &[&str], query: &str) -> Self {
        Self {
            server,
            path: path.iter().map(|it| (*it).to_owned()).collect(),
            query: query.to_owned(),
            number: 1,
            size: PageSize::Largest,
            is_finished: false,
        }
    }

    /// Sets the page size, if there is one.
    pub(crate) fn of(mut self, size: Option<u64>) -> Self {
        if let Some(size) = size {
            self.size = PageSize::Requested(size);
        }
        self
    }

    /// Starts at this page, with the server's default size.
    pub(crate) fn from(mut self, number: u64) -> Self {
        self.number = number;
        self.size = PageSize::ServerDefault;
        self
    }

    /// The next page with its items; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<(ApiResponse, Vec<Value>)>, Failure> {
        if self.is_finished {
            return Ok(None);
        }
        let mut response = self.fetch().await?;
        if matches!(self.size, PageSize::Largest) && is_too_large(&response) {
            self.size = PageSize::ServerDefault;
            response = self.fetch().await?;
        }
        if !response.is_success() {
            return Err(response.failure());
        }
        let Value::Array(items) = response.body.take() else {
            return Err(self.server.not_understood());
        };
        self.is_finished = !response.has_next();
        self.number += 1;
        Ok(Some((response, items)))
    }

    async fn fetch(&self) -> Result<ApiResponse, Failure> {
        let mut query = self.query.clone();
        let mut add = |parameter: String| {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(&parameter);
        };
        add(format!("pageNumber={}", self.number));
        match self.size {
            PageSize::Requested(size) => add(format!("pageSize={size}")),
            PageSize::Largest => add(format!("pageSize={SIZE_MAX}")),
            PageSize::ServerDefault => {}
        }
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        self.server.request(Method::GET, &path).query(&query).strictly().response().await
    }
}

/// Whether the server refused the page size.
fn is_too_large(response: &ApiResponse) -> bool {
    let faults = response.body.get("invalidParams").and_then(Value::as_array);
    response.status == 400
        && faults.is_some_and(|faults| faults.iter().any(|it| it["name"] == "pageSize"))
}
