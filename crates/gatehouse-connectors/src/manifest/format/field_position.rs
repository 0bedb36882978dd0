//! Positions of fields in a file, for error messages.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// Positions of all fields of a file.
pub(in crate::manifest) struct FieldPositions(Option<Spanned<Node>>);

/// Members of a field.
#[derive(Default)]
struct Node(Vec<(String, Spanned<Node>)>);

impl FieldPositions {
    /// Reads the positions in a file that is valid YAML.
    pub(in crate::manifest) fn read(text: &str) -> Self {
        Self(serde_saphyr::from_str(text).ok())
    }

    /// Line and column of a field such as `list.call.get` or `limits.buckets[0].calls`; of the innermost existing
    /// parent if there is no such field.
    pub(in crate::manifest) fn of(&self, field: &str) -> (u64, u64) {
        let Some(mut at) = self.0.as_ref() else { return (1, 1) };
        let mut rest = field;
        while !rest.is_empty() {
            // Names may contain dots, so the longest match wins.
            let inner = at.value.0.iter().filter(|(name, _)| begins_with(rest, name));
            let Some((name, inner)) = inner.max_by_key(|(name, _)| name.len()) else { break };
            at = inner;
            rest = rest[name.len()..].trim_start_matches('.');
        }
        (at.referenced.line(), at.referenced.column())
    }
}

fn begins_with(field: &str, name: &str) -> bool {
    let rest = field.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = seq.next_element()? {
                    members.push((format!("[{}]", members.len()), member));
                }
                Ok(Node(members))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Node(members))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests;
