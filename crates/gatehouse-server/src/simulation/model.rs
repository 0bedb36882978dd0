//! Invariants that hold after every commit: a small copy of the rules, fed by the history of the tables.
//!
//! The model tracks leases, Tasks and ended accesses without the store's code.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatehouse_core::Timestamp;
use tokio::time::Instant;

use super::limits::{RETENTION_MILLISECONDS, SKEW_MILLISECONDS_MAX};
use super::table_history::{Event, is_within_quota};

/// A worker loop of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worker {
    pub(super) server: usize,
    pub(super) task: Option<tokio::task::Id>,
}

/// Counts of events, to see that simulations reach what they are for.
pub(super) type Figures = BTreeMap<&'static str, u64>;

/// The tracked state, and the faults.
#[derive(Default)]
pub(super) struct Model {
    pub(super) faults: Vec<String>,
    pub(super) figures: Figures,
    running: BTreeSet<usize>,
    holders: HashMap<(String, String), Worker>,
    /// By tenant and number.
    tasks: BTreeMap<(String, i64), TrackedTask>,
    numbers: HashMap<String, i64>,
    ended: BTreeSet<String>,
    last_disturbance: Option<Instant>,
}

struct TrackedTask {
    kind: String,
    state: String,
    n_done: i64,
}

impl TrackedTask {
    fn has_ended(&self) -> bool {
        !matches!(self.state.as_str(), "ACKNOWLEDGED" | "IN_PROGRESS")
    }

    fn is_change(&self) -> bool {
        self.kind != "batchCreation"
    }
}

impl Model {
    /// A server starts.
    pub(super) fn add_server(&mut self, server: usize) {
        self.running.insert(server);
        self.record_disturbance(Instant::now());
    }

    /// A server stops, unless it is the last one or stopped already; returns whether it does.
    pub(super) fn remove_server(&mut self, server: usize) -> bool {
        let may_stop = self.running.len() > 1 && self.running.remove(&server);
        if may_stop {
            self.record_disturbance(Instant::now());
        }
        may_stop
    }

    pub(super) fn running(&self) -> Vec<usize> {
        self.running.iter().copied().collect()
    }

    /// Records a disturbance, after which servers may notice each other late.
    pub(super) fn record_disturbance(&mut self, at: Instant) {
        self.last_disturbance = self.last_disturbance.max(Some(at));
    }

    /// Time of the last disturbance.
    pub(super) fn last_disturbance(&self) -> Option<Instant> {
        self.last_disturbance
    }

    /// Unfinished Tasks.
    pub(super) fn n_open_tasks(&self) -> usize {
        self.tasks.values().filter(|task| !task.has_ended()).count()
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.figures.entry(what).or_default() += 1;
    }

    pub(super) fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Checks the changes of one transaction, in order.
    pub(super) fn check(&mut self, events: &[Event], by: Worker, now: Timestamp) {
        if let Some(Event::TenantDeleted { tenant }) = events.last() {
            self.forget_tenant(tenant);
            return;
        }
        let is_sweep = events.iter().any(Event::ends_sweep);
        for event in events {
            if let Err(why) = self.check_event(event, by, now, is_sweep) {
                self.fault(format!("server {}: {event:?}: {why}", by.server));
            }
        }
    }

    /// A tenant was deleted with its due work: its leases are gone.
    fn forget_tenant(&mut self, tenant: &str) {
        self.count("tenants deleted");
        self.holders.retain(|(owner, _), _| owner != tenant);
        self.tasks.retain(|(owner, _), _| owner != tenant);
    }

    fn check_event(
        &mut self,
        event: &Event,
        by: Worker,
        now: Timestamp,
        is_sweep: bool,
    ) -> Result<(), String> {
        match event {
            Event::Accepted { tenant, task, number, kind } => {
                let known =
                    TrackedTask { kind: kind.clone(), state: "ACKNOWLEDGED".into(), n_done: 0 };
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
            Event::TaskDeleted { task, ended_at, .. } => {
                self.count("Tasks deleted");
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
            Event::TenantDeleted { .. } => Err("it is not the last change".into()),
            Event::Quota { n_live, n_reserved, .. } => {
                match is_within_quota(*n_live, *n_reserved) {
                    true => Ok(()),
                    false => Err("the quota is exceeded".into()),
                }
            }
        }
    }

    /// A Task advances: by the lease's holder, from its last state, and a change only after earlier changes.
    fn advance(
        &mut self,
        tenant: &str,
        task: &str,
        before: &(String, i64),
        after: &(String, i64),
        by: Worker,
    ) -> Result<(), String> {
        let number = *self.numbers.get(task).ok_or("the Task is unknown")?;
        let open_changes = self
            .tasks
            .range((tenant.to_owned(), i64::MIN)..(tenant.to_owned(), number))
            .filter(|(_, it)| it.is_change() && !it.has_ended());
        let earlier = open_changes.map(|((_, number), _)| *number).next();
        let known = self.tasks.get_mut(&(tenant.to_owned(), number)).ok_or("it was deleted")?;
        let tracked = (known.state.clone(), known.n_done);
        (known.state, known.n_done) = after.clone();
        let is_stop = after.0 == "TERMINATED";
        let is_change = known.is_change();
        if after.1 > before.1 {
            self.count("chunks");
        }
        if tracked != *before {
            return Err(format!("it was at {tracked:?}"));
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
            return Err("no Task changes its state so".into());
        }
        if is_stop {
            return if after.1 == before.1 { Ok(()) } else { Err("a stop processes items".into()) };
        }
        if let Some(earlier) = earlier.filter(|_| is_change) {
            return Err(format!("the change {earlier} came before, and has not ended"));
        }
        let holder = self.holders.get(&(tenant.to_owned(), "tasks  0".to_owned()));
        match holder == Some(&by) {
            true => Ok(()),
            false => Err(format!("the lease is {holder:?}'s, and not {by:?}'s")),
        }
    }

    /// An access changes its status: a terminated one stays so, and expiry needs its end to have passed.
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
            return Err("a terminated access stays terminated".into());
        }
        if after != "TERMINATED" {
            return Ok(());
        }
        self.count(if is_sweep { "expiries stored" } else { "terminations by request" });
        if !self.ended.insert(access.to_owned()) {
            return Err("it ends a second time".into());
        }
        // An expiry goes by the database's clock, a request by the server's.
        let ahead = if is_sweep { 0 } else { SKEW_MILLISECONDS_MAX };
        match end_at {
            Some(end_at) if end_at <= now.as_millisecond() + ahead => Ok(()),
            _ => Err(format!("it ends before its time: it is {now:?}")),
        }
    }
}
