//! A customer contract: decides an access's offering, billing model and validity.

use jiff::{Span, SpanRelativeTo, Unit};

use crate::gateway::policy::Policy;
use crate::ids::{ContractId, OfferingId};
use crate::time::Timestamp;

/// How the accesses of a contract are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BillingModel {
    /// Paid before use: an access waits for its first connection, and its validity starts then.
    Prepaid,
    /// Paid by use: an access is active at once.
    PayPerUse,
}

impl BillingModel {
    /// Every billing model.
    pub const ALL: [Self; 2] = [Self::Prepaid, Self::PayPerUse];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prepaid => "PREPAID",
            Self::PayPerUse => "PAY_PER_USE",
        }
    }

    /// The billing model with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.as_str() == word)
    }
}

/// Whether a contract may get new accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContractStatus {
    /// New accesses are allowed.
    Active,
    /// No new accesses for now.
    Suspended,
    /// No new accesses ever again.
    Terminated,
}

impl ContractStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Terminated];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Terminated => "TERMINATED",
        }
    }

    /// The status with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A customer contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The contract's identifier, unique in the tenant.
    pub id: ContractId,
    /// The offering of the contract's accesses.
    pub offering_id: OfferingId,
    /// How the accesses are paid for.
    pub billing_model: BillingModel,
    /// Whether the contract may get new accesses.
    pub status: ContractStatus,
    /// Earliest start of the accesses.
    pub start: Option<Timestamp>,
    /// Latest end of the accesses.
    pub end: Option<Timestamp>,
    /// Lifetime of a prepaid access from its first connection.
    pub validity: Option<Validity>,
    /// Most accesses that are not terminated.
    pub n_accesses_max: Option<u64>,
    /// Rights of the contract's devices once they are connected.
    pub policy: Policy,
}

impl Contract {
    /// An active contract without dates and without a limit on its accesses.
    pub fn active(id: ContractId, offering_id: OfferingId, billing_model: BillingModel) -> Self {
        Self {
            id,
            offering_id,
            billing_model,
            status: ContractStatus::Active,
            start: None,
            end: None,
            validity: None,
            n_accesses_max: None,
            policy: Policy::default(),
        }
    }
}

/// Longest validity, in years: beyond it dates mean nothing.
pub const VALIDITY_YEARS_MAX: i64 = 1000;

/// Lifetime of a prepaid access: an ISO 8601 duration longer than zero.
///
/// Stored as the client wrote it: `P1M` is a month, not thirty days. Added to instants in UTC.
#[derive(Clone, Debug)]
pub struct Validity {
    text: String,
    span: Span,
}

impl PartialEq for Validity {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Validity {}

/// A text that is no validity; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an ISO 8601 duration such as `P365D`, `P1Y` or `PT12H`, of a second at least and \
     {VALIDITY_YEARS_MAX} years at most, not `{0}`"
)]
pub struct BadValidity(String);

impl std::str::FromStr for Validity {
    type Err = BadValidity;

    fn from_str(text: &str) -> Result<Self, BadValidity> {
        let bad = || BadValidity(text.chars().take(64).collect());
        // jiff reads friendlier forms too (`1 year`); the contract allows ISO 8601 alone.
        let iso = text.bytes().all(|b| b.is_ascii_digit() || b"PYMWDTHS.".contains(&b));
        if !iso || !text.starts_with('P') || text.len() > 64 {
            return Err(bad());
        }
        let span: Span = text.parse().map_err(|_| bad())?;
        let total = |unit: Unit| {
            let from = SpanRelativeTo::from(jiff::civil::date(2000, 1, 1));
            span.total((unit, from)).map_err(|_| bad())
        };
        if total(Unit::Second)? < 1.0 || total(Unit::Year)? > VALIDITY_YEARS_MAX as f64 {
            return Err(bad());
        }
        Ok(Self { text: text.to_owned(), span })
    }
}

impl Validity {
    /// The duration as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The instant this long after `start`, at most [`Timestamp::LATEST`].
    pub fn after(&self, start: Timestamp) -> Timestamp {
        let end = start.civil().checked_add(self.span);
        end.map_or(Timestamp::LATEST, Timestamp::from_civil)
    }
}

#[cfg(test)]
mod tests;
