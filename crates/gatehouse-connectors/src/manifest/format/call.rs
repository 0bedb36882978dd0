//! Calls to a platform, with placeholders.

use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::body::Body;
use super::parameter::{Parameter, Parameters, encoded};
use super::template::{Part, Scope, Template};

/// A call: `get` or `post`, with its parameters, headers and body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// Path of a GET behind the base URL, or a URL that begins with a setting that is a URL.
    #[serde(default)]
    pub(crate) get: Option<Template>,
    /// Path or URL of a POST.
    #[serde(default)]
    pub(crate) post: Option<Template>,
    /// Query parameters, in order.
    #[serde(default)]
    pub(crate) query: Parameters,
    /// Headers.
    #[serde(default)]
    pub(crate) headers: IndexMap<String, Template>,
    /// User name and password for HTTP Basic.
    #[serde(default)]
    pub(crate) basic: Option<Basic>,
    /// JSON body.
    #[serde(default)]
    pub(crate) json: Option<Body>,
    /// Form body.
    #[serde(default)]
    pub(crate) form: Option<Parameters>,
}

/// Headers and parameters of every call except those of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EveryCall {
    /// Headers, usually with the credentials.
    #[serde(default)]
    pub(crate) headers: IndexMap<String, Template>,
    /// User name and password for HTTP Basic.
    #[serde(default)]
    pub(crate) basic: Option<Basic>,
    /// Query parameters.
    #[serde(default)]
    pub(crate) query: Parameters,
}

/// HTTP Basic.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    /// User name.
    pub(crate) user: Template,
    /// Password.
    pub(crate) password: Template,
}

/// A call with its placeholders filled in.
pub(crate) struct Filled {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    /// Path or URL of the call.
    pub(crate) fn target_template(&self) -> Option<&Template> {
        self.get.as_ref().or(self.post.as_ref())
    }

    /// All templates, with the names of their fields.
    pub(crate) fn templates(&self) -> Vec<(String, &Template)> {
        let mut all = Vec::new();
        all.extend(self.get.iter().map(|it| ("get".to_owned(), it)));
        all.extend(self.post.iter().map(|it| ("post".to_owned(), it)));
        all.extend(of_parameters("query", &self.query));
        all.extend(self.form.iter().flat_map(|it| of_parameters("form", it)));
        all.extend(self.headers.iter().map(|(name, it)| (format!("headers.{name}"), it)));
        all.extend(of_basic(self.basic.as_ref()));
        let of_json = self.json.iter().flat_map(Body::templates);
        all.extend(of_json.map(|it| ("json".to_owned(), it)));
        all
    }

    /// Fills in the placeholders, and adds the headers and parameters of every call. `None` if a placeholder of the
    /// address has no value.
    pub(crate) fn fill(&self, every: &EveryCall, scope: &Scope<'_>) -> Option<Filled> {
        let target = self.target(every, scope)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for basic in [every.basic.as_ref(), self.basic.as_ref()].into_iter().flatten() {
            if let Some(header) = basic.header(scope) {
                headers.insert(AUTHORIZATION, header);
            }
        }
        for (name, template) in every.headers.iter().chain(&self.headers) {
            if let Some(text) = template.fill(scope) {
                // A header that can't be written is left out: the platform reports that it is missing.
                let name = HeaderName::from_bytes(name.as_bytes()).ok();
                let value = HeaderValue::from_bytes(text.as_bytes()).ok();
                let Some((name, mut value)) = name.zip(value) else { continue };
                value.set_sensitive(template.is_secret());
                headers.insert(name, value);
            }
        }
        let body = self.body(scope, &mut headers)?;
        let method = if self.post.is_some() { Method::POST } else { Method::GET };
        Some(Filled { method, target, headers, body })
    }

    fn target(&self, every: &EveryCall, scope: &Scope<'_>) -> Option<String> {
        let template = self.target_template()?;
        // A leading URL setting is used as it is; every other value is a path segment.
        let is_address = Cell::new(template.leading_setting().is_some());
        let target = template.fill_with(scope, &|part| match part {
            Part::Literal(text) => Some(text.to_owned()),
            Part::Value(text) if is_address.take() => Some(text.trim_end_matches('/').to_owned()),
            // These would change the path, however they are encoded.
            Part::Value("" | "." | "..") => None,
            Part::Value(text) => Some(encoded(text).to_string()),
        })?;
        let mut target = target.to_string();
        let pairs = pairs(every.query.iter().chain(&self.query), scope);
        if !pairs.is_empty() {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(&pairs);
        }
        Some(target)
    }

    fn body(&self, scope: &Scope<'_>, headers: &mut HeaderMap) -> Option<Bytes> {
        if let Some(json) = &self.json {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            return Some(json.fill(scope)?.to_string().into());
        }
        let Some(form) = &self.form else { return Some(Bytes::new()) };
        let media = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, media);
        Some(pairs(form.iter(), scope).into())
    }
}

/// Encodes parameters for a query or a form.
fn pairs<'p>(
    parameters: impl Iterator<Item = (&'p String, &'p Parameter)>,
    scope: &Scope<'_>,
) -> String {
    let mut pairs = Vec::new();
    parameters.for_each(|(name, parameter)| parameter.write(name, scope, &mut pairs));
    pairs.join("&")
}

impl EveryCall {
    /// All templates, with the names of their fields.
    pub(crate) fn templates(&self) -> Vec<(String, &Template)> {
        let mut all = of_parameters("query", &self.query);
        all.extend(self.headers.iter().map(|(name, it)| (format!("headers.{name}"), it)));
        all.extend(of_basic(self.basic.as_ref()));
        all
    }
}

impl Basic {
    fn header(&self, scope: &Scope<'_>) -> Option<HeaderValue> {
        let (user, password) = (self.user.fill(scope)?, self.password.fill(scope)?);
        let both = Zeroizing::new(format!("{}:{}", *user, *password));
        let encoded = Zeroizing::new(format!("Basic {}", STANDARD.encode(both.as_bytes())));
        let mut header = HeaderValue::from_str(&encoded).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

fn of_parameters<'p>(
    field: &str,
    parameters: &'p IndexMap<String, Parameter>,
) -> Vec<(String, &'p Template)> {
    let with_field = |(name, it): (&String, &'p Parameter)| {
        let field = format!("{field}.{name}");
        it.templates()
            .into_iter()
            .map(move |template| (field.clone(), template))
            .collect::<Vec<_>>()
    };
    parameters.iter().flat_map(with_field).collect()
}

fn of_basic(basic: Option<&Basic>) -> Vec<(String, &Template)> {
    let parts = basic.map(|it| [("basic.user", &it.user), ("basic.password", &it.password)]);
    parts.into_iter().flatten().map(|(name, it)| (name.to_owned(), it)).collect()
}

#[cfg(test)]
mod tests;
