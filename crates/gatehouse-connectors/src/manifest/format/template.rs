//! Templates: texts with placeholders for values of an account, a session, a page or a look-up.
//!
//! `{credentials.apiKey}`, `{settings.authUrl}`, `{session.token}`, `{page.number}`, `{page.offset}`, `{page.size}`,
//! `{page.cursor}`, `{value}`, `{values}`, `{now}`, `{now-365d}`. Transforms follow after a bar: `{value|luhn_strip}`,
//! `{now-1d|epoch}`, `{page.cursor|number}` for a number in a JSON body. A literal brace is doubled.

use std::fmt;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::SmolStr;
use zeroize::Zeroizing;

use super::short_duration::ShortDuration;
use super::transform::Transform;

/// A text with placeholders, such as `Bearer {session.token}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub(crate) struct Template {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) variable: Variable,
    transforms: Vec<Transform>,
    form: TimeForm,
    is_number: bool,
}

/// A variable in a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// A credential of the account.
    Credential(String),
    /// A setting of the account.
    Setting(String),
    /// A value of the session.
    Session(String),
    /// Page number.
    PageNumber,
    /// Number of connections before the page.
    PageOffset,
    /// Page size.
    PageSize,
    /// Cursor of the page.
    PageCursor,
    /// One value looked up.
    Value,
    /// All values looked up, separated by commas.
    Values,
    /// A time before or after now.
    Now {
        /// Distance from now.
        off: Duration,
        /// Whether the time is before now.
        is_before: bool,
    },
}

/// Notation of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TimeForm {
    /// RFC 3339, in UTC.
    #[default]
    Rfc3339,
    /// The date alone.
    Date,
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    EpochMillis,
}

/// Values of all variables.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) account: &'a dyn VariableValues,
    pub(crate) session: Option<&'a dyn VariableValues>,
    pub(crate) page: Option<PageScope<'a>>,
    pub(crate) values: &'a [String],
    pub(crate) now: SystemTime,
}

/// Values of the `page` variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageScope<'a> {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) size: u32,
    pub(crate) cursor: Option<&'a str>,
}

/// Values of named variables.
pub(crate) trait VariableValues: Sync {
    /// Value of a variable; `None` if it has none.
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>>;
}

