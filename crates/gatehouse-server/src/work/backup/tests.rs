use super::*;
use crate::app::App;
use crate::work::tests::{apps, at};

/// A service on the embedded store, its directory, and hourly backups of which two are kept.
async fn set_up(test: &str) -> (App, tempfile::TempDir, Backups) {
    let (_, app, dir) = apps(test).await.swap_remove(0);
    let dir = dir.unwrap();
    std::fs::write(dir.path().join("master.key"), "a key").unwrap();
    let backups = backups(&app, dir.path());
    (app, dir, backups)
}

fn backups(app: &App, dir: &std::path::Path) -> Backups {
    let every = Duration::from_secs(3600);
    let schedule = BackupSchedule { to: dir.join("backups"), every, keep: 2 };
    Backups::new(app.store.clone(), app.clock.clone(), schedule, dir.to_owned())
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("backups")).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn due_backups_are_made_and_the_oldest_removed() {
    let (app, dir, backups) = set_up("backups_are_made").await;
    let never_stopped = CancellationToken::new();
    let step = async |backups: &Backups| backups.step(&never_stopped, &mut None).await;
    app.clock.set(at("2026-11-17T09:30:00Z"));
    assert_eq!(step(&backups).await, Duration::from_secs(3600));
    assert_eq!(names(dir.path()), ["20261117T093000Z"]);
    let made = dir.path().join("backups/20261117T093000Z");
    assert_eq!(std::fs::read_dir(&made).unwrap().count(), 2, "the store and the key");
    assert_eq!(backups.meter.last_success.get(), 1_794_907_800.0);
    assert!(backups.meter.bytes.get() > 4096 && backups.meter.duration.get() > 0.0);

    // The directory decides, also after a restart.
    let again = self::backups(&app, dir.path());
    assert_eq!(again.meter.last_success.get(), 1_794_907_800.0);
    app.clock.set(at("2026-11-17T10:29:00Z"));
    assert_eq!(step(&again).await, Duration::from_secs(60));
    for time in ["2026-11-17T10:30:00Z", "2026-11-17T11:30:01Z"] {
        app.clock.set(at(time));
        step(&again).await;
    }
    assert_eq!(names(dir.path()), ["20261117T103000Z", "20261117T113001Z"]);
    assert_eq!(again.meter.total.with_label_values(&["ok"]).get(), 2);

    // After the clock was set back, backups are still made, and not all the time.
    app.clock.set(at("2026-11-01T00:00:00Z"));
    step(&again).await;
    assert_eq!(names(dir.path()), ["20261101T000000Z", "20261117T113001Z"]);
    app.clock.set(at("2026-11-01T00:59:00Z"));
    assert_eq!(step(&again).await, Duration::from_secs(60));
}

#[tokio::test]
async fn a_failed_backup_is_reported_and_retried_later() {
    let (_app, dir, backups) = set_up("a_backup_that_fails").await;
    let (never_stopped, mut failed_at) = (CancellationToken::new(), None);
    std::fs::write(dir.path().join("backups"), "in the way").unwrap();
    let wait = backups.step(&never_stopped, &mut failed_at).await;
    assert_eq!((wait, backups.meter.last_failed.get()), (Duration::from_secs(3600), 1));
    assert_eq!(backups.meter.total.with_label_values(&["failed"]).get(), 1);
    std::fs::remove_file(dir.path().join("backups")).unwrap();
    let wait = backups.step(&never_stopped, &mut failed_at).await;
    assert!(!wait.is_zero() && !dir.path().join("backups").exists(), "not at once");
    backups.step(&never_stopped, &mut None).await;
    assert_eq!((names(dir.path()).len(), backups.meter.last_failed.get()), (1, 0));
}

#[tokio::test]
async fn an_interrupted_backup_is_removed() {
    let (app, dir, backups) = set_up("what_was_cut_off").await;
    app.clock.set(at("2026-11-17T09:30:00Z"));
    let stopped = CancellationToken::new();
    stopped.cancel();
    backups.step(&stopped, &mut None).await;
    assert_eq!(names(dir.path()), Vec::<String>::new(), "the server stops, and nothing is left");
    assert_eq!(backups.meter.last_failed.get(), 0, "that is no failure");

    // As a power failure leaves them; the others are not ours.
    let shelf = dir.path().join("backups");
    for (name, file) in [
        ("20261117T093000Z", "unfinished"),
        ("20261117T080000Z", "gatehouse.db.zst"),
        ("20261117T070000Z", "notes.txt"),
        ("my-own", "unfinished"),
    ] {
        std::fs::create_dir(shelf.join(name)).unwrap();
        std::fs::write(shelf.join(name).join(file), "x").unwrap();
    }
    backups.step(&CancellationToken::new(), &mut None).await;
    let remaining = ["20261117T070000Z", "20261117T080000Z", "20261117T093000Z", "my-own"];
    assert_eq!(names(dir.path()), remaining);
    assert!(shelf.join("20261117T080000Z/gatehouse.db.zst").is_file(), "a compressed backup stays");
    assert!(shelf.join("20261117T093000Z/gatehouse.db").is_file());
}

#[tokio::test]
async fn a_damaged_store_is_not_backed_up_and_old_backups_stay() {
    let (app, dir, backups) = set_up("a_damaged_store_gives_no_backup").await;
    app.clock.set(at("2026-11-17T09:30:00Z"));
    let never_stopped = CancellationToken::new();
    backups.step(&never_stopped, &mut None).await;
    let damage = "UPDATE counter SET total = 7 WHERE kind = 'tenant'";
    let database = rusqlite::Connection::open(dir.path().join("test.db")).unwrap();
    database.execute_batch(damage).unwrap();
    app.clock.set(at("2026-11-17T10:30:00Z"));
    backups.step(&never_stopped, &mut None).await;
    assert_eq!((names(dir.path()).len(), backups.meter.last_failed.get()), (1, 1));
    assert_eq!(backups.meter.last_success.get(), 1_794_907_800.0, "the last good one");
}
