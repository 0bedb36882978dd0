//! Encodes request targets as people type them: `?createdAt>=2026-01-01` becomes `?createdAt%3E=2026-01-01`.
//!
//! hyper refuses a target with such bytes, so they are encoded before hyper reads them. That makes the head longer, so
//! it is done only where a head surely begins. If part of a body were taken for a head, the body would exceed its
//! length, and the next request would begin elsewhere than a proxy in front believes.
//!
//! A head surely begins with the first byte of a connection. The next one begins when the previous request is answered
//! and each of its bytes is accounted for: a head with its end, and a body of the announced length. All else stays
//! unchanged for the rest of the connection: a pipelined head, and bytes after a chunked body or irregular line ends.

use std::cmp::Ordering;

use super::connections::Activity;

/// Tracks the position in the bytes of a connection.
pub(super) struct RequestTarget {
    position: Position,
    /// Number of requests when the head began.
    n_started: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Method,
    Target,
    /// In the rest of the head, after this many bytes of its end.
    Head(usize),
    /// This many bytes after the head.
    Body(u64),
    /// Heads are no longer tracked.
    Unknown,
}

/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";

impl RequestTarget {
    pub(super) fn new() -> Self {
        Self { position: Position::Method, n_started: 0 }
    }

    /// Tracks bytes of HTTP/1.1; returns them with an encoded target where one needs it.
    pub(super) fn encode(&mut self, bytes: &[u8], activity: &Activity) -> Option<Vec<u8>> {
        if let Position::Body(n_after) = self.position
            && let Some(n_started) = activity.n_started_when_idle()
        {
            let is_next = n_started == self.n_started + 1;
            let n_expected = activity.body_bytes().filter(|_| is_next);
            self.position = match n_expected.map(|n_expected| n_after.cmp(&n_expected)) {
                Some(Ordering::Equal) => Position::Method,
                // The rest of a body that the response didn't wait for.
                Some(Ordering::Less) => self.position,
                Some(Ordering::Greater) | None => Position::Unknown,
            };
            if self.position == Position::Method {
                self.n_started = n_started;
            }
        }
        if self.position == Position::Unknown {
            return None;
        }
        let mut encoded: Option<Vec<u8>> = None;
        for (n, byte) in bytes.iter().copied().enumerate() {
            let encodes = self.position == Position::Target && needs_encoding(byte);
            self.position = match self.position {
                Position::Body(n_after) => {
                    let rest = &bytes[n..];
                    self.position = Position::Body(n_after + rest.len() as u64);
                    if let Some(encoded) = &mut encoded {
                        encoded.extend_from_slice(rest);
                    }
                    break;
                }
                position => position.after(byte),
            };
            if encodes {
                let encoded = encoded.get_or_insert_with(|| bytes[..n].to_vec());
                encoded.extend_from_slice(percent_encoding::percent_encode_byte(byte).as_bytes());
            } else if let Some(encoded) = &mut encoded {
                encoded.push(byte);
            }
        }
        encoded
    }
}

impl Position {
    /// The position after one more byte.
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Method, b' ') => Self::Target,
            (Self::Target, b' ') => Self::Head(0),
            (Self::Method | Self::Target, b'\r' | b'\n') => Self::Unknown,
            (Self::Method | Self::Target | Self::Body(_) | Self::Unknown, _) => self,
            (Self::Head(n), byte) if byte == HEAD_END[n] => match n + 1 == HEAD_END.len() {
                true => Self::Body(0),
                false => Self::Head(n + 1),
            },
            // Half a line end, which others might accept as a whole one.
            (Self::Head(1 | 3), _) | (Self::Head(_), b'\r' | b'\n') => Self::Unknown,
            (Self::Head(_), _) => Self::Head(0),
        }
    }
}

/// Bytes that are invalid in a target, and that people type there. hyper accepts some in some places.
fn needs_encoding(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'`') || byte > 127
}

#[cfg(test)]
mod tests;
