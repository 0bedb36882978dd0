//! Passwords that batches issue: Tasks show them, and nothing else ever holds them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::batch::text;
use super::process::*;
use super::search::{Search, files_since};
use reqwest::Method;
use serde_json::{Value, json};

const OF_ALL: &str = "pw-of-all-of-them-21";
const UNUSED: &str = "pw-of-a-taken-username-22";

struct Batches {
    passwords: BTreeSet<String>,
    usernames: BTreeSet<String>,
}

fn listed() -> Value {
    let mut items: Vec<Value> =
        (0..60).map(|n| json!({"username": format!("listed-{n}")})).collect();
    for n in [3, 17, 41, 59] {
        items[n]["password"] = format!("pw-chosen-for-{n}").into();
    }
    items.push(json!({"username": "listed-0", "password": UNUSED}));
    items.push(json!({"username": "too-long", "password": format!("pw-{}", "long-".repeat(15))}));
    json!({"contractId": "payg", "accesses": items})
}

/// Requests one of every kind of batch that issues passwords.
async fn ask(server: &Server) -> Vec<String> {
    let mut tasks = Vec::new();
    for contract in ["payg", "payg-2"] {
        let body = json!({"contractId": contract, "numberOfAccesses": 400});
        tasks.push(server.batch("acme", "batch", &body).await);
    }
    tasks.push(server.batch("acme", "batch", &listed()).await);
    tasks
}

/// Changes the password of all accesses of a Task.
async fn change(server: &Server, task: &str) -> String {
    let made = server.all(&format!("/acme/access?createdBy={task}")).await;
    let ids: Vec<&str> = made.iter().map(|it| text(it, "id")).collect();
    let change = json!({"password": OF_ALL});
    let body = json!({"operationType": "update", "operationBody": change, "accessesIdList": ids});
    server.batch("acme", "batchUpdate", &body).await
}

async fn table(server: &Server, task: &str) -> String {
    let url = format!("{}/acme/access/batch/{task}", server.url);
    let request = server.client.get(url).bearer_auth(&server.token).header("accept", "text/csv");
    request.send().await.unwrap().text().await.unwrap()
}

async fn issue(server: &Server) -> Batches {
    let tasks = ask(server).await;
    let (mut passwords, mut usernames) = (BTreeSet::new(), BTreeSet::new());
    let mut read = async |task: &str| {
        let shown = server.until_ended("acme", task).await;
        let items = server.all(&format!("/acme/access/batch/{task}/items?state=succeeded")).await;
        let table = table(server, task).await;
        for (access, item) in shown["accesses"].as_array().unwrap().iter().zip(&items) {
            let password = text(access, "password");
            assert_eq!(item["access"], *access);
            assert!(table.contains(password), "the table shows it too");
            passwords.insert(password.to_owned());
            usernames.insert(text(access, "username").to_owned());
        }
    };
    for task in &tasks {
        read(task).await;
    }
    let changed = change(server, &tasks[1]).await;
    read(&changed).await;
    assert!(passwords.len() == 861 && passwords.contains(OF_ALL), "{}", passwords.len());
    let unused = [UNUSED, "pw-long-long-long-"].map(str::to_owned);
    passwords.extend(unused);
    Batches { passwords, usernames }
}

/// The tables of a schema, their indexes, and their TOAST tables.
const RELATIONS: &str = "WITH own AS (SELECT oid, reltoastrelid FROM pg_class \
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')) \
    SELECT pg_relation_filepath(oid) FROM own UNION \
    SELECT pg_relation_filepath(reltoastrelid) FROM own WHERE reltoastrelid <> 0";

/// The WAL segment that PostgreSQL writes to.
const SEGMENT: &str = "SELECT pg_walfile_name(pg_current_wal_insert_lsn())";

/// The files that a setup's database writes. PostgreSQL has many more, of other tests.
struct Files {
    setup: Setup,
    first_segment: String,
}

impl Files {
    async fn of(setup: Setup) -> Self {
        let mut files = Self { setup, first_segment: String::new() };
        files.first_segment = files.ask(SEGMENT).await.pop().unwrap_or_default();
        files
    }

