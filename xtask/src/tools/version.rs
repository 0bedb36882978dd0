//! Versions of tools: read from a program's output, and compared.

use std::fmt;

/// A tool's version: its first two numbers, which are enough for requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Version {
    /// The least version of a tool whose version doesn't matter.
    pub(crate) const ANY: Version = Version::new(0, 0);

    pub(crate) const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads the version from a line such as `Python 3.11.7`, `v22.1.0` or `postgres (PostgreSQL) 17beta1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words = text.split_whitespace().map(|word| word.strip_prefix('v').unwrap_or(word));
        let version =
            words.into_iter().find(|word| word.starts_with(|it: char| it.is_ascii_digit()))?;
        let mut numbers = version.split('.').map(leading_number);
        let major = numbers.next()??;
        let minor = numbers.next().flatten().unwrap_or(0);
        Some(Self { major, minor })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// The number that a text begins with: `17` of `17beta1`.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_tools_print_them() {
        for (text, major, minor) in [
            ("postgres (PostgreSQL) 15.6 (Debian 15.6-0+deb12u1)\n", 15, 6),
            ("postgres (PostgreSQL) 19beta1\n", 19, 0),
            ("v18.20.4\n", 18, 20),
            ("Python 3.11.7", 3, 11),
            ("PgBouncer 1.18.0\nlibevent 2.1.12-stable", 1, 18),
            ("Chromium 156.0.8078.73 built on Debian 12", 156, 0),
            ("9.2.0", 9, 2),
        ] {
            assert_eq!(Version::parse(text), Some(Version::new(major, minor)), "{text}");
        }
        assert_eq!(Version::parse("no number here"), None);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(Version::new(9, 9) < Version::new(10, 0));
        assert!(Version::new(22, 1) > Version::new(22, 0));
        assert!(Version::ANY < Version::new(0, 1));
    }
}
