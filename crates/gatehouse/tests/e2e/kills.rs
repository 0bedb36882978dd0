//! `kill -9` at random moments of batches: every Task comes to its end, nothing is done twice, nothing is
//! lost, and whatever was made can be used by whoever asked for it.
//!
//! Each kill comes while a tenant's creations and changes are worked on, which nothing else has touched
//! before: on PostgreSQL, what a dead server had taken up is left alone until its lease is over. What all
//! kills have interrupted goes on meanwhile, and is judged at the end.

mod house;
mod verdict;

use super::batch::{Wait, progress_path};
use super::process::*;
use gatehouse_testing::{SeededRandom, record};
use house::House;
use reqwest::Method;
use serde_json::json;

fn n_kills() -> usize {
    // On each of the two stores.
    if std::env::var_os("TEST_LONG").is_some() { 100 } else { 10 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_survive_kills_on_sqlite() {
    survive_kills(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_survive_kills_on_postgres() {
    survive_kills(Place::postgres("batches_survive_kills").await).await;
}

async fn survive_kills(place: Place) {
    let mut dice = SeededRandom::from_entropy(place.kind);
    // Not every kill hits something; when most of them don't, this is no test.
    let (n_wanted, n_most) = (n_kills(), 6 * n_kills());
    std::fs::write(place.path("estate.yaml"), House::estate(n_most)).unwrap();
    let mut server = place.serve();
    let mut houses = Vec::new();
    let (mut n_busy, mut n_half_done) = (0, 0);
    while houses.len() < n_wanted || n_busy * 2 < n_wanted || n_half_done * 4 < n_wanted {
        assert!(houses.len() < n_most, "{n_busy} kills hit something, {n_half_done} half-way");
        let mut house = House::build(&server, houses.len()).await;
        house.ask(&server, &mut dice).await;
        // Another server that is there already goes on, or one that comes later.
        let is_beside = place.database_url.is_some() && dice.roll(4) == 0;
        let other = is_beside.then(|| place.serve());
        kill_at_some_point(server, &mut house, &mut dice).await;
        let left = Left::of(&place, &house.tenant).await;
        n_busy += usize::from(left.is_leased && left.n_unfinished > 0);
        n_half_done += usize::from(left.is_leased && left.n_half_done > 0);
        houses.push(house);
        server = other.unwrap_or_else(|| place.serve());
    }
    eprintln!(
        "{}: {} kills, {n_busy} while a worker was busy, {n_half_done} in the middle of a Task",
        place.kind,
        houses.len()
    );
    for (n, house) in houses.iter().enumerate() {
        house.judge(&server, &mut dice, n < 5).await;
    }
    let doctor = place.run(&["doctor", "--deep"]);
    assert!(doctor.status.success(), "{}: {}", place.kind, said(&doctor));
    server.terminate();
    assert!(server.wait().success(), "{}", place.log());
    record(
        &format!("{}: `kill -9` in the middle of batches", place.kind),
        houses.len(),
        "every Task comes to its end, each item once; what was made can be used; all figures agree",
    );
}

/// Waits until so much is done, and kills the server a few looks later: perhaps while a Task is stopped,
/// perhaps while one more batch is on its way.
async fn kill_at_some_point(server: Server, house: &mut House, dice: &mut SeededRandom) {
    let enough = dice.roll(house.n_items() * 8 / 10);
    let wait = Wait::new(format!("{} items of {} are done", enough, house.tenant));
    while house.n_processed(&server).await < enough {
        wait.goes_on();
    }
    let first = &mut house.asked[0];
    let path = format!("/{}/access/batch/{}", house.tenant, first.task);
    if dice.roll(3) == 0 {
        let status = server.ask(Method::DELETE, &path, None).await.status();
        assert!(status == 200 || status == 409, "{status}");
        first.is_stopped = status == 200;
    }
    let mut on_its_way = None;
    if dice.roll(3) == 0 {
        let body = json!({"contractId": "payg", "numberOfAccesses": house::ON_ITS_WAY}).to_string();
        let request = server.client.post(format!("{}/{}/access/batch", server.url, house.tenant));
        let request = request.bearer_auth(&server.token).header("content-type", "application/json");
        on_its_way = Some(tokio::spawn(request.body(body).send()));
    }
    let progress = progress_path(&house.tenant, &house.asked[1].task);
    for _ in 0..dice.roll(12) {
        server.ask(Method::GET, &progress, None).await;
    }
    server.kill();
    if let Some(sent) = on_its_way {
        house.learn(sent.await.unwrap().ok()).await;
    }
}

/// What a kill has left behind of a tenant's work.
struct Left {
    is_leased: bool,
    n_unfinished: i64,
    n_half_done: i64,
}

const LEASED: &str =
    "SELECT COUNT(*) FROM due WHERE kind = 'tasks' AND is_leased = 1 AND tenant = ";
const UNFINISHED: &str =
    "SELECT COUNT(*) FROM task WHERE state IN ('ACKNOWLEDGED', 'IN_PROGRESS') AND tenant = ";
const HALF_DONE: &str =
    "SELECT COUNT(*) FROM task WHERE state = 'IN_PROGRESS' AND n_succeeded > 0 AND tenant = ";

impl Left {
    async fn of(place: &Place, tenant: &str) -> Self {
        let questions = [LEASED, UNFINISHED, HALF_DONE].map(|sql| format!("{sql}'{tenant}'"));
        let counts = match &place.database_url {
            Some(url) => look_at_postgres(url, questions).await,
            None => look_at_copy(place, questions),
        };
        Self { is_leased: counts[0] > 0, n_unfinished: counts[1], n_half_done: counts[2] }
    }
}

async fn look_at_postgres(url: &str, questions: [String; 3]) -> Vec<i64> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut counts = Vec::new();
    for sql in questions {
        counts.push(client.query_one(&sql, &[]).await.unwrap().get(0));
    }
    counts
}

/// Of copies: who opens a database that was left behind recovers it, and that is for the server to do.
fn look_at_copy(place: &Place, questions: [String; 3]) -> Vec<i64> {
    let copy = tempfile::tempdir().unwrap();
    for name in ["gatehouse.db", "gatehouse.db-wal"] {
        let from = place.path("gatehouse-data").join(name);
        std::fs::copy(from, copy.path().join(name)).unwrap();
    }
    let connection = rusqlite::Connection::open(copy.path().join("gatehouse.db")).unwrap();
    let count = |sql: String| connection.query_row(&sql, [], |row| row.get(0)).unwrap();
    questions.map(count).to_vec()
}
