//! Counted sets in the database: which accesses have a status or a label, and belong to a contract, offering or job, as
//! sets of the tenant's running numbers.

pub(crate) mod building;
mod changed_parts;
pub(crate) mod changes;
pub(crate) mod label_build;
pub(crate) mod label_building;
pub(crate) mod label_counts;
pub(crate) mod page;
pub(crate) mod part;
pub(crate) mod part_reader;
pub(crate) mod position;
pub(crate) mod progress;
pub(crate) mod recount;
pub(crate) mod row_source;

use std::borrow::Cow;

use gatehouse_core::counted_set::CountedSet;

/// The word in the database for a set's kind.
pub(crate) fn kind(set: &CountedSet) -> &'static str {
    match set {
        CountedSet::Contract(_) => "contract",
        CountedSet::Job(_) => "job",
        CountedSet::Label(..) => "label",
        CountedSet::LabelKey(_) => "label-key",
        CountedSet::Offering(_) => "offering",
        CountedSet::Status(_) => "status",
    }
}

/// A set's name in the database.
pub(crate) fn name(set: &CountedSet) -> Cow<'_, str> {
    match set {
        CountedSet::Contract(id) => id.as_str().into(),
        CountedSet::Job(id) => id.to_string().into(),
        CountedSet::Label(key, value) => format!("{key}={value}").into(),
        CountedSet::LabelKey(key) => key.as_str().into(),
        CountedSet::Offering(id) => id.as_str().into(),
        CountedSet::Status(status) => status.as_str().into(),
    }
}
