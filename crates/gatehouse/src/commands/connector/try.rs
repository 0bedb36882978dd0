//! `gatehouse connector try`: queries an account as the server would, and shows every exchange.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gatehouse_connectors::{FindRequest, ProductParts};
use gatehouse_core::product::is_local_id;
use gatehouse_core::{Identifier, IdentifierKind, PageRequest};

use super::account::AccountArgs;
use super::query::{Query, QueryTarget, run_query};
use super::{ConnectorsDir, counted, find_connector, print, transcript};

/// Query an account, and show every request, response and product
///
/// Without identifiers, requests a page of the account's list. Secrets are shown as ***; the platform's data about
/// connections is shown as it is.
#[derive(Args)]
pub(in crate::commands::connector) struct Try {
    /// A connector's name, or a manifest's file
    #[arg(value_name = "NAME|FILE")]
    connector: String,
    /// Number of products to request
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    page_size: u64,
    /// Page number
    #[arg(long = "page", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    page: u64,
    /// ICCIDs to look up, separated by commas
    #[arg(long, value_name = "ICCIDS", value_delimiter = ',')]
    iccid: Vec<String>,
    /// IMSIs to look up
    #[arg(long, value_name = "IMSIS", value_delimiter = ',')]
    imsi: Vec<String>,
    /// MSISDNs to look up
    #[arg(long, value_name = "MSISDNS", value_delimiter = ',')]
    msisdn: Vec<String>,
    /// Serial numbers to look up
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    serial_number: Vec<String>,
    /// The platform's own IDs to look up
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    id: Vec<String>,
    /// Parts of products to request, separated by commas: details are requested only where needed
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Vec<Field>,
    /// Show every response in full
    #[arg(long)]
    full: bool,
    /// Query a replay of this recording, instead of an account
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
enum Field {
    /// Nothing but their IDs
    None,
    Status,
    ProductCharacteristic,
    CustomProperty,
}

impl Try {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let query = self.query()?;
        let mut manifests = self.connectors.manifests()?;
        let manifest = find_connector(&mut manifests, &self.connector)?;
        let (parts, is_full) = (self.parts(), self.full);
        let shown = move |n: usize, it: &gatehouse_connectors::Exchange<'_>| {
            print(&transcript::exchange(n, it, is_full));
        };
        let target = match &self.recording {
            Some(_) if self.account.is_given() => {
                return Err("give a recording or an account, not both".into());
            }
            Some(path) => QueryTarget::Recording(path),
            None => QueryTarget::Account(&self.account),
        };
        let outcome = run_query(manifests, &manifest, &target, query, parts, shown)?;
        for product in &outcome.products {
            print(&transcript::product(product, parts));
        }
        for missing in &outcome.missing {
            print(&format!("not found: {missing}\n"));
        }
        for failure in &outcome.failures {
            print(&transcript::failure(failure));
        }
        print(&format!("\n{}\n", outcome.summary()));
        match outcome.failures.len() {
            0 => Ok(()),
            n => Err(counted(n, "failure")),
        }
    }

    fn query(&self) -> Result<Query, String> {
        let mut identifiers = Vec::new();
        for (flag, kind, texts) in [
            ("--iccid", IdentifierKind::Iccid, &self.iccid),
            ("--imsi", IdentifierKind::Imsi, &self.imsi),
            ("--msisdn", IdentifierKind::Msisdn, &self.msisdn),
            ("--serial-number", IdentifierKind::SerialNumber, &self.serial_number),
        ] {
            for text in texts {
                let read = Identifier::given(kind, text);
                let identifier = read.map_err(|bad| format!("{flag} {bad}"))?;
                if !identifiers.contains(&identifier) {
                    identifiers.push(identifier);
                }
            }
        }
        if let Some(bad) = self.id.iter().find(|it| !is_local_id(it)) {
            return Err(format!(
                "--id must be 1 to 256 characters, none of them a control character, not `{bad}`"
            ));
        }
        if identifiers.is_empty() && self.id.is_empty() {
            return Ok(Query::Page(PageRequest { number: self.page, size: self.page_size }));
        }
        let mut local_ids = self.id.clone();
        local_ids.sort();
        local_ids.dedup();
        Ok(Query::Find { wanted: FindRequest { identifiers, ids: Vec::new() }, local_ids })
    }

    fn parts(&self) -> ProductParts {
        if self.fields.is_empty() {
            return ProductParts::ALL;
        }
        let has = |field| self.fields.contains(&field);
        ProductParts {
            status: has(Field::Status),
            characteristics: has(Field::ProductCharacteristic),
            properties: has(Field::CustomProperty),
        }
    }
}
