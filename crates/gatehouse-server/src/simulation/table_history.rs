//! History of each transaction's changes, written by triggers, without the store's code and rolled-back changes.

use gatehouse_core::Timestamp;
use rusqlite::{Connection, Row};

use super::limits::{N_ACCESSES_MAX, QUOTA_CONTRACT};

/// A change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A Task was accepted.
    Accepted { tenant: String, task: String, number: i64, kind: String },
    /// A Task advanced: state and processed items before and after.
    Advanced { tenant: String, task: String, before: (String, i64), after: (String, i64) },
    /// A Task was deleted that ended at this time.
    TaskDeleted { tenant: String, task: String, ended_at: Option<i64> },
    /// A Task's key was destroyed that was to be kept until this time.
    KeyDestroyed { tenant: String, task: String, until: Option<i64> },
    /// Work was claimed that was due, or leased, until this time.
    Claimed { tenant: String, work: String, until: i64 },
    /// Work was released.
    Released { tenant: String, work: String },
    /// Work was finished.
    Finished { tenant: String, work: String },
    /// An access changed its status, and has this end.
    Status { access: String, before: String, after: String, end_at: Option<i64> },
    /// A tenant was deleted with all its data.
    TenantDeleted { tenant: String },
    /// Live and reserved accesses of the contract with a quota.
    Quota { tenant: String, n_live: i64, n_reserved: i64 },
}

impl Event {
    /// Whether it completes a step that stores expiries.
    pub(super) fn ends_sweep(&self) -> bool {
        matches!(self, Self::Released { work, .. } | Self::Finished { work, .. }
                 if work.starts_with("ends "))
    }
}

const TABLE_HISTORY: &str = "
CREATE TABLE table_history (seq INTEGER PRIMARY KEY, what TEXT, tenant TEXT, name TEXT, a TEXT, b TEXT, m INTEGER, n INTEGER);
CREATE TRIGGER task_accepted AFTER INSERT ON task BEGIN
    INSERT INTO table_history (what, tenant, name, a, m) VALUES ('accepted', new.tenant, hex(new.id), new.kind, new.number);
END;
CREATE TRIGGER task_advanced AFTER UPDATE ON task
WHEN old.state <> new.state OR old.n_succeeded + old.n_failed <> new.n_succeeded + new.n_failed BEGIN
    INSERT INTO table_history (what, tenant, name, a, b, m, n) VALUES ('advanced', new.tenant, hex(new.id), old.state, new.state,
        old.n_succeeded + old.n_failed, new.n_succeeded + new.n_failed);
END;
CREATE TRIGGER task_forgotten AFTER DELETE ON task BEGIN
    INSERT INTO table_history (what, tenant, name, m) VALUES ('forgotten', old.tenant, hex(old.id), old.ended_at);
END;
CREATE TRIGGER key_destroyed AFTER DELETE ON secret WHEN old.kind = 'task' BEGIN
    INSERT INTO table_history (what, tenant, name, m) SELECT 'key', old.tenant, old.name, max(shows_secrets_until)
    FROM task WHERE tenant = old.tenant AND 'job' || lower(hex(id)) = replace(old.name, '-', '');
END;
CREATE TRIGGER due_leased AFTER UPDATE ON due WHEN old.epoch <> new.epoch BEGIN
    INSERT INTO table_history (what, tenant, name, m) VALUES (iif(new.is_leased, 'claimed', 'released'), new.tenant,
        new.kind || ' ' || new.name || ' ' || new.part, old.due_at);
END;
CREATE TRIGGER due_finished AFTER DELETE ON due BEGIN
    INSERT INTO table_history (what, tenant, name) VALUES ('finished', old.tenant, old.kind || ' ' || old.name || ' ' || old.part);
END;
CREATE TRIGGER access_status AFTER UPDATE ON access WHEN old.status <> new.status BEGIN
    INSERT INTO table_history (what, tenant, name, a, b, m) VALUES ('status', new.tenant, hex(new.id), old.status, new.status, new.end_at);
END;
CREATE TRIGGER tenant_deleted AFTER DELETE ON tenant BEGIN
    INSERT INTO table_history (what, tenant) VALUES ('deleted', old.tenant);
END;
CREATE TRIGGER quota_used AFTER UPDATE ON tally WHEN new.contract_id = 'few' BEGIN
    INSERT INTO table_history (what, tenant) VALUES ('quota', new.tenant);
END;
";

/// Creates the table of the history, and its triggers.
pub(super) fn begin(connection: &Connection) {
    connection.execute_batch(TABLE_HISTORY).unwrap();
}

/// Takes the changes since the last call.
pub(super) fn take(connection: &Connection, now: Timestamp) -> Vec<Event> {
    let sql = "SELECT what, tenant, name, a, b, m, n FROM table_history ORDER BY seq";
    let mut statement = connection.prepare_cached(sql).unwrap();
    let found = statement.query_map([], |row| read(connection, row, now)).unwrap();
    let events: Vec<Event> = found.map(Result::unwrap).collect();
    if !events.is_empty() {
        connection.prepare_cached("DELETE FROM table_history").unwrap().execute([]).unwrap();
    }
    events
}

fn read(connection: &Connection, row: &Row<'_>, now: Timestamp) -> rusqlite::Result<Event> {
    let tenant: String = row.get(1)?;
    let text = |column: usize| row.get::<_, String>(column);
    Ok(match text(0)?.as_str() {
        "accepted" => {
            Event::Accepted { tenant, task: text(2)?, number: row.get(5)?, kind: text(3)? }
        }
        "advanced" => {
            let (before, after) = ((text(3)?, row.get(5)?), (text(4)?, row.get(6)?));
            Event::Advanced { tenant, task: text(2)?, before, after }
        }
        "forgotten" => Event::TaskDeleted { tenant, task: text(2)?, ended_at: row.get(5)? },
        "key" => Event::KeyDestroyed { tenant, task: text(2)?, until: row.get(5)? },
        "claimed" => Event::Claimed { tenant, work: text(2)?, until: row.get(5)? },
        "released" => Event::Released { tenant, work: text(2)? },
        "finished" => Event::Finished { tenant, work: text(2)? },
        "status" => {
            let (before, after) = (text(3)?, text(4)?);
            Event::Status { access: text(2)?, before, after, end_at: row.get(5)? }
        }
        "deleted" => Event::TenantDeleted { tenant },
        _ => quota(connection, tenant, now)?,
    })
}

/// The contract with a quota after the transaction, its accesses counted one by one.
fn quota(connection: &Connection, tenant: String, now: Timestamp) -> rusqlite::Result<Event> {
    let sql = "SELECT t.n_reserved, (SELECT COUNT(*) FROM access a WHERE a.tenant = t.tenant \
               AND a.contract_id = t.contract_id AND a.status <> 'TERMINATED' \
               AND (a.end_at IS NULL OR a.end_at > ?3)) \
               FROM tally t WHERE t.tenant = ?1 AND t.contract_id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let values = (&tenant, QUOTA_CONTRACT, now.as_millisecond());
    let (n_reserved, n_live) = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Event::Quota { tenant, n_live, n_reserved })
}

/// Whether the quota holds.
pub(super) fn is_within_quota(n_live: i64, n_reserved: i64) -> bool {
    n_live + n_reserved <= N_ACCESSES_MAX.cast_signed()
}
