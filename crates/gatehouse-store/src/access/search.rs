//! Search for accesses by the beginning of their username, name or identifier.

use futures_util::future::try_join_all;
use gatehouse_core::list::search::SearchText;
use gatehouse_core::list::{Interval, NumberedSet};
use gatehouse_core::{Access, AccessId, TenantName};

use crate::Store;
use crate::access::lookup::Lookup;
use crate::counts::counter;
use crate::db::Row;
use crate::error::StoreError;

/// Most accesses that a search finds.
pub const FOUND_MAX: usize = 50;

/// Most look-ups in one index: a search ends, however the names are spelled.
const LOOK_UPS_MAX: usize = 500;

/// An index of texts.
#[derive(Clone, Copy)]
enum TextIndex {
    Username,
    DeviceName,
    TerminatedUsername,
}

impl TextIndex {
    const ALL: [Self; 3] = [Self::Username, Self::DeviceName, Self::TerminatedUsername];

    /// Reads texts and numbers from a text on.
    fn sql(self) -> &'static str {
        match self {
            Self::Username => {
                "SELECT username, number FROM access WHERE tenant = ?1 AND username >= ?2 \
                 AND status <> 'TERMINATED' ORDER BY username LIMIT ?3"
            }
            Self::DeviceName => {
                "SELECT device_name, number FROM access WHERE tenant = ?1 AND device_name >= ?2 \
                 AND device_name IS NOT NULL ORDER BY device_name, number LIMIT ?3"
            }
            Self::TerminatedUsername => {
                "SELECT username, number FROM access WHERE tenant = ?1 AND username >= ?2 \
                 AND status = 'TERMINATED' ORDER BY username, number LIMIT ?3"
            }
        }
    }
}

/// How much of a text must be the searched one.
#[derive(Clone, Copy)]
enum Match {
    Whole,
    Beginning,
}

impl Match {
    fn fits(self, search: &SearchText, text: &str) -> bool {
        match self {
            Self::Whole => search.is(text),
            Self::Beginning => search.begins(text),
        }
    }

    fn next(self, search: &SearchText, text: &str) -> Option<String> {
        match self {
            Self::Whole => search.next_spelling(text),
            Self::Beginning => search.next_prefix(text),
        }
    }
}

impl Store {
    /// The accesses whose username, name or identifier begins with a text, in any case: those that are it first.
    /// `None` when the tenant doesn't exist.
    pub async fn search(
        &self,
        tenant: &TenantName,
        search: &SearchText,
    ) -> Result<Option<Vec<Access>>, StoreError> {
        let sizes = counter::sizes(&self.db, tenant, &[NumberedSet::Tenant].into()).await?;
        if sizes.is_empty() {
            return Ok(None);
        }
        let lookup = Lookup { db: &self.db, tenant };
        let mut numbers = Vec::new();
        // No name has this character, and PostgreSQL has no text with it.
        if search.as_str().contains('\0') {
            return Ok(Some(Vec::new()));
        }
        for how in [Match::Whole, Match::Beginning] {
            for index in TextIndex::ALL {
                gather(&lookup, search, (index, how), &mut numbers).await?;
            }
            gather_ids(&lookup, search, how, &mut numbers).await?;
        }
        let interval = |number: u64| Interval { after: number - 1, to: number };
        let rows = numbers.iter().map(|it| lookup.rows(&NumberedSet::Tenant, interval(*it)));
        let found = try_join_all(rows).await?;
        Ok(Some(found.into_iter().flatten().map(|(_, access)| access).collect()))
    }
}

/// Adds the numbers of the accesses that an index finds, until there are enough.
async fn gather(
    lookup: &Lookup<'_>,
    search: &SearchText,
    (index, how): (TextIndex, Match),
    numbers: &mut Vec<u64>,
) -> Result<(), StoreError> {
    let mut from = Some(search.first());
    for _ in 0..LOOK_UPS_MAX {
        let Some(position) = from.take().filter(|_| numbers.len() < FOUND_MAX) else { break };
        // Those that were found before are found again.
        let values = [
            lookup.tenant.as_str().into(),
            position.as_str().into(),
            (2 * FOUND_MAX as u64).into(),
        ];
        let read = |row: &Row<'_>| Ok((row.text(0)?, row.count(1)?));
        for (text, number) in lookup.db.rows(index.sql(), &values, read).await? {
            if !how.fits(search, &text) {
                from = how.next(search, &text);
                break;
            }
            add(numbers, number);
        }
    }
    Ok(())
}

/// Adds the numbers of the accesses whose identifiers begin with the text, until there are enough.
async fn gather_ids(
    lookup: &Lookup<'_>,
    search: &SearchText,
    how: Match,
    numbers: &mut Vec<u64>,
) -> Result<(), StoreError> {
    let Some((first, last)) = AccessId::range_of_prefix(search.as_str()) else { return Ok(()) };
    if matches!(how, Match::Whole) && first != last {
        return Ok(());
    }
    let sql = "SELECT number FROM access WHERE tenant = ?1 AND id >= ?2 AND id <= ?3 \
               ORDER BY id LIMIT ?4";
    let values = [
        lookup.tenant.as_str().into(),
        first.as_bytes().as_slice().into(),
        last.as_bytes().as_slice().into(),
        (2 * FOUND_MAX as u64).into(),
    ];
    for number in lookup.db.rows(sql, &values, |row| row.count(0)).await? {
        add(numbers, number);
    }
    Ok(())
}

fn add(numbers: &mut Vec<u64>, number: u64) {
    if numbers.len() < FOUND_MAX && !numbers.contains(&number) {
        numbers.push(number);
    }
}
