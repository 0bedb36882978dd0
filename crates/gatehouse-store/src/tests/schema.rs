use super::*;
use crate::StoreError;
use crate::db::{Db, ProcessRole, WriteKind};

#[tokio::test]
async fn opening_again_finds_the_schema_as_it_was_left() {
    for case in stores("opening_again_finds_the_schema").await {
        set_up(&case.store).await;
        let again = case.another().await.unwrap();
        assert!(again.tenant(&acme()).await.unwrap().is_some(), "{}", case.kind);
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_advice() {
    for case in stores("a_newer_schema_is_refused").await {
        case.store
            .db
            .write(WriteKind::Server, async |tx| {
                let sql = "INSERT INTO schema_version (version, needs) VALUES (?1, ?2)";
                tx.execute(sql, &[99_i64.into(), 50_i64.into()]).await
            })
            .await
            .unwrap();
        let error = case.another().await.err().unwrap();
        assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{}", case.kind);
        assert!(error.to_string().contains("start the newer gatehouse"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_together_take_the_steps_once() {
    let url = empty_schema("servers_that_start_together").await;
    let starts = (0..8).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { Store::open_postgres(&url, Clock::machine()).await.map(drop) })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn the_first_server_to_store_a_key_wins() {
    for case in stores("the_first_server_to_store_a_key_wins").await {
        assert_eq!(case.store.server_key("k").await.unwrap(), None);
        assert_eq!(case.store.keep_server_key("k", b"one").await.unwrap(), b"one");
        assert_eq!(case.store.keep_server_key("k", b"two").await.unwrap(), b"one", "{}", case.kind);
        assert_eq!(case.store.server_key("k").await.unwrap().unwrap(), b"one");
    }
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let url = empty_schema("a_lost_connection_is_made_again").await;
    let store = Store::open_postgres(&url, Clock::machine()).await.unwrap();
    set_up(&store).await;
    for n in 0..8 {
        // Closes its own connection in the middle of a write.
        let lost = store.db.write(WriteKind::Server, async |tx| {
            tx.script("SELECT pg_terminate_backend(pg_backend_pid())").await
        });
        assert!(matches!(lost.await, Err(StoreError::Unavailable(_))));
        store.create_access(&acme(), new("c1", &format!("u{n}"))).await.unwrap().unwrap();
        store.ping().await.unwrap();
    }
}

/// A store with the first schema version: two contracts, four accesses, of which one has ended and one has a future
/// end.
const AS_THE_FIRST_VERSION_LEFT_IT: &str = "
    INSERT INTO tenant VALUES ('acme', 'UTC');
    INSERT INTO contract VALUES
        ('acme', 'c1', 'o1', 'PAY_PER_USE', 'ACTIVE', NULL, NULL, NULL, NULL),
        ('acme', 'c2', 'o1', 'PAY_PER_USE', 'ACTIVE', NULL, NULL, NULL, NULL);
    INSERT INTO counter VALUES
        ('acme', 'tenant', '', 4, 86400002), ('acme', 'offering', 'o1', 4, 86400002),
        ('acme', 'contract', 'c1', 4, 86400002), ('acme', 'contract', 'c2', 0, 0);
    INSERT INTO usage VALUES ('acme', 'c1', 3), ('acme', 'c2', 0);
    INSERT INTO access VALUES
        ('acme', 1, 1, 1, NULL, ID1, 'c1', 'o1', NULL, 'u1', 'h', NULL, 'ACTIVE', 1, NULL, 1, NULL, 0, NULL, 1),
        ('acme', 2, 2, 2, NULL, ID2, 'c1', 'o1', NULL, 'u2', 'h', 'd', 'TERMINATED', 2, 86400009, 2, NULL, 0, NULL, 2),
        ('acme', 3, 3, 3, NULL, ID3, 'c1', 'o1', NULL, 'u3', 'h', 'd', 'SUSPENDED', 3, NULL, 86400002, NULL, 0, NULL, 2),
        ('acme', 4, 4, 4, NULL, ID4, 'c1', 'o1', NULL, 'u4', 'h', 'd', 'SUSPENDED', 3, 1800086400001, 86400002, NULL, 0, NULL, 2);
";

#[tokio::test]
async fn a_store_of_the_first_version_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let url = empty_schema("a_store_of_the_first_version").await;
    let clock = Clock::by_hand(day(0));
    for (kind, db, bytes) in [
        (
            "SQLite",
            Db::open_sqlite(path.as_path(), ProcessRole::Server, clock.clone()).unwrap(),
            ("x'", ""),
        ),
        ("PostgreSQL", Db::open_postgres(&url, clock.clone()).unwrap(), ("'\\x", "::bytea")),
    ] {
        let mut rows = AS_THE_FIRST_VERSION_LEFT_IT.to_owned();
        for n in 1..=4 {
            let id = format!("{}0{n}{}'{}", bytes.0, "00".repeat(15), bytes.1);
            rows = rows.replace(&format!("ID{n}"), &id);
        }
        crate::migrate::take(&db, &crate::migrate::STEPS[..1]).await.unwrap();
        db.write(WriteKind::Server, async move |tx| tx.script(&rows).await).await.unwrap();
        db.close().await;

        let store = match kind {
            "SQLite" => Store::open_sqlite(&path, clock.clone()).await.unwrap(),
            _ => Store::open_postgres(&url, clock.clone()).await.unwrap(),
        };
        let recount = store.recount(&acme()).await.unwrap();
        assert_eq!(recount.discrepancies, Vec::<String>::new(), "{kind}");
        assert_eq!(recount.n_accesses, 4);
        let contract = store.contract(&acme(), &"c1".parse().unwrap(), day(0)).await.unwrap();
        assert_eq!(contract.unwrap().n_live, 3, "{kind}");
        let next = store.next_due(&[crate::WorkKind::ExpiringAccesses]).await.unwrap();
        assert_eq!(next, Some(day(1).plus_milliseconds(60_000)), "{kind}");
        store.create_access(&acme(), new("c2", "u5")).await.unwrap().unwrap();
        assert_eq!(store.tenant(&acme()).await.unwrap().unwrap().page_number_max, None);
        assert_eq!(store.accounts(&acme()).await.unwrap(), Some(Vec::new()), "{kind}");
        let account = super::account::account("ALPHA", "a");
        super::account::put(&store, &account, "{}", None).await;
        assert_eq!(store.recount(&acme()).await.unwrap().discrepancies, Vec::<String>::new());
    }
}
