//! Templates: texts with holes, which are filled with what an account, a session, a page or a look-up has.
//!
//! `{credentials.apiKey}`, `{settings.authUrl}`, `{session.token}`, `{page.number}`, `{page.offset}`, `{page.size}`,
//! `{page.cursor}`, `{value}`, `{values}`, `{now}`, `{now-365d}`. Behind a bar stands what is done to it:
//! `{value|luhn_strip}`, `{now-1d|epoch}`, `{page.cursor|number}` for a number in a JSON body. A brace that is meant is written twice.

use std::fmt;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::span::Span;
use super::transform::Transform;

/// A text with holes, such as `Bearer {session.token}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub(crate) struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Hole),
}

/// What stands in a template for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) what: What,
    transforms: Vec<Transform>,
    form: TimeForm,
    is_number: bool,
}

/// What a hole is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A secret of the account.
    Credential(String),
    /// A setting of the account.
    Setting(String),
    /// What a call of the session gave.
    Session(String),
    /// The number of the page.
    PageNumber,
    /// How many connections lie before it.
    PageOffset,
    /// How many are wanted.
    PageSize,
    /// The mark of the page.
    PageCursor,
    /// One of those that are looked up.
    Value,
    /// All of them, with commas between.
    Values,
    /// A time: so much before now, or behind.
    Now {
        /// How much.
        off: Duration,
        /// Whether it is before.
        is_before: bool,
    },
}

/// How a time is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TimeForm {
    /// As RFC 3339 says, in UTC.
    #[default]
    Rfc3339,
    /// The day alone.
    Date,
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    EpochMillis,
}

/// What holes are filled with.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) account: &'a dyn Named,
    pub(crate) session: Option<&'a dyn Named>,
    pub(crate) page: Option<PageScope<'a>>,
    pub(crate) values: &'a [String],
    pub(crate) now: SystemTime,
}

/// What a page is asked for with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageScope<'a> {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) size: u32,
    pub(crate) cursor: Option<&'a str>,
}

/// What has texts by name.
pub(crate) trait Named: Sync {
    /// The text of a name, where there is one.
    fn named(&self, what: &What) -> Option<Zeroizing<String>>;
}

impl Template {
    /// Its holes.
    pub(crate) fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|it| match it {
            Piece::Hole(hole) => Some(hole),
            Piece::Text(_) => None,
        })
    }

    /// Whether it has a hole of a kind.
    pub(crate) fn mentions(&self, is_meant: impl Fn(&What) -> bool) -> bool {
        self.holes().any(|hole| is_meant(&hole.what))
    }

    /// Whether something that must not be seen is put into it.
    pub(crate) fn is_secret(&self) -> bool {
        self.mentions(|it| matches!(it, What::Credential(_) | What::Session(_)))
    }

    /// Whether it is a number wherever it is a number at all.
    pub(crate) fn is_number(&self) -> bool {
        let [Piece::Hole(hole)] = self.pieces.as_slice() else { return false };
        match hole.what {
            What::PageNumber | What::PageOffset | What::PageSize => true,
            What::Now { .. } => matches!(hole.form, TimeForm::Epoch | TimeForm::EpochMillis),
            _ => hole.is_number,
        }
    }

    /// The setting that it begins with, where it begins with one.
    pub(crate) fn leading_setting(&self) -> Option<&str> {
        match self.pieces.first()? {
            Piece::Hole(Hole { what: What::Setting(name), .. }) => Some(name),
            _ => None,
        }
    }

    /// What was put into its holes to make a text of it; nothing where the text can't have been made of it.
    pub(crate) fn heard(&self, text: &str) -> Option<Vec<(&What, String)>> {
        let (mut rest, mut heard) = (text, Vec::new());
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(own) => rest = rest.strip_prefix(own.as_str())?,
                Piece::Hole(hole) => {
                    let end = match pieces.peek() {
                        Some(Piece::Text(own)) => rest.find(own.as_str())?,
                        Some(Piece::Hole(_)) | None => rest.len(),
                    };
                    let (given, behind) = rest.split_at_checked(end).filter(|_| end > 0)?;
                    heard.push((&hole.what, given.to_owned()));
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(heard)
    }

    /// The text, with each hole filled; `write` says how the template's own words and what comes into its holes are
    /// written. Nothing where a hole has nothing to be filled with, or with what can't be written.
    pub(crate) fn fill_with(
        &self,
        scope: &Scope<'_>,
        write: &dyn Fn(Part<'_>) -> Option<String>,
    ) -> Option<Zeroizing<String>> {
        let mut filled = Zeroizing::new(String::with_capacity(self.text.len() + 64));
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(&write(Part::Own(text))?),
                Piece::Hole(Hole { what: What::Values, transforms, .. }) => {
                    let values = scope.values.iter().map(|it| transformed(transforms, it.clone()));
                    let values: Option<Vec<_>> = values.map(|it| write(Part::Given(&it))).collect();
                    filled.push_str(&values?.join(","));
                }
                Piece::Hole(hole) => filled.push_str(&write(Part::Given(&hole.fill(scope)?))?),
            }
        }
        Some(filled)
    }

    /// The text, with each hole filled.
    pub(crate) fn fill(&self, scope: &Scope<'_>) -> Option<Zeroizing<String>> {
        self.fill_with(scope, &|(Part::Own(text) | Part::Given(text))| Some(text.to_owned()))
    }
}