impl Template {
    /// All placeholders.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.tokens.iter().filter_map(|it| match it {
            Token::Placeholder(placeholder) => Some(placeholder),
            Token::Text(_) => None,
        })
    }

    /// Whether a placeholder's variable satisfies `is_meant`.
    pub(crate) fn mentions(&self, is_meant: impl Fn(&Variable) -> bool) -> bool {
        self.placeholders().any(|placeholder| is_meant(&placeholder.variable))
    }

    /// Whether it contains a secret.
    pub(crate) fn is_secret(&self) -> bool {
        self.mentions(|it| matches!(it, Variable::Credential(_) | Variable::Session(_)))
    }

    /// Whether it is a single numeric placeholder.
    pub(crate) fn is_number(&self) -> bool {
        let [Token::Placeholder(placeholder)] = self.tokens.as_slice() else { return false };
        match placeholder.variable {
            Variable::PageNumber | Variable::PageOffset | Variable::PageSize => true,
            Variable::Now { .. } => {
                matches!(placeholder.form, TimeForm::Epoch | TimeForm::EpochMillis)
            }
            _ => placeholder.is_number,
        }
    }

    /// The setting that it begins with, if any.
    pub(crate) fn leading_setting(&self) -> Option<&str> {
        match self.tokens.first()? {
            Token::Placeholder(Placeholder { variable: Variable::Setting(name), .. }) => Some(name),
            _ => None,
        }
    }

    /// Matches a text against the template, and returns the variables' values; `None` if it doesn't match.
    pub(crate) fn extract(&self, text: &str) -> Option<Vec<(&Variable, String)>> {
        let (mut rest, mut values) = (text, Vec::new());
        let mut tokens = self.tokens.iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                Token::Text(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Token::Placeholder(placeholder) => {
                    let end = match tokens.peek() {
                        Some(Token::Text(literal)) => rest.find(literal.as_str())?,
                        Some(Token::Placeholder(_)) | None => rest.len(),
                    };
                    let (value, behind) = rest.split_at_checked(end).filter(|_| end > 0)?;
                    values.push((&placeholder.variable, value.to_owned()));
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    /// Fills in the placeholders; `write` encodes the template's own text and inserted values. `None` if a variable has
    /// no value, or one that can't be written.
    pub(crate) fn fill_with(
        &self,
        scope: &Scope<'_>,
        write: &dyn Fn(Part<'_>) -> Option<String>,
    ) -> Option<Zeroizing<String>> {
        let mut filled = Zeroizing::new(String::with_capacity(self.text.len() + 64));
        for token in &self.tokens {
            match token {
                Token::Text(text) => filled.push_str(&write(Part::Literal(text))?),
                Token::Placeholder(Placeholder {
                    variable: Variable::Values, transforms, ..
                }) => {
                    let values = scope.values.iter().map(|it| transformed(transforms, it));
                    let values: Option<Vec<_>> = values.map(|it| write(Part::Value(&it))).collect();
                    filled.push_str(&values?.join(","));
                }
                Token::Placeholder(placeholder) => {
                    filled.push_str(&write(Part::Value(&placeholder.fill(scope)?))?)
                }
            }
        }
        Some(filled)
    }

    /// Fills in the placeholders, without encoding.
    pub(crate) fn fill(&self, scope: &Scope<'_>) -> Option<Zeroizing<String>> {
        self.fill_with(scope, &|(Part::Literal(text) | Part::Value(text))| Some(text.to_owned()))
    }
}

/// A part of a filled template.
pub(crate) enum Part<'t> {
    /// Text of the manifest.
    Literal(&'t str),
    /// An inserted value.
    Value(&'t str),
}

fn transformed(transforms: &[Transform], text: &str) -> String {
    transforms.iter().fold(SmolStr::new(text), |text, transform| transform.one(text)).into()
}

impl Placeholder {
    fn fill(&self, scope: &Scope<'_>) -> Option<Zeroizing<String>> {
        let plain = |text: String| Some(Zeroizing::new(text));
        let text = match &self.variable {
            Variable::Credential(_) | Variable::Setting(_) => {
                scope.account.value_of(&self.variable)
            }
            Variable::Session(_) => scope.session?.value_of(&self.variable),
            Variable::PageNumber => plain(scope.page?.number.to_string()),
            Variable::PageOffset => plain(scope.page?.offset.to_string()),
            Variable::PageSize => plain(scope.page?.size.to_string()),
            Variable::PageCursor => plain(scope.page?.cursor?.to_owned()),
            Variable::Value | Variable::Values => plain(scope.values.first()?.clone()),
            Variable::Now { off, is_before } => plain(self.time(scope.now, *off, *is_before)?),
        }?;
        if self.transforms.is_empty() {
            return Some(text);
        }
        plain(transformed(&self.transforms, &text))
    }

    fn time(&self, now: SystemTime, off: Duration, is_before: bool) -> Option<String> {
        let then = if is_before { now.checked_sub(off)? } else { now.checked_add(off)? };
        // Rounds down on both sides of 1970.
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
        let mut tokens = Vec::new();
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
            let (placeholder, behind) = match (brace, behind.split_once('}')) {
                ("{", Some(parts)) => parts,
                _ => {
                    return Err(format!(
                        "has a lone `{brace}` in `{text}`: a placeholder is written `{{value}}`, a literal \
                         brace is doubled"
                    ));
                }
            };
            if !plain.is_empty() {
                tokens.push(Token::Text(std::mem::take(&mut plain)));
            }
            tokens.push(Token::Placeholder(Placeholder::parse(placeholder)?));
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            tokens.push(Token::Text(plain));
        }
        Ok(Self { text, tokens })
    }
}

impl Placeholder {
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('|').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let variable = Variable::parse(name).ok_or_else(|| {
            format!(
                "has `{{{text}}}`, which is no placeholder: these are credentials.NAME, settings.NAME, \
                 session.NAME, page.number, page.offset, page.size, page.cursor, value, values, now, \
                 now-365d"
            )
        })?;
        let (mut transforms, mut form, mut is_number) = (Vec::new(), TimeForm::default(), false);
        for part in parts {
            match (part, &variable) {
                ("date", Variable::Now { .. }) => form = TimeForm::Date,
                ("epoch", Variable::Now { .. }) => form = TimeForm::Epoch,
                ("epoch_ms", Variable::Now { .. }) => form = TimeForm::EpochMillis,
                ("number", _) => is_number = true,
                (name, _) => transforms.push(Transform::named(name).ok_or_else(|| {
                    format!(
                        "has `{name}` in `{{{text}}}`, which is no transform: these are {}, number (in JSON), \
                         and for a time date, epoch or epoch_ms",
                        Transform::NAMED
                    )
                })?),
            }
        }
        Ok(Self { variable, transforms, form, is_number })
    }
}

impl Variable {
    fn parse(text: &str) -> Option<Self> {
        let is_name = |it: &&str| {
            !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        };
        let with_prefix =
            |prefix: &str| text.strip_prefix(prefix).filter(is_name).map(str::to_owned);
        if let Some(name) = with_prefix("credentials.") {
            return Some(Self::Credential(name));
        }
        if let Some(name) = with_prefix("settings.") {
            return Some(Self::Setting(name));
        }
        if let Some(name) = with_prefix("session.") {
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
                Self::Now { off: ShortDuration::parse(span)?.0, is_before }
            }
        })
    }

    /// Whether it is a `page` variable.
    pub(crate) fn is_of_page(&self) -> bool {
        matches!(self, Self::PageNumber | Self::PageOffset | Self::PageSize | Self::PageCursor)
    }

    /// Whether it is a value looked up.
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
