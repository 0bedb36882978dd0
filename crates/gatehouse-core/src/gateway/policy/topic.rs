//! Topics, as MQTT writes them, and the patterns of a policy.
//!
//! A pattern has the levels of an MQTT filter, with placeholders for names of the access. Its own characters are those
//! that mean nothing in any dialect: no wildcard or separator of MQTT, RabbitMQ or NATS, no `$`, no `%`.

use std::str::FromStr;

use super::PolicyNames;

/// Most characters of a pattern.
pub const TOPIC_CHARS_MAX: usize = 256;

/// The topics of a rule: an MQTT filter with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPattern(String);

/// A text that is no pattern; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTopicPattern {
    /// Too short or too long.
    #[error("must have 1 to {TOPIC_CHARS_MAX} characters, not {0}")]
    Length(usize),
    /// A level with other characters.
    #[error(
        "must have levels of letters, digits, `_`, `:`, `@`, `=`, `-` and the placeholders `{{tenant}}`, `{{username}}`, \
         `{{accessId}}` and `{{contractId}}`, with `/` between; a whole level may be `+`, and the last one `#`; \
         `{0}` is no such level"
    )]
    Level(String),
}

/// A topic of a message: no wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic<'a>(&'a str);

impl<'a> Topic<'a> {
    /// Reads a topic; `None` if it has a wildcard.
    pub fn new(text: &'a str) -> Option<Self> {
        (!text.is_empty() && !text.contains(['+', '#'])).then_some(Self(text))
    }
}

/// Topics that a device subscribes to, perhaps with wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicFilter<'a>(&'a str);

impl<'a> TopicFilter<'a> {
    /// Reads a filter, also that of a shared subscription; `None` if it has a wildcard that isn't a whole level.
    pub fn new(text: &'a str) -> Option<Self> {
        let filter = match text.strip_prefix("$share/") {
            Some(shared) => shared.split_once('/')?.1,
            None => text,
        };
        let levels: Vec<&str> = filter.split('/').collect();
        let is_fine = |(n, level): (usize, &&str)| match *level {
            "+" => true,
            "#" => n + 1 == levels.len(),
            other => !other.contains(['+', '#']),
        };
        (!filter.is_empty() && levels.iter().enumerate().all(is_fine)).then_some(Self(filter))
    }

    /// The filter, without a shared subscription's group.
    pub fn as_str(&self) -> &'a str {
        self.0
    }
}

impl FromStr for TopicPattern {
    type Err = BadTopicPattern;

    fn from_str(text: &str) -> Result<Self, BadTopicPattern> {
        let n_chars = text.chars().count();
        if !(1..=TOPIC_CHARS_MAX).contains(&n_chars) {
            return Err(BadTopicPattern::Length(n_chars));
        }
        let levels: Vec<&str> = text.split('/').collect();
        for (n, level) in levels.iter().enumerate() {
            let is_last = n + 1 == levels.len();
            if *level != "+" && !(*level == "#" && is_last) && !is_level(level) {
                return Err(BadTopicPattern::Level(level.chars().take(64).collect()));
            }
        }
        Ok(Self(text.to_owned()))
    }
}

/// Whether a level has only placeholders and characters without a meaning.
fn is_level(level: &str) -> bool {
    let (mut rest, mut is_empty) = (level, true);
    while let Some(first) = rest.chars().next() {
        is_empty = false;
        rest = match first {
            '{' => match Placeholder::ALL.iter().find_map(|it| rest.strip_prefix(it.as_str())) {
                Some(rest) => rest,
                None => return false,
            },
            plain if is_plain(plain) => &rest[1..],
            _ => return false,
        };
    }
    !is_empty
}

/// Whether a character means nothing in any dialect.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_:@=-".contains(c)
}

/// A placeholder for a name of the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Tenant,
    Username,
    AccessId,
    ContractId,
}

impl Placeholder {
    const ALL: [Self; 4] = [Self::Tenant, Self::Username, Self::AccessId, Self::ContractId];

    fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "{tenant}",
            Self::Username => "{username}",
            Self::AccessId => "{accessId}",
            Self::ContractId => "{contractId}",
        }
    }
}

impl TopicPattern {
    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The filter with the names of an access; `None` if a name has characters that mean something in a dialect.
    pub fn fill(&self, names: &PolicyNames<'_>) -> Option<String> {
        let mut filled = String::with_capacity(self.0.len());
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let found = Placeholder::ALL
                .into_iter()
                .find_map(|it| after.strip_prefix(&it.as_str()[1..]).map(|behind| (it, behind)));
            let (placeholder, behind) = found?;
            let id;
            let name = match placeholder {
                Placeholder::Tenant => names.tenant,
                Placeholder::Username => names.username,
                Placeholder::AccessId => {
                    id = names.access_id.to_string();
                    &id
                }
                Placeholder::ContractId => names.contract_id,
            };
            if name.is_empty() || !name.chars().all(is_plain) {
                return None;
            }
            filled.push_str(name);
            rest = behind;
        }
        filled.push_str(rest);
        Some(filled)
    }
}

/// Whether a rule's filter matches a topic. No wildcard matches a topic that begins with `$`.
pub(super) fn matches(filter: &str, topic: &Topic<'_>) -> bool {
    if topic.0.starts_with('$') {
        return false;
    }
    let mut levels = topic.0.split('/');
    for level in filter.split('/') {
        match (level, levels.next()) {
            ("#", _) => return true,
            (_, None) => return false,
            ("+", Some(_)) => {}
            (literal, Some(given)) if literal == given => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

/// Whether a rule's filter has every topic of another filter.
pub(super) fn covers(filter: &str, asked: &TopicFilter<'_>) -> bool {
    if asked.0.starts_with('$') {
        return false;
    }
    let mut levels = asked.0.split('/');
    for level in filter.split('/') {
        match (level, levels.next()) {
            ("#", _) => return true,
            (_, None | Some("#")) => return false,
            ("+", Some(_)) => {}
            (literal, Some(given)) if literal == given => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}
