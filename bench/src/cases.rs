//! The cases, with their yardsticks: one line each.

use crate::store_kind::StoreKind::{self, Postgres, Sqlite};

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) number: u8,
    pub(crate) title: &'static str,
    pub(crate) yardstick: &'static str,
    pub(crate) stores: &'static [StoreKind],
}

const BOTH: &[StoreKind] = &[Sqlite, Postgres];

/// All cases by number, as in the chapters of `docs/performance.md`.
#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    case(1,  "Reading one access",            "an answer of the same size that is there already", BOTH),
    case(2,  "Checking a generated password", "the same request without a look-up",               BOTH),
    case(3,  "Checking a chosen password",    "the same request without a look-up",               BOTH),
    case(4,  "Pages of lists",                "the first page of all accesses",                   BOTH),
    case(5,  "Pages among very many",         "the same page among 10,000 accesses",              BOTH),
    case(6,  "Reads beside lists that count", "reads alone",                                      BOTH),
    case(7,  "Creations on SQLite",           "a transaction for each",                           &[Sqlite]),
    case(8,  "Creations on PostgreSQL",       "a transaction for each",                           &[Postgres]),
    case(9,  "Batches",                       "their bare rows",                                  BOTH),
    case(10, "A Task that is done",           "sending as many bytes from memory",                BOTH),
    case(11, "Products",                      "the slowest account alone",                        &[Sqlite]),
    case(12, "A storm of reconnections",      "the same checks alone",                            BOTH),
    case(13, "Memory",                        "",                                                 BOTH),
    case(14, "Starting",                      "an empty store",                                   BOTH),
    case(15, "Overload",                      "the most that the server can do",                  BOTH),
    case(16, "Changes",                       "the same of a label that no list is filtered by",  BOTH),
    case(17, "The journal",                   "the same without events; a page of accesses",      BOTH),
];

const fn case(
    number: u8,
    title: &'static str,
    yardstick: &'static str,
    stores: &'static [StoreKind],
) -> Case {
    Case { number, title, yardstick, stores }
}

#[cfg(test)]
mod tests {
    use super::CASES;

    #[test]
    fn cases_are_numbered_from_one() {
        assert!(CASES.iter().map(|case| case.number).eq(1..=17));
    }
}
