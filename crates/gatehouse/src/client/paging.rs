//! Which part of a list is shown, and how it is gone through.

use clap::Args;

use crate::client::api::{Answer, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{Column, Form, Listing};

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
        let filter = filter.unwrap_or_default();
        let mut listing = Listing::new(form, kind.columns);
        if self.all {
            let mut pages = server.pages(path, filter).of(self.page_size);
            while let Some((_, items)) = pages.next().await? {
                listing.show(&items)?;
            }
            let is_empty = listing.n_shown() == 0;
            listing.finish()?;
            if is_empty && form == Form::Table {
                eprintln!("no {}", kind.plural);
            }
            return Ok(());
        }
        let number = self.page.unwrap_or(1);
        let mut pages = server.pages(path, filter).from(number).of(self.page_size);
        if let Some((answer, items)) = pages.next().await? {
            listing.show(&items)?;
            listing.finish()?;
            // Nobody is to take a page for the whole.
            if form == Form::Table || answer.has_next() {
                self.tell_where(&answer, number, items.len(), kind.plural);
            }
        }
        Ok(())
    }

    /// Says beside a table where in the list it is.
    fn tell_where(&self, answer: &Answer, number: u64, n_shown: usize, plural: &str) {
        let total = answer.number("x-total-count").unwrap_or_default();
        if total == 0 {
            eprintln!("no {plural}");
        } else if n_shown == 0 {
            eprintln!("page {number} is behind the last of {total} {plural}");
        } else if answer.has_next() {
            let next = number + 1;
            eprintln!(
                "{n_shown} of {total} {plural}; --page {next} shows the next, --all shows all"
            );
        }
    }
}
