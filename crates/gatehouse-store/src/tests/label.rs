//! Lists by labels: they equal a plain model, whatever happens to accesses and to the keys that the tenant filters by.

use super::*;
use crate::LabelCount;
use crate::access::list::Listed;
use crate::db::WriteKind;
use crate::{Change, SetBuilding, StoreError};
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, FILTER_FIELDS};
use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::list::ListPath;
use gatehouse_core::{Access, PageRequest};
use gatehouse_testing::SeededRandom;

fn filter(query: &str) -> AccessFilter {
    AccessFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap()
}

async fn list(store: &Store, query: &str, number: u64, size: u64) -> Listed {
    let request = PageRequest { number, size };
    store.accesses(&acme(), &filter(query), request.into()).await.unwrap().unwrap()
}

fn patch(pairs: &[(&str, Option<&str>)]) -> LabelPatch {
    let pair = |(key, value): &(&str, Option<&str>)| {
        (key.parse().unwrap(), value.map(|value| value.parse().unwrap()))
    };
    LabelPatch(pairs.iter().map(pair).collect())
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, Some(*value))).collect();
    Labels::NONE.patched(&patch(&pairs)).unwrap()
}

async fn label(store: &Store, id: AccessId, patch: LabelPatch) {
    let tenant = acme();
    let changed = store.change_access(&tenant, id, origin(), move |stored, _| {
        let access = lifecycle::change_labels(&stored.access, &patch, day(0)).unwrap();
        Ok::<_, StoreError>(Change { access, password: None })
    });
    changed.await.unwrap().unwrap();
}

/// Filters by these keys from now on.
async fn declare(store: &Store, keys: &[&str]) {
    let keys = keys.iter().map(|key| key.parse().unwrap()).collect();
    store.put_tenant(&Tenant { label_keys: keys, ..tenant("acme") }, &audited()).await.unwrap();
}

async fn build(store: &Store) {
    while store.advance_sets().await.unwrap() == SetBuilding::Building {}
}

const QUERIES: &[&str] = &[
    "label.site=hamburg",
    "label.site",
    "label.site=hamburg&label.team=a",
    "label.site=hamburg;label.team=b&status=SUSPENDED",
    "label.site=berlin&contractId=c1",
    "label.site&productOfferingId=o1;contractId=c3",
    "label.team=a&username=u7;username=u8",
    "label.site=nowhere",
    "label.other=x",
    "label.site=hamburg&name=u3",
    "label.team&endDateTime%3C2100-01-01",
];

/// Compares every filter, its total and its pages with the accesses themselves.
async fn assert_lists(store: &Store, model: &[Access], kind: &str) {
    for query in QUERIES {
        let filter = filter(query);
        let expected: Vec<&Access> = model.iter().filter(|it| filter.passes(it)).collect();
        for (number, size) in [(1, 1000), (2, 7), (1 + expected.len() as u64 / 7, 7)] {
            let Listed { page, .. } = list(store, query, number, size).await;
            let begin = usize::try_from((number - 1) * size).unwrap().min(expected.len());
            let end = (begin + usize::try_from(size).unwrap()).min(expected.len());
            let items: Vec<&Access> = page.items.iter().collect();
            assert_eq!(items, expected[begin..end], "{kind}: {query}, page {number}");
            assert_eq!(page.total, expected.len() as u64, "{kind}: {query}");
        }
    }
}

async fn model_of(store: &Store) -> Vec<Access> {
    list(store, "", 1, 1000).await.page.items
}

