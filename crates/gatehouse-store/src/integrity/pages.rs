//! SQLite's own check of all pages: trees, rows, indexes and free pages.

use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::{Damage, FINDINGS_MAX, Integrity, gather, result_of};

/// Steps between two checks of the cancellation; a step is a page, or an instruction for a row.
const STEPS_BETWEEN_CHECKS: i32 = 1000;

/// First line of SQLite's findings, which says nothing.
const HEADING: &str = "*** in database ";

/// Longest finding. SQLite's are short; this keeps a log line readable.
const FINDING_CHARS_MAX: usize = 300;

pub(super) fn check(
    connection: &mut Connection,
    stop: &CancellationToken,
    damage: &mut Damage,
) -> Result<(), Integrity> {
    let stopped = stop.clone();
    let stops = move || stopped.is_cancelled();
    connection.progress_handler(STEPS_BETWEEN_CHECKS, Some(stops)).map_err(result_of)?;
    // If one check fails, the others are tried all the same.
    let checks = [
        integrity(connection, damage),
        foreign_keys(connection, damage),
        first_entries(connection),
    ];
    for looked in checks {
        if let Err(cause) = looked {
            gather(result_of(cause), damage)?;
        }
    }
    Ok(())
}

fn integrity(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    // One more than are shown, to know whether there are more.
    let sql = format!("PRAGMA integrity_check({})", FINDINGS_MAX + 1);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text: String = row.get(0)?;
        let findings = text.lines().filter(|it| !it.starts_with(HEADING) && *it != "ok");
        damage.add_all(findings.map(|it| it.chars().take(FINDING_CHARS_MAX).collect()));
    }
    Ok(())
}

/// Reads the first entry of every table and index. SQLite's check accepts the root of an empty one whose kind of page is
/// wrong, and then no statement can read it.
fn first_entries(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT tbl_name, CASE type WHEN 'index' THEN name END, sql FROM sqlite_schema \
               WHERE rootpage > 0 AND sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, index): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        let definition: String = row.get(2)?;
        let read = match index {
            None => format!("SELECT 1 FROM \"{table}\" NOT INDEXED LIMIT 1"),
            Some(index) => {
                // A partial index serves only a query with its condition.
                let condition = definition.split_once(" WHERE ").map_or("1", |(_, it)| it);
                format!(
                    "SELECT 1 FROM \"{table}\" INDEXED BY \"{index}\" WHERE {condition} LIMIT 1"
                )
            }
        };
        // Wrong definitions are found where the schema is compared.
        if let Ok(mut statement) = connection.prepare(&read) {
            statement.query([])?.next()?;
        }
    }
    Ok(())
}

/// Checks foreign keys. No table has any so far, so this takes no time.
fn foreign_keys(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        damage
            .add(format!("a row of the table {table} belongs to one of {parent} that isn't there"));
        if damage.has_more() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_under_way_is_stopped() {
        let mut connection = Connection::open_in_memory().unwrap();
        let many = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b); \
                    WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 20000) \
                    INSERT INTO t SELECT a, hex(a) FROM n;";
        connection.execute_batch(many).unwrap();
        let (stop, mut damage) = (CancellationToken::new(), Damage::default());
        assert_eq!(check(&mut connection, &stop, &mut damage), Ok(()));
        stop.cancel();
        let stopped = check(&mut connection, &stop, &mut damage);
        assert_eq!(stopped, Err(Integrity::Interrupted));
        assert_eq!(damage, Damage::default(), "that says nothing about the pages");
    }
}
