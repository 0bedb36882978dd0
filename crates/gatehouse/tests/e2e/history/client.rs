//! A client: asks for one thing after the other, as the dice fall, of whichever replica runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::TENANTS;
use super::call::{Request, Wanted};
use super::fleet::Fleet;
use super::known::{Kept, Known};
use gatehouse_testing::Dice;

/// How often a client asks: two cores run the clients, the replicas and the database.
const PACE: Duration = Duration::from_millis(80);

pub(super) struct Client {
    number: u64,
    pub(super) fleet: Arc<Fleet>,
    pub(super) known: Arc<Known>,
    pub(super) dice: Dice,
    n_named: u64,
}

impl Client {
    pub(super) fn new(number: u64, fleet: Arc<Fleet>, known: Arc<Known>, dice: Dice) -> Self {
        Self { number, fleet, known, dice, n_named: 0 }
    }

    pub(super) async fn ask_until(mut self, is_over: Arc<AtomicBool>) {
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !is_over.load(Ordering::Relaxed) {
            pace.tick().await;
            match self.dice.roll(32) {
                0..=3 => self.create().await,
                4..=7 => self.create_for_sure().await,
                8..=11 => self.change_status().await,
                12..=13 => self.change_password().await,
                14..=22 => self.check().await,
                23..=24 => self.read().await,
                25..=26 => self.count().await,
                27 => self.begin_batch().await,
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
        self.fleet.ask(&mut self.dice, tenant, &request).await;
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
            let mut other = Dice(self.dice.roll(u64::from(u32::MAX)));
            tokio::join!(
                self.fleet.insist(&mut self.dice, tenant, &request),
                self.fleet.insist(&mut other, tenant, &request)
            );
        } else {
            self.fleet.insist(&mut self.dice, tenant, &request).await;
        }
        if how == 1 {
            self.fleet.insist(&mut self.dice, tenant, &request).await;
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
        self.fleet.insist(&mut self.dice, tenant, &request).await;
    }

    async fn read(&mut self) {
        let place = self.some_kept();
        let (tenant, access) = (self.kept(place).tenant, self.kept(place).id.clone());
        self.fleet.insist(&mut self.dice, tenant, &Request::Read { access }).await;
    }

    async fn count(&mut self) {
        let tenant = self.some_tenant();
        self.fleet.insist(&mut self.dice, tenant, &Request::Count).await;
    }

    /// Looks at every access from every replica that runs, with its last two passwords. The clients share that.
    async fn look_back(&mut self) {
        let known = Arc::clone(&self.known);
        let mine = |place: &usize| *place as u64 % super::N_CLIENTS == self.number;
        for kept in (0..known.kept.len()).filter(mine).map(|place| &known.kept[place]) {
            let access = kept.id.clone();
            for replica in self.fleet.running() {
                for password in kept.last_passwords() {
                    let (access, username) = (access.clone(), kept.username.clone());
                    let request = Request::Check { access, username, password };
                    self.fleet.call(replica, kept.tenant, &request).await;
                }
                let read = Request::Read { access: access.clone() };
                self.fleet.call(replica, kept.tenant, &read).await;
            }
        }
    }
}
