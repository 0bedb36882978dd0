//! What stands in a path for its parameters.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A path in its normal form: what need not be encoded isn't (RFC 3986, section 6.2.2.2), so that
/// `/demo/%61ccess` is `/demo/access`. What must be encoded stays so: `%2F` is no slash. A `%` that begins no escape is written
/// as one, so that it can't begin one together with what was decoded behind it: `%%361` is `%61`, and no `a`.
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

/// The parameter that names a tenant, wherever a path has one.
pub(crate) const TENANT: &str = "tenantName";

/// What stands in a path for its parameters, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Decodes parameters; `None` when one of them can't be a text.
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
    fn only_what_need_not_be_encoded_is_decoded() {
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
