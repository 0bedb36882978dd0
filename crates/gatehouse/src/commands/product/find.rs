//! `gatehouse product find`.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::problem::Problems;
use super::search::{Finding, search};
use super::sought::{Kind, Sought, split};
use super::{
    ACCOUNT, ICCID, ID, IMEI, IMSI, MSISDN, PLATFORM, PLATFORM_STATUS, PROPERTIES, SERIAL_NUMBER,
    STATUS, TYPE,
};
use crate::client::api::Tenancy;
use crate::failure::{self, Failure};
use crate::terminal::output::{Column, Form, Listing, Room, csv};
use crate::terminal::screen::{Screen, harmless, width};
use crate::terminal::text_input;

/// Most bytes of identifiers that are read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// So many that can't be identifiers are named.
const NAMED_MAX: usize = 20;

/// Find connections by their numbers, wherever they are
///
/// What a number is, is told by its form: ICCID, IMSI, MSISDN, the serial number of a terminal, or the ID of a product.
/// Ends with 0 when all were found, with 5 when some are surely nowhere, with 3 when of some nobody knows.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse product find 8948692690826143258 +4915112345678 SL-DF-3043766-98743-73
  gatehouse product find --from lost.txt --output csv
  cut -d, -f3 stock.csv | gatehouse product find")]
pub(crate) struct Find {
    /// The numbers; `-` for standard input, and so is none at all when something is piped in
    #[arg(value_name = "NUMBER")]
    numbers: Vec<String>,
    /// A file with numbers: one a line, or with spaces, commas or semicolons between
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// What all of them are [default: by their form]
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
}

/// What is shown of what was found.
const FOUND_COLUMNS: &[Column] = &[
    Column::text("SOUGHT", "sought", Room::Whole),
    ID,
    STATUS,
    ACCOUNT.with_room(Room::IfLeft(0)),
    Column::text("KIND", "kind", Room::IfLeft(1)),
    ICCID.with_room(Room::IfLeft(2)),
    IMSI,
    MSISDN,
    SERIAL_NUMBER,
    TYPE,
];

/// What CSV has of everything that was looked for.
const ALL_COLUMNS: &[Column] = &[
    Column::text("SOUGHT", "sought", Room::Whole),
    Column::text("RESULT", "result", Room::Whole),
    Column::text("KIND", "kind", Room::Whole),
    ID,
    STATUS,
    PLATFORM,
    ACCOUNT,
    ICCID,
    IMSI,
    MSISDN,
    IMEI,
    SERIAL_NUMBER,
    TYPE,
    PLATFORM_STATUS,
    PROPERTIES,
];

impl Find {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let given = self.read()?;
        // What is there twice is looked for once.
        let (mut seen, mut sought, mut malformed) = (HashSet::new(), Vec::new(), Vec::new());
        for text in given {
            match Sought::recognise(&text, self.kind) {
                Some(it) if seen.insert((it.value.clone(), it.likely.clone())) => sought.push(it),
                None if seen.insert((text.clone(), Vec::new())) => malformed.push(text),
                _ => {}
            }
        }
        if sought.is_empty() {
            let named = malformed.iter().take(NAMED_MAX).map(|it| format!("\n    {it}"));
            let said = format!("none of these can be an identifier:{}", named.collect::<String>());
            return Err(Failure::input(said).advise(
                "an ICCID, IMSI, MSISDN, serial number or product ID is; --kind says which, if the form doesn't",
            ));
        }
        let (server, form) = tenancy.open().await?;
        let mut problems = Problems::default();
        let findings = search(&server, &sought, &mut problems).await?;
        let results = Results { sought, findings, malformed, problems };
        match form {
            Form::Table => results.show_table()?,
            Form::Json => results.show_json()?,
            Form::Csv => results.show_csv()?,
        }
        results.tell_of_imeis();
        results.judge()
    }

    /// The identifiers, as they were given.
    fn read(&self) -> Result<Vec<String>, Failure> {
        let typed = self.numbers.iter().filter(|it| *it != "-");
        let mut given: Vec<String> = typed.flat_map(|it| split(it)).collect();
        let mut sources: Vec<&Path> = self.from.as_deref().into_iter().collect();
        let says_stdin = self.numbers.iter().any(|it| it == "-");
        let says_nothing = self.numbers.is_empty() && sources.is_empty();
        if says_stdin || (says_nothing && !io::stdin().is_terminal()) {
            sources.push(Path::new("-"));
        }
        for source in sources {
            let (_, text) = text_input::read(source, BYTES_MAX)?;
            given.extend(split(&text));
        }
        if given.is_empty() {
            return Err(Failure::input("there is nothing to look for")
                .advise("give numbers as arguments, in a file with --from, or on standard input"));
        }
        Ok(given)
    }
}

/// What came of everything that was looked for.
struct Results {
    sought: Vec<Sought>,
    findings: Vec<Finding>,
    malformed: Vec<String>,
    problems: Problems,
}

