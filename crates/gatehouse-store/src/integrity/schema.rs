//! The schema: whether the tables, columns and indexes are there that gatehouse made.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::Damage;
use crate::access::usernames;
use crate::migrate::{self, STEPS};

/// A table's or index's name, and a column's where it is about one.
type Part = (String, Option<String>);

/// Compares the schema with that of its version. It says which version that is, where the figures in it can be understood.
pub(super) fn compare(
    connection: &Connection,
    damage: &mut Damage,
) -> rusqlite::Result<Option<i64>> {
    let found = parts(connection)?;
    if !found.contains(&("schema_version".into(), None)) {
        damage.add("there is no table schema_version, which every store of gatehouse's has");
        return Ok(None);
    }
    let version = "SELECT COALESCE(MAX(version), 0) FROM schema_version";
    let version: i64 = connection.query_row(version, [], |row| row.get(0))?;
    if version < 1 {
        damage.add("the table schema_version has no version in it");
        return Ok(None);
    }
    // A program may have extended it that knows more: since version 8, steps only add. Whether this program can work with
    // that is not the question here.
    for part in expected(version.min(migrate::newest()))? {
        if !found.contains(&part) && !is_replaced(&part, &found) {
            damage.add(match part {
                (table, Some(column)) => format!("the table {table} has no column {column}"),
                (name, None) => format!("there is no table or index {name}"),
            });
        }
    }
    Ok(Some(version))
}

/// Indexes of usernames take the place of a former one.
fn is_replaced((name, column): &Part, found: &BTreeSet<Part>) -> bool {
    let has = |name: &str| found.contains(&(name.to_owned(), None));
    name == usernames::FORMER && column.is_none() && usernames::index_names().all(has)
}

/// All that a version of the schema has, as its steps make it.
fn expected(version: i64) -> rusqlite::Result<BTreeSet<Part>> {
    let model = Connection::open_in_memory()?;
    model.execute_batch(migrate::SQLITE_VERSION_TABLE)?;
    for step in STEPS.iter().filter(|step| step.version <= version) {
        model.execute_batch(step.sqlite)?;
    }
    parts(&model)
}

fn parts(connection: &Connection) -> rusqlite::Result<BTreeSet<Part>> {
    let sql = "SELECT name, NULL FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL \
               UNION ALL SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
               WHERE t.type = 'table'";
    let mut statement = connection.prepare(sql)?;
    let parts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    parts.collect()
}
