//! Which part of a list is shown, and how it is gone through.

use std::io::IsTerminal;

use clap::Args;
use reqwest::StatusCode;
use serde_json::Value;

use crate::api::{Answer, TenantServer};
use crate::failure::Failure;
use crate::output::{Column, Form, Listing};

/// The page size that a whole list is read with: the largest that servers give unless they are set otherwise.
const WHOLE_PAGE_SIZE: u64 = 1000;

/// Which part of a list is shown.
#[derive(Args)]
pub(crate) struct Paging {
    /// Which page
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) page: Option<u64>,
    /// How many on a page
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<u64>,
    /// All pages, one after the other, as they come
    #[arg(long)]
    pub(crate) all: bool,
}

/// What a list is of: for what is said about it.
pub(crate) struct Kind {
    /// What the things are called.
    pub(crate) plural: &'static str,
    pub(crate) columns: &'static [Column],
}

impl Paging {
    /// Shows a list that tells how long it is: a page of it, or all.
    pub(crate) async fn show(
        &self,
        server: &TenantServer,
        path: &[&str],
        filter: Option<&str>,
        kind: Kind,
        form: Form,
    ) -> Result<(), Failure> {
        let mut listing = Listing::new(form, kind.columns);
        let mut number = self.page.unwrap_or(1);
        let mut size = self.page_size.or(self.all.then_some(WHOLE_PAGE_SIZE));
        loop {
            let mut query: Vec<String> = filter.into_iter().map(str::to_owned).collect();
            query.push(format!("pageNumber={number}"));
            query.extend(size.map(|size| format!("pageSize={size}")));
            let answer = server.get(path).query(&query.join("&")).strictly().answer().await?;
            if self.page_size.is_none() && size.is_some() && is_too_large(&answer) {
                // This server gives smaller pages: as large as it likes, then.
                size = None;
                continue;
            }
            if !answer.is_success() {
                return Err(answer.failure());
            }
            let Value::Array(items) = &answer.body else {
                return Err(server.server.not_understood());
            };
            listing.show(items)?;
            if !self.all {
                let n_shown = listing.n_shown();
                listing.finish()?;
                if form == Form::Table {
                    self.tell_where(&answer, number, n_shown, kind.plural);
                }
                return Ok(());
            }
            if !answer.has_next() {
                let is_empty = listing.n_shown() == 0;
                listing.finish()?;
                if is_empty && form == Form::Table {
                    eprintln!("no {}", kind.plural);
                }
                return Ok(());
            }
            number += 1;
        }
    }

    /// Says beside a table where in the list it is.
    fn tell_where(&self, answer: &Answer, number: u64, n_shown: usize, plural: &str) {
        let total = answer.number("x-total-count").unwrap_or_default();
        if total == 0 {
            eprintln!("no {plural}");
        } else if n_shown == 0 {
            eprintln!("page {number} is behind the last of {total} {plural}");
        } else if answer.has_next() && std::io::stderr().is_terminal() {
            let next = number + 1;
            eprintln!(
                "{n_shown} of {total} {plural}; --page {next} shows the next, --all shows all"
            );
        }
    }
}

/// Whether the page size is what the server doesn't like.
fn is_too_large(answer: &Answer) -> bool {
    let faults = answer.body.get("invalidParams").and_then(Value::as_array);
    answer.status == StatusCode::BAD_REQUEST
        && faults.is_some_and(|faults| faults.iter().any(|it| it["name"] == "pageSize"))
}
