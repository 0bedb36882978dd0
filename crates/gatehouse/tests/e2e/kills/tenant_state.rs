//! A tenant whose server is killed: its accesses, and its requests.

use std::collections::{BTreeMap, BTreeSet};

use crate::batch::text;
use crate::process::*;
use gatehouse_testing::SeededRandom;
use reqwest::Response;
use serde_json::{Value, json};

/// Accesses that exist before the first kill, to be changed.
const N_BASE: usize = 400;

/// Items of a batch whose response may be lost.
pub(super) const N_UNCONFIRMED: u64 = 300;

/// Chosen passwords in a batch: each takes a while to hash.
const N_CHOSEN: u64 = 4;

/// A requested batch, and its expected result.
pub(super) struct SentBatch {
    pub(super) task: String,
    pub(super) n_items: u64,
    pub(super) wanted: Expected,
    /// Items that can't succeed.
    pub(super) failing: BTreeSet<u64>,
    /// Whether it was stopped, with a response.
    pub(super) is_stopped: bool,
}

pub(super) enum Expected {
    /// New accesses; passwords that were chosen, by index.
    New(BTreeMap<u64, String>),
    /// These accesses with this status, and with this password if there is one.
    Changed { ids: Vec<String>, status: &'static str, password: Option<String> },
    /// A change that a later one has undone.
    Undone,
    /// All accesses of the base, with this site.
    Labelled { site: String },
}

pub(super) struct KilledTenant {
    pub(super) tenant: String,
    pub(super) base: Vec<String>,
    /// In the order of the requests.
    pub(super) batches: Vec<SentBatch>,
}

impl KilledTenant {
    pub(super) fn estate(n_houses: usize) -> String {
        let tenant = |n| {
            format!(
                "  - name: house-{n}\n    labelKeys: [site, team]\n    contracts:\n      - {{ id: payg, \
                 productOfferingId: po, billingModel: PAY_PER_USE }}\n"
            )
        };
        let tenants: String = (0..n_houses).map(tenant).collect();
        format!("tenants:\n{tenants}")
    }

    /// A tenant with accesses to be changed.
    pub(super) async fn build(server: &Server, n: usize) -> Self {
        let tenant = format!("house-{n}");
        let labels = json!({"site": "hamburg", "team": "north"});
        let body = json!({"contractId": "payg", "numberOfAccesses": N_BASE, "labels": labels});
        let task = server.batch(&tenant, "batch", &body).await;
        let shown = server.until_ended(&tenant, &task).await;
        let accesses = shown["accesses"].as_array().unwrap();
        let base = accesses.iter().map(|it| text(it, "id").to_owned()).collect();
        let first = SentBatch::new(task, N_BASE as u64, Expected::New(BTreeMap::new()));
        Self { tenant, base, batches: vec![first] }
    }

    /// Requests one of every kind of batch. The first one may be stopped.
    pub(super) async fn request(&mut self, server: &Server, random: &mut SeededRandom) {
        let n = 800 + random.roll(3600);
        let body = json!({"contractId": "payg", "numberOfAccesses": n});
        let task = server.batch(&self.tenant, "batch", &body).await;
        self.batches.insert(0, SentBatch::new(task, n, Expected::New(BTreeMap::new())));
        let halves = self.base.split_at(N_BASE / 2);
        let (renewed, ended) = (halves.0.to_vec(), halves.1.to_vec());
        let password = format!("pw-{}-of-all", random.roll(1 << 31));
        let changes = [
            (renewed.clone(), "update", json!({"status": "SUSPENDED"}), Expected::Undone),
            (
                renewed.clone(),
                "update",
                json!({"status": "ACTIVE", "password": password}),
                Expected::Changed { ids: renewed, status: "ACTIVE", password: Some(password) },
            ),
            (
                ended.clone(),
                "terminate",
                json!({}),
                Expected::Changed { ids: ended, status: "PENDING_TERMINATE", password: None },
            ),
        ];
        // The creation comes somewhere between the changes.
        let position = random.roll(3) as usize;
        for (n, (ids, operation, change, wanted)) in changes.into_iter().enumerate() {
            if n == position {
                self.request_listed(server, random).await;
                self.request_labels(server, random).await;
            }
            self.request_change(server, random, (ids, operation, change), wanted).await;
        }
    }

