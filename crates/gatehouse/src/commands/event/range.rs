//! A range of numbered events: of a tenant's, or of an audit.

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use crate::client::api::Server;
use crate::failure::Failure;
use crate::terminal::output::{Column, Listing, OutputFormat};

/// Events that are shown without a limit.
const LIMIT_DEFAULT: u64 = 100;

/// Events of one request: the most that servers allow by default.
const PAGE_SIZE_MAX: u64 = 1000;

/// Which events of those that are kept to list.
#[derive(Args)]
pub(crate) struct EventRange {
    /// Events behind this number; 0, like no number, begins at the oldest one that is kept
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// At most so many events [default: 100]
    #[arg(long, value_name = "N", conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// All events, as they arrive
    #[arg(long)]
    all: bool,
}

impl EventRange {
    /// Shows the events of a list at the server.
    pub(crate) async fn show(
        &self,
        server: &Server,
        path: &[&str],
        parameters: &[String],
        format: OutputFormat,
        columns: &'static [Column],
    ) -> Result<(), Failure> {
        let after = self.after.filter(|after| *after > 0);
        let mut pages = EventPages { server, path, parameters, after, has_more: true };
        let mut listing = Listing::new(format, columns);
        let limit = if self.all { u64::MAX } else { self.limit.unwrap_or(LIMIT_DEFAULT) };
        let mut n_left = limit;
        while pages.has_more && n_left > 0 {
            let events = pages.next(n_left.min(PAGE_SIZE_MAX)).await?;
            n_left -= events.len() as u64;
            listing.show(&events)?;
        }
        let n_shown = listing.n_shown();
        listing.finish()?;
        if pages.has_more {
            // A part must not be taken for the whole list.
            let after = pages.after.unwrap_or_default();
            eprintln!("{n_shown} events; --after {after} shows the next, --all shows all");
        } else if n_shown == 0 && format == OutputFormat::Table {
            eprintln!("no events");
        }
        Ok(())
    }
}

/// A list of events that is read on from a position.
struct EventPages<'s> {
    server: &'s Server,
    path: &'s [&'s str],
    parameters: &'s [String],
    /// Number of the last event that was looked at.
    after: Option<u64>,
    has_more: bool,
}

impl EventPages<'_> {
    /// Some more events, which can be none although others follow.
    async fn next(&mut self, n_max: u64) -> Result<Vec<Value>, Failure> {
        let mut query = self.parameters.to_vec();
        query.extend(self.after.map(|after| format!("after={after}")));
        query.push(format!("pageSize={n_max}"));
        let request =
            self.server.request(Method::GET, self.path).query(&query.join("&")).strictly();
        let mut response = request.success().await?;
        let Value::Array(events) = response.body.take() else {
            return Err(self.server.not_understood());
        };
        let seen_to = response.number("x-event-number");
        // A list that doesn't go on would be read for ever.
        self.has_more = response.has_next() && seen_to > self.after;
        self.after = seen_to.or(self.after);
        Ok(events)
    }
}
