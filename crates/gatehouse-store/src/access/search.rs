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

/// Most look-ups of one search: it ends, however many spellings there are.
const LOOK_UPS_MAX: usize = 300;

/// Texts that one look-up reads: few while they may not fit, and enough for the rest of a search once one does.
const TEXTS_FIRST: u64 = 8;
const TEXTS: u64 = 2 * FOUND_MAX as u64;

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
        let mut found = Found::default();
        // No name has this character, and PostgreSQL has no text with it.
        if search.as_str().contains('\0') {
            return Ok(Some(Vec::new()));
        }
        for how in [Match::Whole, Match::Beginning] {
            for index in TextIndex::ALL {
                gather(&lookup, search, (index, how), &mut found).await?;
            }
            gather_ids(&lookup, search, how, &mut found).await?;
        }
        let numbers = found.numbers;
        let interval = |number: u64| Interval { after: number - 1, to: number };
        let rows = numbers.iter().map(|it| lookup.rows(&NumberedSet::Tenant, interval(*it)));
        let found = try_join_all(rows).await?;
        Ok(Some(found.into_iter().flatten().map(|(_, access)| access).collect()))
    }
}

/// The numbers of found accesses, in the order in which they were found.
#[derive(Default)]
struct Found {
    numbers: Vec<u64>,
    n_look_ups: usize,
}

impl Found {
    fn is_enough(&self) -> bool {
        self.numbers.len() >= FOUND_MAX || self.n_look_ups >= LOOK_UPS_MAX
    }

    fn add(&mut self, number: u64) {
        if self.numbers.len() < FOUND_MAX && !self.numbers.contains(&number) {
            self.numbers.push(number);
        }
    }
}

/// Adds the numbers of the accesses that an index finds, until there are enough.
async fn gather(
    lookup: &Lookup<'_>,
    search: &SearchText,
    (index, how): (TextIndex, Match),
    found: &mut Found,
) -> Result<(), StoreError> {
    let (mut from, mut n_texts) = (Some(search.first()), TEXTS_FIRST);
    while let Some(position) = from.take().filter(|_| !found.is_enough()) {
        found.n_look_ups += 1;
        // Accesses that were found before are found again.
        let values = [lookup.tenant.as_str().into(), position.as_str().into(), n_texts.into()];
        let read = |row: &Row<'_>| Ok((row.text(0)?, row.count(1)?));
        let texts = lookup.db.rows(index.sql(), &values, read).await?;
        let all_fit = texts.iter().all(|(text, _)| how.fits(search, text));
        if all_fit && texts.len() as u64 == n_texts && n_texts < TEXTS {
            (from, n_texts) = (Some(position), TEXTS);
            continue;
        }
        n_texts = TEXTS_FIRST;
        for (text, number) in texts {
            if !how.fits(search, &text) {
                from = how.next(search, &text);
                break;
            }
            found.add(number);
        }
    }
    Ok(())
}

/// Adds the numbers of the accesses whose identifiers begin with the text, until there are enough.
async fn gather_ids(
    lookup: &Lookup<'_>,
    search: &SearchText,
    how: Match,
    found: &mut Found,
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
        TEXTS.into(),
    ];
    for number in lookup.db.rows(sql, &values, |row| row.count(0)).await? {
        found.add(number);
    }
    Ok(())
}
