//! A disk that fails under a running server, and what a server makes of a store that is damaged or gone.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::outcomes::*;
use super::process::*;
use reqwest::Method;
use serde_json::Value;

/// Files may not become larger than this: writing past it is an I/O error, like that of a disk.
const FILE_BYTES_MAX: usize = 1_000_000;

/// A server for which every write past that length fails.
fn serve_on_failing_disk(place: &Place) -> Server {
    let serve = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut shell = Command::new("sh");
    // A process that has not said otherwise is ended at the limit.
    let script = format!("trap '' XFSZ; exec prlimit --fsize={FILE_BYTES_MAX} -- \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(serve.get_program()).args(serve.get_args());
    shell.current_dir(place.dir.path());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        }
    }
    let log = fs::File::options().create(true).append(true).open(place.path("log")).unwrap();
    place.start_as(shell, log)
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_server_and_loses_nothing() {
    let place = Place::sqlite();
    let server = place.serve();
    server.terminate();
    assert!(server.wait().success());

    let server = serve_on_failing_disk(&place);
    let outcomes = create_until_it_ends(&server).await;
    assert!(outcomes.created.len() > 10, "{}", outcomes.created.len());
    assert!(!outcomes.unknown.is_empty());
    let ended = server.wait();
    assert_eq!(ended.code(), Some(DISK_FAILED), "{}", place.log());
    assert!(place.log().contains("the disk failed"), "{}", place.log());

    // A command leaves it to the server to look at all of it first.
    let output = place.run(&["client", "create", "--tenant", "acme", "--scope", "access:read"]);
    assert!(!output.status.success() && said(&output).contains("the disk failed"), "{output:?}");

    let server = place.serve();
    must_hold(&place, &server, &outcomes).await;
    server.terminate();
    assert!(server.wait().success());
    let output = place.run(&["doctor", "--deep"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// A place whose server has been used and has ended, with an access in its store.
async fn used() -> Place {
    let place = Place::sqlite();
    let server = place.serve();
    let new = r#"{"contractId": "payg", "username": "ann"}"#;
    assert_eq!(server.json(Method::POST, "/acme/access", Some(new)).await.0, 201);
    server.terminate();
    assert!(server.wait().success());
    place
}

fn database(place: &Place) -> PathBuf {
    place.path("gatehouse-data/gatehouse.db")
}

/// Starts a server that is expected to refuse.
fn refused(place: &Place) -> Output {
    let output = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("gatehouse restore --from BACKUP"), "{}", said(&output));
    output
}

#[tokio::test]
async fn a_store_that_is_gone_is_not_begun_anew_unless_that_is_said() {
    for make_empty in [false, true] {
        let place = used().await;
        fs::remove_file(database(&place)).unwrap();
        if make_empty {
            fs::write(database(&place), "").unwrap();
        }
        let output = refused(&place);
        let what = if make_empty { "is empty" } else { "is missing" };
        assert!(said(&output).contains(what), "{}", said(&output));
        assert_eq!(fs::metadata(database(&place)).map_or(0, |it| it.len()), 0, "it is as it was");

        let server = place.serve_with(&["--start-empty", "--estate", "estate.yaml"]);
        assert_eq!(server.json(Method::GET, "/acme/access", None).await.1, Value::Array(vec![]));
    }
}

#[tokio::test]
async fn a_log_without_its_database_is_kept() {
    let place = used().await;
    let server = place.serve();
    let new = r#"{"contractId": "payg", "username": "bob"}"#;
    assert_eq!(server.json(Method::POST, "/acme/access", Some(new)).await.0, 201);
    server.kill();
    let log = place.path("gatehouse-data/gatehouse.db-wal");
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty());
    let whole = fs::read(database(&place)).unwrap();
    fs::write(database(&place), "").unwrap();
    let output = refused(&place);
    assert!(said(&output).contains("its log (-wal) is there"), "{}", said(&output));
    // Nobody else may have SQLite delete it either, not even by looking.
    for command in [&["doctor"][..], &["backup", "--to", "copy"], &["client", "list"]] {
        assert!(!place.run(command).status.success(), "{command:?}");
    }
    assert_eq!(fs::read(&log).unwrap(), before);

    fs::write(database(&place), whole).unwrap();
    let server = place.serve();
    let (_, found) = server.json(Method::GET, "/acme/access", None).await;
    assert_eq!(found.as_array().unwrap().len(), 2, "{found}");
}

#[tokio::test]
async fn a_damaged_store_is_refused_with_what_is_wrong() {
    let place = used().await;
    let whole = fs::read(database(&place)).unwrap();
    let mut flipped = whole.clone();
    flipped[30] ^= 1;
    let damaged = [
        whole[..whole.len() / 2].to_vec(),
        vec![0; whole.len()],
        b"this is not a database, but a text of more than five hundred bytes ".repeat(20),
        flipped,
    ];
    for bytes in damaged {
        fs::write(database(&place), &bytes).unwrap();
        let output = refused(&place);
        assert!(said(&output).contains("the database is damaged"), "{}", said(&output));
        assert_eq!(fs::read(database(&place)).unwrap(), bytes, "it is as it was");
    }
    fs::write(database(&place), whole).unwrap();
    let server = place.serve();
    assert_eq!(server.json(Method::GET, "/-/ready", None).await.0, 200);
}

#[tokio::test]
async fn a_first_start_that_was_cut_off_goes_on() {
    let place = used().await;
    let data = place.path("gatehouse-data");
    for name in ["gatehouse.db", "gatehouse.db-wal", "gatehouse.db-shm"] {
        let _ = fs::remove_file(data.join(name));
    }
    // So it looks where the keys are made and the rest isn't.
    fs::write(data.join("gatehouse.db-mark"), "beginning\n").unwrap();
    let server = place.serve();
    assert_eq!(server.json(Method::GET, "/acme/access", None).await.0, 200);
    server.kill();
    assert_eq!(fs::read_to_string(data.join("gatehouse.db-mark")).unwrap(), "open\n");
    fs::remove_file(database(&place)).unwrap();
    let _ = fs::remove_file(data.join("gatehouse.db-wal"));
    refused(&place);
}

/// A figure of the server's, once it isn't 0 any more.
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
async fn after_a_kill_every_page_is_looked_at_while_the_server_serves() {
    let place = used().await;
    place.serve().kill();
    let server = place.serve();
    let name = r#"gatehouse_store_checks_total{outcome="sound"}"#;
    assert_eq!(figure(&server, name).await, "1");
    assert_eq!(server.json(Method::GET, "/-/ready", None).await.0, 200);
    server.terminate();
    assert!(server.wait().success());

    // A page that no start looks at, and that the next kill has somebody look at.
    let database = rusqlite::Connection::open(database(&place)).unwrap();
    let sql = "SELECT rootpage - 1 FROM sqlite_schema WHERE name = 'access_device_name'";
    let root: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(database);
    let mut bytes = fs::read(self::database(&place)).unwrap();
    let start = usize::try_from(root).unwrap() * 4096;
    bytes[start..start + 4096].fill(0xff);
    fs::write(self::database(&place), bytes).unwrap();
    fs::write(place.path("gatehouse-data/gatehouse.db-mark"), "open\n").unwrap();
    let server = place.serve_with(&[]);
    assert_eq!(figure(&server, "gatehouse_store_check_damaged").await, "1");
    let (status, problem) = server.json(Method::GET, "/-/ready", None).await;
    assert_eq!(status, 503, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("gatehouse restore"), "{problem}");
}
