//! Fuzz targets for the command line's parsers; `gatehouse_core::fuzzing` says why they are here.

use gatehouse_core::Timestamp;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::VOCABULARY;
use gatehouse_server::http::{CsvCell, write_csv_row};
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::client::api::Answer;
use crate::client::filter::{Conditions, as_parameter};
use crate::client::oauth::{Granted, expiry_of};
use crate::client::profile::{Profiles, set_profile};
use crate::commands::product::sought::{Sought, split};
use crate::commands::{batch, login, token};
use crate::terminal::screen::{cut, harmless, harmless_json, width};
use crate::terminal::table_input::{Row, read_rows};

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[
    ("answer", answer),
    ("profiles", |bytes| with_text(bytes, profiles)),
    ("raw-filter", |bytes| with_text(bytes, raw_filter)),
    ("screen", |bytes| with_text(bytes, screen)),
    ("sought", |bytes| with_text(bytes, sought)),
    ("table", |bytes| with_text(bytes, table)),
];

fn with_text(bytes: &[u8], check: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

/// Tables that people made: rows are in order on lines that there are, and what is written as a table reads back the same.
fn table(text: &str) {
    let rows = read_rows("t.csv", text).expect("text is a table of some kind");
    let n_lines = text.split('\n').count() as u64;
    assert!(rows.is_sorted_by_key(|row| row.line));
    assert!(rows.iter().all(|row| (1..=n_lines).contains(&row.line)));

    let mut written = Vec::new();
    for row in &rows {
        write_csv_row(&mut written, row.cells.iter().map(CsvCell::Credential));
    }
    // Without a comma in the first line, another sign may be taken for what stands between cells.
    let is_plain = |cell: &str| !cell.contains([';', '\t']) && !cell.starts_with("sep=");
    // A row that is one empty cell is an empty line.
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
        Err(failure) => assert!(failure.said().starts_with("t.csv"), "{failure}"),
    }
    match batch::ids::parse("t.csv", text) {
        Ok(ids) => assert!(ids.iter().all(|id| id.parse::<gatehouse_core::AccessId>().is_ok())),
        Err(failure) => assert!(failure.said().starts_with("t.csv"), "{failure}"),
    }
}

/// Identifiers as people have them: each stands in the text but for its spaces, and is recognised as often as it is asked.
fn sought(text: &str) {
    let bare: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    for identifier in split(text) {
        assert!(bare.contains(&identifier), "{identifier}");
        let Some(sought) = Sought::recognise(&identifier, None) else { continue };
        assert_eq!(sought.given, identifier);
        assert!(!sought.likely.is_empty() && !sought.words().is_empty());
        let _ = sought.may_be_imei();
        let again = Sought::recognise(&sought.value, Some(sought.likely[0]));
        assert_eq!(again.map(|it| it.value), Some(sought.value));
    }
    let _ = token::read_seconds("--lifetime", text, 60);
}

/// A file of profiles is read or has a fault; a profile that is added is there, and so are the others.
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

/// What servers and issuers answer is understood or told in one line, and times never leave the calendar.
fn answer(bytes: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    let now: Timestamp = "2026-11-17T12:00:00Z".parse().expect("an instant");
    match Granted::read("https://id.example/token", &body, now) {
        Ok(granted) => drop(granted.expires_at.map(|it| it.to_string())),
        Err(refusal) => assert!(!refusal.into_failure().said().is_empty()),
    }
    login::fuzzing::answer(&body);
    if let Some(text) = body.as_str() {
        let _ = expiry_of(text);
    }
    let status = body.get("status").and_then(Value::as_u64).and_then(|it| u16::try_from(it).ok());
    let failure =
        Answer { status: status.unwrap_or(400), headers: Default::default(), body }.failure();
    assert!(!failure.said().is_empty());
    if let Some(base) = batch::task::before_accesses(bytes) {
        assert!(base.is_object());
    }
}

/// Nothing that is shown steers a terminal, what is cut fits, and JSON means the same.
fn screen(text: &str) {
    let shown = harmless(text);
    assert!(!shown.chars().any(char::is_control));
    assert_eq!(harmless(&shown), shown);
    for room in [1, 2, 7, 40] {
        assert!(width(&cut(&shown, room)) <= room, "{shown:?} in {room}");
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        // Twice from a text, because fractions are not read as exactly as they are written.
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let written = value.to_string();
        assert_eq!(read(&harmless_json(&written)), read(&written));
    }
}

/// A filter as it is typed, together with a flag: every alternative that the server sees has the flag's condition.
fn raw_filter(text: &str) {
    let mut flags = Conditions::default();
    flags.add("contractId", "=", Some("a&b;c"));
    let alone = flags.with_raw(None);
    let expression = flags.with_raw(Some(text));
    let parameter = as_parameter(&expression).expect("it has a condition");
    let seen = Expression::parse(&parameter, &VOCABULARY);
    for alternative in &seen.filter.alternatives {
        let has_flag = alternative.iter().any(|it| it.name == "contractId" && it.value == "a&b;c");
        assert!(has_flag, "{parameter}, and {alone} alone");
    }
    assert!(!seen.filter.alternatives.is_empty());
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seeds_of_the_fuzzer_hold() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
