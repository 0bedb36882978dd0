//! Reading accesses by their running numbers.
//!
//! Every statement exists once for each kind of set: `?1` is the tenant, `?2` the set's name. Each uses the set's own
//! index.

use gatehouse_core::list::{HOLDERS_MAX, Interval, NumberedSet, SetSize, UsernameHolders};
use gatehouse_core::page::bracket::Bracket;
use gatehouse_core::{Access, TenantName, Username};

use crate::access::{columns, read_numbered};
use crate::db::{Db, Dialect, Value};
use crate::error::StoreError;

/// Steps of a search that one query to PostgreSQL covers: a round trip costs as much as several of them.
const STEPS_AHEAD: u32 = 3;

/// Most positions that so many steps can look up.
const POSITIONS_MAX: usize = (1 << STEPS_AHEAD) - 1;

/// Finds accesses by username. The numbers come first, each part from its own index: otherwise SQLite would read the
/// whole tenant for the TERMINATED ones. In a CROSS JOIN it goes from left to right.
pub(crate) const BY_USERNAME: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM (SELECT number AS held FROM access \
      WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED' \
      UNION ALL SELECT number FROM access \
      WHERE tenant = ?1 AND username = ?2 AND status = 'TERMINATED' LIMIT ?3) h \
      CROSS JOIN access WHERE tenant = ?1 AND number = +h.held"
);

/// Reads accesses of one tenant.
pub(crate) struct Lookup<'a> {
    pub(crate) db: &'a Db,
    pub(crate) tenant: &'a TenantName,
}

/// Chooses a statement by the kind of set. `$sql` is a macro that builds it from `$besides`, the column with the set's
/// name and the column with the running number.
macro_rules! per_set {
    ($set:expr, $sql:ident $(, $besides:literal)*) => {
        match $set {
            NumberedSet::Tenant => $sql!($($besides,)* "tenant", "number"),
            NumberedSet::Offering(_) => $sql!($($besides,)* "offering_id", "offering_number"),
            NumberedSet::Contract(_) => $sql!($($besides,)* "contract_id", "contract_number"),
            NumberedSet::Job(_) => $sql!($($besides,)* "job", "job_number"),
        }
    };
}

/// The column with an access's running number in a set.
pub(crate) fn number_column(set: &NumberedSet) -> &'static str {
    macro_rules! number {
        ($key:literal, $number:literal) => {
            $number
        };
    }
    per_set!(set, number)
}

/// The column with the name of the access's set.
pub(crate) fn key_column(set: &NumberedSet) -> &'static str {
    macro_rules! key {
        ($key:literal, $number:literal) => {
            $key
        };
    }
    per_set!(set, key)
}

/// A statement that reads the column `$what` at the running numbers `$at`.
macro_rules! look_up {
    ($what:literal, $at:literal, $key:literal, $number:literal) => {
        concat!(
            "SELECT a.",
            $number,
            ", a.",
            $what,
            " FROM access a WHERE a.tenant = ?1 AND a.",
            $key,
            " = ?2 AND a.",
            $number,
            $at
        )
    };
}

