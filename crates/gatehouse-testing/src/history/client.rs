//! A client: sends random requests, one after the other, to random replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::{Request, Wanted};
use super::shared_state::{SharedState, TrackedAccess};
use super::{Replicas, Scale, TENANTS};
use crate::SeededRandom;

pub(super) struct Client<R> {
    number: u64,
    pub(super) scale: Scale,
    pub(super) replicas: Arc<R>,
    pub(super) shared: Arc<SharedState>,
    pub(super) random: SeededRandom,
    n_named: u64,
}

impl<R: Replicas> Client<R> {
    pub(super) fn new(
        number: u64,
        scale: Scale,
        replicas: Arc<R>,
        shared: Arc<SharedState>,
        random: SeededRandom,
    ) -> Self {
        Self { number, scale, replicas, shared, random, n_named: 0 }
    }

    pub(super) async fn run_until(mut self, is_over: Arc<AtomicBool>) {
        let mut pace = tokio::time::interval(self.scale.pace);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !is_over.load(Ordering::Relaxed) {
            pace.tick().await;
            match self.random.roll(32 + self.scale.n_more_batches) {
                0..=3 => self.create().await,
                4..=7 => self.insist_on_creation().await,
                8..=11 => self.change_status().await,
                12..=13 => self.change_password().await,
                14..=22 => self.check().await,
                23..=24 => self.read().await,
                25..=26 => self.count().await,
                27 | 32.. => self.begin_batch().await,
                28 => self.stop().await,
                _ => self.poll_task().await,
            }
        }
        self.check_finally().await;
    }

    /// A unique name.
    pub(super) fn name(&mut self, kind: &str) -> String {
        self.n_named += 1;
        format!("{kind}-{}-{}", self.number, self.n_named)
    }

    pub(super) fn some_tenant(&mut self) -> usize {
        self.random.roll(TENANTS.len() as u64) as usize
    }

    fn some_tracked(&mut self) -> usize {
        self.random.roll(self.shared.tracked.len() as u64) as usize
    }

    fn tracked(&self, position: usize) -> &TrackedAccess {
        &self.shared.tracked[position]
    }

    async fn ask(&mut self, tenant: usize, request: Request) {
        self.replicas.ask(&mut self.random, tenant, &request).await;
    }

    /// Sends a creation once, whatever happens.
    async fn create(&mut self) {
        let (tenant, device) = (self.some_tenant(), self.name("once"));
        self.ask(tenant, Request::Create { device, key: None }).await;
    }

    /// Sends a creation until a response arrives, sometimes to two replicas at once, sometimes again afterwards.
    async fn insist_on_creation(&mut self) {
        let (tenant, device) = (self.some_tenant(), self.name("sure"));
        let request = Request::Create { key: Some(format!("key-{device}")), device };
        let variant = self.random.roll(4);
        if variant == 0 {
            let mut other = SeededRandom(self.random.roll(u64::from(u32::MAX)));
            tokio::join!(
                self.replicas.insist(&mut self.random, tenant, &request),
                self.replicas.insist(&mut other, tenant, &request)
            );
        } else {
            self.replicas.insist(&mut self.random, tenant, &request).await;
        }
        if variant == 1 {
            self.replicas.insist(&mut self.random, tenant, &request).await;
        }
    }

    async fn change_status(&mut self) {
        let wanted = Wanted { lets_in: Some(self.random.roll(2) == 0), password: None };
        self.change(wanted).await;
    }

    async fn change_password(&mut self) {
        let password = Some(self.name("pw"));
        let lets_in = (self.random.roll(4) == 0).then_some(true);
        self.change(Wanted { lets_in, password }).await;
    }

    async fn change(&mut self, wanted: Wanted) {
        let position = self.some_tracked();
        let tracked = self.tracked(position);
        if let Some(password) = &wanted.password {
            tracked.add_password(password);
        }
        let (tenant, access) = (tracked.tenant, tracked.id.clone());
        self.ask(tenant, Request::Change { access, wanted }).await;
    }

    async fn check(&mut self) {
        let position = self.some_tracked();
        let mut random = self.random.clone();
        let tracked = self.tracked(position);
        let password = tracked.some_password(&mut random);
        let (tenant, access, username) =
            (tracked.tenant, tracked.id.clone(), tracked.username.clone());
        self.random = random;
        let request = Request::Check { access, username, password };
        self.replicas.insist(&mut self.random, tenant, &request).await;
    }

    async fn read(&mut self) {
        let position = self.some_tracked();
        let (tenant, access) = (self.tracked(position).tenant, self.tracked(position).id.clone());
        self.replicas.insist(&mut self.random, tenant, &Request::Read { access }).await;
    }

    async fn count(&mut self) {
        let tenant = self.some_tenant();
        self.replicas.insist(&mut self.random, tenant, &Request::Count).await;
    }

    /// Checks this client's share of the tracked accesses on every running replica, with the last two passwords.
    async fn check_finally(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mine = |position: &usize| *position as u64 % self.scale.n_clients == self.number;
        for tracked in
            (0..shared.tracked.len()).filter(mine).map(|position| &shared.tracked[position])
        {
            let access = tracked.id.clone();
            for replica in self.replicas.running() {
                for password in tracked.last_passwords() {
                    let (access, username) = (access.clone(), tracked.username.clone());
                    let request = Request::Check { access, username, password };
                    self.replicas.call(replica, tracked.tenant, &request).await;
                }
                let read = Request::Read { access: access.clone() };
                self.replicas.call(replica, tracked.tenant, &read).await;
            }
        }
    }
}
