//! Responses to creations while a disk fails, and what the store must hold afterwards.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use super::process::*;

/// The exit code of a server whose disk failed, from docs/cli.md.
pub(crate) const DISK_FAILED: i32 = 74;

/// Usernames of requested accesses, by the response that the client got.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// 201.
    pub(crate) created: BTreeSet<String>,
    /// 503 `Store unavailable`.
    pub(crate) refused: BTreeSet<String>,
    /// 503 `Outcome unknown`, or no response.
    pub(crate) unknown: BTreeSet<String>,
}

impl Outcomes {
    /// Adds a response to the creation of `username`; status 0 stands for none.
    pub(crate) fn add(&mut self, username: String, status: u16, body: &Value) {
        match (status, body["title"].as_str()) {
            (201, _) => self.created.insert(username),
            (503, Some("Store unavailable")) => self.refused.insert(username),
            (503, Some("Outcome unknown")) | (0, _) => self.unknown.insert(username),
            _ => panic!("{status}: {body}"),
        };
    }
}

/// Creates one access; returns status 0 where the server doesn't respond.
pub(crate) async fn create(server: &Server, username: &str) -> (u16, Value) {
    let body = format!(r#"{{"contractId": "payg", "username": "{username}"}}"#);
    let request = server.client.post(format!("{}/acme/access", server.url));
    let request = request.bearer_auth(&server.token).header("content-type", "application/json");
    match request.body(body).send().await {
        Ok(response) => (response.status().as_u16(), response.json().await.unwrap_or_default()),
        Err(_) => (0, Value::Null),
    }
}

/// Creates accesses, eight at a time, until the server is gone. After the first failure the server must not be ready.
pub(crate) async fn create_until_the_server_ends(server: &Server) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for round in 0..100_000 {
        let creations = (0..8).map(|n| async move {
            let username = format!("d{round}-{n}");
            let (status, body) = create(server, &username).await;
            (username, status, body)
        });
        let mut is_there = false;
        for (username, status, body) in futures_util::future::join_all(creations).await {
            is_there |= status != 0;
            outcomes.add(username, status, &body);
        }
        if !outcomes.refused.is_empty() || !outcomes.unknown.is_empty() {
            let ready = server.client.get(format!("{}/-/ready", server.url)).send().await;
            if let Ok(ready) = ready {
                assert_eq!(ready.status(), 503);
                let body: Value = ready.json().await.unwrap();
                assert!(body["detail"].as_str().unwrap().contains("the disk failed"), "{body}");
            }
        }
        if !is_there {
            return outcomes;
        }
    }
    panic!("the disk has never failed");
}

/// Asserts that every created access is in the store, and no refused one.
pub(crate) async fn must_hold(setup: &Setup, server: &Server, outcomes: &Outcomes) {
    let Outcomes { created, refused, .. } = outcomes;
    let all = created.iter().map(|it| (it, true)).chain(refused.iter().map(|it| (it, false)));
    for (username, must_be_there) in all {
        let path = format!("/acme/access?username={username}");
        let (status, found) = server.json(Method::GET, &path, None).await;
        assert!(status == 200 || status == 206, "{status}: {found} {}", setup.log());
        assert_eq!(found.as_array().unwrap().len(), usize::from(must_be_there), "{username}");
    }
}
