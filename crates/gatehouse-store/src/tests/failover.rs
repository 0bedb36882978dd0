//! A database that is lost and comes back is a pause.

use futures_util::future::join_all;
use gatehouse_testing::FaultyLink;

use super::*;
use crate::db::{SnapshotFor, WriteKind};
use crate::{Put, StoreError};

/// A store whose connection to its database can be cut.
async fn behind_a_link(test: &str) -> (Store, FaultyLink, DatabaseUrl) {
    let url = gatehouse_testing::empty_schema(&format!("store_{test}")).await;
    let link = FaultyLink::to(&url).await;
    let through = link.through(&url).parse().unwrap();
    let store = Store::open_postgres(&through, Clock::machine()).await.unwrap();
    set_up(&store).await;
    (store, link, url.parse().unwrap())
}

/// Number of accesses, by a snapshot.
async fn total(store: &Store) -> u64 {
    let recount = "SELECT COUNT(*) FROM access WHERE tenant = ?1";
    let counted = store.db.snapshot(SnapshotFor::Server(None), async move |tx| {
        tx.row(recount, &["acme".into()], |row| row.count(0)).await
    });
    counted.await.unwrap().unwrap()
}

#[tokio::test]
async fn callers_do_not_notice_that_connections_were_cut() {
    let (store, link, _) = behind_a_link("connections_were_cut").await;
    let name = acme();
    for n in 0..20 {
        link.cut();
        let reads = join_all((0..8).map(|_| store.tenant(&name)));
        let username = format!("u{n}");
        let (reads, made) = tokio::join!(reads, store.create_access(&name, new("c1", &username)));
        assert!(reads.into_iter().all(|it| it.unwrap().is_some()));
        made.unwrap().unwrap();
        assert_eq!(total(&store).await, n + 1);
    }
}

#[tokio::test]
async fn calls_during_an_outage_wait_until_it_ends() {
    let (store, link, _) = behind_a_link("asks_while_it_is_away").await;
    link.unplug();
    let access = new("c1", "patient");
    let name = acme();
    let (read, made) = (store.tenant(&name), store.create_access(&name, access));
    let back = async {
        // Their retries have failed for a while.
        assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
        link.plug();
    };
    let (read, made, ()) = tokio::join!(read, made, back);
    assert!(read.unwrap().is_some());
    made.unwrap().unwrap();
    store.ping().await.unwrap();
}

#[tokio::test]
async fn retries_end_with_their_window_and_break_nothing() {
    let (store, link, _) = behind_a_link("patience_has_an_end").await;
    link.unplug();
    let name = acme();
    let reads = join_all((0..50).map(|_| store.tenant(&name)));
    let writes =
        join_all((0..50).map(|n| store.create_access(&name, new("c1", &format!("impatient{n}")))));
    let snapshot = store.summary(&name, day(0), 1);
    let (reads, writes, snapshot) = tokio::join!(reads, writes, snapshot);
    assert!(reads.iter().all(|it| matches!(it, Err(StoreError::Unavailable(_)))));
    assert!(writes.iter().all(|it| matches!(it, Err(StoreError::Unavailable(_)))));
    assert!(matches!(snapshot, Err(StoreError::Unavailable(_))));
    link.plug();
    // The next attempt follows without a request.
    while store.ping().await.is_err() {}
    assert_eq!(total(&store).await, 0);
    let made = join_all((0..50).map(|n| store.create_access(&name, new("c1", &format!("u{n}")))));
    assert!(made.await.into_iter().all(|it| it.unwrap().is_ok()));
}

#[tokio::test]
async fn a_suspended_database_is_reported_and_its_connections_are_closed() {
    let (store, link, _) = behind_a_link("frozen_database").await;
    link.freeze();
    assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))), "told at once");
    let read = store.tenant(&acme()).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    link.plug();
    while store.ping().await.is_err() {}
    store.create_access(&acme(), new("c1", "thawed")).await.unwrap().unwrap();
}

