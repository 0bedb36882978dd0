//! Running numbers stay gapless under concurrent conflicts.

use super::*;
use crate::CreateRefused;
use std::collections::{BTreeMap, HashMap};

/// The numbers that each set has assigned, and its counter.
async fn numbers(store: &Store) -> BTreeMap<String, (Vec<i64>, Option<i64>)> {
    let sets = "SELECT number, offering_number, contract_number, job_number, offering_id, \
                contract_id, job FROM access WHERE tenant = ?1 ORDER BY number";
    let acme = ["acme".into()];
    let rows = store.db.rows(sets, &acme, |row| {
        let job = row.optional_id(6)?.map(gatehouse_core::TaskId::from_bytes);
        let mut of = vec![
            ("tenant/".to_owned(), row.integer(0)?),
            (format!("offering/{}", row.text(4)?), row.integer(1)?),
            (format!("contract/{}", row.text(5)?), row.integer(2)?),
        ];
        if let Some(job) = job {
            of.push((format!("job/{job}"), row.integer(3)?));
        }
        Ok(of)
    });
    let mut numbers: BTreeMap<String, (Vec<i64>, Option<i64>)> = BTreeMap::new();
    for (set, number) in rows.await.unwrap().into_iter().flatten() {
        numbers.entry(set).or_default().0.push(number);
    }
    let counters = "SELECT kind, name, total FROM counter WHERE tenant = ?1";
    let counters = store.db.rows(counters, &acme, |row| {
        Ok((format!("{}/{}", row.text(0)?, row.text(1)?), row.integer(2)?))
    });
    for (set, total) in counters.await.unwrap() {
        numbers.entry(set).or_default().1 = Some(total);
    }
    numbers
}

pub(super) async fn assert_gapless(store: &Store, kind: &str) -> usize {
    let mut n_accesses = 0;
    for (set, (mut given, counter)) in numbers(store).await {
        given.sort_unstable();
        let expected: Vec<i64> = (1..=i64::try_from(given.len()).unwrap()).collect();
        assert_eq!(given, expected, "{kind}: {set} has gaps or repeats");
        assert_eq!(counter, expected.last().copied().or(Some(0)), "{kind}: counter of {set}");
        if set == "tenant/" {
            n_accesses = given.len();
        }
    }
    n_accesses
}

#[tokio::test]
async fn a_conflict_leaves_no_gap() {
    for case in stores("a_conflict_leaves_no_gap").await {
        set_up(&case.store).await;
        for (contract, username) in
            [("c1", "a"), ("c1", "a"), ("c3", "b"), ("c9", "x"), ("c2", "a"), ("c1", "c")]
        {
            let _ = case.store.create_access(&acme(), new(contract, username)).await.unwrap();
        }
        assert_eq!(assert_gapless(&case.store, case.kind).await, 3);
    }
}

/// 24 writers on two stores, usernames that collide all the time, refusals of every kind in between: every created
/// access has its own number.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_with_colliding_usernames_leave_no_gap() {
    const WRITERS: usize = 24;
    const EACH: usize = 40;
    for case in stores("many_writers_with_colliding_usernames_leave_no_gap").await {
        set_up(&case.store).await;
        let few = Contract { n_accesses_max: Some(17), ..contract("few", "o2") };
        case.store.put_contract(&acme(), &few, &audited()).await.unwrap().unwrap();
        let second = match case.place {
            // One process owns a SQLite file.
            Place::Sqlite(_) => case.store.clone(),
            Place::Postgres(_) => case.another().await.unwrap(),
        };
        let writers = (0..WRITERS).map(|writer| {
            let store = if writer % 2 == 0 { case.store.clone() } else { second.clone() };
            tokio::spawn(async move {
                let mut won = Vec::new();
                for n in 0..EACH {
                    // About six writers want each name.
                    let username = format!("u{}", (n * 4 + writer % 4) % 160);
                    let contract = ["c1", "c2", "c3", "few", "c9"][(n + writer) % 5];
                    let job = "job-019f0000-0000-7000-8000-00000000000";
                    let created_by =
                        (n % 3 == 0).then(|| format!("{job}{}", writer % 3).parse().unwrap());
                    let wanted = NewAccess { created_by, ..new(contract, &username) };
                    match store.create_access(&acme(), wanted).await.unwrap() {
                        Ok(access) => won.push(access.username.to_string()),
                        Err(CreateRefused::NoTenant) => panic!("the tenant is there"),
                        Err(_) => {}
                    }
                }
                won
            })
        });
        let mut winners: HashMap<String, usize> = HashMap::new();
        for writer in writers.collect::<Vec<_>>() {
            for username in writer.await.unwrap() {
                *winners.entry(username).or_default() += 1;
            }
        }
        assert!(winners.values().all(|n| *n == 1), "{}: a name has one owner", case.kind);
        let n_accesses = assert_gapless(&case.store, case.kind).await;
        assert_eq!(n_accesses, winners.len(), "{}: every answer is there", case.kind);
        let few = case.store.contract(&acme(), &"few".parse().unwrap(), day(0)).await.unwrap();
        assert_eq!(few.unwrap().n_live, 17, "{}: the quota is exact", case.kind);
    }
}
