//! `gatehouse product list`.

use std::io::{self, Write};

use clap::Args;
use serde_json::{Value, json};

use super::COLUMNS;
use super::problem::Problems;
use crate::client::api::{Tenancy, TenantServer};
use crate::client::filter::{self, Conditions};
use crate::client::paging::Paging;
use crate::failure::{Failure, Kind};
use crate::terminal::output::{Form, Listing};
use crate::terminal::screen::Screen;

/// What a page has room for unless something else is said.
const PAGE_SIZE: u64 = 100;

/// The same where all of it is read: as much as a page may have.
const WHOLE_PAGE_SIZE: u64 = 1000;

/// So many pages in a row may be empty because something fails, before the rest is given up.
const FAILED_PAGES_MAX: u32 = 3;

/// List connections, over all platforms
///
/// A page is shared evenly among the accounts at platforms, so it may have fewer than --page-size.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse product list --platform ALPHA --platform BETA
  gatehouse product list --all --property fleet=metering --output csv > metering.csv")]
pub(crate) struct List {
    /// Those at this platform, by its name in capitals; several mean any of them
    #[arg(long, value_name = "PLATFORM", help_heading = "Which connections")]
    platform: Vec<String>,
    /// Those of this account
    #[arg(long, value_name = "NAME", help_heading = "Which connections")]
    account: Option<String>,
    /// Those with this property, or with this value of it
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Which connections")]
    property: Option<String>,
    /// The cards with these numbers, with commas between; any kind of number may match
    #[arg(long, value_name = "LIST", help_heading = "Which connections")]
    iccid: Option<String>,
    /// The subscriptions with these numbers
    #[arg(long, value_name = "LIST", help_heading = "Which connections")]
    imsi: Option<String>,
    /// Those that are called by these numbers
    #[arg(long, value_name = "LIST", help_heading = "Which connections")]
    msisdn: Option<String>,
    /// The terminals with these numbers
    #[arg(long, value_name = "LIST", help_heading = "Which connections")]
    serial: Option<String>,
    /// A filter as the API has it: `&` joins, `;` separates alternatives, as in
    /// 'platform=ALPHA&customProperty.name=fleet;platform=BETA'. Flags narrow each alternative
    #[arg(long, value_name = "EXPRESSION", help_heading = "Which connections")]
    filter: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let expression = self.expression();
        let all = self.paging.all;
        let size = self.paging.page_size.unwrap_or(if all { WHOLE_PAGE_SIZE } else { PAGE_SIZE });
        let mut number = self.paging.page.unwrap_or(1);
        let mut shown = Shown::new(form);
        let mut problems = Problems::default();
        let (mut n_failed_pages, mut is_cut) = (0, false);
        loop {
            let page = Page::ask(&server, &expression, number, size, "").await?;
            problems.add(&page.errors);
            shown.add(&page.products)?;
            if !all {
                break;
            }
            match self.behind(&server, &expression, number, size, &page, &mut problems).await? {
                Behind::Nothing => break,
                // What is missing is told; others may have more.
                Behind::Unknown if n_failed_pages == FAILED_PAGES_MAX => break,
                Behind::Unknown => n_failed_pages += 1,
                Behind::Something => n_failed_pages = 0,
            }
            if !page.has_next {
                is_cut = true;
                break;
            }
            number += 1;
        }
        let is_empty = shown.n_shown() == 0;
        shown.finish(&problems)?;
        problems.tell();
        if !is_empty && !all {
            eprintln!("there may be more: --page {} shows the next, --all shows all", number + 1);
        }
        if is_empty && problems.is_empty() && form == Form::Table {
            eprintln!("no connections{}", if number > 1 && !all { " on this page" } else { "" });
        }
        problems.judge()?;
        if is_cut {
            let said = format!("this is not all: page {number} is the last that may be asked for");
            return Err(Failure::new(Kind::Partial, said).advise("ask for larger pages"));
        }
        Ok(())
    }

    /// What comes behind a page. By properties a page in the middle may be empty: then the page tells that has all of them.
    async fn behind(
        &self,
        server: &TenantServer,
        expression: &str,
        number: u64,
        size: u64,
        page: &Page,
        problems: &mut Problems,
    ) -> Result<Behind, Failure> {
        if !page.products.is_empty() {
            return Ok(Behind::Something);
        }
        let mut has_failed = !page.errors.is_empty();
        if expression.contains("customProperty") {
            let accounts = only_accounts(expression);
            let whole = Page::ask(server, &accounts, number, size, "&fields=none").await?;
            problems.add(&whole.errors);
            if !whole.products.is_empty() {
                return Ok(Behind::Something);
            }
            has_failed |= !whole.errors.is_empty();
        }
        Ok(if has_failed { Behind::Unknown } else { Behind::Nothing })
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
        // Each platform is an alternative of its own: nothing is at two of them.
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

/// What comes behind a page.
enum Behind {
    Something,
    Nothing,
    /// The page is empty because something failed.
    Unknown,
}

/// A page over all accounts.
struct Page {
    products: Vec<Value>,
    errors: Vec<Value>,
    has_next: bool,
}

impl Page {
    async fn ask(
        server: &TenantServer,
        expression: &str,
        number: u64,
        size: u64,
        more: &str,
    ) -> Result<Self, Failure> {
        let mut query = vec![format!("pageSize={size}&pageNumber={number}{more}")];
        query.extend(filter::as_parameter(expression));
        let ask = server.get(&["product"]).query(&query.join("&")).strictly();
        let answer = ask.success().await?;
        let has_next = answer.has_next();
        let mut body = answer.body;
        let mut list = |name: &str| match body.get_mut(name).map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(server.server.not_understood()),
        };
        Ok(Self { products: list("entities")?, errors: list("errors")?, has_next })
    }
}

/// Connections as they are shown. JSON has them beside what is missing, as the server does.
enum Shown {
    Listing(Listing),
    Json(usize),
}

impl Shown {
    fn new(form: Form) -> Self {
        match form {
            Form::Json => Self::Json(0),
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

/// What of an expression says at which accounts to look. The pages of a list by properties are those of the list that
/// has only these conditions.
fn only_accounts(expression: &str) -> String {
    let is_of_account = |piece: &&str| {
        let piece = piece.strip_prefix("filter=").unwrap_or(piece);
        piece.starts_with("platform=") || piece.starts_with("relatedParty.name=")
    };
    let alternatives = expression.split(';').map(|alternative| {
        alternative.split('&').filter(is_of_account).collect::<Vec<_>>().join("&")
    });
    let alternatives: Vec<String> = alternatives.collect();
    // One that lets every account pass lets all of them pass.
    if alternatives.iter().any(String::is_empty) { String::new() } else { alternatives.join(";") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_accounts_are_told_from_others() {
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
