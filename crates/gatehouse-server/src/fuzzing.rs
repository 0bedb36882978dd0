//! Fuzz targets of this crate's parsers; see `gatehouse_core::fuzzing`.
//!
//! Requests' bodies, queries and headers are in `http/fuzzing`, tokens in `auth/fuzzing`, request heads in
//! `serve/fuzzing`, operators' files here.

use std::path::PathBuf;

use crate::config::Config;
use crate::estate::{BadEstate, Estate, ExpansionContext};
use crate::reader::Json;
use crate::{auth, http, serve};

/// A fuzz target: its name and function.
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

/// The parser accepts the same JSON as `serde_json`, and the position in an error is within the text.
fn json(bytes: &[u8]) {
    let others = serde_json::from_slice::<serde_json::Value>(bytes);
    match Json::parse(bytes) {
        Ok(_) => assert!(others.is_ok()),
        Err(why) => {
            assert!(others.is_err(), "{why}");
            if let Some((line, column)) = position_in(&why) {
                let lines: Vec<&[u8]> = bytes.split(|it| *it == b'\n').collect();
                assert!((1..=lines.len()).contains(&line), "{why}");
                assert!(column <= lines[line - 1].len() + 1, "{why}");
            }
        }
    }
}

/// The line and column in an error, if it has them.
fn position_in(why: &str) -> Option<(usize, usize)> {
    let (line, column) = why.rsplit_once(" at line ")?.1.split_once(" column ")?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Any text is an estate, or has between one and [`crate::reader::FAULTS_MAX`] faults with reasons.
fn estate(text: &str) {
    // Files are not read here: reading some files never ends.
    if text.contains("file") {
        return;
    }
    let variable = |name: &str| (name != "NONE").then(|| "${env:SELF}".into());
    let context = ExpansionContext { directory: PathBuf::new(), variable: &variable };
    match Estate::parse_in(&context, "e.yaml", text) {
        Ok(estate) => {
            let again = Estate::parse_in(&context, "e.yaml", text);
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
    if let Ok(expanded) = context.expand(text) {
        // Expanded values are not expanded again, and text without references stays as it is.
        assert!(text.contains("${") || expanded == text);
    }
    let escaped = text.replace("${", "$${");
    if !text.contains("$${") && !text.contains("$$${") {
        assert_eq!(context.expand(&escaped).as_deref(), Ok(text));
    }
}

/// Any text is a settings file or has an error in one of its lines; a variable's value may be refused.
fn settings(text: &str) {
    // Certificates are read from files, and reading some files never ends.
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
            let why = bad.to_string();
            let line = why.strip_prefix("s.toml: line ").and_then(|it| it.split([',', ':']).next());
            let line: Option<usize> = line.and_then(|it| it.parse().ok());
            assert!(line.is_none_or(|it| (1..=text.split('\n').count()).contains(&it)), "{why}");
            assert!(why.starts_with("s.toml: "), "{why}");
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
    fn every_seed_of_the_fuzzer_passes() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
