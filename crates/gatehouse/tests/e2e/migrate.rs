//! `gatehouse migrate`: servers on PostgreSQL have everything from the embedded store, without a change for clients.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::batch::{Wait, text};
use super::process::*;
use gatehouse_store::{Clock, Store};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_postgres::NoTls;

/// A name with every kind of character.
const AWKWARD: &str = "Zoë's \\\"pump\\\" \\\\ 🚲";

/// An embedded store with the master key of the test's servers on PostgreSQL.
fn embedded_setup() -> Setup {
    let setup = Setup::sqlite();
    let dir = setup.path("gatehouse-data");
    std::fs::create_dir(&dir).unwrap();
    let key = dir.join("master.key");
    std::fs::write(&key, MASTER_KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    setup
}

fn migrate<'a>(to: &'a Setup, more: &[&'a str]) -> Vec<&'a str> {
    let url = to.database_url.as_deref().unwrap();
    [&["migrate", "--from", "sqlite:gatehouse-data", "--to", url], more].concat()
}

/// Secrets that were shown once, and must stay valid.
struct Shown {
    /// Usernames and passwords of devices that may connect.
    passwords: Vec<(String, String)>,
    /// A suspended device's.
    suspended: (String, String),
    client: (String, String),
    first_answer: String,
}

const KEYED: &str = r#"{"contractId": "payg", "deviceName": "once"}"#;

async fn create_keyed(server: &Server) -> String {
    let request = server.client.post(format!("{}/acme/access", server.url));
    let request = request.bearer_auth(&server.token).header("content-type", "application/json");
    let response = request.header("idempotency-key", "order-1").body(KEYED).send().await.unwrap();
    assert_eq!(response.status(), 201);
    without_address(server, &response.text().await.unwrap())
}

/// A text without the server's address.
fn without_address(server: &Server, text: &str) -> String {
    text.replace(&server.url, "URL")
}

fn credentials(access: &Value) -> (String, String) {
    (text(access, "username").to_owned(), text(access, "password").to_owned())
}

async fn fill(server: &Server) -> Shown {
    let create = async |body: String| {
        let (status, access) = server.json(Method::POST, "/acme/access", Some(&body)).await;
        assert_eq!(status, 201, "{access}");
        access
    };
    let named = create(format!(r#"{{"contractId": "payg", "deviceName": "{AWKWARD}"}}"#)).await;
    let chosen = create(
        r#"{"contractId": "payg-2", "username": "ann", "password": "rain on the roof"}"#.into(),
    );
    let chosen = chosen.await;
    let prepaid =
        create(format!(r#"{{"contractId": "pre", "deviceName": "{}"}}"#, "é".repeat(128)));
    let prepaid = prepaid.await;
    let (mut passwords, mut suspended) = (Vec::new(), None);
    for status in ["SUSPENDED", "TERMINATED"] {
        let access = create(r#"{"contractId": "payg"}"#.into()).await;
        let path = format!("/acme/access/{}", text(&access, "id"));
        let body = format!(r#"{{"status": "{status}"}}"#);
        let (changed, it) = server.json(Method::PATCH, &path, Some(&body)).await;
        assert_eq!((changed, &it["status"]), (200, &status.into()), "{it}");
        suspended.get_or_insert(credentials(&access));
    }
    // A username of three accesses, two of which have ended.
    for status in ["TERMINATED", "TERMINATED", "ACTIVE"] {
        let access =
            create(r#"{"contractId": "payg", "username": "00:1b:44:11:3a:b7"}"#.into()).await;
        let path = format!("/acme/access/{}", text(&access, "id"));
        let body = format!(r#"{{"status": "{status}"}}"#);
        assert_eq!(server.json(Method::PATCH, &path, Some(&body)).await.0, 200);
        if status == "ACTIVE" {
            passwords.push(credentials(&access));
        }
    }
    let many = json!({"contractId": "payg", "numberOfAccesses": 40});
    let task = server.batch("acme", "batch", &many).await;
    let made = server.until_ended("acme", &task).await;
    let accesses = made["accesses"].as_array().unwrap();
    passwords.extend([&named, &chosen, &prepaid].into_iter().chain(accesses).map(credentials));
    let items = json!({"contractId": "payg", "accesses": [
        {"username": "bob", "password": "wind in the trees"}, {"username": "ann"}]});
    let task = server.batch("acme", "batch", &items).await;
    assert_eq!(server.until_ended("acme", &task).await["state"], "FAILED");
    let ending = json!({"operationType": "terminate", "operationBody": {},
        "accessesIdList": [accesses[0]["id"], accesses[1]["id"]]});
    let task = server.batch("acme", "batchUpdate", &ending).await;
    assert_eq!(server.until_ended("acme", &task).await["state"], "DONE");
    let account = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
        "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": {"token": "s3cret"}}"#;
    let path = "/-/admin/tenants/acme/accounts/a";
    assert_eq!(server.json(Method::PUT, path, Some(account)).await.0, 201);
    let (path, body) = ("/-/admin/tenants/acme/clients", r#"{"scope": "access:read"}"#);
    let (status, client) = server.json(Method::POST, path, Some(body)).await;
    assert_eq!(status, 201, "{client}");
    Shown {
        passwords,
        suspended: suspended.unwrap(),
        client: (text(&client, "clientId").into(), text(&client, "clientSecret").into()),
        first_answer: create_keyed(server).await,
    }
}

/// Everything readable, as text; Tasks with their results.
async fn view(server: &Server) -> Vec<String> {
    let mut seen = Vec::new();
    for path in [
        "/acme/access",
        "/acme/access?contractId=payg",
        "/acme/access?name=once",
        "/acme/access?username=00:1b:44:11:3a:b7",
    ] {
        seen.extend(server.all(path).await.iter().map(Value::to_string));
    }
    for task in server.all("/acme/access/batch").await {
        for more in ["", "/progress", "/items"] {
            let path = format!("/acme/access/batch/{}{more}", text(&task, "id"));
            seen.push(server.json(Method::GET, &path, None).await.1.to_string());
        }
    }
    for path in [
        "/acme/contract",
        "/-/admin/tenants",
        "/-/admin/tenants/acme/contracts",
        "/-/admin/tenants/acme/accounts",
        "/-/admin/tenants/acme/clients",
        "/-/jwks.json",
    ] {
        let (status, body) = server.json(Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        seen.push(body.to_string());
    }
    let mut summary = server.json(Method::GET, "/acme/summary", None).await.1;
    // The last ninety days may have shifted; days with events have not.
    let days = summary["perDay"].as_array_mut().unwrap();
    days.retain(|day| day["created"] != 0 || day["ended"] != 0);
    seen.push(summary.to_string());
    seen.iter().map(|text| without_address(server, text)).collect()
}

async fn check(server: &Server, shown: &Shown) {
    let verify = async |(username, password): &(String, String)| {
        let body = json!({"username": username, "password": password}).to_string();
        server.json(Method::POST, "/acme/verify", Some(&body)).await.0
    };
    for credentials in &shown.passwords {
        assert_eq!(verify(credentials).await, 200, "{}", credentials.0);
    }
    assert_eq!(verify(&shown.suspended).await, 401);
    assert_eq!(verify(&("ann".into(), "wrong".into())).await, 401);
    let (id, secret) = &shown.client;
    let request = server.client.post(format!("{}/-/oauth2/token", server.url));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let request = request.basic_auth(id, Some(secret)).body("grant_type=client_credentials");
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(
        create_keyed(server).await,
        shown.first_answer,
        "what was done once is not done twice"
    );
}

/// Kills a migration with -9 when it has copied the accesses and waits for a table that the test locks.
async fn migrate_half_way(from: &Setup, to: &Setup) {
    let url = to.database_url.as_ref().unwrap();
    Store::open_postgres(&url.parse().unwrap(), Clock::machine()).await.unwrap().close().await;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; LOCK TABLE task IN SHARE MODE").await.unwrap();
    let mut command = from.command(&migrate(to, &[]));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait = Wait::new("the migration comes to the table that is locked");
    let waiting = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'task'::regclass";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        wait.check_limit();
    }
    let rows = client.query_one("SELECT COUNT(*) FROM access", &[]).await.unwrap();
    assert!(rows.get::<_, i64>(0) > 40, "accesses come before");
    child.kill().unwrap();
    child.wait().unwrap();
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["token", "--tenant", "acme", "--scope", "access:read"],
        &["client", "list", "--tenant", "acme"],
        &["doctor"],
    ] {
        let output = to.run(command);
        assert!(!output.status.success(), "{command:?}");
        assert!(
            printed(&output).contains("finish it with `gatehouse migrate"),
            "{}",
            printed(&output)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_estate_moves_to_postgres_without_a_change_for_clients() {
    let from = embedded_setup();
    let to = Setup::postgres("an_estate_moves").await;
    let server = from.serve();
    let shown = fill(&server).await;
    check(&server, &shown).await;
    let (before, token) = (view(&server).await, server.token.clone());
    let refused = from.run(&migrate(&to, &[]));
    assert!(!refused.status.success());
    assert!(printed(&refused).contains("stop it, then migrate"), "{}", printed(&refused));
    server.terminate();
    assert!(server.wait().success(), "{}", from.log());

    migrate_half_way(&from, &to).await;
    let moved = from.run(&migrate(&to, &[]));
    assert!(moved.status.success(), "{}", printed(&moved));
    let table = String::from_utf8(moved.stdout).unwrap();
    assert!(table.contains("access") && !table.contains("DIFFERS"), "{table}");
    let next = String::from_utf8(moved.stderr).unwrap();
    assert!(next.contains("--database-url") && next.contains("master.key"), "{next}");
    let again = from.run(&migrate(&to, &["--output", "json"]));
    assert!(again.status.success(), "{}", printed(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, json!({"outcome": "movedBefore", "tables": []}));

    let mut server = to.serve_with(&[]);
    server.token = token;
    // With the earlier token.
    let after = view(&server).await;
    for (then, now) in before.iter().zip(&after) {
        assert_eq!(then, now, "{}", to.log());
    }
    assert_eq!(before.len(), after.len());
    check(&server, &shown).await;
    let (status, made) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    assert_eq!(status, 201, "{made}");
    let more = json!({"contractId": "pre", "numberOfAccesses": 3});
    let task = server.batch("acme", "batch", &more).await;
    assert_eq!(server.until_ended("acme", &task).await["state"], "DONE");
    let accesses = server.all("/acme/access").await;
    let newest = accesses.iter().rev().nth(3).unwrap();
    assert_eq!(newest["id"], made["id"], "numbers go on behind the last");
    let deep = to.run(&["doctor", "--deep"]);
    assert!(deep.status.success(), "{}", printed(&deep));
    let counted = format!("agree with its {} accesses", accesses.len());
    assert!(printed(&deep).contains(&counted), "{}", printed(&deep));
    assert!(printed(&deep).contains("1 account can be opened"), "{}", printed(&deep));
    let rows = gapless(&to).await;
    assert_eq!(rows, accesses.len() as i64);

    let third = from.run(&migrate(&to, &[]));
    assert!(third.status.success(), "the source is as it was: {}", printed(&third));
    let started = from.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(started.status.code(), Some(1), "two stores would part");
    assert!(printed(&started).contains("was moved to PostgreSQL"), "{}", printed(&started));
    for left in [
        &["client", "create", "--tenant", "acme", "--scope", "access:verify"][..],
        &["key", "reseal"],
        &["doctor"],
    ] {
        let refused = from.run(left);
        assert_eq!(refused.status.code(), Some(1), "{left:?}: it would go unnoticed");
        assert!(printed(&refused).contains("was moved to PostgreSQL"), "{}", printed(&refused));
    }
    std::fs::remove_file(from.path("gatehouse-data/moved-to-postgres")).unwrap();
    drop(from.serve());
}

/// Number of accesses, whose running numbers must begin at 1 without a gap.
async fn gapless(setup: &Setup) -> i64 {
    let url = setup.database_url.as_ref().unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = "SELECT COUNT(*), MIN(number), MAX(number) FROM access WHERE tenant = 'acme'";
    let row = client.query_one(sql, &[]).await.unwrap();
    let (count, min, max): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!((min, max), (1, count));
    count
}

#[tokio::test]
async fn migration_errors_name_the_fault_and_the_remedy() {
    let from = embedded_setup();
    drop(from.serve());
    let to = Setup::postgres("what_can_not_be_moved").await;
    let url = to.database_url.as_deref().unwrap();
    let secret = "postgres://ann:s3cret@127.0.0.1:1/x";
    std::fs::create_dir(from.path("empty")).unwrap();
    std::fs::write(from.path("other.db"), "").unwrap();
    for (source, target, expected) in [
        ("gatehouse-data", url, "sqlite:PATH"),
        ("sqlite:", url, "sqlite:PATH"),
        (secret, "sqlite:gatehouse-data", "from PostgreSQL nothing can be moved"),
        ("sqlite:gatehouse-data", "sqlite:other", "postgres://user:password@host"),
        ("sqlite:gatehouse-data", "mysql://ann:s3cret@db/x", "postgres://user:password@host"),
        ("sqlite:nowhere", url, "there is no store in nowhere"),
        ("sqlite:empty", url, "there is no store in empty"),
        ("sqlite:other.db", url, "the file gatehouse.db in it"),
        ("sqlite:gatehouse-data", secret, "the target: the database can't be used"),
    ] {
        let output = from.run(&["migrate", "--from", source, "--to", target]);
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains(expected), "{source}: {shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    assert!(!from.path("nowhere").exists() && !from.path("empty/lock").exists());

    let mut other_key = from.command(&migrate(&to, &[]));
    let output = other_key.env("GATEHOUSE_MASTER_KEY", "11".repeat(32)).output().unwrap();
    assert!(!output.status.success());
    assert!(printed(&output).contains("give the original key"), "{}", printed(&output));

    drop(to.serve());
    let output = from.run(&migrate(&to, &[]));
    assert!(!output.status.success());
    assert!(printed(&output).contains("the target is not empty"), "{}", printed(&output));
}

/// Also by the file itself, and with the address in the environment, which the process list doesn't show.
#[tokio::test]
async fn a_store_is_named_by_its_file_too() {
    let from = embedded_setup();
    drop(from.serve());
    let to = Setup::postgres("a_store_is_named_by_its_file").await;
    let from_file = ["migrate", "--from", "sqlite:gatehouse-data/gatehouse.db", "--output", "json"];
    let mut command = from.command(&from_file);
    command.env("GATEHOUSE_DATABASE_URL", to.database_url.as_ref().unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let moved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(moved["outcome"], "moved");
    let tables = moved["tables"].as_array().unwrap();
    let contract = tables.iter().find(|it| it["table"] == "contract").unwrap();
    assert_eq!((&contract["isEqual"], &contract["source"]["rows"]), (&true.into(), &3.into()));
    drop(to.serve_with(&[]));
}
