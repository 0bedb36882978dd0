//! A disk that fails under a running server, and stores that are damaged or missing.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::outcomes::*;
use super::process::*;
use reqwest::Method;
use serde_json::Value;

/// The largest file: writing past it is an I/O error, like a disk's.
const FILE_BYTES_MAX: usize = 1_000_000;

/// A server for which every write past that length fails.
fn serve_on_failing_disk(setup: &Setup) -> Server {
    let serve = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut shell = Command::new("sh");
    // By default a process is killed at the limit.
    let script = format!("trap '' XFSZ; exec prlimit --fsize={FILE_BYTES_MAX} -- \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(serve.get_program()).args(serve.get_args());
    shell.current_dir(setup.dir.path());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        }
    }
    let log = fs::File::options().create(true).append(true).open(setup.path("log")).unwrap();
    setup.start_as(shell, log)
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_server_and_loses_nothing() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    server.terminate();
    assert!(server.wait().success());

    let server = serve_on_failing_disk(&setup);
    let outcomes = create_until_the_server_ends(&server).await;
    assert!(outcomes.created.len() > 10, "{}", outcomes.created.len());
    assert!(!outcomes.unknown.is_empty());
    let ended = server.wait();
    assert_eq!(ended.code(), Some(DISK_FAILED), "{}", setup.log());
    assert!(setup.log().contains("the disk failed"), "{}", setup.log());

    // A command leaves the full check to the server.
    let output = setup.run(&["client", "create", "--tenant", "acme", "--scope", "access:read"]);
    assert!(!output.status.success() && printed(&output).contains("the disk failed"), "{output:?}");

    let server = setup.serve();
    must_hold(&setup, &server, &outcomes).await;
    server.terminate();
    assert!(server.wait().success());
    let output = setup.run(&["doctor", "--deep"]);
    assert!(output.status.success(), "{}", printed(&output));
}

/// A setup whose server has run and ended, with an access in its store.
async fn used() -> Setup {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let new = r#"{"contractId": "payg", "username": "ann"}"#;
    assert_eq!(server.json(Method::POST, "/acme/access", Some(new)).await.0, 201);
    server.terminate();
    assert!(server.wait().success());
    setup
}

fn database(setup: &Setup) -> PathBuf {
    setup.path("gatehouse-data/gatehouse.db")
}

/// Starts a server that must refuse.
fn refused(setup: &Setup) -> Output {
    let output = setup.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success(), "{}", printed(&output));
    assert!(printed(&output).contains("gatehouse restore --from BACKUP"), "{}", printed(&output));
    output
}

#[tokio::test]
async fn a_missing_store_is_recreated_only_with_start_empty() {
    for make_empty in [false, true] {
        let setup = used().await;
        fs::remove_file(database(&setup)).unwrap();
        if make_empty {
            fs::write(database(&setup), "").unwrap();
        }
        let output = refused(&setup);
        let what = if make_empty { "is empty" } else { "is missing" };
        assert!(printed(&output).contains(what), "{}", printed(&output));
        assert_eq!(fs::metadata(database(&setup)).map_or(0, |it| it.len()), 0, "it is as it was");

        let server = setup.serve_with(&["--start-empty", "--estate", "estate.yaml"]);
        assert_eq!(server.json(Method::GET, "/acme/access", None).await.1, Value::Array(vec![]));
    }
}

#[tokio::test]
async fn a_log_without_its_database_is_not_deleted() {
    let setup = used().await;
    let server = setup.serve();
    let new = r#"{"contractId": "payg", "username": "bob"}"#;
    assert_eq!(server.json(Method::POST, "/acme/access", Some(new)).await.0, 201);
    server.kill();
    let log = setup.path("gatehouse-data/gatehouse.db-wal");
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty());
    let whole = fs::read(database(&setup)).unwrap();
    fs::write(database(&setup), "").unwrap();
    let output = refused(&setup);
    assert!(printed(&output).contains("its log (-wal) is there"), "{}", printed(&output));
    // No command may let SQLite delete it, not even by reading.
    for command in [&["doctor"][..], &["backup", "--to", "copy"], &["client", "list"]] {
        assert!(!setup.run(command).status.success(), "{command:?}");
    }
    assert_eq!(fs::read(&log).unwrap(), before);

    fs::write(database(&setup), whole).unwrap();
    let server = setup.serve();
    let (_, found) = server.json(Method::GET, "/acme/access", None).await;
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
}

