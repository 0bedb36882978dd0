//! State that the clients share: accesses to change and check, and Tasks to poll.

use std::sync::Mutex;

use super::call::{Answer, Request};
use super::{Replicas, TENANTS};
use crate::SeededRandom;

/// An access that all clients change and check.
pub(super) struct TrackedAccess {
    pub(super) tenant: usize,
    pub(super) id: String,
    pub(super) username: String,
    /// Every requested password, the latest last. Some requests may have failed.
    passwords: Mutex<Vec<String>>,
}

impl TrackedAccess {
    pub(super) fn add_password(&self, password: &str) {
        self.passwords.lock().unwrap().push(password.to_owned());
    }

    /// A random password, mostly one of the last three.
    pub(super) fn some_password(&self, random: &mut SeededRandom) -> String {
        let passwords = self.passwords.lock().unwrap();
        let last = passwords.len().saturating_sub(3);
        let from = if random.roll(8) == 0 { 0 } else { last };
        random.pick(&passwords[from..]).clone()
    }

    pub(super) fn last_passwords(&self) -> Vec<String> {
        self.passwords.lock().unwrap().iter().rev().take(2).cloned().collect()
    }
}

/// State that the clients share.
pub(super) struct SharedState {
    pub(super) tracked: Vec<TrackedAccess>,
    /// Tasks whose end no client has seen, with their tenants.
    pub(super) open_tasks: Mutex<Vec<(usize, String)>>,
    /// Accesses that a Task has created, by tenant: at most one batch terminates each.
    pub(super) made: Mutex<Vec<(usize, Vec<String>)>>,
}

impl SharedState {
    /// Creates the tracked accesses.
    pub(super) async fn begin(
        replicas: &impl Replicas,
        random: &mut SeededRandom,
        n_kept: usize,
    ) -> Self {
        let mut tracked = Vec::new();
        for tenant in 0..TENANTS.len() {
            for n in 0..n_kept {
                let device = format!("tracked-{tenant}-{n}");
                let request = Request::Create { key: Some(device.clone()), device };
                let answer = replicas.insist(random, tenant, &request).await;
                let Answer::Done(access) = answer else { panic!("{request:?}: {answer:?}") };
                let text = |name: &str| access[name].as_str().unwrap().to_owned();
                let passwords = Mutex::new(vec![text("password")]);
                tracked.push(TrackedAccess {
                    tenant,
                    id: text("id"),
                    username: text("username"),
                    passwords,
                });
            }
        }
        Self { tracked, open_tasks: Mutex::default(), made: Mutex::default() }
    }
}
