//! A client: asks for one thing after the other, as the dice fall, of whichever replica runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::{Request, Wanted};
use super::known::{Kept, Known};
use super::{Replicas, Scale, TENANTS};
use crate::SeededRandom;

pub(super) struct Client<R> {
    number: u64,
    pub(super) scale: Scale,
    pub(super) replicas: Arc<R>,
    pub(super) known: Arc<Known>,
    pub(super) dice: SeededRandom,
    n_named: u64,
}

impl<R: Replicas> Client<R> {
    pub(super) fn new(
        number: u64,
        scale: Scale,
        replicas: Arc<R>,
        known: Arc<Known>,
        dice: SeededRandom,
    ) -> Self {
        Self { number, scale, replicas, known, dice, n_named: 0 }
    }

    pub(super) async fn ask_until(mut self, is_over: Arc<AtomicBool>) {
        let mut pace = tokio::time::interval(self.scale.pace);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !is_over.load(Ordering::Relaxed) {
            pace.tick().await;
            match self.dice.roll(32 + self.scale.n_more_batches) {
                0..=3 => self.create().await,
                4..=7 => self.create_for_sure().await,
                8..=11 => self.change_status().await,
                12..=13 => self.change_password().await,
                14..=22 => self.check().await,
                23..=24 => self.read().await,
                25..=26 => self.count().await,
                27 | 32.. => self.begin_batch().await,
                28 => self.stop().await,
                _ => self.look().await,
            }
        }
        self.look_back().await;
    }

    /// A name that nothing else has.
    pub(super) fn name(&mut self, kind: &str) -> String {
        self.n_named += 1;
        format!("{kind}-{}-{}", self.number, self.n_named)
    }

    pub(super) fn some_tenant(&mut self) -> usize {
        self.dice.roll(TENANTS.len() as u64) as usize
    }

    fn some_kept(&mut self) -> usize {
        self.dice.roll(self.known.kept.len() as u64) as usize
    }

    fn kept(&self, place: usize) -> &Kept {
        &self.known.kept[place]
    }

    async fn ask(&mut self, tenant: usize, request: Request) {
        self.replicas.ask(&mut self.dice, tenant, &request).await;
    }

    /// Once, whatever comes of it.
    async fn create(&mut self) {
        let (tenant, device) = (self.some_tenant(), self.name("once"));
        self.ask(tenant, Request::Create { device, key: None }).await;
    }

    /// Until there is an answer, sometimes from two replicas at once, sometimes again afterwards.
    async fn create_for_sure(&mut self) {
        let (tenant, device) = (self.some_tenant(), self.name("sure"));
        let request = Request::Create { key: Some(format!("key-{device}")), device };
        let how = self.dice.roll(4);
        if how == 0 {
            let mut other = SeededRandom(self.dice.roll(u64::from(u32::MAX)));
            tokio::join!(
                self.replicas.insist(&mut self.dice, tenant, &request),
                self.replicas.insist(&mut other, tenant, &request)
            );
        } else {
            self.replicas.insist(&mut self.dice, tenant, &request).await;
        }
        if how == 1 {
            self.replicas.insist(&mut self.dice, tenant, &request).await;
        }
    }

    async fn change_status(&mut self) {
        let wanted = Wanted { lets_in: Some(self.dice.roll(2) == 0), password: None };
        self.change(wanted).await;
    }

    async fn change_password(&mut self) {
        let password = Some(self.name("pw"));
        let lets_in = (self.dice.roll(4) == 0).then_some(true);
        self.change(Wanted { lets_in, password }).await;
    }

    async fn change(&mut self, wanted: Wanted) {
        let place = self.some_kept();
        let kept = self.kept(place);
        if let Some(password) = &wanted.password {
            kept.is_given(password);
        }
        let (tenant, access) = (kept.tenant, kept.id.clone());
        self.ask(tenant, Request::Change { access, wanted }).await;
    }

    async fn check(&mut self) {
        let place = self.some_kept();
        let mut dice = self.dice.clone();
        let kept = self.kept(place);
        let password = kept.some_password(&mut dice);
        let (tenant, access, username) = (kept.tenant, kept.id.clone(), kept.username.clone());
        self.dice = dice;
        let request = Request::Check { access, username, password };
        self.replicas.insist(&mut self.dice, tenant, &request).await;
    }

    async fn read(&mut self) {
        let place = self.some_kept();
        let (tenant, access) = (self.kept(place).tenant, self.kept(place).id.clone());
        self.replicas.insist(&mut self.dice, tenant, &Request::Read { access }).await;
    }

    async fn count(&mut self) {
        let tenant = self.some_tenant();
        self.replicas.insist(&mut self.dice, tenant, &Request::Count).await;
    }

    /// Looks at every access from every replica that runs, with its last two passwords. The clients share that.
    async fn look_back(&mut self) {
        let known = Arc::clone(&self.known);
        let mine = |place: &usize| *place as u64 % self.scale.n_clients == self.number;
        for kept in (0..known.kept.len()).filter(mine).map(|place| &known.kept[place]) {
            let access = kept.id.clone();
            for replica in self.replicas.running() {
                for password in kept.last_passwords() {
                    let (access, username) = (access.clone(), kept.username.clone());
                    let request = Request::Check { access, username, password };
                    self.replicas.call(replica, kept.tenant, &request).await;
                }
                let read = Request::Read { access: access.clone() };
                self.replicas.call(replica, kept.tenant, &read).await;
            }
        }
    }
}
