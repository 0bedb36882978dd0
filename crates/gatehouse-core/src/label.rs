//! Labels of an access: keys and values that operators sort their devices by, such as `site=hamburg`.
//!
//! All labels of an access are one text, which the database stores and a statement can search:
//!
//! ```text
//!   ⏎ site=hamburg ⏎ team=pumps ⏎        a line feed before, between and behind the labels, ordered by key
//! ```
//!
//! A value may hold line feeds, so they are escaped. Then `⏎ site=hamburg ⏎` is in the text exactly when the access
//! has the label.

use std::borrow::Cow;
use std::collections::BTreeMap;

use smol_str::SmolStr;

use crate::ids::{LabelKey, LabelValue};

/// Most labels of an access.
pub const LABELS_MAX: usize = 32;

/// Most keys that a tenant can filter by.
pub const FILTERABLE_KEYS_MAX: usize = 16;

/// More labels than an access may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must hold at most {LABELS_MAX} labels, not {0}")]
pub struct TooManyLabels(pub usize);

/// The labels of an access.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(SmolStr);

/// Labels to set, and keys of labels to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelPatch(pub BTreeMap<LabelKey, Option<LabelValue>>);

/// Labels that an access must have: a value by key, or `None` for any value.
pub type RequiredLabels = BTreeMap<LabelKey, Option<LabelValue>>;

/// Labels as they are stored, borrowed from [`Labels`] or a database row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownLabels<'a>(&'a str);

impl Labels {
    /// No labels.
    pub const NONE: Self = Self(SmolStr::new_static(""));

    /// Labels with distinct keys.
    pub fn new(labels: &BTreeMap<LabelKey, LabelValue>) -> Result<Self, TooManyLabels> {
        if labels.len() > LABELS_MAX {
            return Err(TooManyLabels(labels.len()));
        }
        let mut text = String::new();
        for (key, value) in labels {
            if text.is_empty() {
                text.push('\n');
            }
            text.extend([key.as_str(), "=", &escaped(value.as_str()), "\n"]);
        }
        Ok(Self(text.into()))
    }

    /// Labels from their stored text, which was checked when it was written; `None` for another text.
    pub fn from_stored(text: &str) -> Option<Self> {
        let is_whole = text.len() > 1 && text.starts_with('\n') && text.ends_with('\n');
        (text.is_empty() || is_whole).then(|| Self(text.into()))
    }

    /// The text to store; `None` without labels.
    pub fn stored(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, borrowed.
    pub fn shown(&self) -> ShownLabels<'_> {
        ShownLabels(&self.0)
    }

    /// Whether the labels hold all of these.
    pub fn have(&self, required: &RequiredLabels) -> bool {
        let has = |(key, value): (&LabelKey, &Option<LabelValue>)| {
            self.0.contains(stored_part(key, value.as_ref()).as_str())
        };
        required.iter().all(has)
    }

    /// The labels after a patch.
    pub fn patched(&self, LabelPatch(patch): &LabelPatch) -> Result<Self, TooManyLabels> {
        let mut labels: BTreeMap<LabelKey, LabelValue> = self.shown().parsed().collect();
        for (key, value) in patch {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        Self::new(&labels)
    }
}

impl LabelPatch {
    /// The patch as a text to store, in the form of labels, with bare keys for labels to remove; `None` without any.
    pub fn stored(&self) -> Option<String> {
        let line = |(key, value): (&LabelKey, &Option<LabelValue>)| match value {
            Some(value) => format!("{key}={}", escaped(value.as_str())),
            None => key.to_string(),
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// A patch from its stored text; `None` for another text.
    pub fn from_stored(text: &str) -> Option<Self> {
        let parse = |line: &str| match line.split_once('=') {
            Some((key, value)) => Some((key.parse().ok()?, Some(unescaped(value).parse().ok()?))),
            None => Some((line.parse().ok()?, None)),
        };
        text.split('\n').map(parse).collect::<Option<_>>().map(Self)
    }
}

/// The part of the stored text that an access has exactly if it has this label, or a label with this key.
pub fn stored_part(key: &LabelKey, value: Option<&LabelValue>) -> String {
    match value {
        Some(value) => format!("\n{key}={}\n", escaped(value.as_str())),
        None => format!("\n{key}="),
    }
}

impl<'a> ShownLabels<'a> {
    /// Labels from their stored text.
    pub fn from_stored(text: Option<&'a str>) -> Self {
        Self(text.unwrap_or_default())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The keys and values, ordered by key.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        let lines = self.0.split('\n').filter_map(|line| line.split_once('='));
        lines.map(|(key, value)| (key, unescaped(value)))
    }

    /// The keys and values as their types.
    pub fn parsed(self) -> impl Iterator<Item = (LabelKey, LabelValue)> {
        self.iter().filter_map(|(key, value)| Some((key.parse().ok()?, value.parse().ok()?)))
    }
}

fn escaped(value: &str) -> Cow<'_, str> {
    if value.contains(['\\', '\n']) {
        value.replace('\\', "\\\\").replace('\n', "\\n").into()
    } else {
        value.into()
    }
}

fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return value.into();
    }
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next() == Some('n') => text.push('\n'),
            '\\' => text.push('\\'),
            c => text.push(c),
        }
    }
    text.into()
}

#[cfg(test)]
mod tests;