#[tokio::test]
async fn lists_by_labels_equal_the_accesses() {
    for case in stores("lists_by_labels").await {
        let store = &case.store;
        set_up(store).await;
        declare(store, &["site", "team"]).await;
        build(store).await;
        let mut random = SeededRandom(11);
        let mut ids = Vec::new();
        for n in 0..12 {
            let some = (0..9).map(|m| {
                let all = [&[][..], &[("site", "hamburg")], &[("site", "berlin"), ("team", "a")]];
                NewAccess {
                    labels: labels(all[random.roll(3) as usize]),
                    ..new(["c1", "c2", "c3"][random.roll(3) as usize], &format!("u{}", n * 9 + m))
                }
            });
            let some = some.collect();
            let created = store.create_accesses(&acme(), some).await.unwrap();
            ids.extend(created.into_iter().map(|it| it.unwrap().id));
            for _ in 0..8 {
                let id = *random.pick(&ids);
                match random.roll(4) {
                    0 => _ = set_status(store, id, TargetStatus::Suspended, day(0)).await,
                    1 => label(store, id, patch(&[("site", None), ("other", Some("x"))])).await,
                    2 => label(store, id, patch(&[("team", Some("b"))])).await,
                    _ => {
                        label(store, id, patch(&[("site", Some("hamburg")), ("team", None)])).await
                    }
                }
            }
            assert_lists(store, &model_of(store).await, case.kind).await;
        }
        assert_eq!(list(store, QUERIES[3], 1, 10).await.path, ListPath::Sets, "{}", case.kind);
        let counts = store.label_counts(&acme(), &"site".parse().unwrap(), 10).await.unwrap();
        let counts = counts.unwrap();
        assert!(counts.is_sorted_by(|one, next| one.total >= next.total) && counts.len() == 2);
        for LabelCount { value, total } in &counts {
            let listed = list(store, &format!("label.site={value}"), 1, 10).await;
            assert_eq!(*total, listed.page.total, "{}: {value}", case.kind);
        }
        // A key without sets is counted.
        assert_eq!(list(store, "label.other=x", 1, 10).await.path, ListPath::Counted);
        assert_sound(store, case.kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_come_and_go_while_labels_change() {
    for case in stores("keys_come_and_go").await {
        let store = &case.store;
        set_up(store).await;
        let first = (0..400).map(|n| NewAccess {
            labels: labels(&[("site", "hamburg"), ("team", "a")]),
            ..new("c1", &format!("u{n}"))
        });
        let created = store.create_accesses(&acme(), first.collect()).await.unwrap();
        let ids: Vec<AccessId> = created.into_iter().map(|it| it.unwrap().id).collect();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (store, ids) = (store.clone(), ids.clone());
                tokio::spawn(async move {
                    let mut random = SeededRandom(writer);
                    for n in 0..60 {
                        let site = *random.pick(&[Some("hamburg"), Some("berlin"), None]);
                        label(&store, *random.pick(&ids), patch(&[("site", site)])).await;
                        let labels = labels(&[("site", "berlin")]);
                        let new = NewAccess { labels, ..new("c2", &format!("w{writer}-{n}")) };
                        store.create_access(&acme(), new).await.unwrap().unwrap();
                    }
                })
            })
            .collect();
        let mut n_rounds = 0;
        while !writers.iter().all(|it| it.is_finished()) {
            let keys = [&["site"][..], &["site", "team"], &[]][n_rounds % 3];
            declare(store, keys).await;
            for _ in 0..4 {
                store.advance_sets().await.unwrap();
            }
            assert_sound(store, case.kind).await;
            n_rounds += 1;
        }
        for writer in writers {
            writer.await.unwrap();
        }
        declare(store, &[]).await;
        build(store).await;
        declare(store, &["site", "team"]).await;
        let unbuilt = store.unbuilt_sets().await.unwrap().into_iter();
        let unbuilt: Vec<_> =
            unbuilt.map(|it| (it.label.unwrap().to_string(), it.n_built)).collect();
        assert_eq!(unbuilt, [("site".to_owned(), 0), ("team".to_owned(), 0)], "{}", case.kind);
        build(store).await;
        assert_eq!(store.unbuilt_sets().await.unwrap(), [], "{}", case.kind);
        assert_eq!(list(store, "label.site", 1, 10).await.path, ListPath::Sets, "{}", case.kind);
        assert_lists(store, &model_of(store).await, case.kind).await;
        assert_sound(store, case.kind).await;

        // Removed keys leave nothing behind.
        declare(store, &[]).await;
        build(store).await;
        for sql in [
            "SELECT 1 FROM set_part WHERE kind IN ('label', 'label-key')",
            "SELECT 1 FROM set_sum WHERE kind IN ('label', 'label-key')",
            "SELECT 1 FROM label_build",
        ] {
            assert!(store.db.rows(sql, &[], |_| Ok(())).await.unwrap().is_empty(), "{sql}");
        }
    }
}

#[tokio::test]
async fn labels_of_awkward_texts_are_found() {
    for case in stores("labels_of_awkward").await {
        let store = &case.store;
        set_up(store).await;
        declare(store, &["a"]).await;
        let values = ["x", "x\n", "\nb=1\n", "\\n", "x=y", "%", "Ä🛰", "'", "?1"];
        for (n, value) in values.iter().enumerate() {
            let new = NewAccess { labels: labels(&[("a", value)]), ..new("c1", &format!("u{n}")) };
            store.create_access(&acme(), new).await.unwrap().unwrap();
        }
        for path in [ListPath::Counted, ListPath::Sets] {
            for (n, value) in values.iter().enumerate() {
                let bytes = value.bytes().map(|byte| format!("%{byte:02X}"));
                let filter = filter(&format!("label.a={}", bytes.collect::<String>()));
                let request = PageRequest { number: 1, size: 10 };
                let listed =
                    store.accesses(&acme(), &filter, request.into()).await.unwrap().unwrap();
                let names: Vec<&str> = listed.page.items.iter().map(|it| it.name()).collect();
                assert_eq!(names, [format!("u{n}")], "{}: {path:?}", case.kind);
                assert_eq!(listed.path, path, "{}", case.kind);
            }
            build(store).await;
        }
        assert_sound(store, case.kind).await;
    }
}

/// Runs statements in one transaction.
async fn execute(store: &Store, sql: &'static [&'static str]) {
    let done = store.db.write(WriteKind::Server, async move |tx| {
        for sql in sql {
            tx.execute(sql, &[]).await?;
        }
        Ok::<_, StoreError>(())
    });
    done.await.unwrap();
}

