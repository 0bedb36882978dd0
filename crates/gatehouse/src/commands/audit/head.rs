//! `gatehouse audit head`: where every journal ends.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use gatehouse_store::{Journal, JournalHead, Mac};

use crate::commands::serve::Settings;
use crate::host::open_store::{self, Intent};

/// In place of a tenant, for the estate.
const ESTATE: &str = "*";

const CHANGES: &str = "events";
const AUDIT: &str = "audit";

#[derive(Args)]
#[command(after_help = "\
One line for each journal: the tenant (`*` for the estate), `events` or `audit`, the number of the last event, and the
MAC of it and all before it. Keep the lines out of reach of those who can write to the database:
gatehouse audit verify --against FILE compares the journals with them.")]
pub(crate) struct Head {
    #[command(flatten)]
    settings: Settings,
}

impl Head {
    pub(super) async fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let app = open_store::open(&config, Intent::Read).await?;
        let heads = app.store.journal_heads().await;
        app.store.close().await;
        for head in heads.map_err(|why| why.explained())? {
            println!("{}", HeadLine(head));
        }
        Ok(())
    }
}

/// A head as a line of text.
pub(super) struct HeadLine(pub(super) JournalHead);

impl fmt::Display for HeadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalHead { journal, number, mac } = &self.0;
        let (tenant, kind) = words(journal);
        write!(f, "{tenant} {kind} {number} ")?;
        mac.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The tenant and the kind of a journal.
fn words(journal: &Journal) -> (&str, &'static str) {
    match journal {
        Journal::Changes(tenant) => (tenant.as_str(), CHANGES),
        Journal::Audit(tenant) => (tenant.as_str(), AUDIT),
        Journal::EstateAudit => (ESTATE, AUDIT),
    }
}

impl FromStr for HeadLine {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{line}` is no line of `gatehouse audit head`, such as `demo events 17` with a MAC of 64 hexadecimal \
                 digits"
            )
        };
        let [tenant, kind, number, mac] =
            line.split_whitespace().collect::<Vec<_>>().try_into().map_err(|_| bad())?;
        let journal = match (tenant, kind) {
            (ESTATE, AUDIT) => Journal::EstateAudit,
            (name, AUDIT) => Journal::Audit(name.parse().map_err(|_| bad())?),
            (name, CHANGES) => Journal::Changes(name.parse().map_err(|_| bad())?),
            _ => return Err(bad()),
        };
        let number = number.parse().map_err(|_| bad())?;
        let mac = mac_of(mac).ok_or_else(bad)?;
        Ok(Self(JournalHead { journal, number, mac }))
    }
}

fn mac_of(hex: &str) -> Option<Mac> {
    let mut mac = Mac::default();
    if hex.len() != 2 * mac.len() {
        return None;
    }
    for (byte, digits) in mac.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(mac)
}

/// A journal's name in messages.
pub(crate) fn shown(journal: &Journal) -> String {
    match journal {
        Journal::Changes(tenant) => format!("events of tenant {tenant}"),
        Journal::Audit(tenant) => format!("audit of tenant {tenant}"),
        Journal::EstateAudit => "audit of the estate".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let mac = [7; 32];
        for journal in [
            Journal::Changes("demo".parse().unwrap()),
            Journal::Audit("demo".parse().unwrap()),
            Journal::EstateAudit,
        ] {
            let head = JournalHead { journal, number: 17, mac };
            let line = HeadLine(head.clone()).to_string();
            assert_eq!(line.parse::<HeadLine>().map(|it| it.0), Ok(head), "{line}");
            for bad in [&line[..line.len() - 1], &format!("{line} x"), &format!("{line}0")] {
                assert!(bad.parse::<HeadLine>().is_err_and(|why| why.contains("audit head")));
            }
        }
        assert!(format!("* events 17 {}", "07".repeat(32)).parse::<HeadLine>().is_err());
    }
}
