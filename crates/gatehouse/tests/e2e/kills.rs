//! `kill -9` at random moments of batches: every Task ends, nothing is done twice, nothing is lost, and every created
//! access is usable.
//!
//! Each kill comes while a fresh tenant's creations and changes are processed: on PostgreSQL, a dead server's work
//! waits until its lease expires. The interrupted work continues meanwhile, and is checked at the end.

mod tenant_state;
mod verdict;

use super::batch::{Wait, progress_path};
use super::process::*;
use gatehouse_testing::{SeededRandom, record};
use reqwest::Method;
use serde_json::json;
use tenant_state::KilledTenant;

fn n_kills() -> usize {
    // On each of the two stores.
    if std::env::var_os("TEST_LONG").is_some() { 100 } else { 10 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_survive_kills_on_sqlite() {
    survive_kills(Setup::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_survive_kills_on_postgres() {
    survive_kills(Setup::postgres("batches_survive_kills").await).await;
}

async fn survive_kills(setup: Setup) {
    let mut random = SeededRandom::from_entropy(setup.kind);
    // Not every kill interrupts work; if most don't, the test is void.
    let (n_wanted, n_most) = (n_kills(), 6 * n_kills());
    std::fs::write(setup.path("estate.yaml"), KilledTenant::estate(n_most)).unwrap();
    let mut server = setup.serve();
    let mut houses = Vec::new();
    let (mut n_busy, mut n_half_done) = (0, 0);
    while houses.len() < n_wanted || n_busy * 2 < n_wanted || n_half_done * 4 < n_wanted {
        assert!(houses.len() < n_most, "{n_busy} kills hit something, {n_half_done} half-way");
        let mut tenant_state = KilledTenant::build(&server, houses.len()).await;
        tenant_state.request(&server, &mut random).await;
        // Another server is running already, or starts later.
        let has_other_server = setup.database_url.is_some() && random.roll(4) == 0;
        let other = has_other_server.then(|| setup.serve());
        kill_at_some_point(server, &mut tenant_state, &mut random).await;
        let interrupted = Interrupted::of(&setup, &tenant_state.tenant).await;
        n_busy += usize::from(interrupted.is_leased && interrupted.n_unfinished > 0);
        n_half_done += usize::from(interrupted.is_leased && interrupted.n_half_done > 0);
        houses.push(tenant_state);
        server = other.unwrap_or_else(|| setup.serve());
    }
    eprintln!(
        "{}: {} kills, {n_busy} while a worker was busy, {n_half_done} in the middle of a Task",
        setup.kind,
        houses.len()
    );
    for (n, tenant_state) in houses.iter().enumerate() {
        tenant_state.check(&server, &mut random, n < 5).await;
    }
    let doctor = setup.run(&["doctor", "--deep"]);
    assert!(doctor.status.success(), "{}: {}", setup.kind, printed(&doctor));
    server.terminate();
    assert!(server.wait().success(), "{}", setup.log());
    record(
        &format!("{}: `kill -9` in the middle of batches", setup.kind),
        houses.len(),
        "every Task comes to its end, each item once; what was made can be used; all figures agree",
    );
}

/// Waits until enough is done, and kills the server a few polls later: perhaps while a Task is stopped, perhaps while
/// one more batch is being sent.
async fn kill_at_some_point(
    server: Server,
    tenant_state: &mut KilledTenant,
    random: &mut SeededRandom,
) {
    let enough = random.roll(tenant_state.n_items() * 8 / 10);
    let wait = Wait::new(format!("{} items of {} are done", enough, tenant_state.tenant));
    while tenant_state.n_processed(&server).await < enough {
        wait.check_limit();
    }
    let first = &mut tenant_state.batches[0];
    let path = format!("/{}/access/batch/{}", tenant_state.tenant, first.task);
    if random.roll(3) == 0 {
        let status = server.ask(Method::DELETE, &path, None).await.status();
        assert!(status == 200 || status == 409, "{status}");
        first.is_stopped = status == 200;
    }
    let mut on_its_way = None;
    if random.roll(3) == 0 {
        let body = json!({"contractId": "payg", "numberOfAccesses": tenant_state::N_UNCONFIRMED})
            .to_string();
        let request =
            server.client.post(format!("{}/{}/access/batch", server.url, tenant_state.tenant));
        let request = request.bearer_auth(&server.token).header("content-type", "application/json");
        on_its_way = Some(tokio::spawn(request.body(body).send()));
    }
    let progress = progress_path(&tenant_state.tenant, &tenant_state.batches[1].task);
    for _ in 0..random.roll(12) {
        server.ask(Method::GET, &progress, None).await;
    }
    server.kill();
    if let Some(sent) = on_its_way {
        tenant_state.add_unconfirmed(sent.await.unwrap().ok()).await;
    }
}

/// A tenant's work that a kill has interrupted.
struct Interrupted {
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

impl Interrupted {
    async fn of(setup: &Setup, tenant: &str) -> Self {
        let questions = [LEASED, UNFINISHED, HALF_DONE].map(|sql| format!("{sql}'{tenant}'"));
        let counts = match &setup.database_url {
            Some(url) => query_postgres(url, questions).await,
            None => query_copy(setup, questions),
        };
        Self { is_leased: counts[0] > 0, n_unfinished: counts[1], n_half_done: counts[2] }
    }
}

async fn query_postgres(url: &str, questions: [String; 3]) -> Vec<i64> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut counts = Vec::new();
    for sql in questions {
        counts.push(client.query_one(&sql, &[]).await.unwrap().get(0));
    }
    counts
}

/// Reads a copy: opening a database after a kill recovers it, which is the server's job.
fn query_copy(setup: &Setup, questions: [String; 3]) -> Vec<i64> {
    let copy = tempfile::tempdir().unwrap();
    for name in ["gatehouse.db", "gatehouse.db-wal"] {
        let from = setup.path("gatehouse-data").join(name);
        std::fs::copy(from, copy.path().join(name)).unwrap();
    }
    let connection = rusqlite::Connection::open(copy.path().join("gatehouse.db")).unwrap();
    let count = |sql: String| connection.query_row(&sql, [], |row| row.get(0)).unwrap();
    questions.map(count).to_vec()
}
