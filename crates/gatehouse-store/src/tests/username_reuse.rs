//! A username belongs to one access at a time, also before the expiry of an earlier access is stored, and also while
//! servers of an older version run.

use super::*;
use crate::access::{columns, read};
use crate::db::ProcessRole;
use crate::db::{Db, WriteKind};
use crate::migrate::{self, STEPS};
use crate::{CreateRefused, Replica, StoreError, UsernameReuse};
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, FILTER_FIELDS};
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::list::{HOLDERS_MAX, ListPath};
use gatehouse_core::{Access, PageRequest, Status};

async fn create(store: &Store, contract: &str, username: &str) -> Result<Access, CreateRefused> {
    store.create_access(&acme(), new(contract, username)).await.unwrap()
}

/// The identifiers on a page, the total, and the method of finding them.
async fn listed(store: &Store, query: &str, number: u64) -> (Vec<AccessId>, u64, ListPath) {
    let filter = AccessFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap();
    let request = PageRequest { number, size: 10 };
    let listed = store.accesses(&acme(), &filter, request.into()).await.unwrap().unwrap();
    let ids = listed.page.items.iter().map(|access| access.id).collect();
    (ids, listed.page.total, listed.path)
}

/// The access as stored.
async fn written(store: &Store, id: AccessId) -> Access {
    let sql = concat!("SELECT ", columns!(), " FROM access WHERE tenant = ?1 AND id = ?2");
    let values = ["acme".into(), id.as_bytes().as_slice().into()];
    store.db.row(sql, &values, read).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_username_is_free_again_once_its_access_is_terminated() {
    for Case { kind, store, .. } in stores("username_free_again").await {
        assert!(store.reuses_usernames(), "{kind}: an empty store has nothing to wait for");
        set_up(&store).await;
        let address = "00:1b:44:11:3a:b7";
        let mut held = Vec::new();
        for contract in ["c1", "c3", "c1"] {
            let made = create(&store, contract, address).await.unwrap();
            assert_eq!(create(&store, "c2", address).await, Err(CreateRefused::UsernameTaken));
            let checked = store.access_by_username(&acme(), &made.username).await.unwrap();
            assert_eq!(checked.unwrap().access.id, made.id, "{kind}: the one that lives");
            held.push(made.id);
            set_status(&store, made.id, TargetStatus::Terminated, day(0)).await;
            let checked = store.access_by_username(&acme(), &made.username).await.unwrap();
            assert_eq!(checked.unwrap().access.id, made.id, "{kind}: the last one");
        }
        let last = create(&store, "c1", address).await.unwrap();
        held.push(last.id);
        let all = (held.clone(), 4, ListPath::Interval);
        assert_eq!(listed(&store, &format!("username={address}"), 1).await, all, "{kind}");
        let of_c1 = vec![held[0], held[2], held[3]];
        let query = format!("username={address}&contractId=c1");
        assert_eq!(listed(&store, &query, 1).await.0, of_c1, "{kind}");
        let query = format!("username={address}&contractId=c3;contractId=c1");
        assert_eq!(listed(&store, &query, 1).await, (held.clone(), 4, ListPath::Merged), "{kind}");
        assert_eq!(listed(&store, &format!("name={address}"), 1).await.0, held, "{kind}");
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn a_creation_stores_the_expiry_of_the_access_that_held_its_username() {
    for Case { kind, store, clock, .. } in stores("username_meets_an_end").await {
        set_up(&store).await;
        let ending = |end| Contract { n_accesses_max: Some(1), end, ..contract("ending", "o2") };
        store.put_contract(&acme(), &ending(Some(day(1))), &audited()).await.unwrap().unwrap();
        let first = create(&store, "ending", "ann").await.unwrap();
        clock.set(day(1));
        // The end has come, and the expiry isn't stored.
        assert_eq!(written(&store, first.id).await.status, Status::Active);
        // A creation that is refused for another reason may store the expiry or not, but the counts are right.
        let refused = create(&store, "ending", "ann").await.unwrap_err();
        assert!(matches!(refused, CreateRefused::Refused(_)), "{kind}: {refused:?}");
        assert_sound(&store, kind).await;
        store.put_contract(&acme(), &ending(None), &audited()).await.unwrap().unwrap();
        let second = create(&store, "ending", "ann").await.unwrap();
        let ended = written(&store, first.id).await;
        assert_eq!((ended.status, ended.end), (Status::Terminated, Some(day(1))), "{kind}");
        assert_eq!(written(&store, second.id).await.status, Status::Active);
        // The quota of one counts only the second.
        let refused = create(&store, "ending", "bob").await.unwrap_err();
        assert!(matches!(refused, CreateRefused::Refused(_)), "{kind}: {refused:?}");
        assert_eq!(listed(&store, "username=ann", 1).await.0, [first.id, second.id], "{kind}");
        assert_sound(&store, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_creations_gets_a_reused_username() {
    for Case { kind, store, .. } in stores("username_wanted_by_many").await {
        set_up(&store).await;
        for round in 0..5 {
            let made = create(&store, "c1", "ann").await.unwrap();
            let ending = tokio::spawn({
                let store = store.clone();
                async move { set_status(&store, made.id, TargetStatus::Terminated, day(0)).await }
            });
            let wanting = (0..20).map(|_| {
                let store = store.clone();
                tokio::spawn(async move { create(&store, "c2", "ann").await })
            });
            let mut given = Vec::new();
            for wanted in wanting.collect::<Vec<_>>() {
                match wanted.await.unwrap() {
                    Ok(access) => given.push(access.id),
                    Err(refused) => assert_eq!(refused, CreateRefused::UsernameTaken, "{kind}"),
                }
            }
            ending.await.unwrap();
            assert!(given.len() <= 1, "{kind}, {round}: {given:?}");
            if given.is_empty() {
                // All of them came before the end, and now the username is free.
                given.push(create(&store, "c2", "ann").await.unwrap().id);
            }
            for id in given {
                set_status(&store, id, TargetStatus::Terminated, day(0)).await;
            }
        }
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn a_username_that_very_many_have_had_is_listed_whole() {
    for Case { kind, store, .. } in stores("username_of_many").await {
        set_up(&store).await;
        let mut held = Vec::new();
        for n in 0..=HOLDERS_MAX {
            let mut new = new(if n % 2 == 0 { "c1" } else { "c3" }, "ann");
            new.device_name = (n % 4 == 0).then(|| "pump".parse().unwrap());
            held.push(store.create_access(&acme(), new).await.unwrap().unwrap().id);
            if n < HOLDERS_MAX {
                set_status(&store, held[n], TargetStatus::Terminated, day(0)).await;
            }
        }
        let every = |step: usize, from: usize| -> Vec<AccessId> {
            held.iter().skip(from).step_by(step).copied().collect()
        };
        let unnamed: Vec<_> = (0..held.len()).filter(|n| n % 4 != 0).map(|n| held[n]).collect();
        for (query, expected) in [
            ("username=ann", held.clone()),
            ("username=ann&contractId=c3", every(2, 1)),
            ("username=ann&name=pump", every(4, 0)),
            ("username=ann&name=ann", unnamed.clone()),
            ("name=ann", unnamed.clone()),
            ("name=ann;name=pump", held.clone()),
            ("username=ann&contractId=c9", vec![]),
        ] {
            let mut found = Vec::new();
            for number in 1.. {
                let (page, total, _) = listed(&store, query, number).await;
                assert_eq!(total, expected.len() as u64, "{kind}: {query}");
                if page.is_empty() {
                    break;
                }
                found.extend(page);
            }
            assert_eq!(found, expected, "{kind}: {query}");
        }
        assert_eq!(listed(&store, "username=ann", 1).await.2, ListPath::Counted, "{kind}");
    }
}

/// The heartbeat of an older server, which doesn't fill the newer column.
async fn beat_of_an_older_server(store: &Store, now: Timestamp) {
    let written = store.db.write(WriteKind::Server, async move |tx| {
        let sql = "INSERT INTO replica (id, joined_at, seen_at, version, host, listen, key_name) \
                   VALUES (?1, ?2, ?2, 'older', 'host', 'listen', 'key') \
                   ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at";
        tx.execute(sql, &[[7_u8; 16][..].into(), now.into()]).await
    });
    written.await.unwrap();
}

/// A database of the version before, and a store on it that knows this version.
struct Upgraded {
    url: DatabaseUrl,
    clock: Clock,
    db: Db,
    before: Store,
}

impl Upgraded {
    async fn new(test: &str) -> Self {
        let url = empty_schema(test).await;
        let clock = Clock::by_hand(day(0));
        let db = Db::open_postgres(&url, clock.clone()).unwrap();
        migrate::take(&db, &STEPS[..9]).await.unwrap();
        add_later_tables(&db).await;
        let before = Store::attach_postgres(&url, clock.clone()).await.unwrap().unwrap();
        set_up(&before).await;
        Self { url, clock, db, before }
    }
}

#[tokio::test]
async fn usernames_are_reused_when_no_older_server_runs() {
    let Upgraded { url, clock, db, before } = Upgraded::new("username_beside").await;
    let ann = create(&before, "c1", "ann").await.unwrap();
    set_status(&before, ann.id, TargetStatus::Terminated, day(0)).await;
    beat_of_an_older_server(&before, clock.now()).await;

    let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
    let own = Replica {
        id: [9; 16],
        version: "newer".into(),
        host: "host".into(),
        listen: "listen".into(),
        key_name: "key".into(),
    };
    store.heartbeat(&own).await.unwrap();
    assert!(!store.reuses_usernames());
    assert_eq!(store.username_reuse().await.unwrap(), UsernameReuse::BuildingIndexes);
    assert_eq!(create(&store, "c1", "ann").await, Err(CreateRefused::UsernameTaken));
    // A username that the older server could not parse isn't stored.
    let colon = store.create_access(&acme(), new("c1", "a:b")).await;
    assert!(matches!(colon, Err(StoreError::Unavailable(_))), "{colon:?}");
    let filled = store.create_accesses(&acme(), vec![new("c1", "a:b")]).await;
    assert!(matches!(filled, Err(StoreError::Unavailable(_))), "{filled:?}");
    assert_eq!(listed(&store, "username=ann", 1).await.0, [ann.id]);

    // An index whose build was interrupted is built again.
    let broken = "CREATE UNIQUE INDEX access_username_live ON access (tenant, username) \
                  WHERE status <> 'TERMINATED'";
    db.run_outside_transaction(broken).await.unwrap();
    let sql = "UPDATE pg_index SET indisvalid = false \
               WHERE indexrelid = to_regclass('access_username_live')";
    db.run_outside_transaction(sql).await.unwrap();
    assert_eq!(store.advance_username_reuse().await.unwrap(), UsernameReuse::OlderServer);
    assert_eq!(store.username_reuse().await.unwrap(), UsernameReuse::OlderServer);
    assert_eq!(create(&store, "c1", "ann").await, Err(CreateRefused::UsernameTaken));
    create(&before, "c1", "bob").await.unwrap();

    // The older server is silent, but not for long enough.
    clock.set(clock.now().plus_milliseconds(59_000));
    store.heartbeat(&own).await.unwrap();
    assert_eq!(store.advance_username_reuse().await.unwrap(), UsernameReuse::OlderServer);
    clock.set(clock.now().plus_milliseconds(2_000));
    // From now on older programs are refused; but one may have been about to start.
    assert_eq!(store.advance_username_reuse().await.unwrap(), UsernameReuse::OlderServer);
    let older = migrate::take(&db, &STEPS[..9]).await.unwrap_err();
    assert!(matches!(older, StoreError::NewerSchema { .. }), "{older}");
    clock.set(clock.now().plus_milliseconds(30_000));
    beat_of_an_older_server(&store, clock.now()).await;
    clock.set(clock.now().plus_milliseconds(59_000));
    assert_eq!(store.advance_username_reuse().await.unwrap(), UsernameReuse::OlderServer);
    assert_eq!(create(&store, "c1", "ann").await, Err(CreateRefused::UsernameTaken));
    clock.set(clock.now().plus_milliseconds(2_000));
    assert_eq!(store.advance_username_reuse().await.unwrap(), UsernameReuse::Allowed);
    assert!(store.reuses_usernames());
    let again = create(&store, "c1", "ann").await.unwrap();
    assert_eq!(create(&store, "c1", "bob").await, Err(CreateRefused::UsernameTaken));
    create(&store, "c1", "a:b").await.unwrap();
    assert_eq!(listed(&store, "username=ann", 1).await.0, [ann.id, again.id]);
    assert_sound(&store, "PostgreSQL").await;

    // Another server that has run all the time notices, and an older program is refused.
    assert!(!before.reuses_usernames());
    assert_eq!(before.advance_username_reuse().await.unwrap(), UsernameReuse::Allowed);
    assert!(before.reuses_usernames());
}

const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Takes steps until usernames are reused, as a server does, while time passes quickly.
async fn free(store: Store, clock: Clock) {
    loop {
        match store.advance_username_reuse().await {
            Ok(UsernameReuse::Allowed) => return,
            Ok(UsernameReuse::OlderServer) => clock.set(clock.now().plus_milliseconds(10_000)),
            // Another server was faster, or PostgreSQL broke a deadlock.
            Ok(UsernameReuse::BuildingIndexes)
            | Err(StoreError::Unavailable(_) | StoreError::Locked(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn usernames_are_reused_while_all_servers_work() {
    let Upgraded { url, clock, before, .. } = Upgraded::new("username_while_all_work").await;
    let first = (0..2000).map(|n| new("c1", &format!("u{n}"))).collect();
    assert!(before.create_accesses(&acme(), first).await.unwrap().iter().all(Result::is_ok));
    let servers =
        [(); 3].map(|()| async { Store::open_postgres(&url, clock.clone()).await.unwrap() });
    let servers = futures_util::future::join_all(servers).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let working = servers.iter().enumerate().map(|(server, store)| {
        let (store, stop) = (store.clone(), stop.clone());
        tokio::spawn(async move {
            let mut n = 0;
            while !stop.is_cancelled() {
                let username = format!("server-{server}-{n}");
                let made = create(&store, "c3", &username).await.unwrap();
                set_status(&store, made.id, TargetStatus::Terminated, day(0)).await;
                let found = store.access_by_username(&acme(), &made.username).await.unwrap();
                assert_eq!(found.unwrap().access.id, made.id);
                assert_eq!(listed(&store, &format!("username={username}"), 1).await.1, 1);
                n += 1;
            }
        })
    });
    let working: Vec<_> = working.collect();
    // For example a backup, which reads the accesses all the time.
    let (read, reading) = tokio::sync::oneshot::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let reader = tokio::spawn({
        let store = before.clone();
        async move {
            let looked = store.db.write(
                WriteKind::Schema,
                once(async move |tx| {
                    tx.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
                    tx.rows("SELECT COUNT(*) FROM access", &[], |row| row.count(0)).await?;
                    let _ = read.send(());
                    let _ = ended.await;
                    Ok::<_, StoreError>(())
                }),
            );
            looked.await
        }
    });
    reading.await.unwrap();
    // All three build, and wait for the reader; creations and changes don't wait.
    let freeing = servers.iter().map(|store| tokio::spawn(free(store.clone(), clock.clone())));
    let freeing: Vec<_> = freeing.collect();
    let n_made = async || listed(&before, "contractId=c3", 1).await.1;
    let so_far = n_made().await;
    while n_made().await < so_far + 30 {
        tokio::time::sleep(PAUSE).await;
    }
    assert!(!servers.iter().any(Store::reuses_usernames));
    end.send(()).unwrap();
    reader.await.unwrap().unwrap();
    for one in freeing {
        one.await.unwrap();
    }
    stop.cancel();
    for one in working {
        one.await.unwrap();
    }
    assert_eq!(create(&servers[0], "c1", "u7").await, Err(CreateRefused::UsernameTaken));
    create(&servers[0], "c1", "server-0-0").await.unwrap();
    assert_sound(&servers[0], "PostgreSQL").await;
}

#[tokio::test]
async fn an_embedded_store_reuses_usernames_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let clock = Clock::by_hand(day(0));
    let db = Db::open_sqlite(path.as_path(), ProcessRole::Server, clock.clone()).unwrap();
    migrate::take(&db, &STEPS[..9]).await.unwrap();
    add_later_tables(&db).await;
    let before = Store::join_sqlite(&path, clock.clone()).await.unwrap().unwrap();
    set_up(&before).await;
    let ann = create(&before, "c1", "ann").await.unwrap();
    set_status(&before, ann.id, TargetStatus::Terminated, day(0)).await;
    assert_eq!(create(&before, "c1", "ann").await, Err(CreateRefused::UsernameTaken));
    before.close().await;
    remove_later_columns(&db).await;
    db.close().await;

    let store = Store::open_sqlite(&path, clock.clone()).await.unwrap();
    assert!(store.reuses_usernames());
    let again = create(&store, "c1", "ann").await.unwrap();
    assert_eq!(listed(&store, "username=ann", 1).await.0, [ann.id, again.id]);
    assert_sound(&store, "SQLite").await;
}
