//! Removes everything from a recording that the manifest doesn't read.

use std::collections::HashSet;

use http::HeaderName;
use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::manifest::format::condition::Condition;
use crate::manifest::format::paging::Next;
use crate::manifest::format::path::Path;
use crate::manifest::format::pattern::Pattern;
use crate::manifest::format::product::Identifiers;
use crate::manifest::format::property::PropertyRule;
use crate::manifest::format::selection::Selection;
use crate::manifest::format::source::Source;
use crate::manifest::format::status::Status;

/// Parts of responses that a manifest reads.
#[derive(Default)]
pub(in crate::testing::recording) struct ReadParts {
    /// Members of bodies, by name.
    names: HashSet<String>,
    /// Members of bodies, by patterns of their names.
    patterns: Vec<Pattern>,
    /// Members that are read with everything in them.
    whole: HashSet<String>,
    headers: HashSet<HeaderName>,
    /// Members whose own members a path passes through without naming them.
    unnamed: HashSet<String>,
    /// Whether a path searches at any depth.
    has_deep_search: bool,
}

impl ReadParts {
    /// Everything that a manifest reads.
    pub(in crate::testing::recording) fn of(manifest: &Manifest) -> Self {
        let mut parts = Self::default();
        for name in ["content-type", "retry-after", "link"] {
            parts.headers.insert(HeaderName::from_static(name));
        }
        for call in manifest.session.iter().flat_map(|it| &it.calls) {
            call.take.values().chain(&call.expires_in).for_each(|it| parts.source(it));
        }
        let paging = &manifest.paging;
        paging.total.iter().for_each(|it| parts.source(it));
        paging.last.iter().for_each(|it| parts.condition(it));
        match &paging.next {
            Some(Next::Body(path) | Next::Url(path) | Next::LastItem(path)) => parts.path(path),
            Some(Next::Header(name)) => parts.header(name),
            Some(Next::Link(_)) | None => {}
        }
        parts.path(&manifest.list.items);
        for (_, look_up) in manifest.look_up.all() {
            if let crate::manifest::format::look_up::LookUp::Searched(search) = look_up {
                parts.path(&search.items);
            }
        }
        let product = &manifest.product;
        parts.selection(&product.id);
        parts.status(&product.status);
        parts.identifiers(&product.identifiers);
        parts.selection(&product.imei);
        product.properties.iter().for_each(|it| parts.property(it));
        product.satellite_when.iter().for_each(|it| parts.condition(it));
        if let Some(detail) = &manifest.detail {
            parts.path(&detail.items);
            detail.belongs_to.iter().for_each(|it| parts.path(it));
            detail.adds.status.iter().for_each(|it| parts.status(it));
            parts.identifiers(&detail.adds.identifiers);
            parts.selection(&detail.adds.imei);
            detail.adds.properties.iter().for_each(|it| parts.property(it));
        }
        parts.selection(&manifest.errors.message);
        manifest.errors.rules.iter().for_each(|it| parts.condition(&it.when));
        if let Some(wait) = &manifest.limits.wait {
            parts.header(&wait.reset);
            wait.remaining.iter().for_each(|it| parts.header(it));
        }
        parts
    }

    /// Whether a header is read.
    pub(in crate::testing::recording) fn reads(&self, name: &HeaderName) -> bool {
        self.headers.contains(name)
    }

    /// Removes the parts of a body that aren't read.
    pub(in crate::testing::recording) fn clean(&self, value: &mut Value) {
        match value {
            Value::Array(members) => members.iter_mut().for_each(|it| self.clean(it)),
            Value::Object(members) => {
                let all = std::mem::take(members);
                *members = all.into_iter().filter_map(|it| self.member(it)).collect::<Map<_, _>>();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&self, (name, mut value): (String, Value)) -> Option<(String, Value)> {
        if self.whole.contains(&name) {
            return Some((name, value));
        }
        let is_named =
            self.names.contains(&name) || self.patterns.iter().any(|it| it.matches(&name));
        let is_container = value.is_object() || value.is_array();
        match &mut value {
            Value::Object(members) if self.unnamed.contains(&name) => {
                members.values_mut().for_each(|it| self.clean(it));
            }
            value => self.clean(value),
        }
        let is_empty = match &value {
            Value::Object(members) => members.is_empty(),
            Value::Array(members) => members.is_empty(),
            _ => true,
        };
        let leads_to_read = self.has_deep_search && is_container && !is_empty;
        (is_named || leads_to_read).then_some((name, value))
    }

    fn path(&mut self, path: &Path) {
        let text = path.to_string();
        self.has_deep_search |= text.contains("..");
        for sign in ["[?", "[*", ".*"] {
            let before = text.match_indices(sign).filter_map(|(at, _)| names(&text[..at]).pop());
            self.unnamed.extend(before);
        }
        self.names.extend(names(&text));
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Body(path) => self.path(path),
            Source::Header(name) => {
                self.headers.insert(name.clone());
            }
        }
    }

    fn header(&mut self, name: &str) {
        self.headers.extend(HeaderName::from_bytes(name.as_bytes()).ok());
    }

    fn selection(&mut self, selection: &Selection) {
        for pick in selection.picks() {
            pick.within.iter().for_each(|it| self.path(it));
            self.path(&pick.path);
        }
    }

    fn condition(&mut self, condition: &Condition) {
        condition.path.iter().for_each(|it| self.path(it));
    }

    fn status(&mut self, status: &Status) {
        status.word.iter().for_each(|it| self.selection(it));
        status.rules.iter().for_each(|it| self.condition(&it.when));
    }

    fn identifiers(&mut self, identifiers: &Identifiers) {
        identifiers.kinds().iter().for_each(|(_, it)| self.selection(it));
    }

    fn property(&mut self, rule: &PropertyRule) {
        rule.value.iter().for_each(|it| self.selection(it));
        rule.each.iter().chain(&rule.name_from).for_each(|it| self.path(it));
        rule.properties.iter().for_each(|it| self.property(it));
        if let Some(entries) = &rule.entries {
            self.path(entries);
            match &rule.keys {
                Some(keys) => self.patterns.push(keys.clone()),
                None => self.whole.extend(names(&entries.to_string()).pop()),
            }
        }
    }
}

/// Names of members in a path, in order.
pub(crate) fn names(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some(at) = rest.find(['.', '\'', '"']) {
        let (sign, behind) = (rest.as_bytes()[at], &rest[at + 1..]);
        let end = match sign {
            b'.' => behind.find(|it: char| !(it.is_alphanumeric() || it == '_')),
            quote => behind.find(char::from(quote)),
        };
        let (name, behind) = behind.split_at(end.unwrap_or(behind.len()));
        if !name.is_empty() {
            names.push(name.to_owned());
        }
        rest = if sign == b'.' { behind } else { behind.get(1..).unwrap_or_default() };
    }
    names
}
