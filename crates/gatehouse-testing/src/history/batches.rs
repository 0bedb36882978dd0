//! What a client does with batches.

use super::call::{Answer, Items, Request, Wanted};
use super::client::Client;
use super::{Replicas, is_over};

/// What isn't there, and can't be made.
const NOBODY: &str = "01a1dd4d-f036-7005-9379-54b08ec1966e";

/// Items of the smallest batch by number.
const N_ITEMS_MIN: u64 = 20;

impl<R: Replicas> Client<R> {
    pub(super) async fn begin_batch(&mut self) {
        match self.dice.roll(6) {
            0 | 1 => {
                let n_more = self.scale.n_items_max - N_ITEMS_MIN;
                let (tenant, n) = (self.some_tenant(), N_ITEMS_MIN + self.dice.roll(n_more));
                let task = self.batch_for_sure(tenant, Items::Number(n)).await;
                // Some are stopped when they have hardly begun.
                if let Some(task) = task.filter(|_| self.dice.roll(4) == 0) {
                    self.replicas.ask(&mut self.dice, tenant, &Request::Stop { task }).await;
                }
            }
            2 => self.list().await,
            3 | 4 => self.update().await,
            _ => self.terminate().await,
        }
    }

    /// Accesses by device, asked for once.
    async fn list(&mut self) {
        let (tenant, name, n) = (self.some_tenant(), self.name("batch"), 5 + self.dice.roll(60));
        let devices = (0..n).map(|index| format!("{name}-{index}")).collect();
        let failing = (self.dice.roll(3) == 0).then(|| self.dice.roll(n) as usize);
        let request = Request::Batch { name, key: None, items: Items::Listed { devices, failing } };
        let answer = self.replicas.ask(&mut self.dice, tenant, &request).await;
        self.accepted(tenant, &answer);
    }

    /// All accesses of a tenant that others change and check at the same time.
    async fn update(&mut self) {
        let (tenant, password) = (self.some_tenant(), self.name("pw"));
        let wanted = match self.dice.roll(4) {
            0 => Wanted { lets_in: None, password: Some(password) },
            1 => Wanted { lets_in: Some(true), password: Some(password) },
            n => Wanted { lets_in: Some(n == 2), password: None },
        };
        let kept = self.known.kept.iter().filter(|it| it.tenant == tenant);
        let mut accesses = Vec::new();
        for kept in kept {
            if let Some(password) = &wanted.password {
                kept.is_given(password);
            }
            accesses.push(kept.id.clone());
        }
        let failing =
            (self.dice.roll(3) == 0).then(|| self.dice.roll(accesses.len() as u64 + 1) as usize);
        if let Some(place) = failing {
            accesses.insert(place, NOBODY.into());
        }
        self.batch_for_sure(tenant, Items::Update { accesses, wanted, failing }).await;
    }

    async fn terminate(&mut self) {
        let made = self.known.made.lock().unwrap().pop();
        let Some((tenant, accesses)) = made else { return };
        self.batch_for_sure(tenant, Items::Terminate { accesses }).await;
    }

    /// Until there is an answer, sometimes again afterwards; the Task's identifier.
    async fn batch_for_sure(&mut self, tenant: usize, items: Items) -> Option<String> {
        let name = self.name("batch");
        let request = Request::Batch { key: Some(format!("key-{name}")), name, items };
        let answer = self.replicas.insist(&mut self.dice, tenant, &request).await;
        if self.dice.roll(3) == 0 {
            self.replicas.insist(&mut self.dice, tenant, &request).await;
        }
        self.accepted(tenant, &answer)
    }

    fn accepted(&self, tenant: usize, answer: &Answer) -> Option<String> {
        let task = answer.done()?["id"].as_str()?.to_owned();
        self.known.open_tasks.lock().unwrap().push((tenant, task.clone()));
        Some(task)
    }

    fn some_task(&mut self) -> Option<(usize, String)> {
        let open = self.known.open_tasks.lock().unwrap();
        (!open.is_empty()).then(|| self.dice.pick(&open).clone())
    }

    pub(super) async fn look(&mut self) {
        let Some((tenant, task)) = self.some_task() else { return };
        let request = Request::Look { task: task.clone() };
        let answer = self.replicas.insist(&mut self.dice, tenant, &request).await;
        let Some(shown) = answer.done() else { return };
        // Some are looked at again, so that somebody may see one that is over go on.
        if is_over(shown) && self.dice.roll(2) == 0 {
            self.known.open_tasks.lock().unwrap().retain(|it| it.1 != task);
            let made = shown["accesses"].as_array().filter(|_| shown["@type"] == "batchCreation");
            let ids = made.into_iter().flatten().filter_map(|it| it["id"].as_str());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            let mut made = self.known.made.lock().unwrap();
            // Of two who have seen its end, one tells.
            if !ids.is_empty() && !made.iter().any(|it| it.1 == ids) {
                made.push((tenant, ids));
            }
        }
    }

    pub(super) async fn stop(&mut self) {
        let Some((tenant, task)) = self.some_task() else { return };
        self.replicas.ask(&mut self.dice, tenant, &Request::Stop { task }).await;
    }
}
