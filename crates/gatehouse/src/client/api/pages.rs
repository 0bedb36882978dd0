//! Lists, a page at a time, at the server's own address: the links of an answer may lead elsewhere, and a token is not for
//! everyone.

use reqwest::Method;
use serde_json::Value;

use super::answer::Answer;
use super::server::Server;
use crate::failure::Failure;

/// What is asked for where nobody says how much: the most that servers give unless they are set otherwise.
const SIZE_MAX: u64 = 1000;

/// A list that is gone through.
pub(crate) struct Pages<'s> {
    server: &'s Server,
    path: Vec<String>,
    /// What stands in front of the page's number.
    query: String,
    number: u64,
    size: Size,
    is_over: bool,
}

/// How many on a page.
enum Size {
    /// As many as somebody said.
    Said(u64),
    /// As many as there may be.
    Most,
    /// As many as the server likes.
    Any,
}

impl Server {
    /// A list, in large pages; the query says which of its things.
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
    /// All pages of a list, large ones. The query says which of its things.
    pub(in crate::client::api) fn new(server: &'s Server, path: &[&str], query: &str) -> Self {
        Self {
            server,
            path: path.iter().map(|it| (*it).to_owned()).collect(),
            query: query.to_owned(),
            number: 1,
            size: Size::Most,
            is_over: false,
        }
    }

    /// With so many on a page.
    pub(crate) fn of(mut self, size: Option<u64>) -> Self {
        if let Some(size) = size {
            self.size = Size::Said(size);
        }
        self
    }

    /// From this one on, as large as it is given to those who don't say.
    pub(crate) fn from(mut self, number: u64) -> Self {
        self.number = number;
        self.size = Size::Any;
        self
    }

    /// The next page with what is on it, until there is none.
    pub(crate) async fn next(&mut self) -> Result<Option<(Answer, Vec<Value>)>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let mut answer = self.ask().await?;
        if matches!(self.size, Size::Most) && is_too_large(&answer) {
            self.size = Size::Any;
            answer = self.ask().await?;
        }
        if !answer.is_success() {
            return Err(answer.failure());
        }
        let Value::Array(items) = answer.body.take() else {
            return Err(self.server.not_understood());
        };
        self.is_over = !answer.has_next();
        self.number += 1;
        Ok(Some((answer, items)))
    }

    async fn ask(&self) -> Result<Answer, Failure> {
        let mut query = self.query.clone();
        let mut add = |parameter: String| {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(&parameter);
        };
        add(format!("pageNumber={}", self.number));
        match self.size {
            Size::Said(size) => add(format!("pageSize={size}")),
            Size::Most => add(format!("pageSize={SIZE_MAX}")),
            Size::Any => {}
        }
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        self.server.ask(Method::GET, &path).query(&query).strictly().answer().await
    }
}

/// Whether the page size is what the server doesn't like.
fn is_too_large(answer: &Answer) -> bool {
    let faults = answer.body.get("invalidParams").and_then(Value::as_array);
    answer.status == 400
        && faults.is_some_and(|faults| faults.iter().any(|it| it["name"] == "pageSize"))
}
