use super::*;
use crate::db::WriteKind;
use crate::{Day, Tally};
use gatehouse_core::Status;
use gatehouse_core::lifecycle::TargetStatus;

async fn set_status_of(case: &Case, username: &str, target: TargetStatus) {
    let tenant = acme();
    let stored = case.store.access_by_username(&tenant, &username.parse().unwrap()).await;
    let (id, now) = (stored.unwrap().unwrap().access.id, case.clock.now());
    set_status(&case.store, id, target, now).await;
}

/// Three accesses of a contract that ends on day 3, one of a contract without an end; some of them changed.
async fn live_through_a_few_days(case: &Case) {
    set_up(&case.store).await;
    let ending = Contract { end: Some(day(3)), ..contract("ending", "o2") };
    case.store.put_contract(&acme(), &ending, &audited()).await.unwrap().unwrap();
    for (n, contract) in ["ending", "ending", "c1", "ending"].into_iter().enumerate() {
        case.clock.set(day(n as i64 / 2));
        let new = NewAccess {
            created_by: (n < 2).then(|| gatehouse_core::TaskId::from_bytes([7; 16])),
            ..new(contract, &format!("u{n}"))
        };
        case.store.create_access(&acme(), new).await.unwrap().unwrap();
    }
    case.clock.set(day(2));
    set_status_of(case, "u0", TargetStatus::Suspended).await;
    set_status_of(case, "u1", TargetStatus::Terminated).await;
}

fn tally(statuses: &[(Status, i64)]) -> Tally {
    let mut tally = Tally::default();
    for (status, n) in statuses {
        tally.add(*status, *n);
    }
    tally
}

#[tokio::test]
async fn a_summary_counts_ends_from_the_moment_they_come() {
    for case in stores("a_summary_counts_ends").await {
        live_through_a_few_days(&case).await;
        let of_contract = |summary: &crate::Summary, id: &str| {
            let found = summary.contracts.iter().find(|it| it.contract_id.as_str() == id);
            found.unwrap().tally
        };
        // At each time: the tally of `ending`, and the days.
        let (active, suspended, terminated) =
            (Status::Active, Status::Suspended, Status::Terminated);
        for (now, of_ending, ended) in [
            (day(2), tally(&[(suspended, 1), (active, 1), (terminated, 1)]), [0, 0, 1, 0]),
            // The expiry of the contract's accesses isn't stored yet.
            (day(3), tally(&[(terminated, 3)]), [0, 0, 1, 2]),
        ] {
            let summary = case.store.summary(&acme(), now, 90).await.unwrap().unwrap();
            assert_eq!(of_contract(&summary, "ending"), of_ending, "{}", case.kind);
            assert_eq!(of_contract(&summary, "c1"), tally(&[(active, 1)]));
            assert_eq!(of_contract(&summary, "c3"), Tally::default());
            assert_eq!((summary.tally().total(), summary.contracts.len()), (4, 4));
            assert_eq!(summary.days.len(), 90);
            for (n, n_ended) in ended.into_iter().enumerate() {
                let found = summary.days.iter().find(|it| it.day == day(n as i64).day());
                let n_created = if n < 2 { 2 } else { 0 };
                let expected = Day { day: day(n as i64).day(), n_created, n_ended };
                match found {
                    Some(found) => assert_eq!(*found, expected, "{}", case.kind),
                    None => assert!(day(n as i64) > now),
                }
            }
        }
        // After the next update has stored the expiry, the summary is the same.
        case.clock.set(day(4));
        set_status_of(&case, "u0", TargetStatus::Terminated).await;
        let summary = case.store.summary(&acme(), day(4), 2).await.unwrap().unwrap();
        assert_eq!(of_contract(&summary, "ending"), tally(&[(terminated, 3)]), "{}", case.kind);
        assert_eq!(summary.days.len(), 2);
        assert_eq!(summary.days[0], Day { day: day(3).day(), n_created: 0, n_ended: 2 });

        assert_eq!(case.store.summary(&"nobody".parse().unwrap(), day(4), 90).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_recount_finds_whatever_was_tampered_with() {
    #[rustfmt::skip]
    let tampering = [
        // what happens to the database                                     // what the recount says
        ("UPDATE counter SET total = 9 WHERE kind = 'tenant'",              "the tenant: written down is 9"),
        ("DELETE FROM counter WHERE kind = 'job'",                          "the job job-07070707"),
        ("UPDATE counter SET latest_at = 1 WHERE name = 'c1'",              "the contract c1: written down is 1,"),
        ("UPDATE tally SET n_active = n_active + 1 WHERE contract_id = 'c1'", "ACTIVE accesses of the contract c1: written down is 2"),
        ("UPDATE tally SET n_terminated = 0",                               "TERMINATED accesses of the contract ending"),
        ("UPDATE day SET n = n - 1 WHERE kind = 'ended'",                   "accesses ended on 2027-01-17: written down is nothing"),
        ("UPDATE tally SET n_suspended = -7 WHERE contract_id = 'c1'",      "SUSPENDED accesses of the contract c1: written down is -7, found is nothing"),
        ("INSERT INTO tally VALUES ('acme', 'gone', 0, 0, 0, 0, 0, 0)",     "tally of the contract gone: written down is one row, found is nothing"),
        ("DELETE FROM tally WHERE contract_id = 'c3'",                      "tally of the contract c3: written down is nothing"),
        ("DELETE FROM counter WHERE kind = 'contract' AND name = 'c3'",     "counter of the contract c3: written down is nothing"),
        ("UPDATE tally SET n_reserved = 3 WHERE contract_id = 'c1'",         "reserved places of the contract c1: written down is 3, found is nothing"),
        ("INSERT INTO day VALUES ('acme', 'ended', 1, -3)",                 "accesses ended on 1970-01-02: written down is -3"),
        ("DELETE FROM day WHERE kind = 'created'",                          "accesses created on 2027-01-15: written down is nothing"),
        ("DELETE FROM access WHERE username = 'u2'",                        "found is 3, numbered 1 to 4"),
        ("UPDATE access SET created_at = 1 WHERE username = 'u3'",          "made before the one"),
        ("UPDATE access SET contract_number = 9 WHERE username = 'u0'",     "another order in their contract"),
        ("DELETE FROM due WHERE name = 'ending'",                           "2 accesses have an end without an entry in the work queue"),
        ("UPDATE due SET part = part + 1",                                  "2 accesses have an end without an entry in the work queue"),
        ("UPDATE access SET contract_id = 'c2', contract_number = 1 WHERE username = 'u1'", "another contract than it"),
    ];
    for (n, (sql, expected)) in tampering.into_iter().enumerate() {
        for case in stores(&format!("a_recount_finds_tampering_{n}")).await {
            live_through_a_few_days(&case).await;
            let clean = case.store.recount(&acme()).await.unwrap();
            assert_eq!(clean.discrepancies, Vec::<String>::new(), "{}", case.kind);
            assert_eq!(clean.n_accesses, 4);
            assert!(clean.n_figures > 10);

            case.store
                .db
                .write(WriteKind::Server, async move |tx| tx.script(sql).await)
                .await
                .unwrap();
            let found = case.store.recount(&acme()).await.unwrap().discrepancies;
            let said = found.join("\n");
            assert!(said.contains(expected), "{}: {sql}: {said}", case.kind);
        }
    }
}
