//! Fuzz targets for this crate's parsers. `gatehouse_core::fuzzing` says why they are part of it.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::DatabaseUrl;

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[("database-url", database_url)];

/// Parses any text as an address of a database, and checks that no address shows its password.
fn database_url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Certificates are read from files, and some files never end.
    if text.contains("/dev") || text.contains('%') && text.contains("cert") {
        return;
    }
    if let Ok(url) = text.parse::<DatabaseUrl>() {
        assert!(url.to_string().starts_with("postgres://***@"));
        assert_eq!(format!("{url:?}"), url.to_string());
    }
    let encoded = utf8_percent_encode(text, NON_ALPHANUMERIC);
    if !text.contains('\0') {
        let url: DatabaseUrl =
            format!("postgres://ann:{encoded}@db:5432/fleet").parse().expect("encoded, it is one");
        assert_eq!(url.to_string(), "postgres://***@db:5432/fleet");
    }
    for password in [format!("s3cret{text}"), format!("{text}s3cret")] {
        let url = format!("postgres://ann:{password}@db:5432/fleet").parse::<DatabaseUrl>();
        let said = url.map_or_else(|bad| bad.to_string(), |url| url.to_string());
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_fuzzer_passes() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