#[tokio::test]
async fn a_damaged_store_is_refused_with_its_damage() {
    let setup = used().await;
    let whole = fs::read(database(&setup)).unwrap();
    let mut flipped = whole.clone();
    flipped[30] ^= 1;
    let damaged = [
        whole[..whole.len() / 2].to_vec(),
        vec![0; whole.len()],
        b"this is not a database, but a text of more than five hundred bytes ".repeat(20),
        flipped,
    ];
    for bytes in damaged {
        fs::write(database(&setup), &bytes).unwrap();
        let output = refused(&setup);
        assert!(printed(&output).contains("the database is damaged"), "{}", printed(&output));
        assert_eq!(fs::read(database(&setup)).unwrap(), bytes, "it is as it was");
    }
    fs::write(database(&setup), whole).unwrap();
    let server = setup.serve();
    assert_eq!(server.json(Method::GET, "/-/ready", None).await.0, 200);
}

#[tokio::test]
async fn an_interrupted_first_start_continues() {
    let setup = used().await;
    let data = setup.path("gatehouse-data");
    for name in ["gatehouse.db", "gatehouse.db-wal", "gatehouse.db-shm"] {
        let _ = fs::remove_file(data.join(name));
    }
    // The state in which the keys exist and the rest doesn't.
    fs::write(data.join("gatehouse.db-mark"), "beginning\n").unwrap();
    let server = setup.serve();
    assert_eq!(server.json(Method::GET, "/acme/access", None).await.0, 200);
    server.kill();
    assert_eq!(fs::read_to_string(data.join("gatehouse.db-mark")).unwrap(), "open\n");
    fs::remove_file(database(&setup)).unwrap();
    let _ = fs::remove_file(data.join("gatehouse.db-wal"));
    refused(&setup);
}

/// A metric of the server, once it isn't 0 any more.
async fn figure(server: &Server, name: &str) -> String {
    loop {
        let shown = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
        let line = shown.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        if !matches!(line.trim(), "" | "0") {
            return line.trim().to_owned();
        }
        assert!(server.ask(Method::GET, "/-/live", None).await.status().is_success());
    }
}

#[tokio::test]
async fn after_a_kill_every_page_is_checked_while_the_server_serves() {
    let setup = used().await;
    setup.serve().kill();
    let server = setup.serve();
    let name = r#"gatehouse_store_checks_total{outcome="sound"}"#;
    assert_eq!(figure(&server, name).await, "1");
    assert_eq!(server.json(Method::GET, "/-/ready", None).await.0, 200);
    server.terminate();
    assert!(server.wait().success());

    // A page that no start reads, and that the next check after a kill reads.
    let database = rusqlite::Connection::open(database(&setup)).unwrap();
    let sql = "SELECT rootpage - 1 FROM sqlite_schema WHERE name = 'access_device_name'";
    let root: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(database);
    let mut bytes = fs::read(self::database(&setup)).unwrap();
    let start = usize::try_from(root).unwrap() * 4096;
    bytes[start..start + 4096].fill(0xff);
    fs::write(self::database(&setup), bytes).unwrap();
    fs::write(setup.path("gatehouse-data/gatehouse.db-mark"), "open\n").unwrap();
    let server = setup.serve_with(&[]);
    assert_eq!(figure(&server, "gatehouse_store_check_damaged").await, "1");
    let (status, problem) = server.json(Method::GET, "/-/ready", None).await;
    assert_eq!(status, 503, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("gatehouse restore"), "{problem}");
}
