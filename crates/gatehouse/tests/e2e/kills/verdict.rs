//! The checks after all kills.

use std::collections::{BTreeMap, BTreeSet};

use super::tenant_state::{Expected, KilledTenant, N_UNCONFIRMED, SentBatch};
use crate::batch::{has_ended, text};
use crate::process::*;
use gatehouse_testing::SeededRandom;
use reqwest::Method;
use serde_json::{Value, json};

/// Generated passwords of a Task that are tried.
const N_TRIED: u64 = 12;

impl KilledTenant {
    /// Checks the result of every batch. Chosen passwords are slow to try.
    pub(super) async fn check(
        &self,
        server: &Server,
        random: &mut SeededRandom,
        tries_chosen: bool,
    ) {
        let tenant = &self.tenant;
        // A server that could not respond may have accepted the batch.
        let tasks = server.all(&format!("/{tenant}/access/batch")).await;
        let listed: BTreeSet<&str> = tasks.iter().map(|it| text(it, "id")).collect();
        let requested: BTreeSet<&str> = self.batches.iter().map(|it| it.task.as_str()).collect();
        assert!(requested.is_subset(&listed), "{tenant}: an accepted Task is lost");
        let unheard = listed.difference(&requested).map(|task| {
            SentBatch::new((*task).to_owned(), N_UNCONFIRMED, Expected::New(BTreeMap::new()))
        });
        let unheard: Vec<SentBatch> = unheard.collect();

        // A Task shows accesses as they are, so all changes come first.
        for batch in self.batches.iter().chain(&unheard) {
            server.until_ended(tenant, &batch.task).await;
        }
        let mut passwords = BTreeMap::new();
        let mut usernames = BTreeSet::new();
        for batch in self.batches.iter().chain(&unheard) {
            let shown = server.until_ended(tenant, &batch.task).await;
            let items = server.all(&format!("/{tenant}/access/batch/{}/items", batch.task)).await;
            batch.check(&shown, &items, tenant);
            let accesses: Vec<&Value> =
                items.iter().map(|it| &it["access"]).filter(|it| it.is_object()).collect();
            for access in &accesses {
                if let Some(password) = access["password"].as_str() {
                    let id = text(access, "id").to_owned();
                    let before = passwords
                        .insert(id, (text(access, "username").to_owned(), password.to_owned()));
                    assert_eq!(before, None, "{tenant}: two Tasks show a password of {access}");
                }
            }
            let made = server.all(&format!("/{tenant}/access?createdBy={}", batch.task)).await;
            if let Expected::New(chosen) = &batch.wanted {
                let ids = |of: &[&Value]| -> Vec<String> {
                    of.iter().map(|it| text(it, "id").to_owned()).collect()
                };
                assert_eq!(
                    ids(&made.iter().collect::<Vec<_>>()),
                    ids(&accesses),
                    "{tenant}: {shown:.200}"
                );
                for access in accesses {
                    let username = text(access, "username");
                    assert!(usernames.insert(username.to_owned()), "{tenant}: {username} twice");
                }
                self.try_passwords(server, random, &items, chosen, tries_chosen).await;
            } else {
                assert_eq!(made.len(), 0);
            }
        }
        let all = server.all(&format!("/{tenant}/access")).await;
        assert_eq!(all.len(), usernames.len(), "{tenant}: an access that no Task shows");
        for access in &all {
            let shown = passwords.get(text(access, "id"));
            let username = shown.map(|(username, _)| username.as_str());
            assert_eq!(username, access["username"].as_str(), "{tenant}: a password is lost");
        }
        self.check_changes(server, random, &all, &passwords, tries_chosen).await;
        self.check_lists(server, &all).await;
    }