#[tokio::test]
async fn the_builder_of_statuses_leaves_the_sets_of_labels_alone() {
    for case in stores("two_builders").await {
        let store = &case.store;
        set_up(store).await;
        build(store).await;
        let labelled = NewAccess { labels: labels(&[("site", "x")]), ..new("c1", "ann") };
        let access = store.create_access(&acme(), labelled).await.unwrap().unwrap();
        execute(
            store,
            &[
                "DELETE FROM set_part WHERE tenant = 'acme'",
                "DELETE FROM set_sum WHERE tenant = 'acme'",
                "UPDATE set_build SET built_to = 0 WHERE tenant = 'acme'",
            ],
        )
        .await;
        for _ in 0..3 {
            store.build_sets(acme(), 100).await.unwrap();
        }
        assert_eq!(list(store, "status=ACTIVE", 1, 10).await.path, ListPath::Sets, "{}", case.kind);
        label(store, access.id, patch(&[("site", None)])).await;
        declare(store, &["site"]).await;
        build(store).await;
        let listed = list(store, "label.site", 1, 10).await;
        assert_eq!((listed.page.total, listed.path), (0, ListPath::Sets), "{}", case.kind);
        assert_sound(store, case.kind).await;
    }
}

#[tokio::test]
async fn values_that_no_access_has_leave_nothing_behind() {
    for case in stores("values_leave_nothing").await {
        let store = &case.store;
        set_up(store).await;
        declare(store, &["version"]).await;
        build(store).await;
        let access = store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        for n in 0..20 {
            let version = n.to_string();
            label(store, access.id, patch(&[("version", Some(&version))])).await;
        }
        for sql in [
            "SELECT COUNT(*) FROM set_part WHERE tenant = 'acme' AND kind = 'label'",
            "SELECT COUNT(*) FROM set_sum WHERE tenant = 'acme' AND kind = 'label'",
        ] {
            let n_rows = store.db.row(sql, &[], |row| row.count(0)).await.unwrap();
            assert_eq!(n_rows, Some(1), "{}: {sql}", case.kind);
        }
        assert_eq!(list(store, "label.version=19", 1, 10).await.page.total, 1, "{}", case.kind);
        assert_sound(store, case.kind).await;
    }
}