    /// Results from PostgreSQL; none from SQLite.
    async fn ask(&self, sql: &str) -> Vec<String> {
        let Some(url) = &self.setup.database_url else { return Vec::new() };
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("CHECKPOINT").await.unwrap();
        client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// All files, with everything that was in memory.
    async fn written(&self) -> Vec<PathBuf> {
        let Some(dir) = self.ask("SHOW data_directory").await.pop().map(PathBuf::from) else {
            let since = self.setup.path("estate.yaml");
            return files_since(&self.setup.path("gatehouse-data"), &since);
        };
        let mut files: Vec<PathBuf> =
            self.ask(RELATIONS).await.iter().map(|path| dir.join(path)).collect();
        let last = self.ask(SEGMENT).await.pop().unwrap();
        let log = std::fs::read_dir(dir.join("pg_wal")).unwrap_or_else(|why| {
            panic!("{} can't be searched, is it another user's? {why}", dir.display())
        });
        let segments = log.flatten().filter(|segment| {
            let name = segment.file_name().into_string().unwrap();
            (&self.first_segment..=&last).contains(&&name)
        });
        files.extend(segments.map(|segment| segment.path()));
        // PostgreSQL's own log.
        files.push(dir.with_file_name("log"));
        files
    }
}

#[tokio::test]
async fn passwords_of_a_batch_are_only_in_its_task() {
    for setup in Setup::each("no_password_of_a_batch").await {
        let files = Files::of(setup).await;
        let setup = &files.setup;
        let server = setup.serve_set(&[("LOG__LEVEL", "trace"), ("LOG__FORMAT", "json")]);
        let issued = issue(&server).await;
        let metrics = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
        let passwords = Search::new(issued.passwords.iter().map(String::as_bytes));
        let check = async |when: &str| {
            let files = files.written().await;
            let found = passwords.find_in(&files);
            assert_eq!(found, None, "{}, {when}: a password is on the disk", setup.kind);
            // Proves that the search finds existing texts.
            let username = Search::new(issued.usernames.first().map(String::as_bytes));
            assert!(username.find_in(&files).is_some(), "{}, {when}", setup.kind);
        };
        check("while it runs").await;
        server.terminate();
        assert!(server.wait().success());
        check("at its end").await;
        let log = setup.log();
        assert!(log.contains("/{tenantName}/access/batch"), "{log:.2000}");
        assert_eq!(passwords.find(log.as_bytes()), None, "{}: in the log", setup.kind);
        assert_eq!(passwords.find(metrics.as_bytes()), None, "{}: in the figures", setup.kind);
    }
}

/// On PostgreSQL the sealed remnants of a key are there until vacuum, and until its log is recycled.
#[tokio::test]
async fn expired_keys_of_tasks_are_removed_from_the_disk() {
    let setup = Setup::sqlite();
    let files = || files_since(&setup.path("gatehouse-data"), &setup.path("estate.yaml"));
    let server = setup.serve_set(&[("TASKS__PASSWORD_RETENTION", "1s")]);
    let mut tasks = ask(&server).await;
    let mut sealed = sealed_keys(&setup);
    assert_eq!(sealed.len(), 3, "each has a key");
    let keys = Search::new(sealed.iter().map(Vec::as_slice));
    assert!(keys.find_in(&files()).is_some(), "which is on the disk");
    server.until_ended("acme", &tasks[2]).await;
    tasks.push(change(&server, &tasks[2]).await);
    sealed.extend(sealed_keys(&setup));
    assert_eq!(sealed.len(), 4, "also the last one");
    let keys = Search::new(sealed.iter().map(Vec::as_slice));
    server.until_ended("acme", &tasks[3]).await;
    until("their bytes are gone", || keys.find_in(&files()).is_none()).await;
    for task in &tasks {
        let shown = server.until_ended("acme", task).await;
        let accesses = shown["accesses"].as_array().unwrap();
        assert!(accesses.len() >= 60, "{shown:.500}");
        assert!(accesses.iter().all(|it| it.get("password").is_none()), "{shown:.500}");
        let table = table(&server, task).await;
        assert!(!table.contains("pw-") && table.lines().count() == accesses.len() + 1);
    }
}

/// The sealed keys of stored Tasks. They follow padding.
fn sealed_keys(setup: &Setup) -> BTreeSet<Vec<u8>> {
    let path = setup.path("gatehouse-data/gatehouse.db");
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut rows = connection.prepare("SELECT body FROM secret WHERE kind = 'task'").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    bodies.map(|body| body.unwrap()[4096..].to_vec()).collect()
}
