//! `gatehouse product list`.

use std::io::{self, Write};

use clap::Args;
use serde_json::{Value, json};

use super::COLUMNS;
use super::problem::Problems;
use crate::client::api::{TenantArgs, TenantServer};
use crate::client::filter::{self, Conditions};
use crate::client::paging::Paging;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Listing, OutputFormat};
use crate::terminal::screen::Screen;

/// Page size without `--page-size`.
const PAGE_SIZE: u64 = 100;

/// Page size with `--all`: the largest that servers allow.
const WHOLE_PAGE_SIZE: u64 = 1000;

/// Most consecutive pages that may be empty because of failures, before `--all` gives up.
const FAILED_PAGES_MAX: u32 = 3;

/// List connections, over all platforms
///
/// A page is shared evenly among the accounts at platforms, so it may have fewer connections than --page-size.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse product list --platform ALPHA --platform BETA
  gatehouse product list --all --property fleet=metering --output csv > metering.csv")]
pub(crate) struct List {
    /// Connections at this platform, by its name in capitals; several mean any of them
    #[arg(long, value_name = "PLATFORM", help_heading = "Filters")]
    platform: Vec<String>,
    /// Connections of this account
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    account: Option<String>,
    /// Connections with this property, or with this value of it
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Filters")]
    property: Option<String>,
    /// Cards with these ICCIDs, separated by commas; any kind of number may match
    #[arg(long, value_name = "LIST", help_heading = "Filters")]
    iccid: Option<String>,
    /// Subscriptions with these IMSIs
    #[arg(long, value_name = "LIST", help_heading = "Filters")]
    imsi: Option<String>,
    /// Connections with these MSISDNs
    #[arg(long, value_name = "LIST", help_heading = "Filters")]
    msisdn: Option<String>,
    /// Terminals with these serial numbers
    #[arg(long, value_name = "LIST", help_heading = "Filters")]
    serial: Option<String>,
    /// Filter in the API's syntax: `&` means and, `;` separates alternatives, as in
    /// 'platform=ALPHA&customProperty.name=fleet;platform=BETA'. Flags narrow each alternative
    #[arg(long, value_name = "EXPRESSION", help_heading = "Filters")]
    filter: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let expression = self.expression();
        let all = self.paging.all;
        let size = self.paging.page_size.unwrap_or(if all { WHOLE_PAGE_SIZE } else { PAGE_SIZE });
        let mut number = self.paging.page.unwrap_or(1);
        let mut shown = ProductOutput::new(format);
        let mut problems = Problems::default();
        let (mut n_failed_pages, mut is_cut) = (0, false);
        loop {
            let page = Page::fetch(&server, &expression, number, size, "").await?;
            problems.add(&page.errors);
            shown.add(&page.products)?;
            if !all {
                break;
            }
            match self.more_pages(&server, &expression, number, size, &page, &mut problems).await? {
                MorePages::No => break,
                // The failures are reported; other accounts may have more.
                MorePages::Unknown if n_failed_pages == FAILED_PAGES_MAX => break,
                MorePages::Unknown => n_failed_pages += 1,
                MorePages::Yes => n_failed_pages = 0,
            }
            if !page.has_next {
                is_cut = true;
                break;
            }
            number += 1;
        }
        let is_empty = shown.n_shown() == 0;
        shown.finish(&problems)?;
        problems.print();
        if !is_empty && !all {
            eprintln!("there may be more: --page {} shows the next, --all shows all", number + 1);
        }
        if is_empty && problems.is_empty() && format == OutputFormat::Table {
            eprintln!("no connections{}", if number > 1 && !all { " on this page" } else { "" });
        }
        problems.exit_result()?;
        if is_cut {
            let message =
                format!("the list is incomplete: page {number} is the last that can be requested");
            return Err(Failure::new(FailureKind::Partial, message).advise("ask for larger pages"));
        }
        Ok(())
    }

    /// Whether more pages follow. An empty page of a property filter says nothing: the unfiltered page decides.
    async fn more_pages(
        &self,
        server: &TenantServer,
        expression: &str,
        number: u64,
        size: u64,
        page: &Page,
        problems: &mut Problems,
    ) -> Result<MorePages, Failure> {
        if !page.products.is_empty() {
            return Ok(MorePages::Yes);
        }
        let mut has_failed = !page.errors.is_empty();
        if expression.contains("customProperty") {
            let accounts = only_accounts(expression);
            let whole = Page::fetch(server, &accounts, number, size, "&fields=none").await?;
            problems.add(&whole.errors);
            if !whole.products.is_empty() {
                return Ok(MorePages::Yes);
            }
            has_failed |= !whole.errors.is_empty();
        }
        Ok(if has_failed { MorePages::Unknown } else { MorePages::No })
    }

    fn expression(&self) -> String {
        let mut conditions = Conditions::default();
        conditions.add("relatedParty.name", "=", self.account.as_deref());
        if let Some(property) = &self.property {
            let (name, value) = match property.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (property.as_str(), None),
            };
            conditions.add("customProperty.name", "=", Some(name));
            conditions.add("customProperty.value", "=", value);
        }
        conditions
            .add("ICCID", "=", self.iccid.as_deref())
            .add("IMSI", "=", self.imsi.as_deref())
            .add("MSISDN", "=", self.msisdn.as_deref())
            .add("serialNumber", "=", self.serial.as_deref());
        let narrowed = conditions.with_raw(self.filter.as_deref());
        // An alternative for each platform, because a connection is at only one.
        let at = |platform: &String| {
            let mut here = Conditions::default();
            here.add("platform", "=", Some(platform)).with_raw(Some(&narrowed))
        };
        match self.platform.as_slice() {
            [] => narrowed,
            platforms => platforms.iter().map(at).collect::<Vec<_>>().join(";"),
        }
    }
}

