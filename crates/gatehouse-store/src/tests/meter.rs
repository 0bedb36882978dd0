use prometheus::{Registry, TextEncoder};

use super::*;
use crate::db::WriteKind;

/// The value of a sample, by its name and labels.
fn sample(store: &Store, name: &str) -> Option<f64> {
    let registry = Registry::new();
    store.meter().metrics().register(&registry);
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let line =
        text.lines().find(|line| line.strip_prefix(name).is_some_and(|it| it.starts_with(' ')));
    line.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn calls_are_counted_and_no_caller_waits_in_the_end() {
    for case in stores("what_is_done_is_counted").await {
        let store = &case.store;
        set_up(store).await;
        let count = |kind: &str| {
            let name = format!("gatehouse_store_duration_seconds_count{{kind=\"{kind}\"}}");
            sample(store, &name).unwrap()
        };
        let before = ["read", "write", "snapshot"].map(count);
        let creations = (0..20).map(|n| {
            let new = new("c1", &format!("u{n}"));
            async move { store.create_access(&acme(), new).await.unwrap().unwrap() }
        });
        futures_util::future::join_all(creations).await;
        store.tenant(&acme()).await.unwrap();
        store.summary(&acme(), day(0), 1).await.unwrap();
        let after = ["read", "write", "snapshot"].map(count);
        for (n, before) in before.into_iter().enumerate() {
            assert!(after[n] > before, "{}: {before} {after:?}", case.kind);
        }
        let n_gathered = sample(store, "gatehouse_store_gathered_creations_sum").unwrap();
        assert!(n_gathered >= 20.0, "{}: {n_gathered}", case.kind);
        for gauge in ["gatehouse_store_writer_waiting", "gatehouse_store_gather_waiting"] {
            assert_eq!(sample(store, gauge), Some(0.0), "{}: {gauge}", case.kind);
        }
        let open = sample(store, "gatehouse_store_connections").unwrap();
        assert_eq!(open > 0.0, case.kind != "SQLite", "{}: {open}", case.kind);
    }
}

#[tokio::test]
async fn an_error_is_counted_by_its_kind() {
    for case in stores("an_error_is_counted").await {
        let name = "gatehouse_store_errors_total{kind=\"unexpected\"}";
        assert_eq!(sample(&case.store, name), Some(0.0), "{}", case.kind);
        let failed =
            case.store.db.write(WriteKind::Server, async |tx| tx.script("nonsense").await).await;
        assert!(matches!(failed, Err(crate::StoreError::Unexpected(_))), "{failed:?}");
        assert_eq!(sample(&case.store, name), Some(1.0), "{}", case.kind);
        case.store.close().await;
        assert_eq!(sample(&case.store, "gatehouse_store_connections"), Some(0.0), "{}", case.kind);
    }
}