    /// Accesses by name: some with a password, some that can't be created.
    async fn request_listed(&mut self, server: &Server, random: &mut SeededRandom) {
        let n = 100 + random.roll(400);
        let mut chosen = BTreeMap::new();
        let mut failing = BTreeSet::new();
        let mut items: Vec<Value> = Vec::new();
        for index in 0..n {
            let username = format!("u{index}");
            items.push(match random.roll(20) {
                0 => {
                    failing.insert(index);
                    json!({"username": username, "password": "x".repeat(73)})
                }
                1 if index > 0 && !failing.contains(&(index - 1)) => {
                    failing.insert(index);
                    json!({"username": items[index as usize - 1]["username"]})
                }
                2 if (chosen.len() as u64) < N_CHOSEN => {
                    let password = format!("pw-{}-{index}", random.roll(1 << 31));
                    chosen.insert(index, password.clone());
                    json!({"username": username, "password": password})
                }
                3..8 => {
                    let team = ["north", "south"][random.roll(2) as usize];
                    json!({"username": username, "labels": {"team": team}})
                }
                _ => json!({"username": username, "deviceName": format!("d{index}")}),
            });
        }
        let body = json!({"contractId": "payg", "accesses": items});
        let task = server.batch(&self.tenant, "batch", &body).await;
        self.batches.push(SentBatch { failing, ..SentBatch::new(task, n, Expected::New(chosen)) });
    }

    /// A change of the labels of all accesses of the base, which a filter selects.
    async fn request_labels(&mut self, server: &Server, random: &mut SeededRandom) {
        let site = format!("kiel-{}", random.roll(1 << 31));
        let body = json!({
            "operationType": "update",
            "operationBody": {"labels": {"site": site, "team": null}},
            "accessFilter": "label.site=hamburg",
        });
        let task = server.batch(&self.tenant, "batchUpdate", &body).await;
        self.batches.push(SentBatch::new(task, N_BASE as u64, Expected::Labelled { site }));
    }

    /// A change of these accesses, and of one that doesn't exist.
    async fn request_change(
        &mut self,
        server: &Server,
        random: &mut SeededRandom,
        (mut ids, operation, change): (Vec<String>, &str, Value),
        wanted: Expected,
    ) {
        let unknown = random.roll(ids.len() as u64);
        ids.insert(unknown as usize, "01a1dd4d-f036-7005-9379-54b08ec1966e".to_owned());
        let body = json!({
            "operationType": operation, "operationBody": change, "accessesIdList": ids,
        });
        let task = server.batch(&self.tenant, "batchUpdate", &body).await;
        let failing = BTreeSet::from([unknown]);
        self.batches.push(SentBatch { failing, ..SentBatch::new(task, ids.len() as u64, wanted) });
    }

    /// Adds a batch whose response may be lost, if there was one.
    pub(super) async fn add_unconfirmed(&mut self, answer: Option<Response>) {
        let Some(answer) = answer.filter(|it| it.status() == 202) else { return };
        let Ok(task) = answer.json::<Value>().await else { return };
        let wanted = Expected::New(BTreeMap::new());
        self.batches.push(SentBatch::new(text(&task, "id").to_owned(), N_UNCONFIRMED, wanted));
    }

    pub(super) fn n_items(&self) -> u64 {
        self.batches.iter().map(|it| it.n_items).sum()
    }

    pub(super) async fn n_processed(&self, server: &Server) -> u64 {
        let mut n = 0;
        for batch in &self.batches {
            n += server.progress(&self.tenant, &batch.task).await.n_processed();
        }
        n
    }
}

impl SentBatch {
    pub(super) fn new(task: String, n_items: u64, wanted: Expected) -> Self {
        Self { task, n_items, wanted, failing: BTreeSet::new(), is_stopped: false }
    }
}
