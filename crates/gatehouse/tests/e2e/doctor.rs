use std::collections::BTreeMap;
use std::path::PathBuf;

use super::process::*;
use reqwest::Method;

#[tokio::test]
async fn a_doctor_finds_a_healthy_house_healthy_while_it_works() {
    for place in Place::each("doctor_finds_it_healthy").await {
        let server = place.serve();
        for contract in ["payg", "pre", "payg"] {
            let body = format!(r#"{{"contractId": "{contract}"}}"#);
            let (status, _) = server.json(Method::POST, "/acme/access", Some(&body)).await;
            assert_eq!(status, 201);
        }
        let quick = place.run(&["doctor"]);
        assert!(quick.status.success(), "{}: {}", place.kind, said(&quick));
        let is_told =
            said(&quick).contains("server 1 of 1: ") && said(&quick).contains(server.address());
        assert_eq!(is_told, place.kind == "PostgreSQL", "{}", said(&quick));
        assert_eq!(said(&quick).contains("are not encrypted"), place.kind == "PostgreSQL");
        assert!(!said(&quick).contains("tenant acme"));
        let deep = place.run(&["doctor", "--deep"]);
        assert!(deep.status.success(), "{}: {}", place.kind, said(&deep));
        assert!(said(&deep).contains("agree with its 3 accesses"), "{}", said(&deep));
    }
}

#[test]
fn a_doctor_says_what_to_do_and_makes_nothing() {
    let place = Place::sqlite();
    let output = place.run(&["doctor", "--deep"]);
    assert!(!output.status.success());
    assert!(said(&output).contains("there is no store"), "{}", said(&output));
    assert!(said(&output).contains("2 faults"), "{}", said(&output));
    assert!(!place.path("gatehouse-data").exists(), "looking makes nothing");

    let output = place.run(&["doctor", "--database-url", "postgres://ann:s3cret@127.0.0.1:1/x"]);
    let shown = said(&output);
    assert!(!output.status.success() && !shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("1 fault") && shown.contains("is it up"), "{shown}");
}

#[test]
fn a_doctor_misses_a_master_key_that_is_lost_or_another() {
    let place = Place::sqlite();
    drop(place.serve());
    let key = place.path("gatehouse-data/master.key");
    assert!(place.run(&["doctor"]).status.success());
    std::fs::write(&key, MASTER_KEY).unwrap();
    let other = place.run(&["doctor"]);
    assert!(!other.status.success() && said(&other).contains("not the one that this database"));
    std::fs::remove_file(&key).unwrap();
    let lost = place.run(&["doctor"]);
    assert!(!lost.status.success() && said(&lost).contains("put the key file back"));
}

#[tokio::test]
async fn a_doctor_notices_a_clock_that_is_behind_its_own_store() {
    for place in Place::each("doctor_notices_a_clock").await {
        let server = place.serve();
        let body = Some(r#"{"contractId": "payg"}"#);
        assert_eq!(server.json(Method::POST, "/acme/access", body).await.0, 201);
        let healthy = said(&place.run(&["doctor"]));
        assert!(healthy.contains("the clock agrees"), "{healthy}");
        drop(server);
        let sql = "UPDATE counter SET latest_at = latest_at + 3600000; \
                   UPDATE access SET created_at = created_at + 3600000";
        match &place.database_url {
            Some(url) => gatehouse_testing::execute(url, sql).await,
            None => {
                let database = place.path("gatehouse-data/gatehouse.db");
                rusqlite::Connection::open(database).unwrap().execute_batch(sql).unwrap();
            }
        }
        let output = place.run(&["doctor"]);
        assert!(!output.status.success(), "{}", place.kind);
        assert!(said(&output).contains("set this machine's clock"), "{}", said(&output));
    }
}

#[test]
fn a_doctor_sees_keys_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::sqlite();
    drop(place.serve());
    for name in ["master.key", "token.key"] {
        let path = place.path("gatehouse-data").join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let output = place.run(&["doctor"]);
        assert!(!output.status.success(), "{name}");
        assert!(
            said(&output).contains(&format!("{name} can be read by others")),
            "{}",
            said(&output)
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(place.run(&["doctor"]).status.success());
    }
}

#[test]
fn a_doctor_says_what_to_do_about_a_damaged_store() {
    let place = Place::sqlite();
    drop(place.serve());
    std::fs::write(place.path("gatehouse-data/gatehouse.db"), "not a database").unwrap();
    for extra in ["gatehouse.db-wal", "gatehouse.db-shm"] {
        let _ = std::fs::remove_file(place.path("gatehouse-data").join(extra));
    }
    let output = place.run(&["doctor"]);
    assert!(
        !output.status.success() && said(&output).contains("restore a backup"),
        "{}",
        said(&output)
    );
}

/// The files of the data directory with what is in them, without the empty log that a look may leave.
fn files(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(place.path("gatehouse-data")).unwrap().flatten();
    let files = entries.map(|it| (it.path(), std::fs::read(it.path()).unwrap_or_default()));
    let is_left = |path: &PathBuf, bytes: &[u8]| {
        path.ends_with("gatehouse.db-shm") || path.ends_with("gatehouse.db-wal") && bytes.is_empty()
    };
    files.filter(|(path, bytes)| !is_left(path, bytes)).collect()
}

#[tokio::test]
async fn a_doctor_finds_every_kind_of_damage_and_changes_nothing() {
    let place = Place::sqlite();
    let server = place.serve();
    for nth in 0..50 {
        let body = format!(r#"{{"contractId": "payg", "username": "device-{nth}"}}"#);
        assert_eq!(server.json(Method::POST, "/acme/access", Some(&body)).await.0, 201);
    }
    server.terminate();
    assert!(server.wait().success());
    let healthy = place.run(&["doctor", "--deep"]);
    assert!(healthy.status.success(), "{}", said(&healthy));
    assert!(said(&healthy).contains("gatehouse.db is sound"), "{}", said(&healthy));

    let database = place.path("gatehouse-data/gatehouse.db");
    let whole = std::fs::read(&database).unwrap();
    let mut flipped = whole.clone();
    // The number of cells in every page but the first: rows are gone from all of them.
    for page in flipped.chunks_mut(4096).skip(1) {
        page[4] ^= 1;
    }
    for (bytes, words, is_quick) in [
        (Some(&whole[..whole.len() / 2]), "a part of it is missing", true),
        (Some(&vec![0; whole.len()]), "there are zeros", true),
        (Some(&flipped), "finding", false),
        (Some(b""), "is empty, but there are keys beside it", true),
        (None, "there is no file", true),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&database, bytes).unwrap(),
            None => std::fs::remove_file(&database).unwrap(),
        }
        let before = files(&place);
        for (arguments, finds) in [(&["doctor"][..], is_quick), (&["doctor", "--deep"], true)] {
            let output = place.run(arguments);
            let shown = said(&output);
            assert!(!shown.contains("panicked"), "{shown}");
            assert!(!finds || output.status.code() == Some(1), "{words}: {shown}");
            assert!(!finds || shown.contains(words), "{words}: {shown}");
            assert!(!finds || shown.contains("`gatehouse restore --from BACKUP`"), "{shown}");
            assert_eq!(files(&place), before, "{words}: nothing changes");
        }
    }
}

/// A wrong counter can't come about by itself, so it is put there by hand.
#[tokio::test]
async fn a_doctor_finds_what_does_not_agree() {
    let place = Place::postgres("doctor_finds_what_does_not_agree").await;
    let server = place.serve();
    let (status, _) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    assert_eq!(status, 201);
    gatehouse_testing::execute(
        place.database_url.as_deref().unwrap(),
        "UPDATE counter SET total = 7 WHERE kind = 'contract' AND name = 'payg'",
    )
    .await;
    let output = place.run(&["doctor", "--deep"]);
    assert!(!output.status.success());
    let expected = "WRONG  tenant acme: accesses of the contract payg: written down is 7";
    assert!(said(&output).contains(expected), "{}", said(&output));
}

#[tokio::test]
async fn a_doctor_opens_every_account() {
    for place in Place::each("doctor_opens_every_account").await {
        let server = place.serve();
        let body = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
            "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": {"token": "s3cret"}}"#;
        for name in ["a", "b"] {
            let path = format!("/-/admin/tenants/acme/accounts/{name}");
            assert_eq!(server.json(Method::PUT, &path, Some(body)).await.0, 201);
        }
        let healthy = place.run(&["doctor", "--deep"]);
        assert!(healthy.status.success(), "{}: {}", place.kind, said(&healthy));
        let shown = said(&healthy);
        assert!(shown.contains("ok     tenant acme: 2 accounts can be opened"), "{shown}");
        assert!(!said(&place.run(&["doctor"])).contains("accounts"), "it takes a while");
        drop(server);
        // No rule of ours gives one account the credentials of another.
        let sql = "UPDATE account SET credentials = \
                   (SELECT credentials FROM account WHERE name = 'a') WHERE name = 'b'";
        match &place.database_url {
            Some(url) => gatehouse_testing::execute(url, sql).await,
            None => {
                let database = place.path("gatehouse-data/gatehouse.db");
                rusqlite::Connection::open(database).unwrap().execute_batch(sql).unwrap();
            }
        }
        let output = place.run(&["doctor", "--deep"]);
        let shown = said(&output);
        assert!(!output.status.success() && shown.contains("1 fault"), "{shown}");
        let expected = "WRONG  tenant acme, account b: what is kept of it can't be opened: put it \
                        again, with its credentials";
        assert!(shown.contains(expected), "{}: {shown}", place.kind);
    }
}

#[test]
fn who_has_read_enough_ends_a_command_quietly() {
    let place = Place::sqlite();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = place.command(&["doctor"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(141), ""));
}
