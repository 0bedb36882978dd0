//! Indexes that SQLite chooses: it has no statistics, so the form of a statement alone decides.

use super::*;
use crate::Clock;
use gatehouse_core::Timestamp;
use gatehouse_core::label::RequiredLabels;
use gatehouse_core::list::{DeviceNameCondition, Interval};

fn located(set: NumberedSet, name: Option<&str>, end: Option<TimeSpan>) -> Located {
    let interval = Interval { after: 0, to: 1000 };
    let device = name.map(|name| name.parse().unwrap()).into();
    let rest = RowConditions {
        username: None,
        device,
        status: None,
        labels: RequiredLabels::new(),
        start: TimeSpan::ALWAYS,
        end,
    };
    Located { set, interval, rest, label_parts: Vec::new() }
}

fn of_username(set: NumberedSet, device: DeviceNameCondition) -> Located {
    let mut located = located(set, None, None);
    located.rest = RowConditions { username: Some("u".parse().unwrap()), device, ..located.rest };
    located
}

async fn plan(store: &Store, sql: String, values: Vec<Value<'_>>) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    // Values don't matter to the plan, but they can't be moved into the snapshot.
    let n_values = values.len();
    let plan = store.db.snapshot(SnapshotFor::Server(None), async move |tx| {
        let values = vec![Value::from(1_i64); n_values];
        tx.rows_once(&sql, &values, |row| row.text(3)).await
    });
    plan.await.unwrap().join("; ")
}

#[tokio::test]
async fn each_search_goes_by_the_index_that_leaves_fewest() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::by_hand(Timestamp::EPOCH);
    let store = Store::open_sqlite(&dir.path().join("test.db"), clock).await.unwrap();
    let tenant = "acme".parse().unwrap();
    let contract = || NumberedSet::Contract("c1".parse().unwrap());
    let ends = Some(TimeSpan { from: 1, until: 2 });
    #[rustfmt::skip]
    let cases = [
        // terms                                                     // indexes
        (vec![located(NumberedSet::Tenant, Some("x"), None)],                vec!["INDEX access_device_name (tenant=? AND device_name=?"]),
        (vec![located(contract(), Some("x"), None)],                 vec!["INDEX access_device_name (tenant=? AND device_name=?"]),
        (vec![located(contract(), Some("x"), ends)],                 vec!["INDEX access_device_name (tenant=? AND device_name=?"]),
        (vec![located(contract(), None, ends)],                      vec!["INDEX access_contract (tenant=? AND contract_id=? AND contract_number>? AND contract_number<?)"]),
        (vec![located(NumberedSet::Tenant, None, ends)],                     vec!["PRIMARY KEY (tenant=? AND number>? AND number<?)"]),
        (vec![located(contract(), Some("x"), None), located(contract(), Some("y"), ends)],
              vec!["INDEX access_device_name (tenant=? AND device_name=?"]),
        (vec![located(NumberedSet::Tenant, Some("x"), None), located(contract(), None, None)],
              vec!["INDEX access_device_name (tenant=? AND device_name=?", "COVERING INDEX access_contract (tenant=? AND contract_id=?"]),
    ];
    let usernames = [
        "INDEX access_username_live (tenant=? AND username=?",
        "INDEX access_username_ended (tenant=? AND username=?",
    ];
    let of_usernames = [
        vec![of_username(NumberedSet::Tenant, DeviceNameCondition::Any)],
        vec![of_username(contract(), DeviceNameCondition::Unnamed)],
        vec![of_username(contract(), DeviceNameCondition::Named("x".parse().unwrap()))],
        vec![
            of_username(NumberedSet::Tenant, DeviceNameCondition::Any),
            of_username(contract(), DeviceNameCondition::Any),
        ],
    ];
    let of_usernames = of_usernames.into_iter().map(|terms| (terms, usernames.to_vec()));
    // The accesses of these usernames were found by number before.
    let found = |number| Located {
        set: NumberedSet::Tenant,
        interval: Interval { after: number - 1, to: number },
        label_parts: Vec::new(),
        rest: RowConditions::NONE,
    };
    let statuses = [None, Some(Status::Active), Some(Status::Terminated)];
    let with_status = |(n, mut one): (usize, Located)| {
        one.rest.status = statuses[n % 3];
        one
    };
    let mut many: Vec<_> = (1..=3200).map(found).enumerate().map(with_status).collect();
    many.push(located(NumberedSet::Tenant, Some("x"), None));
    let many = (many, vec!["INDEX access_device_name (tenant=? AND device_name=?"]);
    for (terms, indexes) in cases.into_iter().chain(of_usernames).chain([many]) {
        let mut search = Search::new(&tenant, &terms, Timestamp::EPOCH);
        let total = plan(&store, search.total(), search.values.clone()).await;
        let page = search.page(gatehouse_core::PageRequest { number: 3, size: 10 }.into(), 10);
        let page = plan(&store, page, search.values).await;
        for index in indexes {
            assert!(total.contains(index), "{index} is not in {total}");
            assert!(page.contains(index), "{index} is not in {page}");
        }
        assert!(page.contains("PRIMARY KEY (tenant=? AND number=?)"), "{page}");
    }
}

#[tokio::test]
async fn an_access_is_found_by_its_username_without_a_look_at_others() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::by_hand(Timestamp::EPOCH);
    let store = Store::open_sqlite(&dir.path().join("test.db"), clock).await.unwrap();
    let statements =
        [(crate::access::BY_USERNAME, 2_usize), (crate::access::lookup::BY_USERNAME, 3)];
    for (sql, n_values) in statements {
        let plan = plan(&store, sql.into(), vec![Value::from(1_i64); n_values]).await;
        for index in [
            "INDEX access_username_live (tenant=? AND username=?",
            "INDEX access_username_ended (tenant=? AND username=?",
            "PRIMARY KEY (tenant=? AND number=?)",
        ] {
            assert!(plan.contains(index), "{index} is not in {plan}");
        }
        assert!(!plan.contains("SCAN access"), "{plan}");
        assert!(!plan.contains("PRIMARY KEY (tenant=?)"), "{plan}");
    }
}
