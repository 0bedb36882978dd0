//! Counted sets: sets of running numbers whose members change, with exact totals and cheap pages.
//!
//! What never changes is an interval of running numbers ([`crate::list`]). An access's status and labels change, so
//! the accesses that have one are a set without order in its numbers. Such a set is stored in small parts: each part
//! has the members in a short range of numbers, in few bytes, and how many they are. A change rewrites one part. The
//! sums of the parts are the total, and find any page without reading the parts before it.
//!
//! ```text
//!   numbers   1 ─────────── 262,144 ─────────── 524,288 ───
//!   groups    │      0      │         1         │    2         sums are kept by group
//!   parts     │  │   │      │         │         │              ranges without gaps inside a group
//! ```
//!
//! Sets are combined group by group, as bitmaps: [`bitmap::Bitmap`] has a bit for each number of a group.

pub mod bitmap;
pub mod runs;

use crate::access::{Access, Status};
use crate::ids::{ContractId, LabelKey, LabelValue, OfferingId, TaskId};

/// A set of accesses, by their running numbers in the tenant. Sets are locked in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CountedSet {
    /// The accesses of a contract.
    Contract(ContractId),
    /// The accesses that a job created.
    Job(TaskId),
    /// The accesses with this label.
    Label(LabelKey, LabelValue),
    /// The accesses with a label of this key.
    LabelKey(LabelKey),
    /// The accesses of an offering.
    Offering(OfferingId),
    /// The accesses with this stored status.
    Status(Status),
}

/// The counted sets that an access belongs to, as it was last stored.
pub fn sets_of(access: &Access) -> Vec<CountedSet> {
    let mut sets = vec![
        CountedSet::Contract(access.contract_id.clone()),
        CountedSet::Offering(access.offering_id.clone()),
        CountedSet::Status(access.status),
    ];
    sets.extend(access.created_by.map(CountedSet::Job));
    sets.extend(access.labels.shown().parsed().flat_map(|(key, value)| {
        [CountedSet::LabelKey(key.clone()), CountedSet::Label(key, value)]
    }));
    sets
}

impl CountedSet {
    /// The label's key, for a set of labels.
    pub fn label_key(&self) -> Option<&LabelKey> {
        match self {
            Self::Label(key, _) | Self::LabelKey(key) => Some(key),
            Self::Contract(_) | Self::Job(_) | Self::Offering(_) | Self::Status(_) => None,
        }
    }

    /// Whether no access can be in both sets: it has one contract, for example, and one value of a label.
    pub fn excludes(&self, other: &Self) -> bool {
        let is_alike = match (self, other) {
            (Self::Label(key, _), Self::Label(other, _)) => key == other,
            (Self::Contract(_), Self::Contract(_))
            | (Self::Job(_), Self::Job(_))
            | (Self::Offering(_), Self::Offering(_))
            | (Self::Status(_), Self::Status(_)) => true,
            _ => false,
        };
        is_alike && self != other
    }
}

/// Numbers in a group. A part is in one group.
pub const GROUP_NUMBERS: u64 = 1 << GROUP_BITS;

const GROUP_BITS: u32 = 18;

/// The group of a running number.
pub fn group_of(number: u64) -> u64 {
    number >> GROUP_BITS
}

/// The first number of a group.
pub fn group_start(group: u64) -> u64 {
    group << GROUP_BITS
}

/// The position of a number in its group.
pub fn offset_of(number: u64) -> u32 {
    // The remainder is below the group's size, which fits.
    (number & (GROUP_NUMBERS - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_exclude_others_of_their_kind_alone() {
        let label = |key: &str, value: &str| {
            CountedSet::Label(key.parse().unwrap(), value.parse().unwrap())
        };
        let contract = |id: &str| CountedSet::Contract(id.parse().unwrap());
        let (active, suspended) =
            (CountedSet::Status(Status::Active), CountedSet::Status(Status::Suspended));
        for (one, other, expected) in [
            (&active, &suspended, true),
            (&active, &active, false),
            (&contract("a"), &contract("b"), true),
            (&contract("a"), &active, false),
            (&label("site", "a"), &label("site", "b"), true),
            (&label("site", "a"), &label("team", "a"), false),
            (&label("site", "a"), &CountedSet::LabelKey("site".parse().unwrap()), false),
        ] {
            assert_eq!(one.excludes(other), expected, "{one:?} {other:?}");
            assert_eq!(other.excludes(one), expected, "{other:?} {one:?}");
        }
    }
}
