//! Batch requests of a client.

use super::call::{Answer, Items, Request, Wanted};
use super::client::Client;
use super::{Replicas, is_over};

/// Identifier of an access that doesn't exist.
const UNKNOWN_ACCESS: &str = "01a1dd4d-f036-7005-9379-54b08ec1966e";

/// Items of the smallest batch by number.
const N_ITEMS_MIN: u64 = 20;

impl<R: Replicas> Client<R> {
    pub(super) async fn begin_batch(&mut self) {
        match self.random.roll(6) {
            0 | 1 => {
                let n_more = self.scale.n_items_max - N_ITEMS_MIN;
                let (tenant, n) = (self.some_tenant(), N_ITEMS_MIN + self.random.roll(n_more));
                let task = self.insist_on_batch(tenant, Items::Number(n)).await;
                // Stops some batches soon after their start.
                if let Some(task) = task.filter(|_| self.random.roll(4) == 0) {
                    self.replicas.ask(&mut self.random, tenant, &Request::Stop { task }).await;
                }
            }
            2 => self.list().await,
            3 | 4 => self.update().await,
            _ => self.terminate().await,
        }
    }

    /// Creates accesses by device, once without a retry.
    async fn list(&mut self) {
        let (tenant, name, n) = (self.some_tenant(), self.name("batch"), 5 + self.random.roll(60));
        let devices = (0..n).map(|index| format!("{name}-{index}")).collect();
        let failing = (self.random.roll(3) == 0).then(|| self.random.roll(n) as usize);
        let request = Request::Batch { name, key: None, items: Items::Listed { devices, failing } };
        let answer = self.replicas.ask(&mut self.random, tenant, &request).await;
        self.accepted(tenant, &answer);
    }

    /// Changes all tracked accesses of a tenant, which other clients change and check at the same time.
    async fn update(&mut self) {
        let (tenant, password) = (self.some_tenant(), self.name("pw"));
        let wanted = match self.random.roll(4) {
            0 => Wanted { lets_in: None, password: Some(password) },
            1 => Wanted { lets_in: Some(true), password: Some(password) },
            n => Wanted { lets_in: Some(n == 2), password: None },
        };
        let tracked = self.shared.tracked.iter().filter(|it| it.tenant == tenant);
        let mut accesses = Vec::new();
        for tracked in tracked {
            if let Some(password) = &wanted.password {
                tracked.add_password(password);
            }
            accesses.push(tracked.id.clone());
        }
        let failing = (self.random.roll(3) == 0)
            .then(|| self.random.roll(accesses.len() as u64 + 1) as usize);
        if let Some(position) = failing {
            accesses.insert(position, UNKNOWN_ACCESS.into());
        }
        self.insist_on_batch(tenant, Items::Update { accesses, wanted, failing }).await;
    }

    async fn terminate(&mut self) {
        let made = self.shared.made.lock().unwrap().pop();
        let Some((tenant, accesses)) = made else { return };
        self.insist_on_batch(tenant, Items::Terminate { accesses }).await;
    }

    /// Sends a batch until a response arrives, sometimes again afterwards; returns the Task's identifier.
    async fn insist_on_batch(&mut self, tenant: usize, items: Items) -> Option<String> {
        let name = self.name("batch");
        let request = Request::Batch { key: Some(format!("key-{name}")), name, items };
        let answer = self.replicas.insist(&mut self.random, tenant, &request).await;
        if self.random.roll(3) == 0 {
            self.replicas.insist(&mut self.random, tenant, &request).await;
        }
        self.accepted(tenant, &answer)
    }

    fn accepted(&self, tenant: usize, answer: &Answer) -> Option<String> {
        let task = answer.done()?["id"].as_str()?.to_owned();
        self.shared.open_tasks.lock().unwrap().push((tenant, task.clone()));
        Some(task)
    }

    fn some_task(&mut self) -> Option<(usize, String)> {
        let open = self.shared.open_tasks.lock().unwrap();
        (!open.is_empty()).then(|| self.random.pick(&open).clone())
    }

    pub(super) async fn poll_task(&mut self) {
        let Some((tenant, task)) = self.some_task() else { return };
        let request = Request::Look { task: task.clone() };
        let answer = self.replicas.insist(&mut self.random, tenant, &request).await;
        let Some(shown) = answer.done() else { return };
        // Some ended Tasks stay in the list, so that a client would notice a change.
        if is_over(shown) && self.random.roll(2) == 0 {
            self.shared.open_tasks.lock().unwrap().retain(|it| it.1 != task);
            let made = shown["accesses"].as_array().filter(|_| shown["@type"] == "batchCreation");
            let ids = made.into_iter().flatten().filter_map(|it| it["id"].as_str());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            let mut made = self.shared.made.lock().unwrap();
            // Two clients may have seen the end.
            if !ids.is_empty() && !made.iter().any(|it| it.1 == ids) {
                made.push((tenant, ids));
            }
        }
    }

    pub(super) async fn stop(&mut self) {
        let Some((tenant, task)) = self.some_task() else { return };
        self.replicas.ask(&mut self.random, tenant, &Request::Stop { task }).await;
    }
}
