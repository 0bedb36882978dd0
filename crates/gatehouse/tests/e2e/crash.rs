//! `kill -9` amid a thousand creations: every confirmed access is stored, once, without a gap.

use std::collections::{BTreeMap, BTreeSet};

use super::process::*;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

const CLIENTS: usize = 1000;

/// Numbers of responses before each kill.
fn kill_points() -> Vec<usize> {
    if std::env::var_os("TEST_LONG").is_some() {
        (0..20).map(|n| 1 + n * 45).collect()
    } else {
        vec![1, 150, 600]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_writes_survive_a_kill_on_sqlite() {
    survive_kills(&Setup::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_writes_survive_a_kill_on_postgres() {
    survive_kills(&Setup::postgres("survives_a_kill").await).await;
}

/// Two thousand connections at once are for another test.
static ALONE: Mutex<()> = Mutex::const_new(());

async fn survive_kills(setup: &Setup) {
    let _alone = ALONE.lock().await;
    let mut answered = BTreeSet::new();
    for (round, kill_after) in kill_points().into_iter().enumerate() {
        let server = setup.serve();
        answered.extend(create_until_killed(server, round, kill_after).await);
        // The next start recovers from the kill.
        let server = setup.serve();
        for (id, username) in &answered {
            let (status, access) =
                server.json(reqwest::Method::GET, &format!("/acme/access/{id}"), None).await;
            assert_eq!((status, access["username"].as_str()), (200, Some(username.as_str())));
        }
        server.terminate();
        assert!(server.wait().success());
        let rows = rows(setup).await;
        assert_gapless(&rows, setup.kind);
        let stored: BTreeSet<&str> = rows.accesses.iter().map(|it| it.username.as_str()).collect();
        assert_eq!(stored.len(), rows.accesses.len(), "{}: nothing is there twice", setup.kind);
        assert!(answered.iter().all(|(_, username)| stored.contains(username.as_str())));
        assert!(rows.accesses.len() <= (round + 1) * CLIENTS);
    }
    assert!(answered.len() >= kill_points().iter().sum::<usize>(), "{}", answered.len());
    gatehouse_testing::record(
        &format!("{}: `kill -9` in the middle of a thousand creations at once", setup.kind),
        kill_points().len(),
        "everything answered is there, once, and running numbers have no gap",
    );
}

/// A thousand clients at once, and a kill after enough responses.
async fn create_until_killed(
    server: Server,
    round: usize,
    kill_after: usize,
) -> BTreeSet<(String, String)> {
    let mut clients = JoinSet::new();
    for n in 0..CLIENTS {
        let contract = ["payg", "payg-2", "pre"][n % 3];
        let username = format!("r{round}-{n}");
        let body = format!(r#"{{"contractId": "{contract}", "username": "{username}"}}"#);
        let request = server.client.post(format!("{}/acme/access", server.url));
        let request = request.bearer_auth(&server.token).header("content-type", "application/json");
        let request = request.body(body);
        clients.spawn(async move {
            let response = request.send().await.map_err(|error| format!("{error:?}"))?;
            let status = response.status();
            let access: serde_json::Value =
                response.json().await.map_err(|error| format!("{error:?}"))?;
            match access["id"].as_str() {
                Some(id) if status == 201 => Ok((id.to_owned(), username)),
                _ => Err(format!("{status}: {access}")),
            }
        });
    }
    let mut answered = BTreeSet::new();
    while answered.len() < kill_after {
        // Before the kill nothing may fail, and some clients still wait.
        let client = clients.join_next().await.expect("there are more clients than answers wanted");
        answered.insert(client.unwrap().unwrap());
    }
    server.kill();
    while let Some(client) = clients.join_next().await {
        answered.extend(client.unwrap().ok());
    }
    answered
}

struct Rows {
    accesses: Vec<Row>,
    counters: BTreeMap<String, i64>,
}

struct Row {
    username: String,
    numbers: Vec<(String, i64)>,
}

const ACCESSES: &str = "SELECT username, number, offering_id, offering_number, contract_id, \
                        contract_number FROM access WHERE tenant = 'acme'";
const COUNTERS: &str = "SELECT kind, name, total FROM counter WHERE tenant = 'acme'";

fn row(
    (username, number, offering, offering_number, contract, contract_number): (
        String,
        i64,
        String,
        i64,
        String,
        i64,
    ),
) -> Row {
    let numbers = vec![
        ("tenant/".to_owned(), number),
        (format!("offering/{offering}"), offering_number),
        (format!("contract/{contract}"), contract_number),
    ];
    Row { username, numbers }
}

/// Reads the tables directly, without the server.
async fn rows(setup: &Setup) -> Rows {
    let Some(url) = &setup.database_url else {
        let path = setup.path("gatehouse-data/gatehouse.db");
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut accesses = connection.prepare(ACCESSES).unwrap();
        let accesses = accesses
            .query_map([], |it| {
                Ok((it.get(0)?, it.get(1)?, it.get(2)?, it.get(3)?, it.get(4)?, it.get(5)?))
            })
            .unwrap();
        let mut counters = connection.prepare(COUNTERS).unwrap();
        let counters = counters
            .query_map([], |it| {
                let (kind, name): (String, String) = (it.get(0)?, it.get(1)?);
                Ok((format!("{kind}/{name}"), it.get(2)?))
            })
            .unwrap();
        return Rows {
            accesses: accesses.map(|it| row(it.unwrap())).collect(),
            counters: counters.map(Result::unwrap).collect(),
        };
    };
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let accesses = client.query(ACCESSES, &[]).await.unwrap();
    let counters = client.query(COUNTERS, &[]).await.unwrap();
    Rows {
        accesses: accesses
            .iter()
            .map(|it| row((it.get(0), it.get(1), it.get(2), it.get(3), it.get(4), it.get(5))))
            .collect(),
        counters: counters
            .iter()
            .map(|it| (format!("{}/{}", it.get::<_, &str>(0), it.get::<_, &str>(1)), it.get(2)))
            .collect(),
    }
}

fn assert_gapless(rows: &Rows, kind: &str) {
    let mut given: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (set, number) in rows.accesses.iter().flat_map(|it| &it.numbers) {
        given.entry(set).or_default().push(*number);
    }
    for (set, mut numbers) in given {
        numbers.sort_unstable();
        let expected: Vec<i64> = (1..=i64::try_from(numbers.len()).unwrap()).collect();
        assert_eq!(numbers, expected, "{kind}: {set}");
        assert_eq!(rows.counters[set], *expected.last().unwrap(), "{kind}: counter of {set}");
    }
}
