//! Fuzz targets for the command line's parsers; `gatehouse_core::fuzzing` explains why they are here.

use gatehouse_core::Timestamp;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::FILTER_FIELDS;
use gatehouse_server::http::{CsvCell, write_csv_row};
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::client::api::ApiResponse;
use crate::client::filter::{Conditions, as_parameter};
use crate::client::oauth::{TokenResponse, expiry_of};
use crate::client::profile::{Profiles, set_profile};
use crate::commands::access::import::password_file::PasswordFile;
use crate::commands::product::identifier_guess::{IdentifierGuess, split};
use crate::commands::{batch, login, token};
use crate::terminal::screen::{cut, harmless, harmless_json, width};
use crate::terminal::table_input::{Row, read_rows};

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[
    ("answer", answer),
    ("identifiers", |bytes| with_text(bytes, identifiers)),
    ("password-file", |bytes| with_text(bytes, password_file)),
    ("profiles", |bytes| with_text(bytes, profiles)),
    ("raw-filter", |bytes| with_text(bytes, raw_filter)),
    ("screen", |bytes| with_text(bytes, screen)),
    ("table", |bytes| with_text(bytes, table)),
];

fn with_text(bytes: &[u8], check: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

/// Tables: rows are in order, on lines that exist, and a written table reads back unchanged.
fn table(text: &str) {
    let rows = match read_rows("t.csv", text) {
        Ok(rows) => rows,
        Err(failure) => return assert!(failure.message().starts_with("t.csv"), "{failure}"),
    };
    let n_lines = text.split('\n').count() as u64;
    assert!(rows.is_sorted_by_key(|row| row.line));
    assert!(rows.iter().all(|row| (1..=n_lines).contains(&row.line)));

    let mut written = Vec::new();
    for row in &rows {
        write_csv_row(&mut written, row.cells.iter().map(CsvCell::Credential));
    }
    // Without a comma in the first line, another character may be taken as the separator.
    let is_plain = |cell: &str| !cell.contains([';', '\t']) && !cell.starts_with("sep=");
    // A row with a single empty cell is an empty line.
    let is_there = |row: &Row| row.cells.iter().ne([""]);
    let is_first_plain = rows.first().is_some_and(|row| row.cells.iter().all(is_plain));
    if is_first_plain && rows.iter().all(is_there) {
        let written = String::from_utf8(written).expect("what is made of text is text");
        let again = read_rows("t.csv", &written).expect("what is written is a table");
        let cells = |rows: &[Row]| -> Vec<Vec<String>> {
            rows.iter().map(|row| row.cells.iter().map(str::to_owned).collect()).collect()
        };
        assert_eq!(cells(&again), cells(&rows), "{written:?}");
    }

    match batch::rows::parse("t.csv", text) {
        Ok(items) => assert_eq!(items.len() + 1, rows.len()),
        Err(failure) => assert!(failure.message().starts_with("t.csv"), "{failure}"),
    }
    match batch::ids::parse("t.csv", text) {
        Ok(ids) => assert!(ids.iter().all(|id| id.parse::<gatehouse_core::AccessId>().is_ok())),
        Err(failure) => assert!(failure.message().starts_with("t.csv"), "{failure}"),
    }
}

/// Password files: each line fits, or is refused with its number, in order.
fn password_file(text: &str) {
    let Ok(file) = PasswordFile::parse("passwd", text) else { return };
    let refused = file.refused();
    assert!(refused.is_sorted_by_key(|(line, _)| *line));
    assert_eq!(file.fit().count() + refused.len(), file.n_lines());
    assert!(file.n_lines() <= text.split(['\r', '\n']).count());
}

/// Identifiers: each occurs in the text but for spaces, and is recognised every time.
fn identifiers(text: &str) {
    let bare: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    for identifier in split(text) {
        assert!(bare.contains(&identifier), "{identifier}");
        let Some(guess) = IdentifierGuess::recognise(&identifier, None) else { continue };
        assert_eq!(guess.given, identifier);
        assert!(!guess.likely.is_empty() && !guess.kind_names().is_empty());
        let _ = guess.may_be_imei();
        let again = IdentifierGuess::recognise(&guess.value, Some(guess.likely[0]));
        assert_eq!(again.map(|it| it.value), Some(guess.value));
    }
    let _ = token::read_seconds("--lifetime", text, 60);
}

/// A profiles file parses or has a fault; an added profile is there, and so are the others.
fn profiles(text: &str) {
    let Ok(before) = toml::from_str::<Profiles>(text) else { return };
    let mut document: DocumentMut = text.parse().expect("both libraries read the same");
    let name = "added".parse().expect("a profile's name");
    set_profile(&mut document, &name, &[("url", "https://new"), ("tenant", "acme")]);
    let edited = document.to_string();
    let after: Profiles = toml::from_str(&edited).unwrap_or_else(|bad| panic!("{bad}: {edited}"));
    let added = after.profile("added").expect("it was added");
    assert_eq!(
        (added.url.as_deref(), added.tenant.as_deref()),
        (Some("https://new"), Some("acme"))
    );
    for other in before.names().filter(|it| *it != "added") {
        assert_eq!(after.profile(other), before.profile(other), "{edited}");
    }
}

/// Responses of servers and issuers are understood or reported in one line, and times stay in the calendar.
fn answer(bytes: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    let now: Timestamp = "2026-11-17T12:00:00Z".parse().expect("an instant");
    match TokenResponse::read("https://id.example/token", &body, now) {
        Ok(granted) => drop(granted.expires_at.map(|it| it.to_string())),
        Err(error) => assert!(!error.into_failure().message().is_empty()),
    }
    login::fuzzing::answer(&body);
    if let Some(text) = body.as_str() {
        let _ = expiry_of(text);
    }
    let status = body.get("status").and_then(Value::as_u64).and_then(|it| u16::try_from(it).ok());
    let failure =
        ApiResponse { status: status.unwrap_or(400), headers: Default::default(), body }.failure();
    assert!(!failure.message().is_empty());
    if let Some(base) = batch::task::before_accesses(bytes) {
        assert!(base.is_object());
    }
}

/// No shown text controls the terminal, cut texts fit, and JSON keeps its meaning.
fn screen(text: &str) {
    let shown = harmless(text);
    assert!(!shown.chars().any(char::is_control));
    assert_eq!(harmless(&shown), shown);
    for width_max in [1, 2, 7, 40] {
        assert!(width(&cut(&shown, width_max)) <= width_max, "{shown:?} in {width_max}");
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        // Parsed twice, because fractions are read less exactly than they are written.
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let written = value.to_string();
        assert_eq!(read(&harmless_json(&written)), read(&written));
    }
}

/// A typed filter together with a flag: every alternative that the server sees has the flag's condition.
fn raw_filter(text: &str) {
    let mut flags = Conditions::default();
    flags.add("contractId", "=", Some("a&b;c"));
    let alone = flags.with_raw(None);
    let expression = flags.with_raw(Some(text));
    let parameter = as_parameter(&expression).expect("it has a condition");
    let seen = Expression::parse(&parameter, &FILTER_FIELDS);
    for alternative in &seen.filter.alternatives {
        let has_flag = alternative.iter().any(|it| it.name == "contractId" && it.value == "a&b;c");
        assert!(has_flag, "{parameter}, and {alone} alone");
    }
    assert!(!seen.filter.alternatives.is_empty());
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_fuzzers_seeds_pass() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
