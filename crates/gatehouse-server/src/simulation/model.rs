//! What must hold after every commit, whatever happens: a small copy of the rules, fed with what the database tells.
//!
//! It knows who has which lease, how far each Task is and which accesses are over. It asks no code of the store: what it finds is a
//! fault of the store, or one of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatehouse_core::Timestamp;
use tokio::time::Instant;

use super::journal::{Event, is_within_quota};
use super::limits::{RETENTION_MILLISECONDS, SKEW_MILLISECONDS_MAX};

/// A loop of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) server: usize,
    pub(super) task: Option<tokio::task::Id>,
}

/// How often what happened, to see that simulations reach what they are for.
pub(super) type Figures = BTreeMap<&'static str, u64>;

/// What is known, and what was wrong.
#[derive(Default)]
pub(super) struct Model {
    pub(super) faults: Vec<String>,
    pub(super) figures: Figures,
    running: BTreeSet<usize>,
    holders: HashMap<(String, String), Worker>,
    /// By tenant and number.
    tasks: BTreeMap<(String, i64), KnownTask>,
    numbers: HashMap<String, i64>,
    over: BTreeSet<String>,
    last_disturbance: Option<Instant>,
}

struct KnownTask {
    kind: String,
    state: String,
    n_done: i64,
}

impl KnownTask {
    fn is_over(&self) -> bool {
        !matches!(self.state.as_str(), "ACKNOWLEDGED" | "IN_PROGRESS")
    }

    fn is_change(&self) -> bool {
        self.kind != "batchCreation"
    }
}

impl Model {
    /// A server is there.
    pub(super) fn joins(&mut self, server: usize) {
        self.running.insert(server);
        self.is_disturbed_at(Instant::now());
    }

    /// A server goes, unless it is the last one or gone already.
    pub(super) fn leaves(&mut self, server: usize) -> bool {
        let may = self.running.len() > 1 && self.running.remove(&server);
        if may {
            self.is_disturbed_at(Instant::now());
        }
        may
    }

    pub(super) fn running(&self) -> Vec<usize> {
        self.running.iter().copied().collect()
    }

    /// Something went wrong then that servers may learn late of one another by.
    pub(super) fn is_disturbed_at(&mut self, at: Instant) {
        self.last_disturbance = self.last_disturbance.max(Some(at));
    }

    /// When something has last gone wrong.
    pub(super) fn last_disturbance(&self) -> Option<Instant> {
        self.last_disturbance
    }

    /// Tasks that are not over.
    pub(super) fn n_open_tasks(&self) -> usize {
        self.tasks.values().filter(|task| !task.is_over()).count()
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.figures.entry(what).or_default() += 1;
    }

    pub(super) fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Sees what one transaction has changed, in this order.
    pub(super) fn see(&mut self, events: &[Event], by: Worker, now: Timestamp) {
        if let Some(Event::Deleted { tenant }) = events.last() {
            self.forget(tenant);
            return;
        }
        let is_sweep = events.iter().any(Event::ends_sweep);
        for event in events {
            if let Err(why) = self.see_one(event, by, now, is_sweep) {
                self.fault(format!("server {}: {event:?}: {why}", by.server));
            }
        }
    }

    /// A tenant is deleted, with all that was due for it: who had a lease has none.
    fn forget(&mut self, tenant: &str) {
        self.count("tenants deleted");
        self.holders.retain(|(whose, _), _| whose != tenant);
        self.tasks.retain(|(whose, _), _| whose != tenant);
    }

