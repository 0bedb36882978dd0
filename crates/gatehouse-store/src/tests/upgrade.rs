//! Two versions of the schema, and programs of both that run at the same time.

use std::sync::Arc;

use super::*;
use crate::StoreError;
use crate::db::{Db, WriteKind};
use crate::migrate::{self, STEPS, Step};

/// The allowed changes of a step: new tables, columns and indexes.
const ADDED: &str = "
    CREATE TABLE label (tenant TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (tenant, name));
    ALTER TABLE tenant ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';
    ALTER TABLE access ADD COLUMN remark TEXT;
    ALTER TABLE task ADD COLUMN remark TEXT;
    CREATE INDEX access_remark ON access (tenant, remark) WHERE remark IS NOT NULL;
";

/// The steps of the next program.
fn tomorrow(needs: i64) -> &'static [Step] {
    let step = Step { version: migrate::newest() + 1, needs, sqlite: ADDED, postgres: ADDED };
    Box::leak([STEPS, &[step]].concat().into_boxed_slice())
}

async fn work(store: &Store, name: &str) {
    let made = store.create_access(&acme(), new("c1", name)).await.unwrap().unwrap();
    assert!(store.access(&acme(), made.id).await.unwrap().is_some());
    assert!(store.summary(&acme(), day(0), 1).await.unwrap().is_some());
    store.claim_due(&crate::WorkKind::ALL, 1000).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_present_program_runs_beside_the_next_one() {
    for case in stores("beside_tomorrows").await {
        set_up(&case.store).await;
        let (store, stop) = (case.store.clone(), Arc::new(tokio::sync::Notify::new()));
        let stopped = Arc::clone(&stop);
        let working = tokio::spawn(async move {
            let mut n = 0;
            loop {
                work(&store, &format!("u{n}")).await;
                n += 1;
                if futures_util::poll!(std::pin::pin!(stopped.notified())).is_ready() {
                    return n;
                }
            }
        });
        // Several servers of the next version start at the same moment; one of them takes the step.
        let steps = tomorrow(migrate::newest());
        let comes = (0..6).map(|_| {
            let db = case.store.db.clone();
            tokio::spawn(async move { migrate::take(&db, steps).await })
        });
        for come in comes.collect::<Vec<_>>() {
            come.await.unwrap().unwrap();
        }
        let (found, known) = case.store.schema_versions().await.unwrap();
        assert_eq!(found, known + 1, "{}", case.kind);
        work(&case.store, "after").await;
        stop.notify_one();
        let n_made = working.await.unwrap();
        // A server of the present version that restarts in the middle of it.
        let again = case.another().await.unwrap();
        work(&again, "again").await;
        let recount = again.recount(&acme()).await.unwrap();
        assert_eq!(recount.discrepancies, Vec::<String>::new(), "{}", case.kind);
        assert_eq!(recount.n_accesses, n_made + 2, "{}", case.kind);
    }
}

#[tokio::test]
async fn a_step_that_requires_a_newer_program_ends_the_present_one() {
    for case in stores("must_know").await {
        let steps = tomorrow(migrate::newest() + 1);
        migrate::take(&case.store.db, steps).await.unwrap();
        let error = case.another().await.err().unwrap();
        assert!(matches!(error, StoreError::NewerSchema { .. }), "{}: {error}", case.kind);
        migrate::take(&case.store.db, steps).await.unwrap();
    }
}

#[tokio::test]
async fn an_older_program_continues_during_an_upgrade() {
    // The present statements, as far as the tables of version 8 can answer them.
    let url = empty_schema("yesterdays_program").await;
    let clock = Clock::by_hand(day(0));
    let db = Db::open_postgres(&url, clock.clone()).unwrap();
    migrate::take(&db, &STEPS[..8]).await.unwrap();
    add_later_tables(&db).await;
    let yesterday = Store::attach_postgres(&url, clock.clone()).await.unwrap().unwrap();
    set_up(&yesterday).await;
    work(&yesterday, "before").await;
    let today = Store::open_postgres(&url, clock).await.unwrap();
    work(&yesterday, "beside").await;
    work(&today, "today").await;
    assert_eq!(today.recount(&acme()).await.unwrap().discrepancies, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_waits_for_a_lock_lets_others_pass() {
    let url = empty_schema("waits_for_a_lock").await;
    let store = Store::open_postgres(&url, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let (held, holding) = tokio::sync::oneshot::channel();
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let holder = store.clone();
    let holder = tokio::spawn(async move {
        let held = holder.db.write(
            WriteKind::Batch(acme()),
            once(async move |tx| {
                tx.script("LOCK TABLE access IN ACCESS SHARE MODE").await?;
                let _ = held.send(());
                let _ = released.await;
                Ok::<_, StoreError>(())
            }),
        );
        held.await
    });
    holding.await.unwrap();
    let db = store.db.clone();
    let step = tokio::spawn(async move { migrate::take(&db, tomorrow(migrate::newest())).await });
    // Other transactions may wait a little, and go on although the lock is still held.
    for n in 0..3 {
        work(&store, &format!("u{n}")).await;
    }
    release.send(()).unwrap();
    holder.await.unwrap().unwrap();
    step.await.unwrap().unwrap();
}

#[test]
fn steps_only_add() {
    for step in STEPS.iter().filter(|step| step.version > 6) {
        for text in [step.sqlite, step.postgres] {
            let text: Vec<_> = text.lines().filter(|line| !line.starts_with("--")).collect();
            for statement in text.join(" ").split(';').map(str::trim).filter(|it| !it.is_empty()) {
                let words: Vec<_> = statement.split_whitespace().take(6).collect();
                let adds = match words[..] {
                    // A new index of an existing table would block its writers while it is built.
                    ["CREATE", "TABLE", ..] => true,
                    ["CREATE", "INDEX", "IF", "NOT", "EXISTS", _] => {
                        let table =
                            statement.split(" ON ").nth(1).and_then(|it| it.split(' ').next());
                        let table = table.expect("an index is on a table");
                        text.join(" ").contains(&format!("CREATE TABLE IF NOT EXISTS {table} ("))
                    }
                    ["ALTER", "TABLE", _, "ADD", "COLUMN", ..] => {
                        !statement.contains("NOT NULL") || statement.contains("DEFAULT")
                    }
                    _ => false,
                };
                assert!(adds, "step {} does more than to add: {statement}", step.version);
            }
        }
        let oldest = if step.version > 8 { step.version - 1 } else { step.version };
        assert!(step.needs <= step.version, "{}", step.version);
        assert_eq!(step.needs, oldest, "programs of one version before go on");
    }
}