#[tokio::test]
async fn one_connection_that_hangs_makes_all_suspect() {
    let (store, link, _) = behind_a_link("connections_that_hang").await;
    let name = acme();
    let several = (0..24).map(|n| {
        store.change_access(&name, new("c1", "u").id, origin(), move |_, _| {
            Err::<crate::Change, _>(StoreError::Unexpected(n.to_string().into()))
        })
    });
    join_all(several).await;
    for _ in 0..8 {
        store.ping().await.unwrap();
    }
    assert!(store.meter().connections.get() > 5, "there are some for writes too");
    link.stall();
    assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))), "told at once");
    // The next requests find only connections that work.
    for n in 0..12 {
        store.ping().await.unwrap();
        store.create_access(&name, new("c1", &format!("u{n}"))).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_snapshot_whose_connection_was_cut_is_retried() {
    let (store, link, _) = behind_a_link("look_that_was_cut_off").await;
    store.create_access(&acme(), new("c1", "u1")).await.unwrap().unwrap();
    for _ in 0..3 {
        link.cut_after("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        assert_eq!(total(&store).await, 1);
        assert!(link.has_cut());
    }
}

#[tokio::test]
async fn a_lost_commit_is_reported_and_never_retried() {
    let (store, link, direct) = behind_a_link("lost_commit").await;
    let beside = Store::open_postgres(&direct, Clock::machine()).await.unwrap();
    for n in 0..10_u64 {
        // With the terminating zero, because a BEGIN also contains the word.
        link.cut_after("COMMIT\0");
        let made = store.create_access(&acme(), new("c1", &format!("u{n}"))).await;
        assert!(link.has_cut());
        assert!(matches!(made, Err(StoreError::OutcomeUnknown(_))), "{made:?}");
        // It had arrived, so it is committed, once.
        while total(&beside).await <= n {}
        assert_eq!(total(&beside).await, n + 1);
    }
    gatehouse_testing::record(
        "PostgreSQL: the connection is cut while the answer to COMMIT is on its way",
        10,
        "the caller is told that the outcome is unknown, and it is never written twice",
    );
}

/// A commit that was cancelled while it waited for a standby gets this response.
#[tokio::test]
async fn a_commit_with_a_warning_is_unsure() {
    let url = gatehouse_testing::empty_schema("store_commit_with_a_warning").await;
    let store = Store::open_postgres(&url.parse().unwrap(), Clock::machine()).await.unwrap();
    set_up(&store).await;
    store.create_access(&acme(), new("c1", "before")).await.unwrap().unwrap();
    gatehouse_testing::execute(
        &url,
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE WARNING 'no standby has it'; RETURN NULL; END$$; \
         CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON access DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION warn()",
    )
    .await;
    let made = store.create_access(&acme(), new("c1", "warned")).await;
    let Err(StoreError::OutcomeUnknown(why)) = made else { panic!("{made:?}") };
    assert_eq!(why.to_string(), "no standby has it");
    gatehouse_testing::execute(&url, "DROP TRIGGER warns ON access").await;
    store.create_access(&acme(), new("c1", "after")).await.unwrap().unwrap();
    assert_eq!(total(&store).await, 3, "the warned one is there, once");
}

#[tokio::test]
async fn a_write_that_was_cut_before_its_commit_is_retried() {
    let (store, link, _) = behind_a_link("cut_before_its_commit").await;
    // So that statements are prepared, and later requests send only their names.
    store.create_access(&acme(), new("c1", "u0")).await.unwrap().unwrap();
    link.cut_after("BEGIN ISOLATION LEVEL READ COMMITTED");
    store.create_access(&acme(), new("c1", "u1")).await.unwrap().unwrap();
    assert!(link.has_cut());
    assert_eq!(total(&store).await, 2);
}

#[tokio::test]
async fn a_retried_group_keeps_its_members() {
    let (store, link, _) = behind_a_link("goes_together_again").await;
    let name = acme();
    let create = |n: usize| store.create_access(&name, new("c1", &format!("u{n}")));
    create(0).await.unwrap().unwrap();
    for round in 0..5 {
        // In the middle of a transaction with several creations: the counter is locked, and nothing is committed.
        link.cut_after("u1");
        let several =
            (1..=40).map(|n| store.create_access(&name, new("c1", &format!("u1-{round}-{n}"))));
        for made in join_all(several).await {
            made.unwrap().unwrap();
        }
        assert!(link.has_cut());
        assert_eq!(total(&store).await, 1 + 40 * (round + 1));
    }
}

#[tokio::test]
async fn a_write_that_loses_a_deadlock_is_retried() {
    let url = empty_schema("loses_a_race").await;
    let store = Store::open_postgres(&url, Clock::machine()).await.unwrap();
    for name in ["a", "b"] {
        assert_eq!(store.put_tenant(&tenant(name), &audited()).await.unwrap(), Put::Created);
    }
    // Each locks the row that the other wants next; PostgreSQL aborts one of them, whose retry succeeds.
    let both = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let is_first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let lock_both = |first: &'static str, second: &'static str| {
        let (both, is_first) = (both.clone(), is_first.clone());
        store.db.write(WriteKind::Server, async move |tx| {
            let sql = "SELECT tenant FROM tenant WHERE tenant = ?1";
            tx.lock_row(sql, &[first.into()], |row| row.text(0)).await?;
            if is_first.load(Ordering::SeqCst) {
                both.wait().await;
                is_first.store(false, Ordering::SeqCst);
            }
            tx.lock_row(sql, &[second.into()], |row| row.text(0)).await
        })
    };
    let (one, other) = tokio::join!(lock_both("a", "b"), lock_both("b", "a"));
    assert_eq!((one.unwrap().as_deref(), other.unwrap().as_deref()), (Some("b"), Some("a")));
}

#[tokio::test]
async fn a_working_host_is_found_among_several() {
    let url = gatehouse_testing::empty_schema("store_of_several_hosts").await;
    let (dead, frozen, well) =
        (FaultyLink::to(&url).await, FaultyLink::to(&url).await, FaultyLink::to(&url).await);
    dead.unplug();
    frozen.freeze();
    let server = |link: &FaultyLink| {
        let through = link.through(&url);
        through.split(['@', '/']).nth(3).unwrap().to_owned()
    };
    let hosts = [server(&dead), server(&frozen), server(&well)].join(",");
    let several = url.replace(url.split(['@', '/']).nth(3).unwrap(), &hosts);
    let store = Store::open_postgres(&several.parse().unwrap(), Clock::machine()).await.unwrap();
    set_up(&store).await;
    // The working server is cut off, and another one is reachable instead.
    well.unplug();
    dead.plug();
    store.create_access(&acme(), new("c1", "moved")).await.unwrap().unwrap();
    assert!(store.tenant(&acme()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_host_that_takes_no_writes_is_not_used() {
    let url = gatehouse_testing::empty_schema("store_takes_no_writes").await;
    let read_only = format!("{url}%20-c%20default_transaction_read_only%3Don");
    let refused = Store::open_postgres(&read_only.parse().unwrap(), Clock::machine()).await;
    let refused = refused.err().unwrap().explained();
    assert!(refused.contains("does not allow writes"), "{refused}");
    let any = format!("{read_only}&target_session_attrs=any");
    let store = Store::attach_postgres(&any.parse().unwrap(), Clock::machine()).await.unwrap();
    assert!(store.is_none(), "it is connected, and finds nothing there");
}

/// Another client with an open transaction.
async fn connect_and_run(url: &str, sql: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    client
}

#[tokio::test]
async fn a_timed_out_lock_wait_leaves_no_transaction_in_the_database() {
    let url = gatehouse_testing::empty_schema("store_waited_in_vain").await;
    let ours = format!("{url}&application_name=waited-in-vain");
    let store = Store::open_postgres(&ours.parse().unwrap(), Clock::machine()).await.unwrap();
    set_up(&store).await;
    let locked = "BEGIN; SELECT * FROM contract FOR UPDATE; SELECT * FROM counter FOR UPDATE";
    let other = connect_and_run(&url, locked).await;
    let name = acme();
    let tries = (0..16).map(|n| store.create_access(&name, new("c1", &format!("u{n}"))));
    let replica = crate::Replica {
        id: [7; 16],
        version: String::new(),
        host: String::new(),
        listen: String::new(),
        key_name: String::new(),
    };
    let beside = async {
        assert!(
            store.heartbeat(&replica).await.is_ok(),
            "a server says that it is there all the same"
        );
        assert!(store.ping().await.is_ok(), "and nothing is wrong with the database");
    };
    let (tries, ()) = tokio::join!(join_all(tries), beside);
    assert!(tries.iter().all(|it| matches!(it, Err(StoreError::Unavailable(_)))), "{tries:?}");
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity \
                   WHERE application_name = 'waited-in-vain' AND wait_event_type = 'Lock'";
    while other.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0 {}
    other.batch_execute("ROLLBACK").await.unwrap();
    store.create_access(&name, new("c1", "free")).await.unwrap().unwrap();
    assert_eq!(total(&store).await, 1);
}

#[tokio::test]
async fn a_connection_to_a_read_only_server_is_closed() {
    let (store, _link, _) = behind_a_link("takes_no_writes_any_more").await;
    for n in 0..3 {
        let demoted: Result<(), StoreError> = store
            .db
            .write(WriteKind::Server, async |tx| {
                tx.script("SET default_transaction_read_only = on").await
            })
            .await;
        demoted.unwrap();
        store.create_access(&acme(), new("c1", &format!("u{n}"))).await.unwrap().unwrap();
    }
    assert_eq!(total(&store).await, 3);
}

#[tokio::test]
async fn waiting_calls_do_not_fail_a_health_check() {
    let url = gatehouse_testing::empty_schema("store_what_others_wait_for").await;
    let store = Store::open_postgres(&url.parse().unwrap(), Clock::machine()).await.unwrap();
    set_up(&store).await;
    let other = connect_and_run(&url, "BEGIN; LOCK TABLE contract IN ACCESS EXCLUSIVE MODE").await;
    let (name, contract) = (acme(), "c1".parse().unwrap());
    let reads = join_all((0..8).map(|_| store.contract(&name, &contract, day(0))));
    let beside = async {
        for _ in 0..50 {
            store.ping().await.unwrap();
        }
        other.batch_execute("ROLLBACK").await.unwrap();
    };
    let (reads, ()) = tokio::join!(reads, beside);
    assert!(reads.iter().all(|it| matches!(it, Ok(Some(_)))), "{reads:?}");
}
