//! Replaces the numbers of a real fleet by others: consistently, of the same length, with check digits that stay right.

use std::collections::{HashMap, HashSet};

use gatehouse_core::identifier::luhn_digit;
use serde_json::Value;

use crate::check_digit::with_check_digit;

/// Fewest digits of a number that is replaced everywhere.
const DIGITS_MIN: usize = 10;

/// Digits of an ICCID without its check digit.
const CARD_DIGITS: usize = 19;

/// Digits that a number keeps: a network's or a country's.
const KEPT_DIGITS: usize = 5;

/// Replacements of numbers and names.
#[derive(Default)]
pub(in crate::testing::recording) struct Disguise {
    table: HashMap<String, String>,
    used: HashSet<String>,
    n_numbers: usize,
    /// Number of names per pattern.
    shapes: HashMap<String, usize>,
}

impl Disguise {
    /// Adds a connection's id.
    pub(in crate::testing::recording) fn learn_id(&mut self, id: &str) {
        if id.is_empty() || self.table.contains_key(id) {
            return;
        }
        if id.len() >= DIGITS_MIN && is_digits(id) {
            self.number(id);
            return;
        }
        let is_hidden = |it: char| it.is_ascii_digit() || it.is_ascii_lowercase();
        if !id.chars().any(|it| it.is_ascii_digit()) {
            return;
        }
        let shape: String = id.chars().map(|it| if is_hidden(it) { '0' } else { it }).collect();
        let nth = self.shapes.entry(shape.clone()).or_default();
        *nth += 1;
        let mut digits: Vec<char> = nth.to_string().chars().collect();
        let mut replacement: Vec<char> = shape.chars().collect();
        for (at, original) in id.chars().enumerate().collect::<Vec<_>>().into_iter().rev() {
            if is_hidden(original) {
                replacement[at] = digits.pop().unwrap_or('0');
            }
        }
        // A whole number doesn't begin with a zero.
        if is_digits(id) && replacement[0] == '0' && replacement.len() > 1 {
            replacement[0] = '1';
        }
        self.table.insert(id.to_owned(), replacement.into_iter().collect());
    }

    fn number(&mut self, digits: &str) -> String {
        if let Some(replacement_of) = self.table.get(digits) {
            return replacement_of.clone();
        }
        let checked = |all: &str| {
            let (body, last) = all.split_at(all.len() - 1);
            luhn_digit(body).is_some_and(|it| last.starts_with(it))
        };
        let replacement = if digits.len() == CARD_DIGITS + 1 && checked(digits) {
            // The same ICCID with its check digit.
            let card = self.number(&digits[..CARD_DIGITS]);
            with_check_digit(card)
        } else {
            let has_check_digit = checked(digits);
            self.unused(|it| {
                if has_check_digit {
                    with_check_digit(it.running(digits, digits.len() - 1))
                } else {
                    it.running(digits, digits.len())
                }
            })
        };
        self.table.insert(digits.to_owned(), replacement.clone());
        replacement
    }

    /// The next free replacement: with its check digit it may equal another one without.
    fn unused(&mut self, next: impl Fn(&mut Self) -> String) -> String {
        loop {
            let replacement = next(self);
            if self.used.insert(replacement.clone()) {
                return replacement;
            }
        }
    }

    fn running(&mut self, digits: &str, len: usize) -> String {
        self.n_numbers += 1;
        let number = self.n_numbers.to_string();
        let kept = KEPT_DIGITS.min(len.saturating_sub(number.len()));
        format!("{}{number:0>width$}", &digits[..kept], width = len - kept)
    }

    /// Replaces all numbers and names in a text.
    pub(in crate::testing::recording) fn text(&mut self, text: &str) -> String {
        if let Some(replacement_of) = self.table.get(text) {
            return replacement_of.clone();
        }
        let mut names: Vec<String> =
            self.table.keys().filter(|it| text.contains(it.as_str())).cloned().collect();
        names.sort_unstable_by_key(|it| std::cmp::Reverse(it.len()));
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        let mut before: Option<char> = None;
        while let Some(first) = rest.chars().next() {
            if let Some(encoded) = encoded_byte(rest) {
                written.push_str(encoded);
                (rest, before) = (&rest[encoded.len()..], None);
                continue;
            }
            let begins = before.is_none_or(|it| !it.is_ascii_alphanumeric());
            let name = names.iter().find(|name| {
                let behind = rest.strip_prefix(name.as_str());
                begins
                    && behind.is_some_and(|it| !it.starts_with(|c: char| c.is_ascii_alphanumeric()))
            });
            if let Some(name) = name {
                written.push_str(&self.table[name]);
                (rest, before) = (&rest[name.len()..], Some('0'));
                continue;
            }
            let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if n_digits > 0 {
                let (digits, behind) = rest.split_at(n_digits);
                let replacement =
                    if n_digits >= DIGITS_MIN { self.number(digits) } else { digits.to_owned() };
                written.push_str(&replacement);
                (rest, before) = (behind, Some('0'));
                continue;
            }
            written.push(first);
            (rest, before) = (&rest[first.len_utf8()..], Some(first));
        }
        written
    }

    /// Replaces all numbers and names in a value.
    pub(in crate::testing::recording) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Number(number) => {
                let replacement = self.text(&number.to_string());
                if let Ok(replacement) = serde_json::from_str(&replacement) {
                    *value = replacement;
                }
            }
            Value::Array(members) => members.iter_mut().for_each(|it| self.value(it)),
            Value::Object(members) => {
                // Some platforms have numbers as member names.
                let all = std::mem::take(members);
                for (name, mut value) in all {
                    self.value(&mut value);
                    members.insert(self.text(&name), value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

fn encoded_byte(text: &str) -> Option<&str> {
    let encoded = text.get(..3)?;
    let is_hex = encoded.bytes().skip(1).all(|it| it.is_ascii_hexdigit());
    (encoded.starts_with('%') && is_hex).then_some(encoded)
}
