//! The commands of docs/operating.md that save and restore a store, run as they are written there.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use super::process::*;
use reqwest::Method;
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../../docs/operating.md");

/// The beginning of links, independent of the port.
const ADDRESS: [(&str, &str); 1] = [("PUBLIC_URL", "http://gate.example")];

/// The commands after a mark in the document.
fn commands(mark: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("<!-- run: {mark} -->\n```sh\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// Runs the commands with gatehouse and PostgreSQL's programs in the path.
fn run(setup: &Setup, mark: &str, settings: &[(&str, &str)]) -> Output {
    let gatehouse = setup.command(&[]);
    let program = Path::new(gatehouse.get_program());
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", commands(mark)]).current_dir(setup.dir.path()).env("PATH", path);
    for (name, value) in gatehouse.get_envs() {
        match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        }
    }
    let output = shell.envs(settings.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{mark}: {}", printed(&output));
    output
}

/// A client's view of a server: accesses, figures, batches.
async fn seen(server: &Server) -> [Value; 3] {
    let get = async |path: &str| server.json(Method::GET, path, None).await.1;
    [get("/acme/access").await, get("/acme/summary").await, get("/acme/access/batch").await]
}

async fn fill(server: &Server) -> Value {
    let batch = json!({"contractId": "payg", "numberOfAccesses": 25}).to_string();
    let (status, task) = server.json(Method::POST, "/acme/access/batch", Some(&batch)).await;
    assert_eq!(status, 202, "{task}");
    let path = format!("/acme/access/batch/{}", task["id"].as_str().unwrap());
    let is_done = async || server.json(Method::GET, &path, None).await.1["state"] == "DONE";
    let mut n_looks = 0;
    while !is_done().await {
        n_looks += 1;
        assert!(n_looks < 10_000, "the batch comes to its end");
    }
    let new = json!({"contractId": "payg", "username": "ann", "password": "chosen by ann"});
    let (status, made) = server.json(Method::POST, "/acme/access", Some(&new.to_string())).await;
    assert_eq!(status, 201, "{made}");
    made
}

async fn check(server: &Server) -> u16 {
    let body = json!({"username": "ann", "password": "chosen by ann"}).to_string();
    server.json(Method::POST, "/acme/verify", Some(&body)).await.0
}

#[tokio::test]
async fn an_embedded_store_in_use_is_backed_up_and_restored() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&ADDRESS);
    fill(&server).await;
    let before = seen(&server).await;
    let output = run(&setup, "back up sqlite", &[]);
    assert!(printed(&output).contains("checked every page of the copy"), "{}", printed(&output));
    let (status, _) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    assert_eq!(status, 201, "it goes on, and this one is not in the copy");
    drop(server);

    let mut files: Vec<_> = std::fs::read_dir(setup.path("backup-2026-11-16"))
        .unwrap()
        .map(|it| {
            let it = it.unwrap();
            let mode = it.metadata().unwrap().permissions().mode() & 0o777;
            (it.file_name().into_string().unwrap(), mode)
        })
        .collect();
    files.sort();
    let wanted = ["gatehouse.db", "master.key", "token.key"].map(|name| (name.to_owned(), 0o600));
    assert_eq!(files, wanted);

    let output = run(&setup, "restore sqlite", &[]);
    assert!(printed(&output).contains("the former store is in"), "{}", printed(&output));
    let server = setup.serve_set(&ADDRESS);
    assert_eq!(seen(&server).await, before);
    assert_eq!(check(&server).await, 200);
}

