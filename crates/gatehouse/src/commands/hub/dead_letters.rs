//! `gatehouse hub dead-letters`.

use clap::Args;
use serde_json::Value;

use super::hub_id::HubArg;
use crate::client::api::{TenantArgs, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{Column, Fit, Listing, OutputFormat, second, text};

/// Dead letters that are shown without a limit.
const LIMIT_DEFAULT: u64 = 100;

/// Dead letters of one request: the most that servers allow by default.
const PAGE_SIZE_MAX: u64 = 1000;

/// List events that are not tried any more, by number
#[derive(Args)]
#[command(after_help = "\
`gatehouse hub replay` sends them again. Examples:
  gatehouse hub dead-letters hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000
  gatehouse hub dead-letters hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000 --all")]
pub(crate) struct DeadLetters {
    #[command(flatten)]
    hub: HubArg,
    /// Dead letters behind this event number
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    after: u64,
    /// At most so many dead letters [default: 100]
    #[arg(long, value_name = "N", conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// All dead letters, as they arrive
    #[arg(long)]
    all: bool,
}

const COLUMNS: &[Column] = &[
    Column::text("EVENT", "eventNumber", Fit::Whole),
    Column::computed("SINCE (UTC)", "since", |it| second(&text(it, "since")), Fit::Whole),
    Column::text("ATTEMPTS", "attempts", Fit::Whole),
    Column::text("ERROR", "error", Fit::Cut(16)),
];

impl DeadLetters {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        let (server, format) = tenant_args.open().await?;
        let mut pages = Pages { server: &server, id: &id, after: self.after, has_more: true };
        let mut listing = Listing::new(format, COLUMNS);
        let mut n_left = if self.all { u64::MAX } else { self.limit.unwrap_or(LIMIT_DEFAULT) };
        while pages.has_more && n_left > 0 {
            let letters = pages.next(n_left.min(PAGE_SIZE_MAX)).await?;
            n_left -= letters.len() as u64;
            listing.show(&letters)?;
        }
        let n_shown = listing.n_shown();
        listing.finish()?;
        let after = pages.after;
        // A part must not be taken for the whole list.
        if pages.has_more && !pages.next(1).await?.is_empty() {
            eprintln!("{n_shown} dead letters; --after {after} shows the next, --all shows all");
        } else if n_shown == 0 && format == OutputFormat::Table {
            eprintln!("no dead letters");
        }
        Ok(())
    }
}

/// A hub's dead letters, read on from a position.
struct Pages<'s> {
    server: &'s TenantServer,
    id: &'s str,
    /// Event number of the last dead letter.
    after: u64,
    /// Whether others may follow: the last page was full.
    has_more: bool,
}

impl Pages<'_> {
    async fn next(&mut self, n_max: u64) -> Result<Vec<Value>, Failure> {
        let query = format!("after={}&pageSize={n_max}", self.after);
        let request = self.server.get(&["hub", self.id, "deadLetter"]).query(&query).strictly();
        let Value::Array(letters) = request.success().await?.body else {
            return Err(self.server.server.not_understood());
        };
        let last = letters.last().and_then(|it| it["eventNumber"].as_u64()).unwrap_or_default();
        // A list that doesn't go on would be read for ever.
        self.has_more = letters.len() as u64 == n_max && last > self.after;
        self.after = last.max(self.after);
        Ok(letters)
    }
}
