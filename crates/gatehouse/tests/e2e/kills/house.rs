//! A tenant whose server is killed: what it has, and what it asks for.

use std::collections::{BTreeMap, BTreeSet};

use crate::batch::text;
use crate::process::*;
use gatehouse_testing::SeededRandom;
use reqwest::Response;
use serde_json::{Value, json};

/// Accesses that are there before the first kill, to be changed.
const N_BASE: usize = 400;

/// Items of a batch whose answer may be lost.
pub(super) const ON_ITS_WAY: u64 = 300;

/// Chosen passwords in a batch: each takes a while to hash.
const N_CHOSEN: u64 = 4;

/// A batch that was asked for, and what has to come of it.
pub(super) struct Asked {
    pub(super) task: String,
    pub(super) n_items: u64,
    pub(super) wanted: Wanted,
    /// Items that can't succeed.
    pub(super) failing: BTreeSet<u64>,
    /// Whether it was stopped, and we know it.
    pub(super) is_stopped: bool,
}

pub(super) enum Wanted {
    /// New accesses; passwords that were chosen, by index.
    New(BTreeMap<u64, String>),
    /// These accesses in this status, and with this password if there is one.
    Changed { ids: Vec<String>, status: &'static str, password: Option<String> },
    /// A change that another one after it has undone.
    Undone,
}

/// A tenant.
pub(super) struct House {
    pub(super) tenant: String,
    /// The accesses that it began with.
    pub(super) base: Vec<String>,
    /// In the order in which it was asked for.
    pub(super) asked: Vec<Asked>,
}

impl House {
    /// The tenants, with a contract each.
    pub(super) fn estate(n_houses: usize) -> String {
        let tenant = |n| {
            format!(
                "  - name: house-{n}\n    contracts:\n      - {{ id: payg, productOfferingId: po, \
                 billingModel: PAY_PER_USE }}\n"
            )
        };
        let tenants: String = (0..n_houses).map(tenant).collect();
        format!("tenants:\n{tenants}")
    }

    /// A tenant with accesses to be changed.
    pub(super) async fn build(server: &Server, n: usize) -> Self {
        let tenant = format!("house-{n}");
        let body = json!({"contractId": "payg", "numberOfAccesses": N_BASE});
        let task = server.batch(&tenant, "batch", &body).await;
        let shown = server.until_over(&tenant, &task).await;
        let accesses = shown["accesses"].as_array().unwrap();
        let base = accesses.iter().map(|it| text(it, "id").to_owned()).collect();
        let first = Asked::new(task, N_BASE as u64, Wanted::New(BTreeMap::new()));
        Self { tenant, base, asked: vec![first] }
    }

    /// Asks for some of everything. The first that is listed is what may be stopped.
    pub(super) async fn ask(&mut self, server: &Server, dice: &mut SeededRandom) {
        let n = 800 + dice.roll(3600);
        let body = json!({"contractId": "payg", "numberOfAccesses": n});
        let task = server.batch(&self.tenant, "batch", &body).await;
        self.asked.insert(0, Asked::new(task, n, Wanted::New(BTreeMap::new())));
        let halves = self.base.split_at(N_BASE / 2);
        let (renewed, ended) = (halves.0.to_vec(), halves.1.to_vec());
        let password = format!("pw-{}-of-all", dice.roll(1 << 31));
        let changes = [
            (renewed.clone(), "update", json!({"status": "SUSPENDED"}), Wanted::Undone),
            (
                renewed.clone(),
                "update",
                json!({"status": "ACTIVE", "password": password}),
                Wanted::Changed { ids: renewed, status: "ACTIVE", password: Some(password) },
            ),
            (
                ended.clone(),
                "terminate",
                json!({}),
                Wanted::Changed { ids: ended, status: "PENDING_TERMINATE", password: None },
            ),
        ];
        // The creation comes somewhere between the changes.
        let place = dice.roll(3) as usize;
        for (n, (ids, operation, change, wanted)) in changes.into_iter().enumerate() {
            if n == place {
                self.ask_for_listed(server, dice).await;
            }
            self.ask_for_change(server, dice, (ids, operation, change), wanted).await;
        }
    }

    /// Accesses by name: some with a password, some that can't be had.
    async fn ask_for_listed(&mut self, server: &Server, dice: &mut SeededRandom) {
        let n = 100 + dice.roll(400);
        let mut chosen = BTreeMap::new();
        let mut failing = BTreeSet::new();
        let mut items: Vec<Value> = Vec::new();
        for index in 0..n {
            let username = format!("u{index}");
            items.push(match dice.roll(20) {
                0 => {
                    failing.insert(index);
                    json!({"username": username, "password": "x".repeat(73)})
                }
                1 if index > 0 && !failing.contains(&(index - 1)) => {
                    failing.insert(index);
                    json!({"username": items[index as usize - 1]["username"]})
                }
                2 if (chosen.len() as u64) < N_CHOSEN => {
                    let password = format!("pw-{}-{index}", dice.roll(1 << 31));
                    chosen.insert(index, password.clone());
                    json!({"username": username, "password": password})
                }
                _ => json!({"username": username, "deviceName": format!("d{index}")}),
            });
        }
        let body = json!({"contractId": "payg", "accesses": items});
        let task = server.batch(&self.tenant, "batch", &body).await;
        self.asked.push(Asked { failing, ..Asked::new(task, n, Wanted::New(chosen)) });
    }

    /// A change of these accesses, among which is one that isn't there.
    async fn ask_for_change(
        &mut self,
        server: &Server,
        dice: &mut SeededRandom,
        (mut ids, operation, change): (Vec<String>, &str, Value),
        wanted: Wanted,
    ) {
        let nobody = dice.roll(ids.len() as u64);
        ids.insert(nobody as usize, "01a1dd4d-f036-7005-9379-54b08ec1966e".to_owned());
        let body = json!({
            "operationType": operation, "operationBody": change, "accessesIdList": ids,
        });
        let task = server.batch(&self.tenant, "batchUpdate", &body).await;
        let failing = BTreeSet::from([nobody]);
        self.asked.push(Asked { failing, ..Asked::new(task, ids.len() as u64, wanted) });
    }

    /// Hears what became of a batch that was on its way: an answer, if there was one.
    pub(super) async fn learn(&mut self, answer: Option<Response>) {
        let Some(answer) = answer.filter(|it| it.status() == 202) else { return };
        let Ok(task) = answer.json::<Value>().await else { return };
        let wanted = Wanted::New(BTreeMap::new());
        self.asked.push(Asked::new(text(&task, "id").to_owned(), ON_ITS_WAY, wanted));
    }

    /// Items that it has asked for.
    pub(super) fn n_items(&self) -> u64 {
        self.asked.iter().map(|it| it.n_items).sum()
    }

    /// Items that are done.
    pub(super) async fn n_processed(&self, server: &Server) -> u64 {
        let mut n = 0;
        for asked in &self.asked {
            n += server.progress(&self.tenant, &asked.task).await.n_processed();
        }
        n
    }
}

impl Asked {
    pub(super) fn new(task: String, n_items: u64, wanted: Wanted) -> Self {
        Self { task, n_items, wanted, failing: BTreeSet::new(), is_stopped: false }
    }
}
