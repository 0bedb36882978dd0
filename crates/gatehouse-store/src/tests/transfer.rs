//! Transfer from SQLite to PostgreSQL: every row of every table, however often it is interrupted.

use std::path::Path;

use tokio::sync::Notify;

use super::*;
use crate::db::{Db, SnapshotFor, Value, WriteKind};
use crate::transfer::{ALL_TABLES, ColumnKind, NOT_COPIED, Transfer};
use crate::{NotTransferred, StoreError, TransferProgress, TransferResult, TransferStage};

/// Rows of each tenant in every table.
const N_ROWS: i64 = 4;

/// Rows in a page: fewer than a tenant has.
const N_AT_ONCE: usize = 3;

/// Texts with any script, quotes, and the longest allowed length.
const AWKWARD: [&str; 4] = ["🚲 Zoë's\\\"pump\"", "'; DROP TABLE access; --", "\\N\\.\t\r\n", ""];

/// An embedded store with rows in every table, and an empty target.
struct House {
    dir: tempfile::TempDir,
    source: Store,
    url: DatabaseUrl,
    clock: Clock,
}

impl House {
    async fn new(test: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::by_hand(day(0));
        let source = Store::open_sqlite(&dir.path().join("test.db"), clock.clone()).await.unwrap();
        let url = empty_schema(test).await;
        fill(&dir.path().join("test.db"));
        Self { dir, source, url, clock }
    }

    fn target(&self) -> Db {
        Db::open_postgres(&self.url, self.clock.clone()).unwrap()
    }

    fn transfer(&self) -> Transfer {
        let (source, target) = (self.source.db.clone(), self.target());
        Transfer { source, target, n_at_once: N_AT_ONCE }
    }

    async fn run(&self) -> Result<TransferResult, NotTransferred> {
        self.transfer().run(vec![("token-key", b"sealed".to_vec())], &|_| ()).await
    }

    /// Runs until `happened`, and is dropped then, as in a crash; returns the result if the transfer ended first.
    async fn run_until(
        &self,
        ends: impl Fn(TransferProgress) -> bool + Send + Sync,
    ) -> Option<Result<TransferResult, NotTransferred>> {
        let ended = Notify::new();
        let tell = |progress| {
            if ends(progress) {
                ended.notify_one();
            }
        };
        let transfer = self.transfer();
        tokio::select! {
            biased;
            () = ended.notified() => None,
            moved = transfer.run(Vec::new(), &tell) => Some(moved),
        }
    }

    fn in_source(&self, sql: &str) {
        let file = self.dir.path().join("test.db");
        rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    }

    async fn in_target(&self, sql: &'static str) {
        self.target().write(WriteKind::Server, async move |tx| tx.script(sql).await).await.unwrap();
    }

    /// Whether a server would start on the target, and a command would open it.
    async fn is_open(&self) -> bool {
        let served = Store::open_postgres(&self.url, self.clock.clone()).await;
        let attached = Store::attach_postgres(&self.url, self.clock.clone()).await;
        match (served, attached) {
            (Ok(_), Ok(Some(_))) => true,
            (Err(StoreError::Unfinished), Err(StoreError::Unfinished)) => false,
            (served, attached) => panic!("{:?} {:?}", served.err(), attached.err()),
        }
    }
}

