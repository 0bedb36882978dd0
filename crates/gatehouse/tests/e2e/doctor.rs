use std::collections::BTreeMap;
use std::path::PathBuf;

use super::process::*;
use reqwest::Method;

#[tokio::test]
async fn a_doctor_finds_no_fault_in_a_healthy_running_setup() {
    for setup in Setup::each("doctor_finds_it_healthy").await {
        let server = setup.serve();
        for contract in ["payg", "pre", "payg"] {
            let body = format!(r#"{{"contractId": "{contract}"}}"#);
            let (status, _) = server.json(Method::POST, "/acme/access", Some(&body)).await;
            assert_eq!(status, 201);
        }
        let quick = setup.run(&["doctor"]);
        assert!(quick.status.success(), "{}: {}", setup.kind, printed(&quick));
        let is_told = printed(&quick).contains("server 1 of 1: ")
            && printed(&quick).contains(server.address());
        assert_eq!(is_told, setup.kind == "PostgreSQL", "{}", printed(&quick));
        assert_eq!(printed(&quick).contains("are not encrypted"), setup.kind == "PostgreSQL");
        assert!(!printed(&quick).contains("agree with"), "{}", printed(&quick));
        let deep = setup.run(&["doctor", "--deep"]);
        assert!(deep.status.success(), "{}: {}", setup.kind, printed(&deep));
        assert!(printed(&deep).contains("agree with its 3 accesses"), "{}", printed(&deep));
    }
}

#[test]
fn a_doctor_says_what_to_do_and_creates_nothing() {
    let setup = Setup::sqlite();
    let output = setup.run(&["doctor", "--deep"]);
    assert!(!output.status.success());
    assert!(printed(&output).contains("there is no store"), "{}", printed(&output));
    assert!(printed(&output).contains("2 faults"), "{}", printed(&output));
    assert!(!setup.path("gatehouse-data").exists(), "looking makes nothing");

    let output = setup.run(&["doctor", "--database-url", "postgres://ann:s3cret@127.0.0.1:1/x"]);
    let shown = printed(&output);
    assert!(!output.status.success() && !shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("1 fault") && shown.contains("is it up"), "{shown}");
}

#[test]
fn a_doctor_reports_a_lost_or_different_master_key() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    let key = setup.path("gatehouse-data/master.key");
    assert!(setup.run(&["doctor"]).status.success());
    std::fs::write(&key, MASTER_KEY).unwrap();
    let other = setup.run(&["doctor"]);
    assert!(!other.status.success() && printed(&other).contains("not the one that this database"));
    std::fs::remove_file(&key).unwrap();
    let lost = setup.run(&["doctor"]);
    assert!(!lost.status.success() && printed(&lost).contains("put the key file back"));
}

#[tokio::test]
async fn a_doctor_notices_a_clock_behind_the_store() {
    for setup in Setup::each("doctor_notices_a_clock").await {
        let server = setup.serve();
        let body = Some(r#"{"contractId": "payg"}"#);
        assert_eq!(server.json(Method::POST, "/acme/access", body).await.0, 201);
        let healthy = printed(&setup.run(&["doctor"]));
        assert!(healthy.contains("the clock agrees"), "{healthy}");
        drop(server);
        let sql = "UPDATE counter SET latest_at = latest_at + 3600000; \
                   UPDATE access SET created_at = created_at + 3600000";
        match &setup.database_url {
            Some(url) => gatehouse_testing::execute(url, sql).await,
            None => {
                let database = setup.path("gatehouse-data/gatehouse.db");
                rusqlite::Connection::open(database).unwrap().execute_batch(sql).unwrap();
            }
        }
        let output = setup.run(&["doctor"]);
        assert!(!output.status.success(), "{}", setup.kind);
        assert!(printed(&output).contains("set this machine's clock"), "{}", printed(&output));
    }
}

#[test]
fn a_doctor_reports_keys_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let setup = Setup::sqlite();
    drop(setup.serve());
    for name in ["master.key", "token.key"] {
        let path = setup.path("gatehouse-data").join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let output = setup.run(&["doctor"]);
        assert!(!output.status.success(), "{name}");
        assert!(
            printed(&output).contains(&format!("{name} can be read by others")),
            "{}",
            printed(&output)
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(setup.run(&["doctor"]).status.success());
    }
}

#[test]
fn a_doctor_says_what_to_do_about_a_damaged_store() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    std::fs::write(setup.path("gatehouse-data/gatehouse.db"), "not a database").unwrap();
    for extra in ["gatehouse.db-wal", "gatehouse.db-shm"] {
        let _ = std::fs::remove_file(setup.path("gatehouse-data").join(extra));
    }
    let output = setup.run(&["doctor"]);
    assert!(
        !output.status.success() && printed(&output).contains("restore a backup"),
        "{}",
        printed(&output)
    );
}

