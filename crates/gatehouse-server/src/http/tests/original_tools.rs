//! Hashes of the original tools: the right password passes, wrong ones fail, and the first success makes the hash ours.

mod tool;

use gatehouse_core::TenantName;
use gatehouse_core::credential::Password;
use gatehouse_vault::HashCaller;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::tool::TOOLS;
use super::*;
use crate::app::requester::Requester;

/// Hashes of each tool in an ordinary run.
const FEW: usize = 8;

/// Hashes of each tool, on the first store and on the other.
fn n_hashes() -> [usize; 2] {
    if std::env::var_os("TEST_LONG").is_some() { [1000, FEW] } else { [FEW, FEW] }
}

/// Passwords of all kinds that the tools take: spaces, other alphabets, signs, and as long as a password can be.
fn password(n: usize) -> String {
    match n % 4 {
        0 => format!("rain on the roof {n}"),
        1 => format!("häuser am see {n} 🛰"),
        2 => format!("{n:x>72}"),
        _ => format!("$n%&/()=\\'\"{n}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_of_the_original_tools_are_checked_and_replaced() {
    let n_hashes = n_hashes();
    let passwords: Vec<String> = (0..n_hashes[0]).map(password).collect();
    let made: Vec<(&str, Vec<String>)> =
        TOOLS.iter().map(|tool| (tool.name, tool.hash(&passwords))).collect();
    for (gate, n) in Gatehouse::on_each("original_tools").await.into_iter().zip(n_hashes) {
        for (name, hashes) in &made {
            assert_eq!(hashes.len(), passwords.len(), "{name}");
            let items = hashes[..n]
                .iter()
                .zip(0..)
                .map(|(hash, n)| json!({"username": format!("{name} {n}"), "passwordHash": hash}));
            let body = json!({"contractId": "payg", "accesses": items.collect::<Vec<_>>()});
            let path = gate.accept("/acme/access/batch", body).await;
            gate.work().await;
            let task = gate.get(&path).await.json();
            assert_eq!(task["state"], "DONE", "{name}: {task}");
            let created = task["accesses"].as_array().unwrap();
            assert!(created.iter().all(|it| it.get("password").is_none()), "{name}");

            // As many at once as the pool takes without refusing any.
            for (some, from) in passwords[..n].chunks(50).zip((0..).step_by(50)) {
                let checks = some
                    .iter()
                    .zip(from..)
                    .map(|(password, n)| gate.check_hash_of_tool(name, n, password));
                futures_util::future::join_all(checks).await;
            }
        }
    }
}

impl Gatehouse {
    /// Checks one access with wrong passwords, and with the right one.
    async fn check_hash_of_tool(&self, tool: &str, n: usize, right: &str) {
        let username = format!("{tool} {n}");
        let app = &self.gate.server.app;
        let tenant: TenantName = "acme".parse().unwrap();
        let (connected, name) = (CancellationToken::new(), username.parse().unwrap());
        let is_right = async |password: &str| {
            let caller =
                Requester::in_test(HashCaller { tenant: &tenant, disconnection: &connected });
            let password = Password::new(password.to_owned()).unwrap();
            app.verify(caller, &name, &password).await.is_ok()
        };
        let scheme = async || {
            let stored = app.store.access_by_username(&tenant, &name).await.unwrap().unwrap();
            stored.password.as_str().split('$').next().unwrap().to_owned()
        };
        for wrong in [&right[1..], &right.to_uppercase()] {
            assert!(!is_right(wrong).await, "{}: {username}: {wrong}", self.kind);
        }
        assert_eq!(scheme().await, "foreign", "{}: {username}", self.kind);
        assert!(is_right(right).await, "{}: {username}: {right}", self.kind);
        assert_eq!(scheme().await, "argon2id", "{}: {username}", self.kind);
        assert!(is_right(right).await, "{}: {username}: {right}", self.kind);
        // A slow hash each: our own hashes have tests of their own.
        if n < FEW {
            assert!(!is_right(&right[1..]).await, "{}: {username}", self.kind);
        }
    }
}
