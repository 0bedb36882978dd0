//! Hearing what a request asks for: the holes of a manifest's calls, read back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::server::{Asked, pairs};
use crate::manifest::format::body::Body;
use crate::manifest::format::call::{Basic, Call, EveryCall};
use crate::manifest::format::parameter::Parameter;
use crate::manifest::format::path::text_of;
use crate::manifest::format::template::{Template, Variable};

/// What stood in the holes of a request.
#[derive(Debug, Default)]
pub(in crate::testing::replay_platform) struct Heard {
    pub(in crate::testing::replay_platform) holes: Vec<(Variable, String)>,
}

impl Heard {
    /// What a request says, where it is one of this call. `unheard` are parameters that are no affair of the call's.
    pub(in crate::testing::replay_platform) fn of(
        call: &Call,
        every: &EveryCall,
        asked: &Asked,
        url: &str,
        unheard: &str,
    ) -> Option<Self> {
        let method = if call.post.is_some() { Method::POST } else { Method::GET };
        if asked.method != method {
            return None;
        }
        let mut heard = Self::default();
        let place = call.target_template()?;
        if place.leading_setting().is_some() {
            heard.template(place, &format!("{url}{}", asked.path))?;
        } else {
            for (what, text) in place.extract(&asked.path)? {
                let text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
                if text.contains('/') {
                    return None;
                }
                heard.holes.push((what.clone(), text));
            }
        }
        let mut given = asked.pairs();
        given.retain(|(name, _)| name != unheard);
        for (name, parameter) in every.query.iter().chain(&call.query) {
            heard.parameter(name, parameter, &mut given)?;
        }
        given.is_empty().then_some(())?;
        let content_type = asked.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if let Some(body) = &call.json {
            (content_type == Some("application/json")).then_some(())?;
            heard.body(body, &serde_json::from_slice(&asked.body).ok()?)?;
        } else if let Some(form) = &call.form {
            (content_type == Some("application/x-www-form-urlencoded")).then_some(())?;
            let mut given = pairs(std::str::from_utf8(&asked.body).ok()?);
            for (name, parameter) in form {
                heard.parameter(name, parameter, &mut given)?;
            }
            given.is_empty().then_some(())?;
        }
        Some(heard)
    }

    /// Also hears what goes along; nothing where something is missing.
    pub(in crate::testing::replay_platform) fn headers(
        &mut self,
        call: &Call,
        every: &EveryCall,
        headers: &HeaderMap,
    ) -> Option<()> {
        for (name, template) in every.headers.iter().chain(&call.headers) {
            self.template(template, headers.get(name)?.to_str().ok()?)?;
        }
        if let Some(Basic { user, password }) = call.basic.as_ref().or(every.basic.as_ref()) {
            let text = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
            let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
            let (name, secret) = text.split_once(':')?;
            self.template(user, name)?;
            self.template(password, secret)?;
        }
        Some(())
    }

    /// What stood in a hole.
    pub(in crate::testing::replay_platform) fn get(&self, what: &Variable) -> Option<&str> {
        self.holes.iter().find(|(it, _)| it == what).map(|(_, text)| text.as_str())
    }

    /// What is looked up.
    pub(in crate::testing::replay_platform) fn values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for (what, text) in &self.holes {
            match what {
                Variable::Value => values.push(text.clone()),
                Variable::Values => values.extend(text.split(',').map(str::to_owned)),
                _ => {}
            }
        }
        values
    }

    fn template(&mut self, template: &Template, text: &str) -> Option<()> {
        let heard = template.extract(text)?;
        self.holes.extend(heard.into_iter().map(|(what, text)| (what.clone(), text)));
        Some(())
    }

    fn parameter(
        &mut self,
        name: &str,
        parameter: &Parameter,
        given: &mut Vec<(String, String)>,
    ) -> Option<()> {
        let mut take = || {
            let at = given.iter().position(|(it, _)| it == name)?;
            Some(given.remove(at).1)
        };
        match parameter {
            Parameter::One(template) => match take() {
                Some(text) => self.template(template, &text),
                // One whose hole nothing was put into is left out.
                None => may_be_left_out(template).then_some(()),
            },
            Parameter::Many(templates) => {
                while let Some(text) = take() {
                    templates.iter().find_map(|it| self.template(it, &text))?;
                }
                Some(())
            }
            Parameter::Deep(inner) => {
                for (deeper, parameter) in inner {
                    self.parameter(&format!("{name}[{deeper}]"), parameter, given)?;
                }
                Some(())
            }
            Parameter::Joined { each, join } => {
                let text = take()?;
                text.split(join.as_str()).try_for_each(|it| self.template(each, it))
            }
        }
    }

    fn body(&mut self, body: &Body, value: &Value) -> Option<()> {
        match (body, value) {
            (Body::Plain(plain), value) => (plain == value).then_some(()),
            (Body::Text(template), value) => self.template(template, &text_of(value)?),
            (Body::List(members), Value::Array(values)) => {
                let each = members.iter().find(|it| {
                    it.templates().iter().any(|it| it.mentions(|what| *what == Variable::Value))
                });
                match each {
                    Some(each) => values.iter().try_for_each(|it| self.body(each, it)),
                    None if members.len() == values.len() => {
                        members.iter().zip(values).try_for_each(|(it, value)| self.body(it, value))
                    }
                    None => None,
                }
            }
            (Body::Members(members), Value::Object(values)) => {
                let is_known = |name: &String| members.iter().any(|(it, _)| it == name);
                values.keys().all(is_known).then_some(())?;
                members.iter().try_for_each(|(name, inner)| match values.get(name) {
                    Some(value) => self.body(inner, value),
                    None => inner.templates().iter().any(|it| may_be_left_out(it)).then_some(()),
                })
            }
            _ => None,
        }
    }
}

fn may_be_left_out(template: &Template) -> bool {
    template.mentions(|it| matches!(it, Variable::PageCursor | Variable::Setting(_)))
}
