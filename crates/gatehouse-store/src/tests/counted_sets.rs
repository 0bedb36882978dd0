//! Counted sets: they equal the accesses, whatever happens to these, also while they are being built.

use super::*;
use crate::access::list::Listed;
use crate::db::WriteKind;
use crate::{Replica, SetBuilding, StoreError, UnbuiltSets};
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, FILTER_FIELDS};
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::list::ListPath;
use gatehouse_core::list::request::{ListOrder, ListRequest};
use gatehouse_core::{PageRequest, Status};
use gatehouse_testing::SeededRandom;

async fn list(store: &Store, query: &str) -> Listed {
    let filter = AccessFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap();
    let request = PageRequest { number: 1, size: 1000 };
    store.accesses(&acme(), &filter, request.into()).await.unwrap().unwrap()
}

/// Removes a tenant's sets, as a store has it that an older program filled.
async fn forget_sets(store: &Store) {
    let forgotten = store.db.write(WriteKind::Server, async |tx| {
        for sql in [
            "DELETE FROM set_part WHERE tenant = 'acme'",
            "DELETE FROM set_sum WHERE tenant = 'acme'",
            "DELETE FROM set_build WHERE tenant = 'acme'",
            "UPDATE schema_version SET needs = 10 WHERE version = 11",
        ] {
            tx.execute(sql, &[]).await?;
        }
        Ok::<_, StoreError>(())
    });
    forgotten.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sets_are_built_while_accesses_are_created_and_changed() {
    for case in stores("sets_are_built").await {
        set_up(&case.store).await;
        let first: Vec<NewAccess> = (0..900).map(|n| new("c1", &format!("u{n}"))).collect();
        let created = case.store.create_accesses(&acme(), first).await.unwrap();
        let ids: Vec<AccessId> = created.into_iter().map(|it| it.unwrap().id).collect();
        set_status(&case.store, ids[7], TargetStatus::Suspended, day(0)).await;
        forget_sets(&case.store).await;
        let listed = list(&case.store, "status=SUSPENDED").await;
        assert_eq!((listed.page.total, listed.path), (1, ListPath::Counted), "{}", case.kind);

        let store = case.store.clone();
        let changing = tokio::spawn(async move {
            let mut random = SeededRandom(5);
            for n in 0..120 {
                set_status(&store, *random.pick(&ids), TargetStatus::Suspended, day(0)).await;
                store.create_access(&acme(), new("c2", &format!("v{n}"))).await.unwrap().unwrap();
            }
        });
        while !changing.is_finished() {
            case.store.build_sets(acme(), 20).await.unwrap();
        }
        changing.await.unwrap();
        // Small steps, until nothing is left.
        for _ in 0..100 {
            case.store.build_sets(acme(), 100).await.unwrap();
        }
        let by_sets = list(&case.store, "status=SUSPENDED").await;
        assert_eq!(by_sets.path, ListPath::Sets, "{}", case.kind);
        assert!(by_sets.page.total > 50, "{}", case.kind);
        let by_start = list(&case.store, "status=SUSPENDED&startDateTime%3E=2000-01-01").await;
        assert_eq!(by_start.path, ListPath::Sets, "{}", case.kind);
        let mut all = list(&case.store, "").await.page.items;
        all.retain(|it| it.status == Status::Suspended);
        assert_eq!(by_sets.page.items, all, "{}", case.kind);
        assert_eq!(by_start.page.items, all, "{}", case.kind);
        assert_sound(&case.store, case.kind).await;
    }
}

#[tokio::test]
async fn building_waits_for_the_end_of_older_servers() {
    let url = empty_schema("building_waits").await;
    let clock = Clock::by_hand(day(0));
    let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
    set_up(&store).await;
    store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
    forget_sets(&store).await;
    let replica = Replica {
        id: [1; 16],
        version: "0.0.1".into(),
        host: "old".into(),
        listen: "127.0.0.1:1".into(),
        key_name: "k".into(),
    };
    let older = async || {
        store.heartbeat(&replica).await.unwrap();
        let aged = store.db.write(WriteKind::Server, async |tx| {
            tx.execute("UPDATE replica SET knows = 10", &[]).await
        });
        aged.await.unwrap();
    };
    assert!(!store.has_server_without_labels().await.unwrap());
    older().await;
    assert!(store.has_server_without_labels().await.unwrap());
    // A new program, which has seen nothing yet.
    let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
    assert_eq!(store.advance_sets().await.unwrap(), SetBuilding::OlderServer);
    let unbuilt = UnbuiltSets { tenant: acme(), label: None, n_built: 0, n_accesses: 1 };
    assert_eq!(store.unbuilt_sets().await.unwrap(), [unbuilt]);
    // A tenant of this time gets its sets later, too.
    store.put_tenant(&tenant("umbra"), &audited()).await.unwrap();
    clock.set(day(0).plus_milliseconds(61_000));
    assert!(!store.has_server_without_labels().await.unwrap());
    assert_eq!(
        store.advance_sets().await.unwrap(),
        SetBuilding::OlderServer,
        "refused from now on"
    );
    clock.set(day(0).plus_milliseconds(122_000));
    assert_eq!(store.advance_sets().await.unwrap(), SetBuilding::Building);
    assert_eq!(store.advance_sets().await.unwrap(), SetBuilding::Building);
    assert_eq!(store.advance_sets().await.unwrap(), SetBuilding::Complete);
    assert_eq!(store.unbuilt_sets().await.unwrap(), []);
    assert_eq!(list(&store, "status=ACTIVE").await.path, ListPath::Sets);
    assert_sound(&store, "PostgreSQL").await;
}

#[tokio::test]
async fn a_recount_names_the_set_that_is_wrong() {
    #[rustfmt::skip]
    let cases = [
        ("UPDATE set_sum SET n = n + 1 WHERE kind = 'status'",   "the set status ACTIVE, numbers 0 to 262143: has 3 members, its parts say 3, and its sum is 4"),
        ("UPDATE set_part SET n = 2 WHERE kind = 'contract'",    "the set contract c1, numbers 0 to 262143: has 3 members, its parts say 2, and its sum is 3"),
        ("UPDATE set_part SET until = 9 WHERE kind = 'offering'", "the set offering o1, numbers 0 to 262143: has parts that leave out or repeat numbers"),
        ("DELETE FROM set_part WHERE kind = 'status'",           "the set status ACTIVE, numbers 0 to 262143: has other members than the 3 accesses that belong to it"),
    ];
    for (sql, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&dir.path().join("a.db"), Clock::machine()).await.unwrap();
        set_up(&store).await;
        let three = (0..3).map(|n| new("c1", &format!("u{n}"))).collect();
        store.create_accesses(&acme(), three).await.unwrap();
        assert_sound(&store, "before").await;
        let broken = store.db.write(WriteKind::Server, async move |tx| tx.execute(sql, &[]).await);
        broken.await.unwrap();
        assert_eq!(store.recount(&acme()).await.unwrap().discrepancies, [expected], "{sql}");
    }
}

