//! Filters for products.

use std::borrow::Cow;

use super::{Expression, FilterFault, FilterField, FilterFields, Operator};
use crate::account::Account;
use crate::identifier::{Identifier, IdentifierKind};
use crate::product::Connection;

const IS: &[Operator] = &[Operator::Equal];

/// Most identifiers in one filter.
pub const IDENTIFIERS_MAX: usize = 1000;

/// Fields of products.
pub const FIELDS: &[FilterField] = &[
    FilterField::exact("platform", "the platform that it is on, by its canonical name", IS),
    FilterField::exact("relatedParty.name", "the account that it is held through", IS),
    FilterField::exact("customProperty.name", "the name of a custom property that it has", IS),
    FilterField::exact(
        "customProperty.value",
        "the value of a custom property that it has; beside a name, of one that has both",
        IS,
    ),
    FilterField::in_any_case("ICCID", "numbers of its card, with commas between them", IS),
    FilterField::in_any_case("IMSI", "numbers of its subscription, with commas between them", IS),
    FilterField::in_any_case(
        "MSISDN",
        "numbers that it is called by, with commas between them",
        IS,
    ),
    FilterField::in_any_case(
        "serialNumber",
        "numbers of its terminal, with commas between them",
        IS,
    ),
];

/// Fields and parameters of the product list.
pub const FILTER_FIELDS: FilterFields =
    FilterFields { request: &["pageNumber", "pageSize", "fields"], filterable: FIELDS };

/// A filter for products: a product passes if any alternative does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductFilter {
    /// No alternative contradicts itself. Without any, no product passes.
    alternatives: Vec<Alternative>,
}

/// Conditions that a product must meet, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Alternative {
    platform: Option<String>,
    account: Option<String>,
    /// Names that custom properties must have.
    property_names: Vec<String>,
    /// Values that custom properties must have: of each name, if there are names.
    property_values: Vec<String>,
    /// Identifiers, of which the product must carry one, if there are any.
    identifiers: Vec<Identifier>,
}

/// The part of an account's products that a query has to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope<'f> {
    /// No product of the account can pass.
    Nothing,
    /// Every product of the account passes.
    Everything,
    /// Only products with one of these distinct identifiers can pass, in the filter's order. The filter still applies.
    Carriers(Vec<&'f Identifier>),
    /// Any product may pass; only its content tells.
    Whatever,
}

impl ProductFilter {
    /// Converts a parsed query; reports every fault at once.
    pub fn read(expression: &Expression) -> Result<Self, Vec<FilterFault>> {
        let mut faults = expression.faults.clone();
        let mut alternatives = Vec::new();
        for conditions in &expression.filter.alternatives {
            let mut alternative = Alternative::default();
            let mut is_possible = true;
            for condition in conditions {
                is_possible &= alternative.narrow(condition.name, &condition.value, &mut faults);
            }
            if is_possible && !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
        }
        if expression.filter.alternatives.is_empty() {
            alternatives.push(Alternative::default());
        }
        let filter = Self { alternatives };
        let n_identifiers = distinct(filter.identifiers()).len();
        if n_identifiers > IDENTIFIERS_MAX {
            let reason =
                format!("may ask for at most {IDENTIFIERS_MAX} identifiers, not {n_identifiers}");
            faults.push(FilterFault { name: "filter".into(), reason });
        }
        if faults.is_empty() { Ok(filter) } else { Err(faults) }
    }