/// Inserts rows of two tenants into every table, as awkward as its columns allow.
fn fill(file: &Path) {
    let db = rusqlite::Connection::open(file).unwrap();
    for table in ALL_TABLES {
        let sql =
            format!("SELECT name FROM pragma_table_info('{}') WHERE \"notnull\" = 0", table.name);
        let mut statement = db.prepare(&sql).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let nullable: Vec<_> = names.map(Result::unwrap).collect();
        let names: Vec<_> = table.columns.iter().map(|it| it.name).collect();
        let places: Vec<_> = (1..=names.len()).map(|n| format!("?{n}")).collect();
        let (names, places) = (names.join(", "), places.join(", "));
        let sql = format!("INSERT INTO {} ({names}) VALUES ({places})", table.name);
        for (tenant, n) in
            ["acme", "zoo"].into_iter().flat_map(|it| (1..=N_ROWS).map(move |n| (it, n)))
        {
            if n > 1 && table.n_key == 1 && table.columns[0].name == "tenant" {
                continue;
            }
            let awkward = format!("{tenant} {n} {}", AWKWARD[n as usize % AWKWARD.len()]);
            let bytes: Vec<u8> = awkward.bytes().chain(0..=255).collect();
            let long = "ü".repeat(128);
            let padded = [&[0; 4096], bytes.as_slice()].concat();
            let values = table.columns.iter().map(|column| {
                if nullable.iter().any(|it| it == column.name) && n % 2 == 0 {
                    return Value::Null;
                }
                match (column.kind, column.name) {
                    (ColumnKind::Text, "tenant") => Value::Text(tenant),
                    (ColumnKind::Text, "detail") => Value::Text(&long),
                    (ColumnKind::Text, _) => Value::Text(&awkward),
                    (ColumnKind::Integer, "is_leased") => Value::Integer(n % 2),
                    (ColumnKind::Integer, "due_at") => Value::Integer(i64::MAX - n),
                    (ColumnKind::Integer, _) => Value::Integer(n),
                    (ColumnKind::Bytes, _) if table.name == "secret" => Value::Bytes(&padded),
                    (ColumnKind::Bytes, _) => Value::Bytes(&bytes),
                }
            });
            let values: Vec<_> = values.collect();
            db.execute(&sql, rusqlite::params_from_iter(&values)).unwrap();
        }
    }
}

/// A table's columns with their types, and its primary key.
type Shape = (String, Vec<(String, ColumnKind)>, Vec<String>);

fn listed() -> Vec<Shape> {
    let mut shapes: Vec<_> = ALL_TABLES
        .iter()
        .map(|table| {
            let mut columns: Vec<_> =
                table.columns.iter().map(|it| (it.name.to_owned(), it.kind)).collect();
            let key = columns[..table.n_key].iter().map(|it| it.0.clone()).collect();
            columns.sort_by(|a, b| a.0.cmp(&b.0));
            (table.name.to_owned(), columns, key)
        })
        .collect();
    shapes.sort_by(|a, b| a.0.cmp(&b.0));
    shapes
}

/// The catalogue's rows: table, column, type, position in the primary key or 0.
async fn shapes(db: &Db, sql: &'static str) -> Vec<Shape> {
    let read = |row: &crate::db::Row<'_>| {
        let kind = match row.text(2)?.as_str() {
            "INTEGER" | "bigint" => ColumnKind::Integer,
            "TEXT" | "text" => ColumnKind::Text,
            "BLOB" | "bytea" => ColumnKind::Bytes,
            other => panic!("no column of ours is {other}"),
        };
        Ok((row.text(0)?, row.text(1)?, kind, row.integer(3)?))
    };
    // Reading a catalogue takes longer than a row may, on a busy machine.
    let rows = db
        .snapshot(SnapshotFor::Server(None), async move |tx| tx.rows(sql, &[], read).await)
        .await
        .unwrap();
    let copied: Vec<_> =
        rows.into_iter().filter(|it| !NOT_COPIED.contains(&it.0.as_str())).collect();
    let tables = copied.chunk_by(|a, b| a.0 == b.0).map(|rows| {
        let mut columns: Vec<_> = rows.iter().map(|it| (it.1.clone(), it.2)).collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        let mut key: Vec<_> = rows.iter().filter(|it| it.3 > 0).collect();
        key.sort_by_key(|it| it.3);
        (rows[0].0.clone(), columns, key.into_iter().map(|it| it.1.clone()).collect())
    });
    tables.collect()
}

#[tokio::test]
async fn the_list_of_tables_is_what_both_databases_have() {
    for case in stores("the_list_of_tables_is_what_both_have").await {
        let sql = match case.kind {
            "SQLite" => {
                "SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t \
                 JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name"
            }
            _ => {
                "SELECT c.table_name::text, c.column_name::text, c.data_type::text, \
                 COALESCE((SELECT k.ordinal_position FROM information_schema.key_column_usage k \
                 WHERE k.table_schema = c.table_schema AND k.table_name = c.table_name \
                 AND k.column_name = c.column_name), 0)::bigint FROM information_schema.columns c \
                 WHERE c.table_schema = current_schema() ORDER BY c.table_name COLLATE \"C\""
            }
        };
        assert_eq!(shapes(&case.store.db, sql).await, listed(), "{}", case.kind);
    }
}

