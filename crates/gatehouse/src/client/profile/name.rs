//! Valid profile names.

use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;

const CHARS_MAX: usize = 64;

/// The name of a profile, also used as a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProfileName(String);

impl ProfileName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProfileName {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        let is_valid_for = (1..=CHARS_MAX).contains(&text.len())
            && !text.starts_with('.')
            && text.chars().all(is_letter);
        if is_valid_for {
            return Ok(Self(text.to_owned()));
        }
        Err(Failure::input(format!(
            "a profile's name is 1 to {CHARS_MAX} letters, digits, `-`, `_` and `.`, and doesn't begin \
             with `.`: not {text:?}"
        )))
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory() {
        let longest = "x".repeat(CHARS_MAX);
        for good in ["default", "a", "prod-eu_2.test", "7", "-", longest.as_str()] {
            assert_eq!(good.parse::<ProfileName>().unwrap().as_str(), good);
        }
        let too_long = "x".repeat(CHARS_MAX + 1);
        for bad in ["", ".", "..", ".a", "../a", "a/b", "a b", "ä", "a\0", "a\n", &too_long] {
            assert!(bad.parse::<ProfileName>().is_err(), "{bad:?}");
        }
    }
}
