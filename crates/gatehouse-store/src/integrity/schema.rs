//! Check that all of gatehouse's tables, columns and indexes exist.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::Damage;
use crate::access::username_reuse;
use crate::migrate::{self, STEPS};

/// Name of a table or index, and of a column for a part of a table.
type Part = (String, Option<String>);

/// Compares the schema with that of its version. Returns the version; `None` where it is unknown.
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
    // A newer program may have extended the schema: since version 8, steps only add. Whether this program can work with
    // it is checked elsewhere.
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

/// Whether the new indexes of usernames have replaced this part.
fn is_replaced((name, column): &Part, found: &BTreeSet<Part>) -> bool {
    let has = |name: &str| found.contains(&(name.to_owned(), None));
    name == username_reuse::OLD_INDEX && column.is_none() && username_reuse::index_names().all(has)
}

/// All parts of a schema version, as its steps create them.
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
