//! The journals and the audit from the command line: whether they are as they were written.

use super::batch::Wait;
use super::process::*;
use reqwest::Method;
use serde_json::Value;

const ACME: &str = "/-/admin/tenants/acme/audit";

impl Server {
    /// A tenant's audit, once it has an event of this type.
    async fn audit_with(&self, event_type: &str) -> Vec<Value> {
        let wait = Wait::new(format!("an event of {event_type}"));
        loop {
            let (status, events) = self.json(Method::GET, ACME, None).await;
            assert_eq!(status, 200, "{events}");
            let events = events.as_array().unwrap().clone();
            if events.iter().any(|it| it["eventType"] == event_type) {
                return events;
            }
            wait.check_limit();
        }
    }
}

impl Setup {
    /// Changes the database behind the server's back.
    async fn tamper(&self, sql: &str) {
        match &self.database_url {
            Some(url) => gatehouse_testing::execute(url, sql).await,
            None => {
                let database = self.path("gatehouse-data/gatehouse.db");
                rusqlite::Connection::open(database).unwrap().execute_batch(sql).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn an_event_that_was_altered_inserted_or_removed_is_named() {
    for setup in Setup::each("audit_verified").await {
        let kind = setup.kind;
        let mut server = setup.serve();
        server.token = setup.token("*", "access:write event:read admin");
        // What commands on this machine do is told, too.
        let (client, _) = setup.create_client("access:read");
        setup.token("acme", "access:read");
        for _ in 0..3 {
            let body = Some(r#"{"contractId": "payg"}"#);
            assert_eq!(server.json(Method::POST, "/acme/access", body).await.0, 201);
        }
        let events = server.audit_with("ClientCreateEvent").await;
        let made = events.iter().find(|it| it["eventType"] == "ClientCreateEvent").unwrap();
        assert_eq!(made["event"]["client"]["clientId"], client.as_str(), "{kind}: {made}");
        assert_eq!(made["x-origin"]["kind"], "command", "{kind}: {made}");
        let issued = server.audit_with("TokenIssueEvent").await;
        let issued = issued.iter().find(|it| it["eventType"] == "TokenIssueEvent").unwrap();
        assert_eq!(issued["x-origin"]["kind"], "command", "{kind}: {issued}");
        let wait = Wait::new("events of accesses");
        while server.json(Method::GET, "/acme/event", None).await.1.as_array().unwrap().len() < 3 {
            wait.check_limit();
        }

        let list = |more: &[&str]| {
            let words = [&["audit", "list", "--url", &server.url], more].concat();
            printed(&setup.command(&words).env("GATEHOUSE_TOKEN", &server.token).output().unwrap())
        };
        let own = list(&["--tenant", "acme"]);
        assert!(own.contains(&format!("client {client}")) && own.contains("command"), "{own}");
        let of_type = list(&["--tenant", "acme", "--type", "TokenIssueEvent", "--limit", "1"]);
        assert!(of_type.contains("issued for access:read"), "{of_type}");
        assert!(!of_type.contains("contract"), "{of_type}");
        let estate = list(&["--estate"]);
        assert!(estate.contains("tenant acme") && !estate.contains("JournalStart"), "{estate}");

        let verify = setup.run(&["audit", "verify"]);
        let shown = printed(&verify);
        assert!(verify.status.success(), "{kind}: {shown}");
        let all = "events of tenant acme: 3 events are as they were written, up to number 3";
        assert!(shown.contains(all), "{kind}: {shown}");
        assert!(
            shown.contains("audit of tenant acme: ") && shown.contains("audit of the estate: ")
        );
        assert_eq!(shown.matches("ok     ").count(), shown.lines().count(), "{kind}: {shown}");
        server.terminate();
        assert!(server.wait().success(), "{kind}");
        let head = setup.run(&["audit", "head"]);
        assert!(head.status.success(), "{kind}: {}", printed(&head));
        std::fs::write(setup.path("heads"), &head.stdout).unwrap();
        let against = ["audit", "verify", "--against", "heads"];
        let same = setup.run(&against);
        assert!(same.status.success(), "{kind}: {}", printed(&same));

        for (sql, back, expected) in [
            (
                "UPDATE event SET at = at - 1 WHERE tenant = 'acme' AND first = 2",
                "UPDATE event SET at = at + 1 WHERE tenant = 'acme' AND first = 2",
                "WRONG  events of tenant acme: the entry of event 2 was altered",
            ),
            (
                "UPDATE audit SET first = first + 100 WHERE tenant = 'acme' AND first = 1",
                "UPDATE audit SET first = first - 100 WHERE tenant = 'acme' AND first = 101",
                "WRONG  audit of tenant acme: the events from number 1 on are missing",
            ),
            (
                "INSERT INTO event (tenant, first, n, at, entry, mac) SELECT tenant, 4, n, at, entry, mac \
                 FROM event WHERE tenant = 'acme' AND first = 3",
                "DELETE FROM event WHERE tenant = 'acme' AND first = 4",
                "WRONG  events of tenant acme: the entry of event 4",
            ),
        ] {
            setup.tamper(sql).await;
            for command in [&["audit", "verify"][..], &against, &["doctor", "--deep"]] {
                let output = setup.run(command);
                let shown = printed(&output);
                assert!(!output.status.success(), "{kind}: {sql}: {shown}");
                assert!(shown.contains(expected), "{kind}: {sql}: {shown}");
            }
            setup.tamper(back).await;
            let again = setup.run(&against);
            assert!(again.status.success(), "{kind}: {}", printed(&again));
        }
        // Without its ends, nothing shows where a journal must begin and end.
        setup.tamper("DELETE FROM event WHERE tenant = 'acme'; DELETE FROM journal WHERE tenant = 'acme'").await;
        let gone = setup.run(&["audit", "verify"]);
        let shown = printed(&gone);
        let expected =
            "WRONG  events of tenant acme: the numbers where it begins and ends are gone";
        assert!(!gone.status.success() && shown.contains(expected), "{kind}: {shown}");
        // A head tells of what the store has no trace of.
        std::fs::write(setup.path("heads"), format!("zoo events 7 {}", "07".repeat(32))).unwrap();
        let shown = printed(&setup.run(&against));
        assert!(shown.contains("WRONG  events of tenant zoo: there is none"), "{kind}: {shown}");
    }
}

#[test]
fn faults_of_heads_are_reported() {
    let setup = Setup::sqlite();
    let shown = printed(&setup.run(&["audit", "head"]));
    assert!(shown.contains("start `gatehouse serve` there once"), "{shown}");
    assert!(!setup.path("gatehouse-data").exists(), "looking makes nothing");
    drop(setup.serve());
    let shown = printed(&setup.run(&["audit", "verify", "--against", "none"]));
    assert!(shown.contains("--against: none"), "{shown}");
    std::fs::write(setup.path("heads"), "\nacme events x 00\n").unwrap();
    let shown = printed(&setup.run(&["audit", "verify", "--against", "heads"]));
    assert!(shown.contains("line 2") && shown.contains("audit head"), "{shown}");
}
