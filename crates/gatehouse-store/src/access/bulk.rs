//! Statements over whole columns, which have a text for each database.
//!
//! PostgreSQL gets arrays, or a COPY for many rows: one statement for any number of rows. SQLite runs one prepared
//! statement per row, which costs it nothing more.

use gatehouse_core::{Access, AccessId, TenantName, Timestamp};
use tokio_postgres::types::Type;

use crate::access::{self, Change, StoredAccess};
use crate::db::{Dialect, Row, Tx, Value};
use crate::error::StoreError;

/// A new access with its running numbers.
pub(crate) struct Numbered {
    pub(crate) access: Access,
    pub(crate) password_hash: String,
    pub(crate) number: u64,
    pub(crate) offering_number: u64,
    pub(crate) contract_number: u64,
    pub(crate) job_number: Option<u64>,
}

/// Rows to write together, after `n_before` others: few, so that a long write may stop in between. On PostgreSQL that
/// check takes a few round trips, which pay off from a hundred rows on; there are more rows while no caller waits.
pub(crate) fn rows_at_once(tx: &Tx, n_before: usize) -> usize {
    match tx.dialect() {
        // A simulation needs many chunks of few accesses.
        Dialect::Sqlite if tx.is_simulated() => 6,
        Dialect::Sqlite => 32,
        Dialect::Postgres => n_before.clamp(128, 1000),
    }
}

/// Rows from which on COPY is used, which takes one round trip more than arrays.
const COPIED_MIN: usize = 50;

/// Locks the accesses with these numbers until the transaction ends. Rows are locked in the order of their numbers, so
/// that two transactions don't deadlock.
pub(crate) async fn lock_accesses(
    tx: &Tx,
    tenant: &TenantName,
    mut numbers: Vec<u64>,
) -> Result<Vec<(u64, Access)>, StoreError> {
    numbers.sort_unstable();
    if let Some(session) = tx.postgres() {
        let numbers: Vec<_> = numbers.into_iter().map(as_integer).collect();
        let sql = concat!(
            "SELECT ",
            access::columns!(),
            " FROM access WHERE tenant = ?1 AND number = ANY(?2) ORDER BY number FOR UPDATE"
        );
        let rows = session.bulk(sql, &[&tenant.as_str(), &numbers]).await?;
        return rows.iter().map(|row| access::read_numbered(&Row::Postgres(row))).collect();
    }
    let sql =
        concat!("SELECT ", access::columns!(), " FROM access WHERE tenant = ?1 AND number = ?2");
    let mut accesses = Vec::new();
    for number in numbers {
        let values = [tenant.as_str().into(), number.into()];
        accesses.extend(tx.row(sql, &values, access::read_numbered).await?);
    }
    Ok(accesses)
}

/// The accesses with these numbers, in the order of their numbers.
pub(crate) async fn read_accesses(
    tx: &Tx,
    tenant: &TenantName,
    numbers: Vec<u64>,
) -> Result<Vec<(u64, Access)>, StoreError> {
    let Some(session) = tx.postgres() else { return read_runs(tx, tenant, numbers).await };
    let numbers: Vec<_> = numbers.into_iter().map(as_integer).collect();
    let sql = concat!(
        "SELECT ",
        access::columns!(),
        " FROM access WHERE tenant = ?1 AND number = ANY(?2) ORDER BY number"
    );
    let rows = session.bulk(sql, &[&tenant.as_str(), &numbers]).await?;
    rows.iter().map(|row| access::read_numbered(&Row::Postgres(row))).collect()
}

/// Reads the accesses with these numbers, a run of successive numbers in one statement.
async fn read_runs(
    tx: &Tx,
    tenant: &TenantName,
    mut numbers: Vec<u64>,
) -> Result<Vec<(u64, Access)>, StoreError> {
    numbers.sort_unstable();
    let sql = concat!(
        "SELECT ",
        access::columns!(),
        " FROM access WHERE tenant = ?1 AND number >= ?2 AND number <= ?3 ORDER BY number"
    );
    let mut accesses = Vec::with_capacity(numbers.len());
    for run in numbers.chunk_by(|one, next| *next == one + 1) {
        let values = [tenant.as_str().into(), run[0].into(), run[run.len() - 1].into()];
        accesses.extend(tx.rows(sql, &values, access::read_numbered).await?);
    }
    Ok(accesses)
}

