//! A certificate's validity dates.
//!
//! Clients decide whether they trust it, so only the dates are parsed (RFC 5280, section 4.1).

use gatehouse_core::Timestamp;

/// A certificate's validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Start.
    pub begins: Timestamp,
    /// End.
    pub ends: Timestamp,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// Parses the dates of a DER certificate; `None` if they can't be found.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let (certificate, _) = element(certificate, SEQUENCE)?;
        let (mut rest, _) = element(certificate, SEQUENCE)?;
        if rest.first() == Some(&VERSION) {
            rest = skip(rest)?;
        }
        // Serial number, algorithm, issuer.
        for _ in 0..3 {
            rest = skip(rest)?;
        }
        let (dates, _) = element(rest, SEQUENCE)?;
        let (begins, rest) = time(dates)?;
        let (ends, _) = time(rest)?;
        Some(Self { begins, ends })
    }
}

/// The content of the first element, which must have this tag, and the rest.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = split(bytes)?;
    (found == tag).then_some((content, rest))
}

fn skip(bytes: &[u8]) -> Option<&[u8]> {
    split(bytes).map(|(_, _, rest)| rest)
}

/// Tag and content of the first element, and the rest.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    // A short length is one byte; a long one starts with its number of bytes.
    let (length, rest) = match *first {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let add = |sum: usize, digit: &u8| sum.checked_mul(256)?.checked_add((*digit).into());
            (digits.iter().try_fold(0, add)?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

fn time(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (tag, text, rest) = split(bytes)?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match tag {
        // Two digits are a year from 1950 to 2049.
        UTC_TIME if text < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |from, to| text.get(from..to);
    let (date, clock) = (
        format!("{}-{}-{}", part(0, 4)?, part(4, 6)?, part(6, 8)?),
        format!("{}:{}:{}", part(8, 10)?, part(10, 12)?, part(12, 14)?),
    );
    Some((format!("{date}T{clock}Z").parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with these dates, without what follows them.
    fn dated(dates: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| {
            let length = u8::try_from(content.len()).unwrap();
            [&[tag, 0x81, length], content].concat()
        };
        let mut body = vec![VERSION, 3, 2, 1, 2, 2, 1, 7, SEQUENCE, 0, SEQUENCE, 0];
        body.extend(wrap(SEQUENCE, dates));
        wrap(SEQUENCE, &wrap(SEQUENCE, &body))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn both_date_formats_are_parsed() {
        let dates =
            [&[UTC_TIME, 13][..], b"991231235959Z", &[GENERALIZED_TIME, 15], b"20500101000000Z"];
        let expected =
            Validity { begins: at("1999-12-31T23:59:59Z"), ends: at("2050-01-01T00:00:00Z") };
        assert_eq!(Validity::of(&dated(&dates.concat())), Some(expected));
    }

    #[test]
    fn an_invalid_certificate_has_no_dates() {
        let dates = [&[UTC_TIME, 13][..], b"491231235959Z", &[UTC_TIME, 13], b"not a date...Z"];
        let whole = dated(&dates.concat());
        assert_eq!(Validity::of(&whole), None);
        for n in 0..whole.len() {
            assert_eq!(Validity::of(&whole[..n]), None, "cut off after {n}");
        }
        assert_eq!(Validity::of(&[SEQUENCE, 0xff, 1, 2, 3]), None);
    }
}