impl Results {
    fn each(&self) -> impl Iterator<Item = (&Sought, &Finding)> {
        self.sought.iter().zip(&self.findings)
    }

    fn of(&self, finding: Finding) -> Vec<&Sought> {
        self.each().filter(|(_, it)| **it == finding).map(|(sought, _)| sought).collect()
    }

    /// Everything that was found, with what it was found by.
    fn found(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for (sought, finding) in self.each() {
            let Finding::Found(found) = finding else { continue };
            for (kind, product) in found {
                let mut row = product.clone();
                row["sought"] = sought.given.clone().into();
                row["kind"] = kind.word().into();
                rows.push(row);
            }
        }
        rows
    }

    fn show_table(&self) -> Result<(), Failure> {
        let mut listing = Listing::new(Form::Table, FOUND_COLUMNS);
        let found = self.found();
        listing.show(&found)?;
        listing.finish()?;
        let screen = Screen::stdout();
        let mut out = io::stdout().lock();
        let mut is_first = found.is_empty();
        let mut section = |heading: &str, lines: Vec<String>| -> io::Result<()> {
            if lines.is_empty() {
                return Ok(());
            }
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            writeln!(out, "{}", screen.heading(&format!("{heading} ({})", lines.len())))?;
            lines.iter().try_for_each(|line| writeln!(out, "  {}", harmless(line)))
        };
        let longest = self.sought.iter().map(|it| width(&it.given)).max().unwrap_or(0);
        let named = |it: &Sought| format!("{:longest$}  {}", it.given, it.words());
        let missing = self.of(Finding::NotFound).into_iter().map(named);
        section("NOT FOUND", missing.collect())?;
        let unknown = self.of(Finding::Unknown).into_iter().map(named);
        section("UNKNOWN: an account that might have it could not be asked", unknown.collect())?;
        section("NOT IDENTIFIERS", self.malformed.clone())?;
        out.flush()?;
        drop(out);
        self.problems.tell();
        Ok(())
    }

    fn show_json(&self) -> Result<(), Failure> {
        let mut found = Vec::new();
        for (sought, finding) in self.each() {
            if let Finding::Found(products) = finding {
                for (kind, product) in products {
                    found.push(json!({
                        "sought": sought.given, "kind": kind.word(), "product": product
                    }));
                }
            }
        }
        let given = |it: Vec<&Sought>| -> Vec<Value> {
            it.iter().map(|it| it.given.as_str().into()).collect()
        };
        let all = json!({
            "found": found,
            "notFound": given(self.of(Finding::NotFound)),
            "unknown": given(self.of(Finding::Unknown)),
            "malformed": self.malformed,
            "errors": self.problems.all(),
        });
        let mut out = io::stdout().lock();
        writeln!(out, "{}", Screen::stdout().json(&format!("{all:#}")))?;
        Ok(out.flush()?)
    }

    fn show_csv(&self) -> Result<(), Failure> {
        let screen = Screen::stdout();
        let mut out = io::stdout().lock();
        csv::write_head(&mut out, ALL_COLUMNS)?;
        for mut row in self.found() {
            row["result"] = "found".into();
            csv::show_row(&mut out, ALL_COLUMNS, &row, screen)?;
        }
        for (finding, result) in [(Finding::NotFound, "not found"), (Finding::Unknown, "unknown")] {
            for sought in self.of(finding) {
                let row =
                    json!({ "sought": sought.given, "result": result, "kind": sought.words() });
                csv::show_row(&mut out, ALL_COLUMNS, &row, screen)?;
            }
        }
        for text in &self.malformed {
            let row = json!({ "sought": text, "result": "malformed" });
            csv::show_row(&mut out, ALL_COLUMNS, &row, screen)?;
        }
        out.flush()?;
        self.problems.tell();
        Ok(())
    }

    /// Devices carry a number, too, which nothing can be looked for by.
    fn tell_of_imeis(&self) {
        if self.of(Finding::NotFound).iter().any(|it| it.may_be_imei()) {
            eprintln!(
                "some of them may be IMEIs, which platforms can't be asked for; `gatehouse product list --all --output csv` has those that are known"
            );
        }
    }

    /// How the command ends.
    fn judge(&self) -> Result<(), Failure> {
        let (n_unknown, n_malformed) = (self.of(Finding::Unknown).len(), self.malformed.len());
        if n_unknown > 0 || n_malformed > 0 {
            let n_missing = self.of(Finding::NotFound).len();
            let parts = [
                (n_missing, "not found"),
                (n_unknown, "unknown"),
                (n_malformed, "not identifiers"),
            ];
            let said = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
            let said = said.collect::<Vec<_>>().join(", ");
            let failure = Failure::new(failure::Kind::Partial, said);
            return Err(failure.under(self.problems.correlation()));
        }
        match self.of(Finding::NotFound).len() {
            0 => Ok(()),
            n => Err(Failure::new(failure::Kind::NotFound, format!("{n} not found"))),
        }
    }
}
