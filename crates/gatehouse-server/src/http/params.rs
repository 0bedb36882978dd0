//! What stands in a path for its parameters.

use percent_encoding::percent_decode_str;

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