#[tokio::test]
async fn a_write_to_a_damaged_set_fails_and_ends() {
    for case in stores("a_damaged_set").await {
        set_up(&case.store).await;
        let ids = (0..3).map(|n| new("c1", &format!("u{n}"))).collect();
        case.store.create_accesses(&acme(), ids).await.unwrap();
        let damage = "UPDATE set_part SET until = 2 WHERE tenant = 'acme' AND kind = 'status'";
        let damaged =
            case.store.db.write(WriteKind::Server, async move |tx| tx.execute(damage, &[]).await);
        damaged.await.unwrap();
        let error = case.store.create_access(&acme(), new("c1", "late")).await.unwrap_err();
        assert!(matches!(error, StoreError::Unexpected(_)), "{}: {error:?}", case.kind);
    }
}

#[tokio::test]
async fn a_tenant_of_the_same_name_begins_with_empty_sets() {
    for case in stores("begins_with_empty_sets").await {
        set_up(&case.store).await;
        // An older program deletes a tenant without its sets.
        let deleted = case.store.db.write(WriteKind::Server, async move |tx| {
            let sql = "INSERT INTO set_part (tenant, kind, name, first, until, n, bits) \
                       VALUES ('acme', 'status', 'ACTIVE', 0, 262144, 9, ?1)";
            tx.execute(sql, &[[1_u8, 2].as_slice().into()]).await?;
            for sql in [
                "DELETE FROM contract WHERE tenant = 'acme'",
                "DELETE FROM tally WHERE tenant = 'acme'",
                "DELETE FROM counter WHERE tenant = 'acme'",
                "DELETE FROM tenant WHERE tenant = 'acme'",
            ] {
                tx.execute(sql, &[]).await?;
            }
            Ok::<_, StoreError>(())
        });
        deleted.await.unwrap();
        set_up(&case.store).await;
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        let listed = list(&case.store, "status=ACTIVE").await;
        assert_eq!((listed.page.total, listed.path), (1, ListPath::Sets), "{}", case.kind);
        assert_sound(&case.store, case.kind).await;
    }
}