/// Whether more connections follow a page.
enum MorePages {
    Yes,
    No,
    /// The page is empty because of a failure.
    Unknown,
}

/// A page over all accounts.
struct Page {
    products: Vec<Value>,
    errors: Vec<Value>,
    has_next: bool,
}

impl Page {
    async fn fetch(
        server: &TenantServer,
        expression: &str,
        number: u64,
        size: u64,
        more: &str,
    ) -> Result<Self, Failure> {
        let mut query = vec![format!("pageSize={size}&pageNumber={number}{more}")];
        query.extend(filter::as_parameter(expression));
        let request = server.get(&["product"]).query(&query.join("&")).strictly();
        let response = request.success().await?;
        let has_next = response.has_next();
        let mut body = response.body;
        let mut list = |name: &str| match body.get_mut(name).map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(server.server.not_understood()),
        };
        Ok(Self { products: list("entities")?, errors: list("errors")?, has_next })
    }
}

/// Output of connections. JSON has them next to the errors, as the server's response does.
enum ProductOutput {
    Listing(Listing),
    Json(usize),
}

impl ProductOutput {
    fn new(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Json => Self::Json(0),
            other => Self::Listing(Listing::new(other, COLUMNS)),
        }
    }

    fn add(&mut self, products: &[Value]) -> Result<(), Failure> {
        match self {
            Self::Listing(listing) => listing.show(products),
            Self::Json(n) => {
                let screen = Screen::stdout();
                let mut out = io::stdout().lock();
                for product in products {
                    let before = if *n == 0 { "{\"entities\":[\n  " } else { ",\n  " };
                    write!(out, "{before}{}", screen.json(&product.to_string()))?;
                    *n += 1;
                }
                Ok(out.flush()?)
            }
        }
    }

    fn n_shown(&self) -> usize {
        match self {
            Self::Listing(listing) => listing.n_shown(),
            Self::Json(n) => *n,
        }
    }

    fn finish(self, problems: &Problems) -> Result<(), Failure> {
        match self {
            Self::Listing(listing) => listing.finish(),
            Self::Json(n) => {
                let before = if n == 0 { "{\"entities\":[" } else { "\n" };
                let errors = json!(problems.all()).to_string();
                let errors = Screen::stdout().json(&errors).into_owned();
                let mut out = io::stdout().lock();
                writeln!(out, "{before}],\n\"errors\":{errors}}}")?;
                Ok(out.flush()?)
            }
        }
    }
}

/// The conditions of an expression that select accounts. A list filtered by properties has the same pages as the list
/// with only these conditions.
fn only_accounts(expression: &str) -> String {
    let is_of_account = |condition: &&str| {
        let condition = condition.strip_prefix("filter=").unwrap_or(condition);
        condition.starts_with("platform=") || condition.starts_with("relatedParty.name=")
    };
    let alternatives = expression.split(';').map(|alternative| {
        alternative.split('&').filter(is_of_account).collect::<Vec<_>>().join("&")
    });
    let alternatives: Vec<String> = alternatives.collect();
    // An alternative without such conditions selects every account.
    if alternatives.iter().any(String::is_empty) { String::new() } else { alternatives.join(";") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_accounts_are_extracted() {
        for (expression, expected) in [
            ("platform=A&customProperty.name=x;platform=B", "platform=A;platform=B"),
            ("platform=A;customProperty.name=x", ""),
            ("relatedParty.name=a&ICCID=89&platform=A", "relatedParty.name=a&platform=A"),
            ("", ""),
        ] {
            assert_eq!(only_accounts(expression), expected, "{expression}");
        }
    }
}