#[tokio::test]
async fn every_row_arrives_as_it_was() {
    let house = House::new("every_row_arrives_as_it_was").await;
    let TransferResult::Whole(compared) = house.run().await.unwrap() else { panic!("it differs") };
    assert_eq!(compared.len(), ALL_TABLES.len());
    for table in &compared {
        let is_per_tenant = ["tenant", "set_build", "journal", "audit_ends"].contains(&table.table);
        let expected = if is_per_tenant { 2 } else { 2 * N_ROWS as u64 };
        assert_eq!(table.target.n_rows, expected, "{}", table.table);
        assert_eq!(table.source, table.target, "{}", table.table);
    }
    // Not with the code that compared.
    let target = house.target();
    let sql =
        "SELECT username, id, end_at, number FROM access WHERE tenant = 'zoo' ORDER BY number";
    let read = |row: &crate::db::Row<'_>| {
        Ok((row.text(0)?, row.bytes(1)?, row.optional_count(2)?, row.integer(3)?))
    };
    let there = target.rows(sql, &[], read).await.unwrap();
    let here = house.source.db.rows(sql, &[], read).await.unwrap();
    assert_eq!(there, here);
    assert_eq!(there[0].0, format!("zoo 1 {}", AWKWARD[1]));
    let sql = "SELECT body FROM secret WHERE tenant = 'zoo' ORDER BY name";
    let secrets = target.rows(sql, &[], |row| row.bytes(0)).await.unwrap();
    assert_eq!(secrets[0], there[0].1, "without what SQLite has before it");
    let sql = "SELECT part, due_at, is_leased, epoch FROM due WHERE tenant = 'acme' ORDER BY part";
    let read = |row: &crate::db::Row<'_>| {
        Ok([row.integer(0)?, row.integer(1)?, row.integer(2)?, row.integer(3)?])
    };
    let free = target.rows(sql, &[], read).await.unwrap();
    let meant = (1..=N_ROWS).map(|n| [n, i64::MAX - n, 0, n + n % 2]);
    assert_eq!(free, meant.collect::<Vec<_>>(), "leases end, and can't be used any more");
    let held = house.source.db.rows(sql, &[], read).await.unwrap();
    assert_eq!(held[0][2], 1, "the source stays as it is");
    assert!(house.is_open().await);
    let store = Store::open_postgres(&house.url, house.clock.clone()).await.unwrap();
    assert_eq!(store.server_key("token-key").await.unwrap().unwrap(), b"sealed");
    assert_eq!(
        house.run().await.unwrap(),
        TransferResult::AlreadyDone,
        "once more, nothing is done"
    );
}

#[tokio::test]
async fn a_transfer_resumes_wherever_it_was_interrupted() {
    let house = House::new("it_goes_on_wherever").await;
    let mut n_interrupted = 0;
    let moved = loop {
        match house.run_until(|it| it.stage == TransferStage::Copying).await {
            Some(moved) => break moved.unwrap(),
            None => n_interrupted += 1,
        }
        assert!(!house.is_open().await, "after {n_interrupted} chunks");
    };
    assert!(n_interrupted > ALL_TABLES.len(), "{n_interrupted}");
    assert!(matches!(moved, TransferResult::Whole(_)), "{moved:?}");
    assert!(house.is_open().await);
}

#[tokio::test]
async fn a_transfer_with_differences_names_them_and_stays_unfinished() {
    let house = House::new("what_differs_is_named").await;
    let comparing = |it: TransferProgress| it.stage == TransferStage::Comparing;
    assert!(house.run_until(comparing).await.is_none());
    house
        .in_target("UPDATE access SET device_name = 'x' WHERE tenant = 'zoo' AND number = 2")
        .await;
    let differs = |moved| {
        let TransferResult::Differs(compared) = moved else { panic!("{moved:?}") };
        let differing = compared.into_iter().filter(|it| !it.is_equal());
        differing.map(|it| (it.table, it.source.n_rows, it.target.n_rows)).collect::<Vec<_>>()
    };
    assert_eq!(differs(house.run().await.unwrap()), [("access", 8, 8)]);
    assert!(!house.is_open().await);
    house.in_target("DELETE FROM day WHERE tenant = 'acme' AND day = 1").await;
    assert_eq!(differs(house.run().await.unwrap()), [("day", 8, 7), ("access", 8, 8)]);
    assert!(!house.is_open().await);
}