#[tokio::test]
async fn a_deleted_tenant_leaves_no_sets() {
    for case in stores("leaves_no_sets").await {
        set_up(&case.store).await;
        for id in ["c1", "c2", "c3"] {
            case.store.delete_contract(&acme(), &id.parse().unwrap(), &audited()).await.unwrap();
        }
        assert!(case.store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok());
        for sql in ["SELECT 1 FROM set_build", "SELECT 1 FROM set_part", "SELECT 1 FROM set_sum"] {
            assert!(case.store.db.rows(sql, &[], |_| Ok(())).await.unwrap().is_empty(), "{sql}");
        }
    }
}

#[tokio::test]
async fn pages_over_many_groups_equal_the_accesses() {
    // Numbers far apart, in 12 groups.
    const STEP: u64 = 50_000;
    for case in stores("pages_over_many_groups").await {
        let store = &case.store;
        set_up(store).await;
        let mut random = SeededRandom(1);
        let mut ids = Vec::new();
        for n in 0..60 {
            let contract = *random.pick(&["c1", "c2"]);
            let made = store.create_access(&acme(), new(contract, &format!("u{n}"))).await;
            ids.push(made.unwrap().unwrap().id);
        }
        for id in ids.iter().skip(10).filter(|_| random.roll(3) == 0) {
            set_status(store, *id, TargetStatus::Suspended, day(0)).await;
        }
        forget_sets(store).await;
        let spread = store.db.write(WriteKind::Server, async move |tx| {
            // Through numbers that none has, because a number belongs to one access at a time.
            for sql in [
                "UPDATE access SET number = -number * ?1 WHERE tenant = 'acme'",
                "UPDATE access SET number = -number WHERE tenant = 'acme' AND ?1 > CAST(0 AS BIGINT)",
                "UPDATE counter SET total = total * ?1 WHERE tenant = 'acme' AND kind = 'tenant'",
            ] {
                tx.execute(sql, &[STEP.into()]).await?;
            }
            Ok::<_, StoreError>(())
        });
        spread.await.unwrap();
        let all = every_access(store).await;
        for _ in 0..2 {
            store.build_sets(acme(), 100 * STEP).await.unwrap();
        }
        for (query, selects) in [
            ("status=SUSPENDED", (|it| it.status == Status::Suspended) as fn(&Access) -> bool),
            ("status=ACTIVE&contractId=c1", |it| {
                it.status == Status::Active && it.contract_id.as_str() == "c1"
            }),
            ("status=SUSPENDED&contractId=c2;status=SUSPENDED&contractId=c1", |it| {
                it.status == Status::Suspended
            }),
            ("status=SUSPENDED;status=ACTIVE;status=SUSPENDED", |_| true),
            ("status=SUSPENDED;status=ACTIVE&contractId=c1", |it| {
                it.status == Status::Suspended || it.contract_id.as_str() == "c1"
            }),
            ("status=TERMINATED&contractId=c1", |_| false),
        ] {
            let filter = AccessFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap();
            let mut expected: Vec<Access> = all.iter().filter(|it| selects(it)).cloned().collect();
            for order in [ListOrder::OldestFirst, ListOrder::NewestFirst] {
                for with_total in [true, false] {
                    let mut found = Vec::new();
                    for number in 1..=all.len() as u64 {
                        let page = PageRequest { number, size: 7 };
                        let request = ListRequest { page, order, with_total };
                        let listed = store.accesses(&acme(), &filter, request).await;
                        let listed = listed.unwrap().unwrap();
                        assert_eq!(listed.path, ListPath::Sets, "{}: {query}", case.kind);
                        let n_before = found.len();
                        found.extend(listed.page.items);
                        if with_total {
                            assert_eq!(listed.page.total, expected.len() as u64, "{query}");
                        }
                        if found.len() == n_before {
                            break;
                        }
                    }
                    assert_eq!(found, expected, "{}: {query}, {order:?}", case.kind);
                }
                expected.reverse();
            }
        }
    }
}
