//! Fuzz targets for this crate's parsers; `gatehouse_core::fuzzing` says why they are here.
//!
//! Bodies, queries and headers of requests are in `http/fuzzing`, tokens in `auth/fuzzing`, heads of requests in
//! `serve/fuzzing`; what operators write is here.

use std::path::PathBuf;

use crate::config::Config;
use crate::estate::{BadEstate, Estate, Surroundings};
use crate::reader::Json;
use crate::{auth, http, serve};

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[
    ("account-body", http::fuzzing::account),
    ("admin-body", http::fuzzing::admin),
    ("access-body", http::fuzzing::access),
    ("authorization", |bytes| with_text(bytes, auth::fuzzing::authorization)),
    ("batch-creation", http::fuzzing::batch_creation),
    ("batch-update", http::fuzzing::batch_update),
    ("claims", auth::fuzzing::claims),
    ("credentials-body", http::fuzzing::credentials),
    ("estate", |bytes| with_text(bytes, estate)),
    ("find-body", http::fuzzing::find),
    ("issuer", auth::fuzzing::issuer),
    ("json", json),
    ("path", |bytes| with_text(bytes, http::fuzzing::path)),
    ("query", |bytes| with_text(bytes, http::fuzzing::query)),
    ("request-head", serve::fuzzing::request_head),
    ("request-headers", |bytes| with_text(bytes, http::fuzzing::headers)),
    ("settings", |bytes| with_text(bytes, settings)),
];

fn with_text(bytes: &[u8], check: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

/// A body is JSON where it is to others; where it isn't, the place that is told is in it.
fn json(bytes: &[u8]) {
    let others = serde_json::from_slice::<serde_json::Value>(bytes);
    match Json::parse(bytes) {
        Ok(_) => assert!(others.is_ok()),
        Err(why) => {
            assert!(others.is_err(), "{why}");
            if let Some((line, column)) = place_in(&why) {
                let lines: Vec<&[u8]> = bytes.split(|it| *it == b'\n').collect();
                assert!((1..=lines.len()).contains(&line), "{why}");
                assert!(column <= lines[line - 1].len() + 1, "{why}");
            }
        }
    }
}

/// The line and the column that a refusal names, where it does.
fn place_in(why: &str) -> Option<(usize, usize)> {
    let (line, column) = why.rsplit_once(" at line ")?.1.split_once(" column ")?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Any text is an estate or none: what is wrong with it has a name, and is told so many times at most.
fn estate(text: &str) {
    // Files that it names are not read here: some of those that a machine has never end.
    if text.contains("file") {
        return;
    }
    let variable = |name: &str| (name != "NONE").then(|| "${env:SELF}".into());
    let around = Surroundings { directory: PathBuf::new(), variable: &variable };
    match Estate::parse_in(&around, "e.yaml", text) {
        Ok(estate) => {
            let again = Estate::parse_in(&around, "e.yaml", text);
            assert_eq!(again.expect("it was an estate just now"), estate);
        }
        Err(BadEstate::Faults(_, faults)) => {
            assert!((1..=crate::reader::FAULTS_MAX).contains(&faults.len()));
            assert!(
                faults.iter().all(|it| !it.to_string().starts_with(' ') && !it.reason.is_empty())
            );
        }
        Err(bad) => assert!(!bad.to_string().is_empty()),
    }
    if let Ok(expanded) = around.expand(text) {
        // What is put in is not looked at again, and what names nothing stays as it is.
        assert!(text.contains("${") || expanded == text);
    }
    let escaped = text.replace("${", "$${");
    if !text.contains("$${") && !text.contains("$$${") {
        assert_eq!(around.expand(&escaped).as_deref(), Ok(text));
    }
}

/// Any text is a file of settings or says what is wrong with a line that it has, and any value of a variable is taken or
/// told by the variable's name.
fn settings(text: &str) {
    // Certificates are read from files, of which some never end.
    if text.contains("/dev") || text.contains("cert") {
        return;
    }
    match Config::read("s.toml", text) {
        Ok(config) => {
            let shown = config.show();
            let again = Config::read("s.toml", &shown).expect("what is shown can be read");
            assert_eq!(again.show(), shown);
        }
        Err(bad) => {
            let said = bad.to_string();
            let line =
                said.strip_prefix("s.toml: line ").and_then(|it| it.split([',', ':']).next());
            let line: Option<usize> = line.and_then(|it| it.parse().ok());
            assert!(line.is_none_or(|it| (1..=text.split('\n').count()).contains(&it)), "{said}");
            assert!(said.starts_with("s.toml: "), "{said}");
        }
    }
    let Some((name, value)) = text.split_once('=') else { return };
    let variable = format!("GATEHOUSE_{name}");
    if let Err(bad) = Config::load(None, [(variable.clone(), value.to_owned())], &[]) {
        assert!(!bad.to_string().is_empty());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seeds_of_the_fuzzer_hold() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