    /// Checks that lists by status and label have exactly the accesses that show them, in order.
    async fn check_lists(&self, server: &Server, all: &[Value]) {
        let labelled = self.batches.iter().find_map(|batch| match &batch.wanted {
            Expected::Labelled { site } => Some(site.as_str()),
            _ => None,
        });
        let site = labelled.expect("every tenant's base gets another site");
        let with_site = |it: &&Value| it["labels"] == json!({"site": site});
        assert_eq!(all.iter().filter(with_site).count(), self.base.len(), "{}", self.tenant);
        for (filter, shown_at, value) in [
            ("status=ACTIVE", "/status", Some("ACTIVE")),
            ("status=SUSPENDED", "/status", Some("SUSPENDED")),
            ("status=PENDING_TERMINATE", "/status", Some("PENDING_TERMINATE")),
            ("label.site", "/labels/site", None),
            ("label.team=north", "/labels/team", Some("north")),
            ("label.team=south", "/labels/team", Some("south")),
        ] {
            let selects = |it: &&Value| match it.pointer(shown_at) {
                Some(shown) => value.is_none_or(|value| shown == value),
                None => false,
            };
            let expected: Vec<&Value> = all.iter().filter(selects).collect();
            let found = server.all(&format!("/{}/access?{filter}", self.tenant)).await;
            assert!(found.iter().eq(expected), "{}: {filter}: {}", self.tenant, found.len());
        }
    }

    async fn try_passwords(
        &self,
        server: &Server,
        random: &mut SeededRandom,
        items: &[Value],
        chosen: &BTreeMap<u64, String>,
        tries_chosen: bool,
    ) {
        for item in items {
            let index = item["index"].as_u64().unwrap();
            let access = &item["access"];
            let Some(password) = access["password"].as_str() else { continue };
            let is_chosen = chosen.contains_key(&index);
            let is_tried =
                if is_chosen { tries_chosen } else { random.roll(items.len() as u64) < N_TRIED };
            assert!(!is_chosen || chosen[&index] == password, "{item}");
            if is_tried {
                self.try_password(server, text(access, "username"), password).await;
            }
        }
    }

    async fn try_password(&self, server: &Server, username: &str, password: &str) {
        let body = json!({"username": username, "password": password}).to_string();
        let path = format!("/{}/verify", self.tenant);
        let (status, answer) = server.json(Method::POST, &path, Some(&body)).await;
        assert_eq!(status, 200, "{}: {username} is not let in: {answer}", self.tenant);
    }

    /// Checks that every access is as the last change left it.
    async fn check_changes(
        &self,
        server: &Server,
        random: &mut SeededRandom,
        all: &[Value],
        passwords: &BTreeMap<String, (String, String)>,
        tries_chosen: bool,
    ) {
        let statuses: BTreeMap<&str, &str> =
            all.iter().map(|it| (text(it, "id"), text(it, "status"))).collect();
        for batch in &self.batches {
            let Expected::Changed { ids, status, password } = &batch.wanted else { continue };
            for id in ids {
                assert_eq!(statuses[id.as_str()], *status, "{}: {id}", self.tenant);
                if let Some(password) = password {
                    assert_eq!(&passwords[id].1, password, "{}: {id}", self.tenant);
                }
            }
            if tries_chosen {
                let (username, password) = &passwords[random.pick(ids)];
                self.try_password(server, username, password).await;
            }
        }
    }
}

impl SentBatch {
    /// Checks that a Task has done exactly what was requested.
    fn check(&self, shown: &Value, items: &[Value], tenant: &str) {
        assert!(has_ended(shown));
        let context = || format!("{tenant}: {} {}", text(shown, "id"), text(shown, "@type"));
        let indices: Vec<u64> = items.iter().map(|it| it["index"].as_u64().unwrap()).collect();
        let n_done = if self.is_stopped { indices.len() as u64 } else { self.n_items };
        assert_eq!(indices, (0..n_done).collect::<Vec<_>>(), "{}", context());
        let is_failed = |it: &&Value| it["state"] == "failed";
        let failed = items.iter().filter(is_failed).map(|it| it["index"].as_u64().unwrap());
        let failed: BTreeSet<u64> = failed.collect();
        let expected = match self.is_stopped {
            true => "TERMINATED",
            false if self.failing.is_empty() => "DONE",
            false => "FAILED",
        };
        assert_eq!(text(shown, "state"), expected, "{}", context());
        let failing: BTreeSet<u64> = self.failing.range(..n_done).copied().collect();
        assert_eq!(failed, failing, "{}", context());
        if !self.is_stopped {
            let of_task = shown["accesses"].as_array().unwrap().iter();
            let of_items = items.iter().map(|it| &it["access"]).filter(|it| it.is_object());
            assert!(of_task.eq(of_items), "{}: the Task and its items differ", context());
        }
    }
}
