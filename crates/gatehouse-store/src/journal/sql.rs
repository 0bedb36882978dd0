//! Statements for either kind of journal: the same text with other tables.

/// A statement for a kind of journal, with the words `new_entries`, `entries` and `ends` for its tables, and `columns`
/// for those of a numbered entry, as [`super::unfolding::read_entry`] reads them.
macro_rules! journal_sql {
    ($kind:expr, $($part:tt)+) => {
        match $kind {
            $crate::journal::JournalKind::Changes => concat!($(journal_sql_part!(changes $part)),+),
            $crate::journal::JournalKind::Audit => concat!($(journal_sql_part!(audit $part)),+),
        }
    };
}

macro_rules! journal_sql_part {
    (changes new_entries) => {
        "event_new"
    };
    (changes entries) => {
        "event"
    };
    (changes ends) => {
        "journal"
    };
    (audit new_entries) => {
        "audit_new"
    };
    (audit entries) => {
        "audit"
    };
    (audit ends) => {
        "audit_ends"
    };
    ($kind:ident columns) => {
        "first, n, at, entry, mac"
    };
    ($kind:ident $text:literal) => {
        $text
    };
}
