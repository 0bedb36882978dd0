//! Fuzz targets for this crate's parsers; `gatehouse_core::fuzzing` says why they are here.
//!
//! `client/fuzzing` has the targets for platforms' responses, `manifest/fuzzing` those for manifests, and
//! `simulator/fuzzing` those for requests to a simulated platform.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::testing::recording::Recording;
use crate::{PlatformResponse, client, manifest, simulator};

/// A fuzz target: its name, and its function of any bytes.
type Target = (&'static str, fn(&[u8]));

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[
    ("manifest", |bytes| with_text(bytes, manifest::fuzzing::manifest)),
    ("manifest-value", |bytes| with_text(bytes, manifest::fuzzing::value)),
    ("link-header", |bytes| with_text(bytes, manifest::fuzzing::link_header)),
    ("platform-account", manifest::fuzzing::account),
    ("platform-answer", manifest::fuzzing::response),
    ("platform-headers", client::fuzzing::headers),
    ("platform-url", |bytes| with_text(bytes, client::fuzzing::url)),
    ("platform-words", client::fuzzing::words),
    ("recording", |bytes| with_text(bytes, recording)),
    ("simulator", simulator::fuzzing::request),
];

fn with_text(bytes: &[u8], check: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

/// A recording that parses can be written and parsed again.
fn recording(text: &str) {
    let Ok(recording) = Recording::parse("r.json", text) else { return };
    let written = recording.to_text();
    let again = Recording::parse("r.json", &written).expect("what is written can be read");
    assert_eq!(again.to_text(), written);
}

/// A platform's response from bytes: a line with a word and a status, header lines, an empty line and a body.
pub(crate) struct FuzzedResponse<'a> {
    pub(crate) word: &'a str,
    pub(crate) response: PlatformResponse,
}

impl<'a> FuzzedResponse<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|it| it == b"\n\n")?;
        let mut lines = std::str::from_utf8(&bytes[..end]).ok()?.split('\n');
        let (word, status) = lines.next()?.split_once(' ')?;
        let status: StatusCode = status.parse().ok()?;
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ")?;
            headers.append(name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?);
        }
        let response = client::fuzzing::response(status, headers, bytes[end + 2..].to_vec());
        Some(Self { word, response })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_fuzzer_passes() {
        gatehouse_testing::hold_seeds(super::TARGETS);
    }
}
