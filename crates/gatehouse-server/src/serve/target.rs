//! Request targets as people type them: `?createdAt>=2026-01-01` is taken as `?createdAt%3E=2026-01-01`.
//!
//! hyper refuses a target that holds such bytes, so they are encoded on their way to it. That makes the head longer, and is
//! done only where a head surely begins. Where part of a body were taken for a head, the body would get longer than it says,
//! and the next request would begin elsewhere than a proxy in front believes.
//!
//! A head surely begins with the first byte of a connection. The next one begins when the request before is answered and
//! each of its bytes is accounted for: a head whose end was seen, and behind it as many bytes as it says that its body has. All
//! else is left as it is, for the rest of the connection: a head that came before the answer to the one before it, what comes
//! behind a body in chunks, and what follows lines that end in other ways than they should.

use std::cmp::Ordering;

use super::connections::Activity;

/// Where in the bytes of a connection we are.
pub(super) struct RequestTarget {
    place: Place,
    /// How many requests there had been when the head began.
    n_begun: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Method,
    Target,
    /// In the rest of the head, behind so many bytes of what ends it.
    Head(usize),
    /// So many bytes behind the head.
    Body(u64),
    /// No head is looked for any more.
    Unknown,
}

/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

impl RequestTarget {
    pub(super) fn new() -> Self {
        Self { place: Place::Method, n_begun: 0 }
    }

    /// Follows bytes of HTTP/1.1. Where they hold a target that has to be encoded, gives all of them with it.
    pub(super) fn encode(&mut self, bytes: &[u8], activity: &Activity) -> Option<Vec<u8>> {
        if let Place::Body(n_behind) = self.place
            && let Some(n_begun) = activity.n_begun_at_rest()
        {
            let is_the_next = n_begun == self.n_begun + 1;
            let n_expected = activity.body_bytes().filter(|_| is_the_next);
            self.place = match n_expected.map(|n_expected| n_behind.cmp(&n_expected)) {
                Some(Ordering::Equal) => Place::Method,
                // The rest of a body that the answer did not wait for.
                Some(Ordering::Less) => self.place,
                Some(Ordering::Greater) | None => Place::Unknown,
            };
            if self.place == Place::Method {
                self.n_begun = n_begun;
            }
        }
        if self.place == Place::Unknown {
            return None;
        }
        let mut encoded: Option<Vec<u8>> = None;
        for (n, byte) in bytes.iter().copied().enumerate() {
            let is_unfit = self.place == Place::Target && is_unfit(byte);
            self.place = match self.place {
                Place::Body(n_behind) => {
                    let rest = &bytes[n..];
                    self.place = Place::Body(n_behind + rest.len() as u64);
                    if let Some(encoded) = &mut encoded {
                        encoded.extend_from_slice(rest);
                    }
                    break;
                }
                place => place.behind(byte),
            };
            if is_unfit {
                let encoded = encoded.get_or_insert_with(|| bytes[..n].to_vec());
                encoded.extend_from_slice(percent_encoding::percent_encode_byte(byte).as_bytes());
            } else if let Some(encoded) = &mut encoded {
                encoded.push(byte);
            }
        }
        encoded
    }
}

impl Place {
    /// Where we are behind one more byte.
    fn behind(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Method, b' ') => Self::Target,
            (Self::Target, b' ') => Self::Head(0),
            (Self::Method | Self::Target, b'\r' | b'\n') => Self::Unknown,
            (Self::Method | Self::Target | Self::Body(_) | Self::Unknown, _) => self,
            (Self::Head(n), byte) if byte == END[n] => match n + 1 == END.len() {
                true => Self::Body(0),
                false => Self::Head(n + 1),
            },
            // Half an end of a line, which others might take for a whole one.
            (Self::Head(1 | 3), _) | (Self::Head(_), b'\r' | b'\n') => Self::Unknown,
            (Self::Head(_), _) => Self::Head(0),
        }
    }
}

/// What no target may hold, and what people type there nevertheless. hyper takes some of it in some places.
fn is_unfit(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'`') || byte > 127
}

#[cfg(test)]
mod tests;