#[tokio::test]
async fn a_damaged_store_is_restored_and_a_damaged_backup_is_not() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&ADDRESS);
    fill(&server).await;
    let before = seen(&server).await;
    assert!(setup.run(&["backup", "--to", "good"]).status.success());
    let refused = setup.run(&["restore", "--from", "good"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(printed(&refused).contains("another gatehouse uses the data directory"));
    server.terminate();
    assert!(server.wait().success());

    let database = setup.path("gatehouse-data/gatehouse.db");
    let whole = std::fs::read(&database).unwrap();
    let half = &whole[..whole.len() / 2];
    std::fs::write(&database, half).unwrap();
    let refused = setup.run(&["backup", "--to", "bad"]);
    assert_eq!(refused.status.code(), Some(1), "{}", printed(&refused));
    assert!(!setup.path("bad").exists(), "nothing is left of it");

    std::fs::create_dir(setup.path("broken")).unwrap();
    std::fs::write(setup.path("broken/gatehouse.db"), half).unwrap();
    for (from, words) in [
        ("broken", "a part of it is missing"),
        ("nowhere", "there is no directory nowhere"),
        (".", "is no backup"),
        ("gatehouse-data", "is the data directory itself"),
    ] {
        let refused = setup.run(&["restore", "--from", from]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(printed(&refused).contains(words), "{}", printed(&refused));
        assert_eq!(std::fs::read(&database).unwrap(), half, "nothing changes");
    }
    let postgres = ["restore", "--from", "good", "--database-url", "postgres://u:s3cret@db/x"];
    assert!(printed(&setup.run(&postgres)).contains("pg_restore"));

    let restored = setup.run(&["restore", "--from", "good"]);
    assert!(restored.status.success(), "{}", printed(&restored));
    let server = setup.serve_set(&ADDRESS);
    assert_eq!(seen(&server).await, before);
    assert_eq!(check(&server).await, 200);
    let entries = std::fs::read_dir(setup.path("gatehouse-data")).unwrap().flatten();
    let replaced = entries.map(|it| it.path()).find(|it| it.is_dir()).unwrap();
    assert_eq!(std::fs::read(replaced.join("gatehouse.db")).unwrap(), half, "it is kept");
}

/// The server's figures whose names begin with `name`.
async fn figures(server: &Server, name: &str) -> BTreeMap<String, f64> {
    let text = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
    let lines = text.lines().filter(|line| line.starts_with(name));
    let read = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(read).collect()
}

#[tokio::test]
async fn a_server_makes_scheduled_backups_and_checks() {
    let setup = Setup::sqlite();
    let settings = [
        ("BACKUP__TO", "backups"),
        ("BACKUP__EVERY", "1s"),
        ("BACKUP__KEEP", "2"),
        ("STORE__CHECK_INTERVAL", "1s"),
        ADDRESS[0],
    ];
    let server = setup.serve_set(&settings);
    fill(&server).await;
    let before = seen(&server).await;
    let made = |n: f64| {
        move |it: &BTreeMap<String, f64>| it["gatehouse_backups_total{outcome=\"ok\"}"] >= n
    };
    let n_now =
        figures(&server, "gatehouse_backup").await["gatehouse_backups_total{outcome=\"ok\"}"];
    until_figures(&server, "gatehouse_backup", made(n_now + 3.0)).await;
    let shown = figures(&server, "gatehouse_backup").await;
    assert_eq!(shown["gatehouse_backup_last_failed"], 0.0);
    assert_eq!(shown["gatehouse_backups_total{outcome=\"failed\"}"], 0.0);
    assert!(shown["gatehouse_backup_last_success_timestamp_seconds"] > 1.7e9);
    assert!(shown["gatehouse_backup_size_bytes"] > 4096.0);
    assert!(shown["gatehouse_backup_duration_seconds"] > 0.0);
    let is_sound =
        |it: &BTreeMap<String, f64>| it["gatehouse_store_checks_total{outcome=\"sound\"}"] >= 1.0;
    until_figures(&server, "gatehouse_store_check", is_sound).await;
    let shown = figures(&server, "gatehouse_store_check").await;
    assert_eq!(shown["gatehouse_store_check_damaged"], 0.0);
    assert!(shown["gatehouse_store_check_timestamp_seconds"] > 1.7e9);
    server.terminate();
    assert!(server.wait().success());

    let entries = std::fs::read_dir(setup.path("backups")).unwrap().flatten();
    let mut backups: Vec<_> = entries.map(|it| it.path()).collect();
    backups.sort();
    assert_eq!(backups.len(), 2, "{backups:?}");
    let newest = backups.pop().unwrap();
    let restored = setup.run(&["restore", "--from", newest.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", printed(&restored));
    let server = setup.serve_set(&ADDRESS);
    assert_eq!(seen(&server).await, before);
    assert!(!setup.log().contains("ERROR"), "{}", setup.log());
}

/// Waits until the server's figures satisfy `is_so`.
async fn until_figures(
    server: &Server,
    name: &str,
    are_so: impl Fn(&BTreeMap<String, f64>) -> bool,
) {
    let began = std::time::Instant::now();
    while !are_so(&figures(server, name).await) {
        assert!(began.elapsed() < WAIT_LIMIT, "waited in vain");
    }
}

#[test]
fn a_schedule_needs_an_embedded_store_and_a_directory() {
    let setup = Setup::sqlite();
    for (settings, words) in [
        (&[("GATEHOUSE_BACKUP__EVERY", "1h")][..], "backup.to is not"),
        (
            &[
                ("GATEHOUSE_BACKUP__TO", "backups"),
                ("GATEHOUSE_DATABASE_URL", "postgres://u:s3cret@db/x"),
            ],
            "pg_dump",
        ),
    ] {
        let output = setup.command(&["serve"]).envs(settings.iter().copied()).output().unwrap();
        let shown = printed(&output);
        assert!(output.status.code() == Some(1) && shown.contains(words), "{shown}");
        assert!(!shown.contains("s3cret") && !setup.path("backups").exists());
    }
}

#[tokio::test]
async fn a_postgres_store_in_use_is_backed_up_and_restored() {
    let admin = std::env::var("TEST_POSTGRES_URL").unwrap();
    let (host, _) = admin.rsplit_once('/').unwrap();
    for name in ["e2e_saved", "restored"] {
        let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        gatehouse_testing::execute(&admin, &drop).await;
    }
    gatehouse_testing::execute(&admin, "CREATE DATABASE e2e_saved TEMPLATE template0").await;
    let mut setup = Setup::postgres("is_saved").await;
    setup.database_url = Some(format!("{host}/e2e_saved"));
    let server = setup.serve_set(&ADDRESS);
    fill(&server).await;
    let before = seen(&server).await;
    run(&setup, "back up postgres", &[]);
    drop(server);

    let restored = format!("{host}/restored");
    run(&setup, "restore postgres", &[("ADMIN_URL", &admin), ("RESTORED_URL", &restored)]);
    setup.database_url = Some(restored);
    let server = setup.serve_set(&ADDRESS);
    assert_eq!(seen(&server).await, before);
    assert_eq!(check(&server).await, 200);
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_says_what_it_needs() {
    let setup = Setup::sqlite();
    let refused = |arguments: &[&str], words: &str| {
        let output = setup.run(arguments);
        assert_eq!(output.status.code(), Some(1));
        let printed = printed(&output);
        assert!(printed.contains(words), "{printed}");
    };
    refused(&["backup", "--to", "copy"], "there is no store in gatehouse-data");
    assert!(!setup.path("copy").exists());
    drop(setup.serve());
    std::fs::create_dir(setup.path("copy")).unwrap();
    std::fs::write(setup.path("copy/mine"), "mine").unwrap();
    refused(&["backup", "--to", "copy"], "copy is not empty");
    assert_eq!(std::fs::read_dir(setup.path("copy")).unwrap().count(), 1);
    let other = ["backup", "--to", "other", "--database-url", "postgres://u:s3cret@db/x"];
    refused(&other, "pg_dump");
    assert!(!setup.path("other").exists());
}