    fn see_one(
        &mut self,
        event: &Event,
        by: Worker,
        now: Timestamp,
        is_sweep: bool,
    ) -> Result<(), String> {
        match event {
            Event::Accepted { tenant, task, number, kind } => {
                let known =
                    KnownTask { kind: kind.clone(), state: "ACKNOWLEDGED".into(), n_done: 0 };
                self.count("Tasks");
                self.numbers.insert(task.clone(), *number);
                match self.tasks.insert((tenant.clone(), *number), known) {
                    None => Ok(()),
                    Some(_) => Err("another Task has this number".into()),
                }
            }
            Event::Advanced { tenant, task, before, after } => {
                self.advance(tenant, task, before, after, by)
            }
            Event::Forgotten { task, ended_at, .. } => {
                self.count("Tasks forgotten");
                self.numbers.remove(task);
                match ended_at.map(|at| at + RETENTION_MILLISECONDS) {
                    Some(until) if until <= now.as_millisecond() => Ok(()),
                    until => Err(format!("it is to be kept until {until:?}, and it is {now:?}")),
                }
            }
            Event::KeyDestroyed { until, .. } => match until {
                Some(until) if *until > now.as_millisecond() => Err(format!("it is {now:?}")),
                _ => Ok(()),
            },
            Event::Claimed { tenant, work, until } => {
                let held = self.holders.insert((tenant.clone(), work.clone()), by);
                if held.is_some() {
                    self.count("leases taken over");
                }
                match *until <= now.as_millisecond() {
                    true => Ok(()),
                    false => Err(format!("it is {now:?}, and the work was {held:?}'s until then")),
                }
            }
            Event::Released { tenant, work } | Event::Finished { tenant, work } => {
                let holder = self.holders.remove(&(tenant.clone(), work.clone()));
                match holder == Some(by) {
                    true => Ok(()),
                    false => Err(format!("the lease is {holder:?}'s")),
                }
            }
            Event::Status { access, before, after, end_at } => {
                self.end(access, before, after, *end_at, now, is_sweep)
            }
            Event::Deleted { .. } => Err("it is not the last thing of its transaction".into()),
            Event::Quota { n_live, n_reserved, .. } => {
                match is_within_quota(*n_live, *n_reserved) {
                    true => Ok(()),
                    false => Err("that is more than the contract may have".into()),
                }
            }
        }
    }

    /// A Task comes further: by whoever has the lease, from where it was, and a change not before those before it.
    fn advance(
        &mut self,
        tenant: &str,
        task: &str,
        before: &(String, i64),
        after: &(String, i64),
        by: Worker,
    ) -> Result<(), String> {
        let number = *self.numbers.get(task).ok_or("nobody knows the Task")?;
        let open_changes = self
            .tasks
            .range((tenant.to_owned(), i64::MIN)..(tenant.to_owned(), number))
            .filter(|(_, it)| it.is_change() && !it.is_over());
        let earlier = open_changes.map(|((_, number), _)| *number).next();
        let known = self.tasks.get_mut(&(tenant.to_owned(), number)).ok_or("it was forgotten")?;
        let was = (known.state.clone(), known.n_done);
        (known.state, known.n_done) = after.clone();
        let is_stop = after.0 == "TERMINATED";
        let is_change = known.is_change();
        if after.1 > before.1 {
            self.count("stretches");
        }
        if was != *before {
            return Err(format!("it was at {was:?}"));
        }
        if after.1 < before.1 {
            return Err("it went back".into());
        }
        let may_move = matches!(
            (before.0.as_str(), after.0.as_str()),
            ("ACKNOWLEDGED", "IN_PROGRESS" | "REJECTED" | "TERMINATED")
                | ("IN_PROGRESS", "IN_PROGRESS" | "DONE" | "FAILED" | "TERMINATED")
        );
        if !may_move {
            return Err("no Task moves so".into());
        }
        if is_stop {
            return if after.1 == before.1 { Ok(()) } else { Err("a stop does items".into()) };
        }
        if let Some(earlier) = earlier.filter(|_| is_change) {
            return Err(format!("the change {earlier} came before, and is not over"));
        }
        let holder = self.holders.get(&(tenant.to_owned(), "tasks  0".to_owned()));
        match holder == Some(&by) {
            true => Ok(()),
            false => Err(format!("the lease is {holder:?}'s, and not {by:?}'s")),
        }
    }

    /// An access changes its status: what is over stays so, and ends when its end has come.
    fn end(
        &mut self,
        access: &str,
        before: &str,
        after: &str,
        end_at: Option<i64>,
        now: Timestamp,
        is_sweep: bool,
    ) -> Result<(), String> {
        if before == "TERMINATED" {
            return Err("what is over stays over".into());
        }
        if after != "TERMINATED" {
            return Ok(());
        }
        self.count(if is_sweep { "ends swept" } else { "ends otherwise" });
        if !self.over.insert(access.to_owned()) {
            return Err("it ends a second time".into());
        }
        // By the database's clock where nobody asked for it, by that of the server where somebody did.
        let ahead = if is_sweep { 0 } else { SKEW_MILLISECONDS_MAX };
        match end_at {
            Some(end_at) if end_at <= now.as_millisecond() + ahead => Ok(()),
            _ => Err(format!("it ends before its time: it is {now:?}")),
        }
    }
}
