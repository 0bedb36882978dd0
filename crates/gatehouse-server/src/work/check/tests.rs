use super::*;
use crate::work::tests::apps;

#[tokio::test]
async fn damage_is_counted_and_reported_by_the_store() {
    let (_, app, dir) = apps("damage_is_found").await.swap_remove(0);
    let (checks, stopping) = (
        Checks::new(app.store.clone(), app.clock.clone(), Some(Duration::from_secs(1))),
        CancellationToken::new(),
    );
    let counted = |outcome: &str| checks.total.with_label_values(&[outcome]).get();
    checks.check_one(&stopping).await;
    assert_eq!((counted("sound"), checks.damaged.get()), (1, 0));
    assert_eq!(checks.last.get(), app.now().as_second() as f64);
    let dir = dir.unwrap();
    let database = rusqlite::Connection::open(dir.path().join("test.db")).unwrap();
    database.execute_batch("UPDATE counter SET total = 7 WHERE kind = 'tenant'").unwrap();
    checks.check_one(&stopping).await;
    assert_eq!((counted("damaged"), checks.damaged.get()), (1, 1));
    let damage = app.store.damage().unwrap().to_string();
    assert!(damage.contains("counts 7 accesses and has none"), "{damage}");

    stopping.cancel();
    checks.check_one(&stopping).await;
    assert_eq!(counted("sound") + counted("damaged") + counted("failed"), 2, "it was stopped");
}

#[tokio::test]
async fn postgres_is_not_checked() {
    let (_, app, _) = apps("nothing_is_checked").await.swap_remove(1);
    let (checks, stopping) = (
        Checks::new(app.store.clone(), app.clock.clone(), Some(Duration::from_secs(1))),
        CancellationToken::new(),
    );
    checks.check_one(&stopping).await;
    assert_eq!((checks.last.get(), app.store.damage()), (0.0, None));
}
