//! Keys that are missing, lost or wrong: a server that could check no password does not start.

use super::process::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_embedded_store_creates_its_keys_for_its_owner_alone() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    for name in ["master.key", "token.key"] {
        let mode = setup.path("gatehouse-data").join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mode = setup.path("gatehouse-data").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mode = setup.path("gatehouse-data/gatehouse.db").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_lost_or_changed_master_key_is_not_replaced() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    let key = setup.path("gatehouse-data/master.key");
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    let shown = printed(&setup.run(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(shown.contains("put the key file back"), "{shown}");
    assert!(!key.exists());
    std::fs::write(&key, MASTER_KEY).unwrap();
    let shown = printed(&setup.run(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(shown.contains("give the original key"), "{shown}");
    std::fs::write(&key, "short").unwrap();
    let shown = printed(&setup.run(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(shown.contains("64 hexadecimal"), "{shown}");
    std::fs::write(&key, kept).unwrap();
    drop(setup.serve());
}

#[tokio::test]
async fn postgres_needs_the_same_master_key_everywhere() {
    let setup = Setup::postgres("same_master_key").await;
    let start = |name: &str, value: &str| {
        let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env_remove("GATEHOUSE_MASTER_KEY").env(name, value);
        printed(&command.output().unwrap())
    };
    assert!(start("X", "").contains("PostgreSQL needs the master key"));
    let output = setup.run(&["token", "--tenant", "a", "--scope", "admin"]);
    assert!(printed(&output).contains("start `gatehouse serve`"), "{}", printed(&output));
    let url = setup.database_url.as_ref().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'e2e_same_master_key'";
    let n_tables: i64 = client.query_one(tables, &[]).await.unwrap().get(0);
    assert_eq!(n_tables, 0, "neither made a table");

    let first = setup.serve();
    let second = setup.serve();
    assert!(start("GATEHOUSE_MASTER_KEY", &"11".repeat(32)).contains("give the original key"));
    assert!(start("GATEHOUSE_MASTER_KEY_FILE", "missing.key").contains("no file missing.key"));
    std::fs::write(setup.path("m.key"), format!("\n  {}\n", MASTER_KEY.to_uppercase())).unwrap();
    let mut command = setup.command(&["token", "--tenant", "*", "--scope", "access:read"]);
    command.env_remove("GATEHOUSE_MASTER_KEY").env("GATEHOUSE_MASTER_KEY_FILE", "m.key");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let token = String::from_utf8(output.stdout).unwrap();
    for server in [&first, &second] {
        let url = format!("{}/acme/contract", server.url);
        let seen = server.client.get(url).bearer_auth(token.trim()).send().await.unwrap();
        assert_eq!(seen.status(), 200, "both trust the one token key");
    }
}
