//! `gatehouse product find`.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::identifier_guess::{IdentifierGuess, NumberKind, split};
use super::problem::Problems;
use super::search::{LookUpResult, search};
use super::{
    ACCOUNT, ICCID, ID, IMEI, IMSI, MSISDN, PLATFORM, PLATFORM_STATUS, PROPERTIES, SERIAL_NUMBER,
    STATUS, TYPE,
};
use crate::client::api::TenantArgs;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Column, Fit, Listing, OutputFormat, csv};
use crate::terminal::screen::{Screen, harmless, width};
use crate::terminal::text_input;

/// Most bytes of identifiers.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Most malformed identifiers that are listed.
const NAMED_MAX: usize = 20;

/// Find connections by their numbers, on any platform
///
/// The kind of a number is recognised by its form: ICCID, IMSI, MSISDN, the serial number of a terminal, or a product
/// ID. Exits with 0 if all were found, with 5 if some don't exist, with 3 if the result for some is unknown.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse product find 8948692690826143258 +4915112345678 SL-DF-3043766-98743-73
  gatehouse product find --from lost.txt --output csv
  cut -d, -f3 stock.csv | gatehouse product find")]
pub(crate) struct Find {
    /// Numbers to look up; `-` or piped input without any number means standard input
    #[arg(value_name = "NUMBER")]
    numbers: Vec<String>,
    /// File with numbers: one per line, or separated by spaces, commas or semicolons
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Kind of all numbers [default: recognised by their form]
    #[arg(long, value_name = "KIND")]
    kind: Option<NumberKind>,
}

const FOUND_COLUMNS: &[Column] = &[
    Column::text("SOUGHT", "sought", Fit::Whole),
    ID,
    STATUS,
    ACCOUNT.with_fit(Fit::Optional(0)),
    Column::text("KIND", "kind", Fit::Optional(1)),
    ICCID.with_fit(Fit::Optional(2)),
    IMSI,
    MSISDN,
    SERIAL_NUMBER,
    TYPE,
];

/// CSV columns of every identifier that was looked up.
const ALL_COLUMNS: &[Column] = &[
    Column::text("SOUGHT", "sought", Fit::Whole),
    Column::text("RESULT", "result", Fit::Whole),
    Column::text("KIND", "kind", Fit::Whole),
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
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let given = self.read()?;
        // Duplicates are looked up once.
        let (mut seen, mut guesses, mut malformed) = (HashSet::new(), Vec::new(), Vec::new());
        for text in given {
            match IdentifierGuess::recognise(&text, self.kind) {
                Some(it) if seen.insert((it.value.clone(), it.likely.clone())) => guesses.push(it),
                None if seen.insert((text.clone(), Vec::new())) => malformed.push(text),
                _ => {}
            }
        }
        if guesses.is_empty() {
            let named = malformed.iter().take(NAMED_MAX).map(|it| format!("\n    {it}"));
            let message =
                format!("none of these can be an identifier:{}", named.collect::<String>());
            return Err(Failure::input(message).advise(
                "give ICCIDs, IMSIs, MSISDNs, serial numbers or product IDs; --kind names the kind, if the form doesn't show it",
            ));
        }
        let (server, format) = tenant_args.open().await?;
        let mut problems = Problems::default();
        let results = search(&server, &guesses, &mut problems).await?;
        let results = Results { guesses, results, malformed, problems };
        match format {
            OutputFormat::Table => results.show_table()?,
            OutputFormat::Json => results.show_json()?,
            OutputFormat::Csv => results.show_csv()?,
        }
        results.hint_at_imeis();
        results.exit_result()
    }

    /// The identifiers, as they were given.
    fn read(&self) -> Result<Vec<String>, Failure> {
        let typed = self.numbers.iter().filter(|it| *it != "-");
        let mut given: Vec<String> = typed.flat_map(|it| split(it)).collect();
        let mut sources: Vec<&Path> = self.from.as_deref().into_iter().collect();
        let names_stdin = self.numbers.iter().any(|it| it == "-");
        let names_nothing = self.numbers.is_empty() && sources.is_empty();
        if names_stdin || (names_nothing && !io::stdin().is_terminal()) {
            sources.push(Path::new("-"));
        }
        for source in sources {
            let (_, text) = text_input::read(source, BYTES_MAX)?;
            given.extend(split(&text));
        }
        if given.is_empty() {
            return Err(Failure::input("no number is given")
                .advise("give numbers as arguments, in a file with --from, or on standard input"));
        }
        Ok(given)
    }
}

