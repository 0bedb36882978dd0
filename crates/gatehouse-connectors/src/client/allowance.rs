//! Quotas of a platform: an account's own, and those that accounts on one host share.
//!
//! A call that waits for a quota holds the quota's queue lock, and other calls wait behind it. To avoid deadlocks,
//! locks are taken in one order: the account's own quotas first, then the shared ones, sorted. A call counts in all of
//! its quotas or in none. This server may use its current share of each quota.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{ConnectorName, CurrentShare, ReplicaShare};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::quota::CallHistory;
use crate::connector::{CallContext, CallKind, Quota, QuotaScope};
use crate::failure::{Failure, FailureKind};

/// All quotas of an account's client, in locking order.
pub(in crate::client) struct Allowances(Vec<Arc<Allowance>>);

/// A quota, and the calls that count against it.
pub(in crate::client) struct Allowance {
    quota: Quota,
    share: CurrentShare,
    queue: tokio::sync::Mutex<()>,
    history: Mutex<CallHistory>,
}

/// Quotas that several clients share, and this server's share of every quota.
#[derive(Default)]
pub(in crate::client) struct SharedQuotas {
    pub(in crate::client) share: CurrentShare,
    all: Mutex<HashMap<SharedKey, Arc<Allowance>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct SharedKey {
    connector: ConnectorName,
    host: String,
    quota: Quota,
}

/// Admission of a call by every quota that applies. While a reservation is held, no other call gets one.
pub(in crate::client) struct Reservation<'a>(Vec<(tokio::sync::MutexGuard<'a, ()>, &'a Allowance)>);

impl Reservation<'_> {
    /// Counts the call as made now.
    pub(in crate::client) fn commit(self, now: Instant) {
        for (_queue, allowance) in self.0 {
            // Reserved already. If the share has shrunk since, the next calls wait for longer.
            allowance.history.lock().count(now);
        }
    }
}

impl Allowances {
    /// The quotas of an account whose platform is at `host`.
    pub(in crate::client) fn new(
        quotas: &[Quota],
        connector: &ConnectorName,
        host: &str,
        shared: &SharedQuotas,
    ) -> Self {
        let of_scope = |scope| quotas.iter().filter(move |it| it.scope == scope).map(normalised);
        let own = of_scope(QuotaScope::Account);
        let own = own.map(|quota| Arc::new(Allowance::new(quota, shared.share.clone())));
        let mut host_quotas: Vec<Quota> = of_scope(QuotaScope::Host).collect();
        host_quotas.sort();
        // Locking one quota twice would deadlock.
        host_quotas.dedup();
        let host_quotas = host_quotas.into_iter().map(|quota| {
            shared.get(SharedKey { connector: connector.clone(), host: host.to_owned(), quota })
        });
        Self(own.chain(host_quotas).collect())
    }

    /// Waits until every quota that applies admits a call; fails with the spent quota if none will in time.
    pub(in crate::client) async fn reserve(
        &self,
        context: CallContext,
        kind: CallKind,
    ) -> Result<Reservation<'_>, Failure> {
        let applicable = || self.0.iter().filter(|it| it.applies_to(kind));
        // A call that can't be admitted in time doesn't queue.
        for allowance in applicable() {
            allowance.check(context)?;
        }
        let mut reservation = Reservation(Vec::new());
        for allowance in applicable() {
            let Ok(queue) = timeout_at(context.deadline, allowance.queue.lock()).await else {
                return Err(allowance.spent(allowance.check_now().err()));
            };
            while let Some(then) = allowance.check(context)? {
                sleep_until(then).await;
            }
            reservation.0.push((queue, allowance));
        }
        Ok(reservation)
    }
}

impl Allowance {
    fn new(quota: Quota, share: CurrentShare) -> Self {
        let past = share.past().into_iter().map(|(began, it)| (Instant::from_std(began), it));
        let history =
            Mutex::new(CallHistory::after(&quota, &past.collect::<Vec<_>>(), Instant::now()));
        Self { quota, share, queue: tokio::sync::Mutex::default(), history }
    }

    fn applies_to(&self, kind: CallKind) -> bool {
        self.quota.of.is_empty() || self.quota.of.contains(&kind)
    }

    /// When a call is admitted, `None` if now; fails if the deadline is earlier.
    fn check(&self, context: CallContext) -> Result<Option<Instant>, Failure> {
        let Err(wait) = self.check_now() else { return Ok(None) };
        match Instant::now().checked_add(wait) {
            Some(then) if then < context.deadline => Ok(Some(then)),
            _ => Err(self.spent(Some(wait))),
        }
    }

    /// Whether a call is admitted now, or the time until one is.
    fn check_now(&self) -> Result<(), Duration> {
        self.history.lock().check(self.share.get(), Instant::now())
    }

    fn spent(&self, wait: Option<Duration>) -> Failure {
        let Quota { calls, per, of, scope } = &self.quota;
        let per = per.as_secs_f64();
        let s = if *calls == 1 { "" } else { "s" };
        let kinds: Vec<&str> = of.iter().map(|it| it.as_str()).collect();
        let kinds =
            if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let holder = match scope {
            QuotaScope::Account => "the account",
            QuotaScope::Host => "all accounts here",
        };
        let share = share_note(self.share.get());
        let message = format!(
            "the budget of {calls} call{s}{kinds} in {per} s that the platform gives {holder} is spent{share}"
        );
        Failure::new(FailureKind::Throttled, message).with_retry_after(wait)
    }
}

impl SharedQuotas {
    /// Returns the shared quota of a key. Quotas with counted calls stay, even without a client: an account that is
    /// opened again must not find an unspent one.
    fn get(&self, key: SharedKey) -> Arc<Allowance> {
        let now = Instant::now();
        let mut all = self.all.lock();
        all.retain(|_, it| Arc::strong_count(it) > 1 || !it.history.lock().is_empty(now));
        let quota = key.quota.clone();
        let new = || Arc::new(Allowance::new(quota, self.share.clone()));
        Arc::clone(all.entry(key).or_insert_with(new))
    }
}

/// Note on this server's share of a budget; empty if the server has all of it.
pub(in crate::client) fn share_note(share: ReplicaShare) -> String {
    match share.of() {
        1 => String::new(),
        of => format!(", as far as this server's share goes: one of {of}"),
    }
}

/// A quota with sorted kinds, each once, so that equal quotas compare equal.
fn normalised(quota: &Quota) -> Quota {
    let mut quota = quota.clone();
    quota.of.sort();
    quota.of.dedup();
    quota
}

#[cfg(test)]
mod tests;
