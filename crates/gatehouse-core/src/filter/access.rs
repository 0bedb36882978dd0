//! Filters for accesses.

use std::borrow::Cow;

use super::{Condition, Expression, FilterFault, FilterField, FilterFields, Operator};
use crate::access::{Access, Status};
use crate::ids::{ContractId, DeviceName, LabelKey, OfferingId, TaskId, Username};
use crate::label::RequiredLabels;
use crate::time::span::TimeSpan;

const IS: &[Operator] = &[Operator::Equal];
const COMPARES: &[Operator] = &[
    Operator::Greater,
    Operator::GreaterOrEqual,
    Operator::Less,
    Operator::LessOrEqual,
    Operator::Equal,
];

/// Fields of accesses.
pub const FIELDS: &[FilterField] = &[
    FilterField::exact("contractId", "its contract", IS),
    FilterField::exact("productOfferingId", "its contract's offering", IS),
    FilterField::exact("createdBy", "the job that made it, as `job-…`", IS),
    FilterField::exact("name", "its device's name, or else its username", IS),
    FilterField::exact("username", "its username", IS),
    FilterField { words: &Status::WORDS, ..FilterField::exact("status", "its present status", IS) },
    FilterField {
        has_key: true,
        ..FilterField::exact(
            "label",
            "the label with this key",
            &[Operator::Equal, Operator::Present],
        )
    },
    FilterField::exact("createdAt", "when it was made", COMPARES),
    FilterField::exact("startDateTime", "when its active period begins", COMPARES),
    FilterField::exact(
        "endDateTime",
        "when its active period ends; one without an end passes no comparison",
        COMPARES,
    ),
];

/// Fields and parameters of the access list.
pub const FILTER_FIELDS: FilterFields =
    FilterFields { request: &["pageNumber", "pageSize", "sort"], filterable: FIELDS };

/// A filter for accesses: an access passes if any alternative does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessFilter {
    /// No alternative contradicts itself. Without any, no access passes.
    alternatives: Vec<Alternative>,
}

/// Conditions that an access must meet, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Offering.
    pub offering: Option<OfferingId>,
    /// Contract.
    pub contract: Option<ContractId>,
    /// Job that created the access.
    pub job: Option<TaskId>,
    /// Username.
    pub username: Option<Username>,
    /// Display name: the device's name, or else the username.
    pub name: Option<DeviceName>,
    /// Status at present.
    pub status: Option<Status>,
    /// Labels at present.
    pub labels: RequiredLabels,
    /// Creation time.
    pub created: TimeSpan,
    /// Start of the active period.
    pub start: TimeSpan,
    /// End of the active period. `None` also admits accesses without an end.
    pub end: Option<TimeSpan>,
}

impl Alternative {
    /// No condition: every access passes.
    pub const ANY: Self = Self {
        offering: None,
        contract: None,
        job: None,
        username: None,
        name: None,
        status: None,
        labels: RequiredLabels::new(),
        created: TimeSpan::ALWAYS,
        start: TimeSpan::ALWAYS,
        end: None,
    };

    /// Whether the access passes, in the state that it has here.
    pub fn passes(&self, access: &Access) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        is(self.offering.as_ref(), &access.offering_id)
            && is(self.contract.as_ref(), &access.contract_id)
            && self.job.is_none_or(|job| access.created_by == Some(job))
            && is(self.username.as_ref(), &access.username)
            && self.name.as_ref().is_none_or(|name| name.as_str() == access.name())
            && self.status.is_none_or(|status| status == access.status)
            && access.labels.have(&self.labels)
            && self.created.contains(access.created_at)
            && self.start.contains(access.start)
            && self.end.is_none_or(|span| access.end.is_some_and(|end| span.contains(end)))
    }

    /// Adds a condition; returns whether any access can still pass.
    fn narrow(&mut self, condition: &Condition) -> Result<bool, FilterFault> {
        let value = condition.value.as_str();
        let span = || {
            TimeSpan::satisfying(condition.operator, &with_sign(value))
                .map_err(|bad| FilterFault { name: condition.name.into(), reason: bad.to_string() })
        };
        Ok(match condition.name {
            "contractId" => must_be(&mut self.contract, value.parse()),
            "productOfferingId" => must_be(&mut self.offering, value.parse()),
            "createdBy" => must_be(&mut self.job, value.parse()),
            "name" => must_be(&mut self.name, value.parse()),
            "username" => must_be(&mut self.username, value.parse()),
            "status" => {
                let status = Status::from_word(value).ok_or_else(|| unknown_status(value))?;
                must_be(&mut self.status, Ok::<_, ()>(status))
            }
            "label" => condition.key.as_ref().is_none_or(|key| self.require_label(key, condition)),
            "createdAt" => must_be_in(&mut self.created, span()?),
            "startDateTime" => must_be_in(&mut self.start, span()?),
            _ => must_be_in(self.end.get_or_insert(TimeSpan::ALWAYS), span()?),
        })
    }
}

impl Alternative {
    /// Requires a label; returns whether any access can still have it.
    fn require_label(&mut self, key: &LabelKey, condition: &Condition) -> bool {
        let required = self.labels.entry(key.clone()).or_default();
        condition.operator == Operator::Present || must_be(required, condition.value.parse())
    }
}

fn unknown_status(value: &str) -> FilterFault {
    let reason = format!("must be one of {}, not `{value}`", Status::WORDS.join(", "));
    FilterFault { name: "status".into(), reason }
}

/// The time with the sign of its offset: in a query, a `+` that isn't encoded is a space.
fn with_sign(time: &str) -> Cow<'_, str> {
    match time.rsplit_once(' ') {
        Some((local, offset)) if local.contains(':') => format!("{local}+{offset}").into(),
        _ => time.into(),
    }
}

/// Requires a value. No access has a value that doesn't parse.
fn must_be<T: PartialEq, E>(wanted: &mut Option<T>, value: Result<T, E>) -> bool {
    match (&*wanted, value) {
        (_, Err(_)) => false,
        (Some(wanted), Ok(value)) => *wanted == value,
        (None, Ok(value)) => {
            *wanted = Some(value);
            true
        }
    }
}

fn must_be_in(wanted: &mut TimeSpan, span: TimeSpan) -> bool {
    *wanted = wanted.and(span);
    !wanted.is_empty()
}

impl AccessFilter {
    /// Converts a parsed query; reports every fault at once.
    pub fn read(expression: &Expression) -> Result<Self, Vec<FilterFault>> {
        let mut faults = expression.faults.clone();
        let mut alternatives = Vec::new();
        for conditions in &expression.filter.alternatives {
            let mut alternative = Alternative::ANY;
            let mut is_possible = true;
            for condition in conditions {
                match alternative.narrow(condition) {
                    Ok(possible) => is_possible &= possible,
                    Err(fault) => faults.push(fault),
                }
            }
            // A filter with faults may have more alternatives than can be compared with each other.
            if is_possible && faults.is_empty() && !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
        }
        if expression.filter.alternatives.is_empty() {
            alternatives.push(Alternative::ANY);
        }
        if faults.is_empty() { Ok(Self { alternatives }) } else { Err(faults) }
    }

    /// The alternatives, at most [`super::ALTERNATIVES_MAX`]. Without any, no access passes.
    pub fn alternatives(&self) -> &[Alternative] {
        &self.alternatives
    }

    /// Whether the access passes, in the state that it has here.
    pub fn passes(&self, access: &Access) -> bool {
        self.alternatives.iter().any(|alternative| alternative.passes(access))
    }
}

#[cfg(test)]
mod tests;
