//! Filters of lists: combines flags and raw expressions in the API's syntax.

use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;

/// Conditions joined by "and".
#[derive(Default)]
pub(crate) struct Conditions(Vec<String>);

impl Conditions {
    /// Adds a condition if it has a value.
    pub(crate) fn add(&mut self, name: &str, operator: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.0.push(format!("{name}{operator}{}", encoded(value)));
        }
        self
    }

    /// Adds a condition that needs no value.
    pub(crate) fn add_name(&mut self, name: &str) -> &mut Self {
        self.0.push(name.to_owned());
        self
    }

    /// One expression: each alternative of the raw one, narrowed by these conditions.
    pub(crate) fn with_raw(&self, raw: Option<&str>) -> String {
        let alternatives = raw.unwrap_or_default().split(';').map(str::trim);
        // An empty alternative must not become one that matches everything.
        let alternatives: Vec<&str> =
            alternatives.filter(|alternative| !alternative.is_empty()).collect();
        if alternatives.is_empty() {
            return self.0.join("&");
        }
        let narrowed = alternatives.iter().map(|alternative| {
            let first = std::iter::once(*alternative);
            first.chain(self.0.iter().map(String::as_str)).collect::<Vec<_>>().join("&")
        });
        narrowed.collect::<Vec<_>>().join(";")
    }
}

/// A value encoded for an expression.
pub(crate) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, SEGMENT).to_string()
}

/// An expression as a query parameter, encoded as a whole.
pub(crate) fn as_parameter(expression: &str) -> Option<String> {
    (!expression.is_empty()).then(|| format!("filter={}", encoded(expression)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_narrow_every_alternative() {
        let mut conditions = Conditions::default();
        conditions.add("contractId", "=", Some("a&b")).add("name", "=", None);
        conditions.add("createdAt", ">=", Some("2026-01-01T00:00:00+02:00"));
        let flags = "contractId=a%26b&createdAt>=2026-01-01T00%3A00%3A00%2B02%3A00";
        assert_eq!(conditions.with_raw(None), flags);
        assert_eq!(
            conditions.with_raw(Some("username=x;name=y")),
            format!("username=x&{flags};name=y&{flags}")
        );
        assert_eq!(Conditions::default().with_raw(Some("username=x;name=y")), "username=x;name=y");
        assert_eq!(Conditions::default().with_raw(None), "");
        for (raw, expected) in
            [("username=x;", "username=x&a=b"), (";", "a=b"), (" ; name=y ", "name=y&a=b")]
        {
            let mut one = Conditions::default();
            assert_eq!(one.add("a", "=", Some("b")).with_raw(Some(raw)), expected, "{raw}");
        }
    }

    #[test]
    fn an_expression_is_encoded_as_a_whole() {
        let parameter = as_parameter("contractId=a%26b;createdAt>=2026").unwrap();
        assert_eq!(parameter, "filter=contractId%3Da%2526b%3BcreatedAt%3E%3D2026");
        assert_eq!(as_parameter(""), None);
    }
}