impl Lookup<'_> {
    /// The accesses of a set with these running numbers, and their numbers in the tenant.
    pub(crate) async fn rows(
        &self,
        set: &NumberedSet,
        interval: Interval,
    ) -> Result<Vec<(u64, Access)>, StoreError> {
        macro_rules! rows {
            ($key:literal, $number:literal) => {
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM access a WHERE a.tenant = ?1 AND a.",
                    $key,
                    " = ?2 AND a.",
                    $number,
                    " > ?3 AND a.",
                    $number,
                    " <= ?4 ORDER BY a.",
                    $number
                )
            };
        }
        let tenant = self.tenant.as_str().into();
        let values = [tenant, self.key(set), interval.after.into(), interval.to.into()];
        self.db.rows(per_set!(set, rows), &values, read_numbered).await
    }

    /// Steps of a search that one query should cover.
    pub(crate) fn steps_ahead(&self) -> u32 {
        match self.db.dialect() {
            // SQLite has no round trips.
            Dialect::Sqlite => 1,
            Dialect::Postgres => STEPS_AHEAD,
        }
    }

    /// Numbers in the tenant of the accesses with these running numbers in a set.
    pub(crate) async fn numbers(
        &self,
        set: &NumberedSet,
        positions: &[u64],
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let one = per_set!(set, look_up, "number", " = ?3");
        let several = per_set!(set, look_up, "number", " IN (?3, ?4, ?5, ?6, ?7, ?8, ?9)");
        let found = self.look_up(set, positions, one, several).await?;
        Ok(found.into_iter().map(|(position, number)| (position, number.cast_unsigned())).collect())
    }

    /// Creation times, in milliseconds, of the accesses with these running numbers in a set.
    async fn times(
        &self,
        set: &NumberedSet,
        positions: &[u64],
    ) -> Result<Vec<(u64, i64)>, StoreError> {
        let one = per_set!(set, look_up, "created_at", " = ?3");
        let several = per_set!(set, look_up, "created_at", " IN (?3, ?4, ?5, ?6, ?7, ?8, ?9)");
        self.look_up(set, positions, one, several).await
    }

    /// Reads one position, or up to seven: the last one is repeated to fill the statement.
    async fn look_up(
        &self,
        set: &NumberedSet,
        positions: &[u64],
        one: &'static str,
        several: &'static str,
    ) -> Result<Vec<(u64, i64)>, StoreError> {
        let last = positions.last().copied().unwrap_or_default();
        let (sql, n) = if positions.len() > 1 { (several, POSITIONS_MAX) } else { (one, 1) };
        let positions = positions.iter().copied().chain(std::iter::repeat(last));
        let mut values = vec![self.tenant.as_str().into(), self.key(set)];
        values.extend(positions.take(n).map(Value::from));
        self.db.rows(sql, &values, |row| Ok((row.count(0)?, row.integer(1)?))).await
    }

    /// Number of a set's accesses that were created before this millisecond.
    ///
    /// Creation times rise with the numbers, so a search takes a few steps. An index of the times would make every
    /// creation slower.
    pub(crate) async fn rank(
        &self,
        set: &NumberedSet,
        size: SetSize,
        before: i64,
    ) -> Result<u64, StoreError> {
        let latest = size.latest_at.as_millisecond();
        if before == i64::MIN || size.total == 0 {
            return Ok(0);
        }
        if before > latest {
            return Ok(size.total);
        }
        let mut known = self.times(set, &[1]).await?;
        let first = at(&known, 1).ok_or_else(missing)?;
        // First guess: the accesses were created at an even pace.
        let (passed, all) = (before.saturating_sub(first), latest.saturating_sub(first));
        let share = i128::from(size.total) * i128::from(passed) / i128::from(all.max(1));
        let mut bracket = Bracket::new(0, size.total, u64::try_from(share).unwrap_or_default());
        while bracket.is_open() {
            let position = bracket.position();
            if at(&known, position).is_none() {
                known = self.times(set, &bracket.ahead(self.steps_ahead())).await?;
            }
            let created_at = at(&known, position).ok_or_else(missing)?;
            if created_at < before { bracket.include() } else { bracket.exclude() }
        }
        Ok(bracket.position())
    }

    /// The accesses with this username; `None` when there is none.
    pub(crate) async fn by_username(
        &self,
        username: &Username,
    ) -> Result<Option<UsernameHolders>, StoreError> {
        let limit = (HOLDERS_MAX as u64 + 1).into();
        let values = [self.tenant.as_str().into(), username.as_str().into(), limit];
        let found = self.db.rows(BY_USERNAME, &values, read_numbered).await?;
        Ok(match found.len() {
            0 => None,
            n if n > HOLDERS_MAX => Some(UsernameHolders::Many),
            _ => Some(UsernameHolders::Few(found)),
        })
    }

    fn key<'v>(&'v self, set: &'v NumberedSet) -> Value<'v> {
        key(self.tenant, set)
    }
}

/// A set's name, as the access's column holds it.
pub(crate) fn key<'v>(tenant: &'v TenantName, set: &'v NumberedSet) -> Value<'v> {
    match set {
        NumberedSet::Tenant => tenant.as_str().into(),
        NumberedSet::Offering(id) => id.as_str().into(),
        NumberedSet::Contract(id) => id.as_str().into(),
        NumberedSet::Job(id) => id.as_bytes().as_slice().into(),
    }
}

/// The value at this position; `None` when the query didn't return it.
pub(crate) fn at<T: Copy>(seen: &[(u64, T)], position: u64) -> Option<T> {
    seen.iter().find(|it| it.0 == position).map(|it| it.1)
}

/// A set has every number from one to its size, so a missing number is an error.
pub(crate) fn missing() -> StoreError {
    StoreError::corrupt("an access is missing in its set")
}
