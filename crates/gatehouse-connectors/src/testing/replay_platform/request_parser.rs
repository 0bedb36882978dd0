//! Parses requests: matches them to a manifest's calls, and extracts the placeholders' values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::server::{ReceivedRequest, pairs};
use crate::manifest::format::body::Body;
use crate::manifest::format::call::{Basic, Call, EveryCall};
use crate::manifest::format::parameter::Parameter;
use crate::manifest::format::path::text_of;
use crate::manifest::format::template::{Template, Variable};

/// Values of a call's placeholders in a request.
#[derive(Debug, Default)]
pub(in crate::testing::replay_platform) struct PlaceholderValues {
    pub(in crate::testing::replay_platform) pairs: Vec<(Variable, String)>,
}

impl PlaceholderValues {
    /// Extracts the values, except headers'; `None` if the request doesn't match the call. Skips parameter `ignored`.
    pub(in crate::testing::replay_platform) fn parse(
        call: &Call,
        every: &EveryCall,
        request: &ReceivedRequest,
        url: &str,
        ignored: &str,
    ) -> Option<Self> {
        let method = if call.post.is_some() { Method::POST } else { Method::GET };
        if request.method != method {
            return None;
        }
        let mut values = Self::default();
        let target = call.target_template()?;
        if target.leading_setting().is_some() {
            values.match_template(target, &format!("{url}{}", request.path))?;
        } else {
            for (variable, text) in target.extract(&request.path)? {
                let text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
                if text.contains('/') {
                    return None;
                }
                values.pairs.push((variable.clone(), text));
            }
        }
        let mut parameters = request.pairs();
        parameters.retain(|(name, _)| name != ignored);
        for (name, parameter) in every.query.iter().chain(&call.query) {
            values.match_parameter(name, parameter, &mut parameters)?;
        }
        parameters.is_empty().then_some(())?;
        let content_type = request.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if let Some(body) = &call.json {
            (content_type == Some("application/json")).then_some(())?;
            values.match_body(body, &serde_json::from_slice(&request.body).ok()?)?;
        } else if let Some(form) = &call.form {
            (content_type == Some("application/x-www-form-urlencoded")).then_some(())?;
            let mut parameters = pairs(std::str::from_utf8(&request.body).ok()?);
            for (name, parameter) in form {
                values.match_parameter(name, parameter, &mut parameters)?;
            }
            parameters.is_empty().then_some(())?;
        }
        Some(values)
    }

    /// Adds the values of headers; `None` if one is missing or wrong.
    pub(in crate::testing::replay_platform) fn add_headers(
        &mut self,
        call: &Call,
        every: &EveryCall,
        headers: &HeaderMap,
    ) -> Option<()> {
        for (name, template) in every.headers.iter().chain(&call.headers) {
            self.match_template(template, headers.get(name)?.to_str().ok()?)?;
        }
        if let Some(Basic { user, password }) = call.basic.as_ref().or(every.basic.as_ref()) {
            let text = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
            let text = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
            let (name, secret) = text.split_once(':')?;
            self.match_template(user, name)?;
            self.match_template(password, secret)?;
        }
        Some(())
    }

    /// Value of a variable.
    pub(in crate::testing::replay_platform) fn get(&self, variable: &Variable) -> Option<&str> {
        self.pairs.iter().find(|(it, _)| it == variable).map(|(_, text)| text.as_str())
    }

    /// The values to look up.
    pub(in crate::testing::replay_platform) fn look_up_values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for (variable, text) in &self.pairs {
            match variable {
                Variable::Value => values.push(text.clone()),
                Variable::Values => values.extend(text.split(',').map(str::to_owned)),
                _ => {}
            }
        }
        values
    }

    fn match_template(&mut self, template: &Template, text: &str) -> Option<()> {
        let pairs = template.extract(text)?;
        self.pairs.extend(pairs.into_iter().map(|(variable, text)| (variable.clone(), text)));
        Some(())
    }

    fn match_parameter(
        &mut self,
        name: &str,
        parameter: &Parameter,
        parameters: &mut Vec<(String, String)>,
    ) -> Option<()> {
        let mut take = || {
            let at = parameters.iter().position(|(it, _)| it == name)?;
            Some(parameters.remove(at).1)
        };
        match parameter {
            Parameter::One(template) => match take() {
                Some(text) => self.match_template(template, &text),
                // Clients leave out parameters without a value.
                None => is_optional(template).then_some(()),
            },
            Parameter::Many(templates) => {
                while let Some(text) = take() {
                    templates.iter().find_map(|it| self.match_template(it, &text))?;
                }
                Some(())
            }
            Parameter::Deep(inner) => {
                for (deeper, parameter) in inner {
                    self.match_parameter(&format!("{name}[{deeper}]"), parameter, parameters)?;
                }
                Some(())
            }
            Parameter::Joined { each, join } => {
                let text = take()?;
                text.split(join.as_str()).try_for_each(|it| self.match_template(each, it))
            }
        }
    }

    fn match_body(&mut self, body: &Body, value: &Value) -> Option<()> {
        match (body, value) {
            (Body::Plain(plain), value) => (plain == value).then_some(()),
            (Body::Text(template), value) => self.match_template(template, &text_of(value)?),
            (Body::List(members), Value::Array(values)) => {
                let each = members.iter().find(|it| {
                    it.templates().iter().any(|it| it.mentions(|it| *it == Variable::Value))
                });
                match each {
                    Some(each) => values.iter().try_for_each(|it| self.match_body(each, it)),
                    None if members.len() == values.len() => members
                        .iter()
                        .zip(values)
                        .try_for_each(|(it, value)| self.match_body(it, value)),
                    None => None,
                }
            }
            (Body::Members(members), Value::Object(values)) => {
                let is_known = |name: &String| members.iter().any(|(it, _)| it == name);
                values.keys().all(is_known).then_some(())?;
                members.iter().try_for_each(|(name, inner)| match values.get(name) {
                    Some(value) => self.match_body(inner, value),
                    None => inner.templates().iter().any(|it| is_optional(it)).then_some(()),
                })
            }
            _ => None,
        }
    }
}

fn is_optional(template: &Template) -> bool {
    template.mentions(|it| matches!(it, Variable::PageCursor | Variable::Setting(_)))
}