#[tokio::test]
async fn a_target_of_another_store_is_not_touched() {
    let house = House::new("somebody_elses").await;
    let store = Store::open_postgres(&house.url, house.clock.clone()).await.unwrap();
    for (sql, undo, table) in [
        ("INSERT INTO server_key VALUES ('k', 'v')", "DELETE FROM server_key", "server_key"),
        ("INSERT INTO tenant VALUES ('a', 'UTC')", "DELETE FROM tenant", "tenant"),
        ("INSERT INTO day VALUES ('a', 'created', 1, 1)", "DELETE FROM day", "day"),
    ] {
        house.in_target(sql).await;
        let refused = house.run().await.unwrap_err();
        assert!(matches!(refused, NotTransferred::NotEmpty(it) if it == table), "{refused}");
        assert!(store.server_key("transfer").await.unwrap().is_none(), "no mark was left");
        house.in_target(undo).await;
    }
    assert!(
        matches!(house.run().await.unwrap(), TransferResult::Whole(_)),
        "an empty schema is empty"
    );
}

#[tokio::test]
async fn only_the_same_source_resumes_a_transfer() {
    let house = House::new("only_the_same_source").await;
    assert!(house.run_until(|it| it.table == "client").await.is_none());
    house.in_source("UPDATE counter SET total = total + 1 WHERE tenant = 'zoo' AND total = 2");
    assert!(matches!(house.run().await.unwrap_err(), NotTransferred::AnotherSource));
    house.in_source(
        "UPDATE counter SET total = 2 WHERE tenant = 'zoo' AND total = 3 AND kind LIKE '%2%'",
    );
    assert!(matches!(house.run().await.unwrap(), TransferResult::Whole(_)), "it is as it was");
}

#[tokio::test]
async fn an_unfinished_migration_is_finished_by_the_version_that_began_it() {
    let house = House::new("finished_by_the_version").await;
    assert!(house.run_until(|it| it.table == "client").await.is_none());
    // The version is the watermark's first value: a byte for its type, and eight for the number.
    house
        .in_target(
            "UPDATE server_key SET value = '\\x010000000000000003'::bytea || substr(value, 10) \
             WHERE name = 'transfer'",
        )
        .await;
    let refused = house.run().await.unwrap_err();
    assert!(matches!(refused, NotTransferred::AnotherSchema { begun: 3, .. }), "{refused}");
}

#[tokio::test]
async fn one_of_two_concurrent_transfers_copies_everything() {
    let house = House::new("of_two_at_the_same_time").await;
    let (one, other) = tokio::join!(house.run(), house.run());
    let is_whole = |it: &Result<_, _>| matches!(it, Ok(TransferResult::Whole(_)));
    assert!(is_whole(&one) != is_whole(&other), "{one:?} {other:?}");
    for result in [one, other] {
        assert!(
            matches!(
                result,
                Ok(TransferResult::Whole(_) | TransferResult::AlreadyDone)
                    | Err(NotTransferred::Overtaken)
            ),
            "{result:?}"
        );
    }
    assert!(house.is_open().await);
}

#[tokio::test]
async fn a_text_that_postgres_can_not_store_is_named() {
    let house = House::new("no_room_for").await;
    house.in_source("UPDATE contract SET offering_id = 'a' || char(0) || 'b' WHERE tenant = 'zoo'");
    let refused = house.run().await.unwrap_err().to_string();
    assert!(refused.contains("`contract`") && refused.contains("`offering_id`"), "{refused}");
    assert!(!house.is_open().await);
}

/// A server that starts at the same moment as a transfer stores no keys in an incomplete target.
#[tokio::test]
async fn no_server_stores_its_keys_during_a_transfer() {
    let house = House::new("no_server_keeps_its_keys").await;
    let early = Store::open_postgres(&house.url, house.clock.clone()).await.unwrap();
    assert!(house.run_until(|it| it.table == "client").await.is_none());
    let refused = early.keep_server_key("master-key-fingerprint", b"f").await;
    assert!(matches!(refused, Err(StoreError::Unfinished)));
    assert!(matches!(house.run().await.unwrap(), TransferResult::Whole(_)));
}
