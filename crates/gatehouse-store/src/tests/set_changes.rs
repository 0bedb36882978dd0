//! Parts of a counted set: they split and join, and concurrent writers lose nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gatehouse_core::Status;
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start};
use gatehouse_testing::SeededRandom;
use tokio::sync::Notify;

use super::*;
use crate::counted_sets::changes::SetChanges;
use crate::counted_sets::part_reader::PartReader;
use crate::counted_sets::position::COMPLETE;
use crate::db::{Row, WriteKind};

const SET: CountedSet = CountedSet::Status(Status::Suspended);

/// A set as it is stored: its members, the number of its parts, and the sum of its sums.
async fn stored(store: &Store) -> (BTreeSet<u64>, usize, u64) {
    let sql = "SELECT first, n, bits FROM set_part WHERE tenant = 'acme' AND kind = 'status' \
               AND name = 'SUSPENDED' ORDER BY first";
    let read = |row: &Row<'_>| {
        let runs = gatehouse_core::counted_set::runs::Runs::decode(&row.bytes(2)?).unwrap();
        assert!(row.bytes(2)?.len() <= gatehouse_core::counted_set::runs::PART_BYTES_MAX);
        assert_eq!(u64::from(runs.len()), row.count(1)?);
        let start = group_start(group_of(row.count(0)?));
        Ok(runs.members().map(|it| start + u64::from(it)).collect::<Vec<_>>())
    };
    let parts = store.db.rows(sql, &[], read).await.unwrap();
    let sql = "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM set_sum WHERE tenant = 'acme' \
               AND kind = 'status' AND name = 'SUSPENDED'";
    let sum = store.db.row(sql, &[], |row| row.count(0)).await.unwrap().unwrap();
    let n_parts = parts.len();
    (parts.into_iter().flatten().collect(), n_parts, sum)
}

async fn write(store: &Store, changes: Vec<(u64, bool)>, built_to: u64) {
    let written = store.db.write(WriteKind::Tenant(acme()), async move |tx| {
        let mut all = SetChanges::default();
        changes.iter().for_each(|(number, is_member)| all.set(SET, *number, *is_member));
        all.write_up_to(&tx, &acme(), |_| built_to).await
    });
    written.await.unwrap();
}

#[tokio::test]
async fn parts_split_and_join_as_members_come_and_go() {
    for case in stores("parts_split_and_join").await {
        set_up(&case.store).await;
        let mut random = SeededRandom(3);
        let mut model = BTreeSet::new();
        // Across the end of a group.
        let first = GROUP_NUMBERS - 15_000;
        for n in 0..60 {
            let is_member = |random: &mut SeededRandom| match n {
                0..20 => true,
                20..40 => random.roll(2) == 0,
                _ => false,
            };
            // PostgreSQL looks few numbers far apart up one by one, and goes through the parts for many close ones.
            let (n_changes, first, n_numbers) = match n % 5 {
                4 => (10, 1, 6 * GROUP_NUMBERS),
                _ => (400, first, 30_000),
            };
            let changes: Vec<(u64, bool)> = (0..n_changes)
                .map(|_| (first + random.roll(n_numbers), is_member(&mut random)))
                .collect::<BTreeMap<u64, bool>>()
                .into_iter()
                .collect();
            for (number, is_member) in &changes {
                if *is_member {
                    model.insert(*number)
                } else {
                    model.remove(number)
                };
            }
            write(&case.store, changes, COMPLETE).await;
            if n % 10 == 9 {
                let (members, n_parts, sum) = stored(&case.store).await;
                assert_eq!(members, model, "{}: {n}", case.kind);
                assert_eq!(sum, model.len() as u64, "{}: {n}", case.kind);
                assert!(n_parts > 5 || n > 40, "{}: {n}: {n_parts} parts", case.kind);
            }
        }
        let rest = model.iter().map(|number| (*number, false)).collect();
        write(&case.store, rest, COMPLETE).await;
        let (members, n_parts, sum) = stored(&case.store).await;
        assert_eq!((members.len(), sum), (0, 0), "{}", case.kind);
        assert!(n_parts <= 12, "{}: {n_parts} parts of nothing", case.kind);
    }
}

#[tokio::test]
async fn a_status_that_most_have_is_read_from_the_other_statuses() {
    const LAST: u64 = 2 * GROUP_NUMBERS + 1000;
    for case in stores("a_status_that_most_have").await {
        set_up(&case.store).await;
        let mut random = SeededRandom(5);
        let others: BTreeMap<u64, Status> = (0..900)
            .map(|_| {
                (1 + random.roll(LAST), *random.pick(&[Status::Suspended, Status::Terminated]))
            })
            .collect();
        let written = others.clone();
        let read = case.store.db.write(WriteKind::Tenant(acme()), async move |tx| {
            let mut changes = SetChanges::default();
            for (number, status) in &written {
                changes.set(CountedSet::Status(*status), *number, true);
            }
            changes.write_all(&tx, &acme()).await?;
            let (mut parts, mut found) = (PartReader::new(LAST), Vec::new());
            for group in 0..=2 {
                let active = CountedSet::Status(Status::Active);
                let read = parts.read(&tx, &acme(), &active, group, || (group..=2, true)).await?;
                let members = read.members(0, u64::MAX);
                found.extend(members.iter().map(|it| group_start(group) + u64::from(*it)));
            }
            Ok::<_, StoreError>(found)
        });
        let expected = (1..=LAST).filter(|number| !others.contains_key(number));
        assert!(read.await.unwrap().into_iter().eq(expected), "{}", case.kind);
    }
}

