//! What the clients know together: accesses to change and to check, Tasks to look at.

use std::sync::Mutex;

use super::call::{Answer, Request};
use super::{Replicas, TENANTS};
use crate::SeededRandom;

/// An access that everyone changes and checks.
pub(super) struct Kept {
    pub(super) tenant: usize,
    pub(super) id: String,
    pub(super) username: String,
    /// Every password that somebody has asked for, the latest last. Some may never have become its own.
    passwords: Mutex<Vec<String>>,
}

impl Kept {
    pub(super) fn is_given(&self, password: &str) {
        self.passwords.lock().unwrap().push(password.to_owned());
    }

    /// One of its passwords, mostly one of the last three.
    pub(super) fn some_password(&self, dice: &mut SeededRandom) -> String {
        let passwords = self.passwords.lock().unwrap();
        let last = passwords.len().saturating_sub(3);
        let from = if dice.roll(8) == 0 { 0 } else { last };
        dice.pick(&passwords[from..]).clone()
    }

    pub(super) fn last_passwords(&self) -> Vec<String> {
        self.passwords.lock().unwrap().iter().rev().take(2).cloned().collect()
    }
}

/// What the clients know.
pub(super) struct Known {
    pub(super) kept: Vec<Kept>,
    /// Tasks that nobody has seen the end of, with their tenants.
    pub(super) open_tasks: Mutex<Vec<(usize, String)>>,
    /// Accesses that a Task has made, by tenant: each is ended by at most one batch.
    pub(super) made: Mutex<Vec<(usize, Vec<String>)>>,
}

impl Known {
    /// Makes the accesses that are changed and checked.
    pub(super) async fn begin(
        replicas: &impl Replicas,
        dice: &mut SeededRandom,
        n_kept: usize,
    ) -> Self {
        let mut kept = Vec::new();
        for tenant in 0..TENANTS.len() {
            for n in 0..n_kept {
                let device = format!("kept-{tenant}-{n}");
                let request = Request::Create { key: Some(device.clone()), device };
                let answer = replicas.insist(dice, tenant, &request).await;
                let Answer::Done(access) = answer else { panic!("{request:?}: {answer:?}") };
                let text = |name: &str| access[name].as_str().unwrap().to_owned();
                let passwords = Mutex::new(vec![text("password")]);
                kept.push(Kept { tenant, id: text("id"), username: text("username"), passwords });
            }
        }
        Self { kept, open_tasks: Mutex::default(), made: Mutex::default() }
    }
}
