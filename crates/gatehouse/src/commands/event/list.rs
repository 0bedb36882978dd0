//! `gatehouse event list`.

use clap::Args;
use serde_json::Value;

use super::columns::COLUMNS;
use super::conditions::Conditions;
use crate::client::api::{TenantArgs, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{Listing, OutputFormat};

/// Events that are shown without a limit.
const LIMIT_DEFAULT: u64 = 100;

/// Events of one request: the most that servers allow by default.
const PAGE_SIZE_MAX: u64 = 1000;

/// List what has changed, the oldest first
///
/// Times are like 2026-11-01, which is midnight UTC, or 2026-11-01T12:30:00+02:00.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse event list --from 2026-11-01 --type AccessStateChangeEvent
  gatehouse event list --access 01a1dd4d-f036-7005-9379-54b08ec1966e
  gatehouse event list --after 4711 --limit 1000
  gatehouse event list --all --output csv > events.csv")]
pub(crate) struct List {
    /// Events behind this number; 0, like no number, begins at the oldest one that is kept
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// At most so many events [default: 100]
    #[arg(long, value_name = "N", conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// All events, as they arrive
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    conditions: Conditions,
}

/// A list of events that is read on from a position.
struct EventPages<'s> {
    server: &'s TenantServer,
    path: Vec<String>,
    parameters: Vec<String>,
    /// Number of the last event that was looked at.
    after: Option<u64>,
    has_more: bool,
}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let only_access = self.conditions.only_access()?;
        let parameters = self.conditions.parameters()?;
        let (server, format) = tenant_args.open().await?;
        let (path, parameters) = match only_access {
            Some(id) => {
                (vec!["access".into(), id.shown().as_str().into(), "event".into()], Vec::new())
            }
            None => (vec!["event".to_owned()], parameters),
        };
        let after = self.after.filter(|after| *after > 0);
        let mut pages = EventPages { server: &server, path, parameters, after, has_more: true };
        let mut listing = Listing::new(format, COLUMNS);
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

impl EventPages<'_> {
    /// Some more events, which can be none although others follow.
    async fn next(&mut self, n_max: u64) -> Result<Vec<Value>, Failure> {
        let mut query = self.parameters.clone();
        query.extend(self.after.map(|after| format!("after={after}")));
        query.push(format!("pageSize={n_max}"));
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let request = self.server.get(&path).query(&query.join("&")).strictly();
        let mut response = request.success().await?;
        let Value::Array(events) = response.body.take() else {
            return Err(self.server.server.not_understood());
        };
        let seen_to = response.number("x-event-number");
        // A list that doesn't go on would be read for ever.
        self.has_more = response.has_next() && seen_to > self.after;
        self.after = seen_to.or(self.after);
        Ok(events)
    }
}