/// A part of a filled template.
pub(crate) enum Part<'t> {
    /// What the manifest says.
    Own(&'t str),
    /// What comes from elsewhere.
    Given(&'t str),
}

fn transformed(transforms: &[Transform], text: String) -> String {
    transforms.iter().fold(text, |text, transform| transform.one(text))
}

impl Hole {
    fn fill(&self, scope: &Scope<'_>) -> Option<Zeroizing<String>> {
        let plain = |text: String| Some(Zeroizing::new(text));
        let text = match &self.what {
            What::Credential(_) | What::Setting(_) => scope.account.named(&self.what),
            What::Session(_) => scope.session?.named(&self.what),
            What::PageNumber => plain(scope.page?.number.to_string()),
            What::PageOffset => plain(scope.page?.offset.to_string()),
            What::PageSize => plain(scope.page?.size.to_string()),
            What::PageCursor => plain(scope.page?.cursor?.to_owned()),
            What::Value | What::Values => plain(scope.values.first()?.clone()),
            What::Now { off, is_before } => plain(self.time(scope.now, *off, *is_before)?),
        }?;
        if self.transforms.is_empty() {
            return Some(text);
        }
        plain(transformed(&self.transforms, text.to_string()))
    }

    fn time(&self, now: SystemTime, off: Duration, is_before: bool) -> Option<String> {
        let then = if is_before { now.checked_sub(off)? } else { now.checked_add(off)? };
        // Rounded down on both sides of 1970.
        let millis = Timestamp::try_from(then).ok()?.as_millisecond();
        let seconds = millis.div_euclid(1000);
        let written = Timestamp::from_second(seconds).ok()?.to_string();
        Some(match self.form {
            TimeForm::Rfc3339 => written,
            TimeForm::Date => written.split('T').next().unwrap_or_default().to_owned(),
            TimeForm::Epoch => seconds.to_string(),
            TimeForm::EpochMillis => millis.to_string(),
        })
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, behind) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(behind) = behind.strip_prefix(brace) {
                plain.push_str(brace);
                rest = behind;
                continue;
            }
            let (hole, behind) = match (brace, behind.split_once('}')) {
                ("{", Some(parts)) => parts,
                _ => {
                    return Err(format!(
                        "has a lone `{brace}` in `{text}`: a hole is written `{{value}}`, a brace that \
                         is meant is written twice"
                    ));
                }
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Hole(Hole::parse(hole)?));
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { text, pieces })
    }
}

impl Hole {
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('|').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let what = What::parse(name).ok_or_else(|| {
            format!(
                "has `{{{text}}}`, which nothing can be put into: holes are credentials.NAME, \
                 settings.NAME, session.NAME, page.number, page.offset, page.size, page.cursor, value, values, \
                 now, now-365d"
            )
        })?;
        let (mut transforms, mut form, mut is_number) = (Vec::new(), TimeForm::default(), false);
        for part in parts {
            match (part, &what) {
                ("date", What::Now { .. }) => form = TimeForm::Date,
                ("epoch", What::Now { .. }) => form = TimeForm::Epoch,
                ("epoch_ms", What::Now { .. }) => form = TimeForm::EpochMillis,
                ("number", _) => is_number = true,
                (name, _) => transforms.push(Transform::named(name).ok_or_else(|| {
                    format!(
                        "has `{name}` in `{{{text}}}`, which can't be done: behind a bar stands {}, \
                         number (in JSON), and behind a time date, epoch or epoch_ms",
                        Transform::NAMED
                    )
                })?),
            }
        }
        Ok(Self { what, transforms, form, is_number })
    }
}

impl What {
    fn parse(text: &str) -> Option<Self> {
        let is_name = |it: &&str| {
            !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        };
        let named = |prefix: &str| text.strip_prefix(prefix).filter(is_name).map(str::to_owned);
        if let Some(name) = named("credentials.") {
            return Some(Self::Credential(name));
        }
        if let Some(name) = named("settings.") {
            return Some(Self::Setting(name));
        }
        if let Some(name) = named("session.") {
            return Some(Self::Session(name));
        }
        Some(match text {
            "page.number" => Self::PageNumber,
            "page.offset" => Self::PageOffset,
            "page.size" => Self::PageSize,
            "page.cursor" => Self::PageCursor,
            "value" => Self::Value,
            "values" => Self::Values,
            "now" => Self::Now { off: Duration::ZERO, is_before: true },
            other => {
                let off = other.strip_prefix("now")?;
                let (is_before, span) = match (off.strip_prefix('-'), off.strip_prefix('+')) {
                    (Some(span), _) => (true, span),
                    (None, Some(span)) => (false, span),
                    (None, None) => return None,
                };
                Self::Now { off: Span::parse(span)?.0, is_before }
            }
        })
    }

    /// Whether it is a part of a page's position.
    pub(crate) fn is_of_page(&self) -> bool {
        matches!(self, Self::PageNumber | Self::PageOffset | Self::PageSize | Self::PageCursor)
    }

    /// Whether it is what is looked up.
    pub(crate) fn is_of_look_up(&self) -> bool {
        matches!(self, Self::Value | Self::Values)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
