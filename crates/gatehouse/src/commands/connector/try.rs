//! `gatehouse connector try`: asks an account as the server would, and shows all that is said.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gatehouse_connectors::{FindRequest, ProductParts};
use gatehouse_core::product::is_local_id;
use gatehouse_core::{Identifier, IdentifierKind, PageRequest};

use super::account::AccountArgs;
use super::asking::{Question, Whom, ask};
use super::{OwnConnectors, counted, named, say, transcript};

/// Ask an account, and show every request, answer and product
///
/// Without numbers to look for, a page of the account's list is asked for. Secrets are shown as ***; what
/// platforms say about connections is shown as it is.
#[derive(Args)]
pub(in crate::commands::connector) struct Try {
    /// A connector's name, or a manifest's file
    #[arg(value_name = "NAME|FILE")]
    connector: String,
    /// How many products to ask for
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    page_size: u64,
    /// Which page of them
    #[arg(long = "page", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    page: u64,
    /// ICCIDs to look for, with commas between them
    #[arg(long, value_name = "ICCIDS", value_delimiter = ',')]
    iccid: Vec<String>,
    /// IMSIs to look for
    #[arg(long, value_name = "IMSIS", value_delimiter = ',')]
    imsi: Vec<String>,
    /// MSISDNs to look for
    #[arg(long, value_name = "MSISDNS", value_delimiter = ',')]
    msisdn: Vec<String>,
    /// Serial numbers to look for
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    serial_number: Vec<String>,
    /// What the platform calls connections, to look for
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    id: Vec<String>,
    /// What is to be known of products, with commas between: details are asked for only where they are
    /// needed
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Vec<Field>,
    /// Show all of each answer
    #[arg(long)]
    full: bool,
    /// Ask a stand-in that is made of a recording, instead of an account
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    own: OwnConnectors,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
enum Field {
    /// Nothing but what they are called
    None,
    Status,
    ProductCharacteristic,
    CustomProperty,
}

impl Try {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let question = self.question()?;
        let mut manifests = self.own.manifests()?;
        let connector = named(&mut manifests, &self.connector)?;
        let (parts, is_full) = (self.parts(), self.full);
        let shown = move |n: usize, it: &gatehouse_connectors::Exchange<'_>| {
            say(&transcript::exchange(n, it, is_full));
        };
        let whom = match &self.recording {
            Some(_) if self.account.is_given() => {
                return Err("give a recording or an account, not both".into());
            }
            Some(path) => Whom::Recording(path),
            None => Whom::Account(&self.account),
        };
        let outcome = ask(manifests, &connector, &whom, question, parts, shown)?;
        for product in &outcome.products {
            say(&transcript::product(product, parts));
        }
        for missing in &outcome.missing {
            say(&format!("not found: {missing}\n"));
        }
        for failure in &outcome.failures {
            say(&transcript::failure(failure));
        }
        say(&format!("\n{}\n", outcome.summary()));
        match outcome.failures.len() {
            0 => Ok(()),
            n => Err(counted(n, "failure")),
        }
    }

    fn question(&self) -> Result<Question, String> {
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
            return Ok(Question::Page(PageRequest { number: self.page, size: self.page_size }));
        }
        let mut local_ids = self.id.clone();
        local_ids.sort();
        local_ids.dedup();
        Ok(Question::Find { wanted: FindRequest { identifiers, ids: Vec::new() }, local_ids })
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
