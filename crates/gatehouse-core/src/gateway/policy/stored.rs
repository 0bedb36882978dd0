//! A policy as it is stored: a line for each rule and tag.
//!
//! ```text
//! topic ps devices/{username}/#
//! topic s news/#
//! tag management
//! ```

use std::fmt::Write;
use std::str::FromStr;

use super::{Policy, Tag, TopicRule};

/// A text that is no stored policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of a stored policy can't be read")]
pub struct BadPolicy;

impl Policy {
    /// The policy in the database; `None` if it says nothing.
    pub fn stored(&self) -> Option<String> {
        let mut text = String::new();
        for TopicRule { topic, publish, subscribe } in &self.topics {
            let [publish, subscribe] =
                [(publish, "p"), (subscribe, "s")].map(|(it, word)| if *it { word } else { "" });
            let _ = writeln!(text, "topic {publish}{subscribe} {}", topic.as_str());
        }
        for tag in &self.tags {
            let _ = writeln!(text, "tag {}", tag.as_str());
        }
        (!text.is_empty()).then_some(text)
    }
}

impl FromStr for Policy {
    type Err = BadPolicy;

    fn from_str(text: &str) -> Result<Self, BadPolicy> {
        let mut policy = Self::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').ok_or(BadPolicy)?;
            match kind {
                "topic" => {
                    let (rights, topic) = rest.split_once(' ').ok_or(BadPolicy)?;
                    let topic = topic.parse().map_err(|_| BadPolicy)?;
                    let [publish, subscribe] = ['p', 's'].map(|it| rights.contains(it));
                    policy.topics.push(TopicRule { topic, publish, subscribe });
                }
                "tag" => drop(policy.tags.insert(Tag::from_word(rest).ok_or(BadPolicy)?)),
                _ => return Err(BadPolicy),
            }
        }
        Ok(policy)
    }
}