struct Results {
    guesses: Vec<IdentifierGuess>,
    results: Vec<LookUpResult>,
    malformed: Vec<String>,
    problems: Problems,
}

impl Results {
    fn each(&self) -> impl Iterator<Item = (&IdentifierGuess, &LookUpResult)> {
        self.guesses.iter().zip(&self.results)
    }

    fn of(&self, result: LookUpResult) -> Vec<&IdentifierGuess> {
        self.each().filter(|(_, it)| **it == result).map(|(guess, _)| guess).collect()
    }

    /// Every connection that was found, with its identifier.
    fn found(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for (guess, result) in self.each() {
            let LookUpResult::Found(found) = result else { continue };
            for (kind, product) in found {
                let mut row = product.clone();
                row["sought"] = guess.given.clone().into();
                row["kind"] = kind.name().into();
                rows.push(row);
            }
        }
        rows
    }

    fn show_table(&self) -> Result<(), Failure> {
        let mut listing = Listing::new(OutputFormat::Table, FOUND_COLUMNS);
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
        let longest = self.guesses.iter().map(|it| width(&it.given)).max().unwrap_or(0);
        let named = |it: &IdentifierGuess| format!("{:longest$}  {}", it.given, it.kind_names());
        let missing = self.of(LookUpResult::NotFound).into_iter().map(named);
        section("NOT FOUND", missing.collect())?;
        let unknown = self.of(LookUpResult::Unknown).into_iter().map(named);
        section("UNKNOWN: an account that might have it could not be queried", unknown.collect())?;
        section("NOT IDENTIFIERS", self.malformed.clone())?;
        out.flush()?;
        drop(out);
        self.problems.print();
        Ok(())
    }

    fn show_json(&self) -> Result<(), Failure> {
        let mut found = Vec::new();
        for (guess, result) in self.each() {
            if let LookUpResult::Found(products) = result {
                for (kind, product) in products {
                    found.push(json!({
                        "sought": guess.given, "kind": kind.name(), "product": product
                    }));
                }
            }
        }
        let given = |it: Vec<&IdentifierGuess>| -> Vec<Value> {
            it.iter().map(|it| it.given.as_str().into()).collect()
        };
        let all = json!({
            "found": found,
            "notFound": given(self.of(LookUpResult::NotFound)),
            "unknown": given(self.of(LookUpResult::Unknown)),
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
        for (result, label) in
            [(LookUpResult::NotFound, "not found"), (LookUpResult::Unknown, "unknown")]
        {
            for guess in self.of(result) {
                let row =
                    json!({ "sought": guess.given, "result": label, "kind": guess.kind_names() });
                csv::show_row(&mut out, ALL_COLUMNS, &row, screen)?;
            }
        }
        for text in &self.malformed {
            let row = json!({ "sought": text, "result": "malformed" });
            csv::show_row(&mut out, ALL_COLUMNS, &row, screen)?;
        }
        out.flush()?;
        self.problems.print();
        Ok(())
    }

    /// Hints that IMEIs can't be looked up.
    fn hint_at_imeis(&self) {
        if self.of(LookUpResult::NotFound).iter().any(|it| it.may_be_imei()) {
            eprintln!(
                "some of them may be IMEIs, which platforms can't look up; `gatehouse product list --all --output csv` has the known ones"
            );
        }
    }

    fn exit_result(&self) -> Result<(), Failure> {
        let (n_unknown, n_malformed) = (self.of(LookUpResult::Unknown).len(), self.malformed.len());
        if n_unknown > 0 || n_malformed > 0 {
            let n_missing = self.of(LookUpResult::NotFound).len();
            let parts = [
                (n_missing, "not found"),
                (n_unknown, "unknown"),
                (n_malformed, "not identifiers"),
            ];
            let message =
                parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
            let message = message.collect::<Vec<_>>().join(", ");
            let failure = Failure::new(FailureKind::Partial, message);
            return Err(failure.with_correlation(self.problems.correlation()));
        }
        match self.of(LookUpResult::NotFound).len() {
            0 => Ok(()),
            n => Err(Failure::new(FailureKind::NotFound, format!("{n} not found"))),
        }
    }
}