    /// The part of an account's products that the query has to read.
    pub fn scope(&self, account: &Account) -> Scope<'_> {
        let mut own = self.alternatives.iter().filter(|it| it.is_for(account)).peekable();
        if own.peek().is_none() {
            return Scope::Nothing;
        }
        let own: Vec<&Alternative> = own.collect();
        if own.iter().any(|it| it.passes_all()) {
            Scope::Everything
        } else if own.iter().all(|it| !it.identifiers.is_empty()) {
            Scope::Carriers(distinct(own.iter().flat_map(|it| &it.identifiers)))
        } else {
            Scope::Whatever
        }
    }

    /// Whether a connection of an account passes.
    pub fn passes(&self, account: &Account, connection: &Connection) -> bool {
        let mut own = self.alternatives.iter().filter(|it| it.is_for(account));
        own.any(|alternative| alternative.passes(connection))
    }

    fn identifiers(&self) -> impl Iterator<Item = &Identifier> {
        self.alternatives.iter().flat_map(|it| &it.identifiers)
    }
}

/// Each identifier once, whichever way it is written, in order of first occurrence.
pub fn distinct<'i>(identifiers: impl IntoIterator<Item = &'i Identifier>) -> Vec<&'i Identifier> {
    let mut seen = std::collections::HashSet::new();
    let mut distinct = Vec::new();
    for identifier in identifiers {
        if seen.insert((identifier.kind(), identifier.key())) {
            distinct.push(identifier);
        }
    }
    distinct
}

impl Alternative {
    /// Adds a condition; returns whether any product can still pass.
    fn narrow(&mut self, name: &str, value: &str, faults: &mut Vec<FilterFault>) -> bool {
        match name {
            "platform" => must_be(&mut self.platform, value),
            "relatedParty.name" => must_be(&mut self.account, value),
            "customProperty.name" => add(&mut self.property_names, value),
            "customProperty.value" => add(&mut self.property_values, value),
            other => {
                let kind = IdentifierKind::ALL.into_iter().find(|it| it.filter_name() == other);
                let kind = kind.expect("every other word of the vocabulary is a kind");
                for text in value.split(',') {
                    // The `+` of a number is a space by now, unless it was encoded.
                    let number = match text.strip_prefix(' ') {
                        Some(rest) if kind == IdentifierKind::Msisdn => format!("+{rest}").into(),
                        _ => Cow::Borrowed(text),
                    };
                    match Identifier::given(kind, &number) {
                        Ok(identifier) => self.identifiers.push(identifier),
                        Err(bad) => {
                            faults.push(FilterFault { name: name.into(), reason: bad.to_string() });
                        }
                    }
                }
                true
            }
        }
    }

    fn is_for(&self, account: &Account) -> bool {
        self.platform.as_deref().is_none_or(|it| it == account.platform.as_str())
            && self.account.as_deref().is_none_or(|it| it == account.name.as_str())
    }

    /// Whether all products of the matching accounts pass.
    fn passes_all(&self) -> bool {
        self.property_names.is_empty()
            && self.property_values.is_empty()
            && self.identifiers.is_empty()
    }

    fn passes(&self, connection: &Connection) -> bool {
        let carries = self.identifiers.is_empty()
            || self.identifiers.iter().any(|identifier| connection.carries(identifier));
        carries && self.has_properties(connection)
    }

    fn has_properties(&self, connection: &Connection) -> bool {
        let has = |name: Option<&String>, value: Option<&String>| {
            connection.properties.iter().any(|property| {
                name.is_none_or(|it| *it == property.name)
                    && value.is_none_or(|it| *it == property.value)
            })
        };
        let (names, values) = (&self.property_names, &self.property_values);
        if values.is_empty() {
            names.iter().all(|name| has(Some(name), None))
        } else if names.is_empty() {
            values.iter().all(|value| has(None, Some(value)))
        } else {
            names.iter().all(|name| values.iter().all(|value| has(Some(name), Some(value))))
        }
    }
}

fn must_be(wanted: &mut Option<String>, value: &str) -> bool {
    match wanted {
        Some(wanted) => wanted == value,
        None => {
            *wanted = Some(value.to_owned());
            true
        }
    }
}

fn add(wanted: &mut Vec<String>, value: &str) -> bool {
    if !wanted.iter().any(|it| it == value) {
        wanted.push(value.to_owned());
    }
    true
}

#[cfg(test)]
mod tests;