#[tokio::test]
async fn numbers_that_are_not_built_yet_stay_out() {
    for case in stores("not_built_yet").await {
        set_up(&case.store).await;
        write(&case.store, vec![(1, true), (5, true), (6, true), (900, true)], 5).await;
        assert_eq!(stored(&case.store).await, (BTreeSet::from([1, 5]), 1, 2), "{}", case.kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_neighbours_at_the_same_time_are_all_kept() {
    for case in stores("neighbours_at_the_same_time").await {
        set_up(&case.store).await;
        let writers = (0..4u64).map(|writer| {
            let store = case.store.clone();
            tokio::spawn(async move {
                let mut random = SeededRandom(writer);
                let mut own = BTreeSet::new();
                for n in 0..40 {
                    // Each writer has numbers of its own, between those of the others.
                    let drawn = |random: &mut SeededRandom| random.roll(5000) * 4 + writer;
                    let changes: BTreeMap<u64, bool> = (0..50)
                        .map(|_| (drawn(&mut random), n < 30 || random.roll(3) == 0))
                        .collect();
                    for (number, is_member) in &changes {
                        if *is_member {
                            own.insert(*number)
                        } else {
                            own.remove(number)
                        };
                    }
                    write(&store, changes.into_iter().collect(), COMPLETE).await;
                }
                own
            })
        });
        let mut model = BTreeSet::new();
        for writer in writers.collect::<Vec<_>>() {
            model.extend(writer.await.unwrap());
        }
        let (members, _, sum) = stored(&case.store).await;
        assert_eq!(members, model, "{}", case.kind);
        assert_eq!(sum, model.len() as u64, "{}", case.kind);
    }
}

/// Changes members, and returns once another transaction waits for one of the parts.
async fn write_until_awaited(
    tx: &Tx,
    changes: &BTreeMap<u64, bool>,
    written: &Notify,
) -> Result<(), StoreError> {
    let mut all = SetChanges::default();
    changes.iter().for_each(|(number, is_member)| all.set(SET, *number, *is_member));
    all.write_all(tx, &acme()).await?;
    written.notify_one();
    let sql = "SELECT 1 FROM pg_locks \
               WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))";
    for _ in 0..1000 {
        if tx.row(sql, &[], |_| Ok(())).await?.is_some() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no transaction waits");
}

#[tokio::test]
async fn parts_that_are_split_or_joined_while_a_transaction_waits_are_found_again() {
    let url = empty_schema("parts_split_meanwhile").await;
    let store = Store::open_postgres(&url, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let spread = |first: u64, n: u64| (0..n).map(move |it| first + it * (240_000 / n));
    let mut model: BTreeSet<u64> = spread(1, 300).collect();
    write(&store, model.iter().map(|it| (*it, true)).collect(), COMPLETE).await;
    let n_parts = async || stored(&store).await.1;
    assert_eq!(n_parts().await, 1);
    for (first, splits) in [(11, true), (13, false)] {
        let changes: BTreeMap<u64, bool> = match splits {
            true => spread(7, 400).map(|it| (it, true)).collect(),
            false => model.iter().filter(|it| *it % 50 != 0).map(|it| (*it, false)).collect(),
        };
        let waiting: Vec<(u64, bool)> = spread(first, 90).map(|it| (it, true)).collect();
        for (number, is_member) in changes.iter().chain(waiting.iter().map(|(it, is)| (it, is))) {
            if *is_member {
                model.insert(*number)
            } else {
                model.remove(number)
            };
        }
        let n_before = n_parts().await;
        let written = Arc::new(Notify::new());
        let holding = store.db.write(WriteKind::Tenant(acme()), {
            let written = Arc::clone(&written);
            async move |tx| write_until_awaited(&tx, &changes, &written).await
        });
        let waiting = async {
            written.notified().await;
            write(&store, waiting, COMPLETE).await;
        };
        let (held, ()) = tokio::join!(holding, waiting);
        held.unwrap();
        let (members, n_after, sum) = stored(&store).await;
        assert_eq!((members, sum), (model.clone(), model.len() as u64), "splits: {splits}");
        assert_eq!(n_after > n_before, splits, "{n_before} parts, then {n_after}");
    }
}
