//! Search for texts that begin with a given one, without regard to case, in an index that is sorted by bytes.
//!
//! A text of ten letters can be written in a thousand ways, but few of them exist. The search goes through the index
//! from one written way to the next: it asks for the first text from a position on, and when that text doesn't begin
//! with the wanted one, [`SearchText::next_prefix`] tells the next position at which one could.

use std::str::FromStr;

/// Most characters of a search.
pub const SEARCH_CHARS_MAX: usize = 128;

/// A text to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    text: String,
    /// The ways to write each character, in order.
    spellings: Vec<Vec<char>>,
}

/// The text is empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {SEARCH_CHARS_MAX} characters")]
pub struct BadSearchText;

impl FromStr for SearchText {
    type Err = BadSearchText;

    fn from_str(text: &str) -> Result<Self, BadSearchText> {
        let spellings: Vec<Vec<char>> = text.chars().map(spellings).collect();
        let is_good = (1..=SEARCH_CHARS_MAX).contains(&spellings.len());
        is_good.then(|| Self { text: text.to_owned(), spellings }).ok_or(BadSearchText)
    }
}

/// The character in lower case and in upper case.
fn spellings(c: char) -> Vec<char> {
    let mut spellings = vec![c];
    spellings.extend(only(c.to_lowercase()));
    spellings.extend(only(c.to_uppercase()));
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

/// The one character of a mapping; `None` where it has several.
fn only(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

impl SearchText {
    /// The text as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first text in order that begins with this one, in any spelling.
    pub fn first(&self) -> String {
        self.spellings.iter().map(|spellings| spellings[0]).collect()
    }

    /// Whether a text begins with this one, in any spelling.
    pub fn begins(&self, text: &str) -> bool {
        let mut chars = text.chars();
        self.spellings.iter().all(|spellings| chars.next().is_some_and(|c| spellings.contains(&c)))
    }

    /// Whether a text is this one, in any spelling.
    pub fn is(&self, text: &str) -> bool {
        self.begins(text) && text.chars().count() == self.spellings.len()
    }

    /// The first text after `text` that begins with this one; `None` if there can't be any. `text` itself doesn't.
    pub fn next_prefix(&self, text: &str) -> Option<String> {
        let chars: Vec<char> = text.chars().take(self.spellings.len()).collect();
        let fits = self.spellings.iter().zip(&chars);
        let n_fit = fits.take_while(|(spellings, c)| spellings.contains(c)).count();
        if n_fit == chars.len() && n_fit < self.spellings.len() {
            // The text is the beginning of one that fits.
            return Some(self.completed(&chars));
        }
        self.after(&chars, n_fit)
    }

    /// The first spelling of the whole text after `text`; `None` if there is none.
    pub fn next_spelling(&self, text: &str) -> Option<String> {
        if !self.begins(text) {
            return self.next_prefix(text);
        }
        let chars: Vec<char> = text.chars().take(self.spellings.len()).collect();
        self.after(&chars, chars.len() - 1)
    }

    /// The first spelling that is greater than `chars` in one of the characters up to `last`, and equal before it.
    fn after(&self, chars: &[char], last: usize) -> Option<String> {
        let last = last.min(self.spellings.len() - 1);
        (0..=last).rev().find_map(|n| {
            let greater = self.spellings[n].iter().find(|it| Some(*it) > chars.get(n))?;
            let begin: Vec<char> = chars[..n].iter().chain([greater]).copied().collect();
            Some(self.completed(&begin))
        })
    }

    /// The first spelling that begins with these characters.
    fn completed(&self, begin: &[char]) -> String {
        let rest = self.spellings[begin.len()..].iter().map(|spellings| spellings[0]);
        begin.iter().copied().chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn search(text: &str) -> SearchText {
        text.parse().unwrap()
    }

    /// Goes through an index as the store does; returns what it finds, and the number of its look-ups.
    fn found(search: &SearchText, index: &BTreeSet<String>) -> (Vec<String>, usize) {
        let (mut found, mut n_look_ups) = (Vec::new(), 0);
        let mut from = Some(search.first());
        while let Some(position) = from.take() {
            n_look_ups += 1;
            for text in index.range(position..) {
                if !search.begins(text) {
                    from = search.next_prefix(text);
                    break;
                }
                found.push(text.clone());
            }
        }
        (found, n_look_ups)
    }

    fn exact(search: &SearchText, index: &BTreeSet<String>) -> Vec<String> {
        let mut found = Vec::new();
        let mut from = Some(search.first());
        while let Some(position) = from.take() {
            let Some(text) = index.range(position..).next() else { break };
            found.extend(search.is(text).then(|| text.clone()));
            from = search.next_spelling(text);
        }
        found
    }

    #[test]
    fn a_text_has_1_to_128_characters() {
        assert_eq!("".parse::<SearchText>(), Err(BadSearchText));
        assert_eq!("x".repeat(129).parse::<SearchText>(), Err(BadSearchText));
        assert!("é".repeat(128).parse::<SearchText>().is_ok());
    }

    #[test]
    fn the_search_skips_what_can_not_fit() {
        let index = ["PUMP-1", "Pump", "Zeta", "device-1", "pum", "pump", "pump-7", "quiz"];
        let index = index.map(str::to_owned).into();
        let (found, n_look_ups) = found(&search("pump"), &index);
        assert_eq!(found, ["PUMP-1", "Pump", "pump", "pump-7"]);
        assert!(n_look_ups <= 4, "{n_look_ups}");
        assert_eq!(exact(&search("PUMP"), &index), ["Pump", "pump"]);
    }

    #[test]
    fn letters_of_other_alphabets_have_cases_too() {
        let index = ["KÖLN", "Köln-2", "köln", "koln", "straße"].map(str::to_owned).into();
        assert_eq!(found(&search("kÖ"), &index).0, ["KÖLN", "Köln-2", "köln"]);
        assert_eq!(found(&search("STRA"), &index).0, ["straße"]);
    }

    proptest! {
        #[test]
        fn every_text_with_the_prefix_is_found(
            texts in prop::collection::btree_set("[aAbBéÉ1]{0,5}", 0..40), text in "[aAbBéÉ1]{1,4}",
        ) {
            let search = search(&text);
            let fits = |it: &&String| it.to_lowercase().starts_with(&text.to_lowercase());
            let expected: Vec<String> = texts.iter().filter(fits).cloned().collect();
            prop_assert_eq!(found(&search, &texts).0, expected);
            let is = |it: &&String| it.to_lowercase() == text.to_lowercase();
            let expected: Vec<String> = texts.iter().filter(is).cloned().collect();
            prop_assert_eq!(exact(&search, &texts), expected);
        }
    }
}