/// The identifiers of the accesses with these numbers, in the order of their numbers.
pub(crate) async fn read_ids(
    tx: &Tx,
    tenant: &TenantName,
    numbers: Vec<u64>,
) -> Result<Vec<AccessId>, StoreError> {
    if let Some(session) = tx.postgres() {
        let numbers: Vec<_> = numbers.into_iter().map(as_integer).collect();
        let sql = "SELECT id FROM access WHERE tenant = ?1 AND number = ANY(?2) ORDER BY number";
        let rows = session.bulk(sql, &[&tenant.as_str(), &numbers]).await?;
        return rows.iter().map(|row| read_id(&Row::Postgres(row))).collect();
    }
    let sql = "SELECT id FROM access WHERE tenant = ?1 AND number = ?2";
    let mut ids = Vec::with_capacity(numbers.len());
    for number in numbers {
        ids.extend(tx.row(sql, &[tenant.as_str().into(), number.into()], read_id).await?);
    }
    Ok(ids)
}

/// Reads the identifier in the first column.
pub(crate) fn read_id(row: &Row<'_>) -> Result<AccessId, StoreError> {
    row.id(0).map(AccessId::from_bytes)
}

/// Locks the accesses with these identifiers until the transaction ends, and reads them with their password hashes.
/// Rows are locked in the order of their numbers here too.
pub(crate) async fn lock_named(
    tx: &Tx,
    tenant: &TenantName,
    ids: &[AccessId],
) -> Result<Vec<StoredAccess>, StoreError> {
    if let Some(session) = tx.postgres() {
        let ids: Vec<_> = ids.iter().map(|id| id.as_bytes().as_slice()).collect();
        let sql = concat!(
            access::stored!(),
            " WHERE tenant = ?1 AND id = ANY(?2) ORDER BY number FOR UPDATE"
        );
        let rows = session.bulk(sql, &[&tenant.as_str(), &ids]).await?;
        return rows.iter().map(|row| access::read_stored(&Row::Postgres(row))).collect();
    }
    let sql = concat!(access::stored!(), " WHERE tenant = ?1 AND id = ?2");
    let mut found = Vec::new();
    for id in ids {
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        found.extend(tx.row(sql, &values, access::read_stored).await?);
    }
    Ok(found)
}

/// Updates locked accesses. Without a new password hash an access keeps the present one.
pub(crate) async fn update(
    tx: &Tx,
    tenant: &TenantName,
    changes: &[Change],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let Some(session) = tx.postgres() else {
        for change in changes {
            access::write_one(tx, tenant, change).await?;
        }
        return Ok(());
    };
    fn column<'a, T>(changes: &'a [Change], of: impl Fn(&'a Access) -> T) -> Vec<T> {
        changes.iter().map(|change| of(&change.access)).collect()
    }
    let ms = |at: Timestamp| at.as_millisecond();
    let passwords: Vec<_> =
        changes.iter().map(|change| change.password.as_ref().map(|it| it.as_str())).collect();
    let sql = "UPDATE access a SET status = n.status, start_at = n.start_at, end_at = n.end_at, \
               first_connected_at = n.first_connected_at, is_terminating = n.is_terminating, \
               end_before = n.end_before, version = n.version, \
               password_hash = COALESCE(n.password_hash, a.password_hash), labels = n.labels \
               FROM unnest(?2::bytea[], ?3::text[], ?4::bigint[], ?5::bigint[], ?6::bigint[], \
               ?7::bigint[], ?8::bigint[], ?9::bigint[], ?10::text[], ?11::text[]) AS n (id, status, start_at, \
               end_at, first_connected_at, is_terminating, end_before, version, password_hash, labels) \
               WHERE a.tenant = ?1 AND a.id = n.id";
    session
        .bulk(
            sql,
            &[
                &tenant.as_str(),
                &column(changes, |it| it.id.as_bytes().as_slice()),
                &column(changes, |it| it.status.as_str()),
                &column(changes, |it| ms(it.start)),
                &column(changes, |it| it.end.map(ms)),
                &column(changes, |it| it.first_connected_at.map(ms)),
                &column(changes, |it| i64::from(it.termination.is_some())),
                &column(changes, |it| it.termination.and_then(|it| it.end_before).map(ms)),
                &column(changes, |it| as_integer(it.version)),
                &passwords,
                &column(changes, |it| it.labels.stored()),
            ],
        )
        .await
        .map(drop)
}