/// The files of the data directory with their content, without the empty log that a read may leave.
fn files(setup: &Setup) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(setup.path("gatehouse-data")).unwrap().flatten();
    let files = entries.map(|it| (it.path(), std::fs::read(it.path()).unwrap_or_default()));
    let is_left = |path: &PathBuf, bytes: &[u8]| {
        path.ends_with("gatehouse.db-shm") || path.ends_with("gatehouse.db-wal") && bytes.is_empty()
    };
    files.filter(|(path, bytes)| !is_left(path, bytes)).collect()
}

#[tokio::test]
async fn a_doctor_finds_every_kind_of_damage_and_changes_nothing() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    for nth in 0..50 {
        let body = format!(r#"{{"contractId": "payg", "username": "device-{nth}"}}"#);
        assert_eq!(server.json(Method::POST, "/acme/access", Some(&body)).await.0, 201);
    }
    server.terminate();
    assert!(server.wait().success());
    let healthy = setup.run(&["doctor", "--deep"]);
    assert!(healthy.status.success(), "{}", printed(&healthy));
    assert!(printed(&healthy).contains("gatehouse.db is sound"), "{}", printed(&healthy));

    let database = setup.path("gatehouse-data/gatehouse.db");
    let whole = std::fs::read(&database).unwrap();
    let mut flipped = whole.clone();
    // The number of cells in every page but the first: rows are missing from all of them.
    for page in flipped.chunks_mut(4096).skip(1) {
        page[4] ^= 1;
    }
    for (bytes, words, is_quick) in [
        (Some(&whole[..whole.len() / 2]), "a part of it is missing", true),
        (Some(&vec![0; whole.len()]), "there are zeros", true),
        (Some(&flipped), "finding", false),
        (Some(b""), "is empty, but there are keys next to it", true),
        (None, "there is no file", true),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&database, bytes).unwrap(),
            None => std::fs::remove_file(&database).unwrap(),
        }
        let before = files(&setup);
        for (arguments, finds) in [(&["doctor"][..], is_quick), (&["doctor", "--deep"], true)] {
            let output = setup.run(arguments);
            let shown = printed(&output);
            assert!(!shown.contains("panicked"), "{shown}");
            assert!(!finds || output.status.code() == Some(1), "{words}: {shown}");
            assert!(!finds || shown.contains(words), "{words}: {shown}");
            assert!(!finds || shown.contains("`gatehouse restore --from BACKUP`"), "{shown}");
            assert_eq!(files(&setup), before, "{words}: nothing changes");
        }
    }
}

/// A wrong counter doesn't occur by itself, so the test writes one.
#[tokio::test]
async fn a_doctor_finds_wrong_counters() {
    let setup = Setup::postgres("doctor_finds_what_does_not_agree").await;
    let server = setup.serve();
    let (status, _) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    assert_eq!(status, 201);
    gatehouse_testing::execute(
        setup.database_url.as_deref().unwrap(),
        "UPDATE counter SET total = 7 WHERE kind = 'contract' AND name = 'payg'",
    )
    .await;
    let output = setup.run(&["doctor", "--deep"]);
    assert!(!output.status.success());
    let expected = "WRONG  tenant acme: accesses of the contract payg: written down is 7";
    assert!(printed(&output).contains(expected), "{}", printed(&output));
}

#[tokio::test]
async fn a_doctor_opens_every_account() {
    for setup in Setup::each("doctor_opens_every_account").await {
        let server = setup.serve();
        let body = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
            "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": {"token": "s3cret"}}"#;
        for name in ["a", "b"] {
            let path = format!("/-/admin/tenants/acme/accounts/{name}");
            assert_eq!(server.json(Method::PUT, &path, Some(body)).await.0, 201);
        }
        let healthy = setup.run(&["doctor", "--deep"]);
        assert!(healthy.status.success(), "{}: {}", setup.kind, printed(&healthy));
        let shown = printed(&healthy);
        assert!(shown.contains("ok     tenant acme: 2 accounts can be opened"), "{shown}");
        assert!(!printed(&setup.run(&["doctor"])).contains("accounts"), "it takes a while");
        drop(server);
        // No rule of ours gives one account the credentials of another.
        let sql = "UPDATE account SET credentials = \
                   (SELECT credentials FROM account WHERE name = 'a') WHERE name = 'b'";
        match &setup.database_url {
            Some(url) => gatehouse_testing::execute(url, sql).await,
            None => {
                let database = setup.path("gatehouse-data/gatehouse.db");
                rusqlite::Connection::open(database).unwrap().execute_batch(sql).unwrap();
            }
        }
        let output = setup.run(&["doctor", "--deep"]);
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains("1 fault"), "{shown}");
        let expected = "WRONG  tenant acme, account b: its stored settings or credentials can't be read: put it \
                        again, with its credentials";
        assert!(shown.contains(expected), "{}: {shown}", setup.kind);
    }
}

#[test]
fn a_closed_output_ends_a_command_quietly() {
    let setup = Setup::sqlite();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = setup.command(&["doctor"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), printed(&output).as_str()), (Some(141), ""));
}
