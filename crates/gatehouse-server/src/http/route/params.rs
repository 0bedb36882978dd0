//! Parameters of a path.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A path in normal form: unreserved characters are decoded (RFC 3986, section 6.2.2.2), so that `/demo/%61ccess` is
/// `/demo/access`. Others stay encoded: `%2F` is no slash. A `%` that starts no escape becomes `%25`, so that it can't
/// form one with a decoded character behind it: `%%361` is `%61`, not `a`.
pub(crate) fn normal_form(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut normal = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        normal.push_str(before);
        let digits = after.get(..2).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            Some(byte) => {
                normal.push(char::from(byte));
                rest = &after[2..];
            }
            None => {
                normal.push_str(if code.is_some() { "%" } else { "%25" });
                rest = after;
            }
        }
    }
    normal.push_str(rest);
    Cow::Owned(normal)
}

pub(crate) const TENANT: &str = "tenantName";

/// Parameters of a path, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Decodes parameters; `None` if one isn't UTF-8.
    pub(crate) fn decode<'p>(raw: impl IntoIterator<Item = (&'p str, &'p str)>) -> Option<Self> {
        let decoded = raw.into_iter().map(|(name, value)| {
            let value = percent_decode_str(value).decode_utf8().ok()?;
            Some((name.to_owned(), value.into_owned()))
        });
        decoded.collect::<Option<_>>().map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::normal_form;

    #[test]
    fn only_unreserved_characters_are_decoded() {
        for (path, normal) in [
            ("/demo/access", "/demo/access"),
            ("/d%65mo/%61cc%65ss", "/demo/access"),
            ("/%2D/live", "/-/live"),
            ("/a%2Fb/%20/%C3%A9", "/a%2Fb/%20/%C3%A9"),
            ("/%2561", "/%2561"),
            ("/%", "/%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/%+1", "/%25+1"),
            ("/%%361", "/%2561"),
        ] {
            assert_eq!(normal_form(path), normal, "{path}");
        }
    }
}