/// A number as PostgreSQL stores it, like `Value::from`.
pub(crate) fn as_integer(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

const COLUMNS: usize = 21;

/// The columns of an access, as [`row_of`] fills them.
macro_rules! columns {
    () => {
        "tenant, number, offering_number, contract_number, job_number, id, contract_id, offering_id, \
         job, username, password_hash, device_name, status, start_at, end_at, created_at, \
         first_connected_at, is_terminating, end_before, version, labels"
    };
}

/// PostgreSQL's types of the columns.
const TYPES: [Type; COLUMNS] = [
    Type::TEXT,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::TEXT,
    Type::TEXT,
    Type::BYTEA,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::TEXT,
];

/// Inserts accesses that were numbered under the tenant's lock.
pub(crate) async fn insert(
    tx: &Tx,
    tenant: &TenantName,
    numbered: &[Numbered],
) -> Result<(), StoreError> {
    if numbered.is_empty() {
        return Ok(());
    }
    let rows = || numbered.iter().map(|new| row_of(tenant, new)).collect::<Vec<_>>();
    match tx.postgres() {
        Some(session) if numbered.len() < COPIED_MIN || !session.copies() => {
            insert_columns(session, tenant, numbered).await
        }
        Some(session) => {
            let sql = concat!("COPY access (", columns!(), ") FROM STDIN (FORMAT binary)");
            session.copy(sql, &TYPES, &rows()).await
        }
        None => {
            let sql = concat!(
                "INSERT INTO access (",
                columns!(),
                ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
                 ?17, ?18, ?19, ?20, ?21)"
            );
            tx.execute_each(sql, &rows()).await
        }
    }
}

fn row_of<'a>(tenant: &'a TenantName, new: &'a Numbered) -> [Value<'a>; COLUMNS] {
    let access = &new.access;
    [
        tenant.as_str().into(),
        new.number.into(),
        new.offering_number.into(),
        new.contract_number.into(),
        new.job_number.into(),
        access.id.as_bytes().as_slice().into(),
        access.contract_id.as_str().into(),
        access.offering_id.as_str().into(),
        access.created_by.as_ref().map(|job| job.as_bytes().as_slice()).into(),
        access.username.as_str().into(),
        new.password_hash.as_str().into(),
        access.device_name.as_ref().map(|name| name.as_str()).into(),
        access.status.as_str().into(),
        access.start.into(),
        access.end.into(),
        access.created_at.into(),
        access.first_connected_at.into(),
        i64::from(access.termination.is_some()).into(),
        access.termination.and_then(|planned| planned.end_before).into(),
        access.version.into(),
        access.labels.stored().into(),
    ]
}

async fn insert_columns(
    session: &crate::db::Session,
    tenant: &TenantName,
    numbered: &[Numbered],
) -> Result<(), StoreError> {
    fn column<'a, T>(numbered: &'a [Numbered], of: impl Fn(&'a Numbered) -> T) -> Vec<T> {
        numbered.iter().map(of).collect()
    }
    let number = as_integer;
    let ms = |at: Timestamp| at.as_millisecond();

    let sql = concat!(
        "INSERT INTO access (",
        columns!(),
        ") SELECT ?1::text, * FROM unnest(?2::bigint[], ?3::bigint[], ?4::bigint[], ?5::bigint[], \
         ?6::bytea[], ?7::text[], ?8::text[], ?9::bytea[], ?10::text[], ?11::text[], ?12::text[], \
         ?13::text[], ?14::bigint[], ?15::bigint[], ?16::bigint[], ?17::bigint[], ?18::bigint[], \
         ?19::bigint[], ?20::bigint[], ?21::text[])"
    );
    session
        .bulk(
            sql,
            &[
                &tenant.as_str(),
                &column(numbered, |it| number(it.number)),
                &column(numbered, |it| number(it.offering_number)),
                &column(numbered, |it| number(it.contract_number)),
                &column(numbered, |it| it.job_number.map(number)),
                &column(numbered, |it| it.access.id.as_bytes().as_slice()),
                &column(numbered, |it| it.access.contract_id.as_str()),
                &column(numbered, |it| it.access.offering_id.as_str()),
                &column(numbered, |it| {
                    it.access.created_by.as_ref().map(|job| job.as_bytes().as_slice())
                }),
                &column(numbered, |it| it.access.username.as_str()),
                &column(numbered, |it| it.password_hash.as_str()),
                &column(numbered, |it| it.access.device_name.as_ref().map(|name| name.as_str())),
                &column(numbered, |it| it.access.status.as_str()),
                &column(numbered, |it| ms(it.access.start)),
                &column(numbered, |it| it.access.end.map(ms)),
                &column(numbered, |it| ms(it.access.created_at)),
                &column(numbered, |it| it.access.first_connected_at.map(ms)),
                &column(numbered, |it| i64::from(it.access.termination.is_some())),
                &column(numbered, |it| {
                    it.access.termination.and_then(|planned| planned.end_before).map(ms)
                }),
                &column(numbered, |it| number(it.access.version)),
                &column(numbered, |it| it.access.labels.stored()),
            ],
        )
        .await
        .map(drop)
}
