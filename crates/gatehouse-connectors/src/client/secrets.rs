//! Hides secrets in texts that a platform sends.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

/// Shorter secrets are not hidden: they would match everywhere.
const SECRET_BYTES_MIN: usize = 4;

/// Replaces a secret.
pub(in crate::client) const HIDDEN: &str = "***";

/// Parts of the names of headers and parameters that hold secrets.
const SECRET_NAMES: [&str; 8] =
    ["auth", "cookie", "token", "key", "secret", "password", "session", "credential"];

/// Characters that URLs encode (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that URLs encode in a path, where a slash stays as it is.
const RESERVED_IN_PATHS: &AsciiSet = &RESERVED.remove(b'/');

/// Secrets to hide, in all encodings.
#[derive(Clone, Default)]
pub(in crate::client) struct Secrets(Arc<[Zeroizing<String>]>);

impl Secrets {
    /// Hides these secrets: plain, in any case, and as encoded in URLs, JSON, HTML and base64.
    pub(in crate::client) fn new(secrets: Vec<Zeroizing<String>>) -> Self {
        Self(secrets.into_iter().flat_map(forms).collect())
    }

    /// Hides these secrets as well.
    pub(in crate::client) fn and(&self, further: Vec<Zeroizing<String>>) -> Self {
        if further.is_empty() {
            return self.clone();
        }
        Self(self.0.iter().cloned().chain(further.into_iter().flat_map(forms)).collect())
    }

    /// Hides the secrets in a request's headers as well.
    pub(in crate::client) fn with_header_secrets(&self, headers: &HeaderMap) -> Self {
        let carried: Vec<_> = headers
            .iter()
            .filter(|(name, value)| holds_secret(name, value))
            .filter_map(|(_, value)| value.to_str().ok())
            // A scheme such as `Bearer` precedes the secret.
            .flat_map(|text| [Some(text), text.split_once(' ').map(|(_, rest)| rest.trim())])
            .flatten()
            .flat_map(|text| forms(Zeroizing::new(text.to_owned())))
            .collect();
        if carried.is_empty() {
            return self.clone();
        }
        Self(self.0.iter().cloned().chain(carried).collect())
    }

    /// The whole text without secrets and control characters.
    pub(in crate::client) fn clean_all(&self, text: &[u8]) -> String {
        // An invalid byte becomes a character of three bytes.
        self.clean(text, text.len().saturating_mul(char::REPLACEMENT_CHARACTER.len_utf8()))
    }

    /// The first `bytes_max` bytes of a text without secrets and control characters.
    pub(in crate::client) fn clean(&self, text: &[u8], bytes_max: usize) -> String {
        let mut cleaned = Vec::with_capacity(bytes_max.min(text.len()) + HIDDEN.len());
        // End of the secrets found so far, which may overlap.
        let mut hidden_to = 0;
        for (at, byte) in text.iter().enumerate() {
            let is_behind = at >= hidden_to;
            let begins = |secret: &&Zeroizing<String>| {
                let here = text.get(at..at + secret.len());
                here.is_some_and(|here| here.eq_ignore_ascii_case(secret.as_bytes()))
            };
            for secret in self.0.iter().filter(begins) {
                hidden_to = hidden_to.max(at + secret.len());
            }
            match (is_behind, at < hidden_to) {
                (true, true) => cleaned.extend_from_slice(HIDDEN.as_bytes()),
                (true, false) => cleaned.push(*byte),
                (false, _) => {}
            }
            // A few bytes more than the maximum, so that the last character is complete.
            if cleaned.len() > bytes_max + char::MAX_LEN_UTF8 {
                break;
            }
        }
        let cleaned = String::from_utf8_lossy(&cleaned);
        let readable = |it: char| match it {
            '\n' | '\r' | '\t' => ' ',
            it if it.is_control() => char::REPLACEMENT_CHARACTER,
            it => it,
        };
        let mut cleaned: String = cleaned.chars().map(readable).collect();
        cleaned.truncate(cleaned.floor_char_boundary(bytes_max));
        cleaned
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// Whether a header holds a secret, by its name or its sensitive flag.
pub(in crate::client) fn holds_secret(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || is_secret_name(name.as_str())
}

/// Whether a value with this name is a secret.
pub(in crate::client) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|it| name.contains(it))
}

fn in_html(secret: &str) -> String {
    let mut escaped = String::with_capacity(secret.len());
    for character in secret.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// All encodings of a secret; none if it is too short.
pub(crate) fn forms(secret: Zeroizing<String>) -> Vec<Zeroizing<String>> {
    if secret.len() < SECRET_BYTES_MIN {
        return Vec::new();
    }
    let in_url = Zeroizing::new(utf8_percent_encode(&secret, RESERVED).to_string());
    let in_path = Zeroizing::new(utf8_percent_encode(&secret, RESERVED_IN_PATHS).to_string());
    let in_html = Zeroizing::new(in_html(&secret));
    let in_base64 = Zeroizing::new(STANDARD_NO_PAD.encode(secret.as_bytes()));
    let in_url_base64 = Zeroizing::new(URL_SAFE_NO_PAD.encode(secret.as_bytes()));
    let in_json = Zeroizing::new(serde_json::Value::from(secret.as_str()).to_string());
    // Without the quotes.
    let in_json = Zeroizing::new(in_json[1..in_json.len() - 1].to_owned());
    let mut forms = vec![secret];
    for form in [in_url, in_path, in_json, in_html, in_base64, in_url_base64] {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

#[cfg(test)]
mod tests;
