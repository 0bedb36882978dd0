//! The filter of a batch of changes. Nothing in it is ignored: a typing error must not change a fleet.

use std::collections::BTreeSet;

use gatehouse_core::LabelKey;
use gatehouse_core::filter::access::{self as filter, AccessFilter};
use gatehouse_core::filter::{Expression, FilterFault, FilterFields};

use crate::reader::shortened;

/// The language: that of a list, without the parameters of its request.
const FIELDS: FilterFields = FilterFields { request: &[], ..filter::FILTER_FIELDS };

/// Most bytes of a filter: more than the most conditions need, with the longest values, percent-encoded.
pub(crate) const BYTES_MAX: usize = 32 * 1024;

/// A filter without faults, unless it compares labels that the tenant doesn't filter by.
#[derive(Clone, Debug)]
pub struct BatchFilter(Expression);

impl BatchFilter {
    /// Parses a filter; fails with a reason for each fault, for a tenant that filters by these labels.
    pub(crate) fn parse(text: &str, filterable: &BTreeSet<LabelKey>) -> Result<Self, Vec<String>> {
        if text.len() > BYTES_MAX {
            return Err(vec![format!("must have at most {BYTES_MAX} bytes, not {}", text.len())]);
        }
        let filter = Self(Expression::parse(text, &FIELDS));
        match read(&filter.0) {
            Ok(_) => Ok(filter),
            Err(reasons) => Err(filter.with_labels(filterable).err().unwrap_or(reasons)),
        }
    }

    /// Whether it compares labels.
    pub(crate) fn names_labels(&self) -> bool {
        self.0.names_labels()
    }

    /// The filter of a tenant that filters by these labels.
    pub(crate) fn with_labels(
        mut self,
        filterable: &BTreeSet<LabelKey>,
    ) -> Result<AccessFilter, Vec<String>> {
        self.0.ignore_other_labels(filterable);
        read(&self.0)
    }
}

fn read(expression: &Expression) -> Result<AccessFilter, Vec<String>> {
    let ignored = expression.ignored.iter().map(|it| (it.name.as_str(), &it.reason));
    let filter = AccessFilter::read(expression);
    let faults = filter.as_ref().err().into_iter().flatten();
    let faults = faults.map(|FilterFault { name, reason }| (name.as_str(), reason));
    let reason = |(name, reason): (&str, &String)| match name {
        "filter" => reason.clone(),
        name => format!("`{}` {reason}", shortened(name)),
    };
    let mut reasons: Vec<String> = ignored.chain(faults).map(reason).collect();
    match expression.is_empty() {
        true if reasons.is_empty() => {
            reasons.push("must hold a condition, such as `contractId=C-PAYG`".into());
        }
        false if expression.has_empty_part => {
            reasons.push("has a `&`, `;` or `filter=` without a condition beside it".into());
        }
        _ => {}
    }
    match filter {
        Ok(filter) if reasons.is_empty() => Ok(filter),
        _ => Err(reasons),
    }
}
