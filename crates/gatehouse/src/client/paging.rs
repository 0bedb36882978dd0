//! Paging of lists.

use clap::Args;

use crate::client::api::{ApiResponse, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{Column, Listing, OutputFormat};

/// The pages of a list to show.
#[derive(Args)]
pub(crate) struct Paging {
    /// Page number
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) page: Option<u64>,
    /// Items per page
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<u64>,
    /// All pages, as they arrive
    #[arg(long)]
    pub(crate) all: bool,
}

/// The items of a list, for messages and tables.
pub(crate) struct ListKind {
    /// The items' name in the plural.
    pub(crate) plural: &'static str,
    pub(crate) columns: &'static [Column],
}

impl Paging {
    /// Shows a page of a list with a known total, or all pages.
    pub(crate) async fn show(
        &self,
        server: &TenantServer,
        path: &[&str],
        filter: Option<&str>,
        kind: ListKind,
        format: OutputFormat,
    ) -> Result<(), Failure> {
        let filter = filter.unwrap_or_default();
        let mut listing = Listing::new(format, kind.columns);
        if self.all {
            let mut pages = server.pages(path, filter).of(self.page_size);
            while let Some((_, items)) = pages.next().await? {
                listing.show(&items)?;
            }
            let is_empty = listing.n_shown() == 0;
            listing.finish()?;
            if is_empty && format == OutputFormat::Table {
                eprintln!("no {}", kind.plural);
            }
            return Ok(());
        }
        let number = self.page.unwrap_or(1);
        let mut pages = server.pages(path, filter).from(number).of(self.page_size);
        if let Some((response, items)) = pages.next().await? {
            listing.show(&items)?;
            listing.finish()?;
            // A single page must not be taken for the whole list.
            if format == OutputFormat::Table || response.has_next() {
                self.show_position(&response, number, items.len(), kind.plural);
            }
        }
        Ok(())
    }

    /// Prints the position in the list.
    fn show_position(&self, response: &ApiResponse, number: u64, n_shown: usize, plural: &str) {
        let total = response.number("x-total-count").unwrap_or_default();
        if total == 0 {
            eprintln!("no {plural}");
        } else if n_shown == 0 {
            eprintln!("page {number} is behind the last of {total} {plural}");
        } else if response.has_next() {
            let next = number + 1;
            eprintln!(
                "{n_shown} of {total} {plural}; --page {next} shows the next, --all shows all"
            );
        }
    }
}
