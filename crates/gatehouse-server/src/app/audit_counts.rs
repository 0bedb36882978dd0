//! Tokens and refused requests, for the audit: counted by minute, so that no stranger can fill the disk with them.
//!
//! The first of a kind in a minute is written within a second, all others of that minute when it is over. A server that
//! is killed loses the counts of its last minute.

use std::collections::HashMap;

use gatehouse_core::event::audit::{RefusalEntry, RefusalReason, TokenEntry};
use gatehouse_core::event::{Cause, Entry, Origin};
use gatehouse_core::rights::{Tenants, scopes_to_words};
use gatehouse_core::{TenantName, Timestamp};
use gatehouse_store::StoreError;
use parking_lot::Mutex;

use super::App;
use crate::auth::{Grant, IssuedToken};

/// Most kinds of a minute. Refusals of further ones are counted by their reason alone.
const KINDS_MAX: usize = 1000;

/// Most entries that wait to be written, while the store refuses them.
const DUE_MAX: usize = 20_000;

const MINUTE_MILLISECONDS: i64 = 60_000;

/// An entry for the audit of a tenant, or of the estate.
pub type AuditedEntry = (Option<TenantName>, Entry);

/// The counts of this minute, and the entries that are due to be written.
#[derive(Default)]
pub(crate) struct AuditCounts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    minute: i64,
    counted: HashMap<Kind, Option<AuditedEntry>>,
    due: Vec<AuditedEntry>,
}

/// Tokens or refusals that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Refusal { tenant: Option<TenantName>, reason: RefusalReason, subject: String },
    Token { tenant: Option<TenantName>, subject: String, scopes: String },
}

/// A refused request.
pub(crate) struct Refusal<'r> {
    pub(crate) tenant: Option<TenantName>,
    pub(crate) reason: RefusalReason,
    /// The client that exists and whose secret was wrong.
    pub(crate) client: Option<&'r str>,
    /// The subject of a valid token.
    pub(crate) subject: &'r str,
    pub(crate) correlation_id: &'r str,
    pub(crate) peer: String,
}

impl Counts {
    /// Moves on to the minute of a time.
    fn advance(&mut self, now: Timestamp) {
        let minute = now.as_millisecond().div_euclid(MINUTE_MILLISECONDS);
        if minute != self.minute {
            self.minute = minute;
            self.finish_minute();
        }
    }

    /// Makes all that was counted due.
    fn finish_minute(&mut self) {
        self.due.extend(self.counted.drain().filter_map(|(_, later)| later));
    }

    /// Counts one of a kind.
    fn count(&mut self, kind: Kind, entry: AuditedEntry) {
        let Some(later) = self.counted.get_mut(&kind) else {
            self.due.push(entry);
            self.counted.insert(kind, None);
            return;
        };
        match (later, entry.1) {
            (later @ None, one) => *later = Some((entry.0, one)),
            (Some((_, Entry::Refusals(sum))), Entry::Refusals(one)) => sum.n += one.n,
            (Some((_, Entry::Tokens(sum))), Entry::Tokens(one)) => {
                sum.n += one.n;
                sum.expires = one.expires.max(sum.expires);
            }
            // A kind has entries of one kind.
            (Some(_), _) => {}
        }
    }
}

impl AuditCounts {
    /// Counts a refused request.
    pub(crate) fn count_refusal(&self, refusal: Refusal<'_>, now: Timestamp) {
        let Refusal { tenant, reason, client, subject, correlation_id, peer } = refusal;
        let mut counts = self.0.lock();
        counts.advance(now);
        let named = client.unwrap_or(subject).to_owned();
        let mut kind = Kind::Refusal { tenant: tenant.clone(), reason, subject: named };
        let mut tenant = tenant;
        if counts.counted.len() >= KINDS_MAX && !counts.counted.contains_key(&kind) {
            kind = Kind::Refusal { tenant: None, reason, subject: String::new() };
            tenant = None;
        }
        let cause = Cause::Request(subject.to_owned());
        let origin = Origin { cause, correlation_id: correlation_id.to_owned(), peer };
        let client = client.unwrap_or_default().to_owned();
        let entry = RefusalEntry { reason, client, n: 1, since: now, origin };
        counts.count(kind, (tenant, Entry::Refusals(entry)));
    }

    /// Counts an issued token.
    pub(crate) fn count_token(
        &self,
        grant: &Grant,
        token: &IssuedToken,
        origin: &Origin,
        now: Timestamp,
    ) {
        let mut counts = self.0.lock();
        counts.advance(now);
        for (tenant, entry) in grant.audited(token, origin, now) {
            let scopes = scopes_to_words(&grant.scopes);
            let subject = grant.subject.clone();
            let kind = Kind::Token { tenant: tenant.clone(), subject, scopes };
            counts.count(kind, (tenant, entry));
        }
    }

    /// Takes what is due; at the end, everything.
    fn take(&self, now: Timestamp, is_end: bool) -> Vec<AuditedEntry> {
        let mut counts = self.0.lock();
        counts.advance(now);
        if is_end {
            counts.finish_minute();
        }
        std::mem::take(&mut counts.due)
    }

    /// Puts back what could not be written.
    fn put_back(&self, entries: Vec<AuditedEntry>) {
        let mut counts = self.0.lock();
        let later = std::mem::replace(&mut counts.due, entries);
        counts.due.extend(later);
        let n_lost = counts.due.len().saturating_sub(DUE_MAX);
        if n_lost > 0 {
            tracing::error!(n_lost, "entries of the audit are lost: the store takes no writes");
            counts.due.drain(..n_lost);
        }
    }
}

impl Grant {
    /// A token in the audit of each of its tenants, or of the estate if it is for all.
    pub fn audited(
        &self,
        token: &IssuedToken,
        origin: &Origin,
        now: Timestamp,
    ) -> Vec<AuditedEntry> {
        let entry = TokenEntry {
            subject: self.subject.clone(),
            tenants: self.tenants.join(" "),
            scopes: scopes_to_words(&self.scopes),
            id: token.id.clone(),
            n: 1,
            since: now,
            expires: token.expires,
            origin: origin.clone(),
        };
        let is_for_all = self.tenants.iter().any(|name| name == Tenants::ALL_WORD);
        let tenants: Vec<Option<TenantName>> = match is_for_all {
            true => vec![None],
            false => self.tenants.iter().map(|name| name.parse().ok()).collect(),
        };
        tenants.into_iter().map(|tenant| (tenant, Entry::Tokens(entry.clone()))).collect()
    }
}

impl App {
    /// Writes the tokens and refusals that are due; at the end, all of them.
    pub async fn write_audit_counts(&self, is_end: bool) -> Result<(), StoreError> {
        let due = self.audit_counts.take(self.now(), is_end);
        if due.is_empty() {
            return Ok(());
        }
        let written = self.store.write_audit(due.clone()).await;
        if written.is_err() {
            self.audit_counts.put_back(due);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(tenant: &str, subject: &'static str) -> Refusal<'static> {
        Refusal {
            tenant: tenant.parse().ok(),
            reason: RefusalReason::Scope,
            client: None,
            subject,
            correlation_id: "c",
            peer: "192.0.2.7".to_owned(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + seconds * 1000).unwrap()
    }

    /// Tenants, subjects and counts of refusals.
    fn shown(entries: Vec<AuditedEntry>) -> Vec<(Option<String>, String, u64)> {
        let mut shown: Vec<_> = entries
            .into_iter()
            .filter_map(|(tenant, entry)| {
                let Entry::Refusals(entry) = entry else { return None };
                let Cause::Request(subject) = entry.origin.cause else { return None };
                Some((tenant.map(|it| it.to_string()), subject, entry.n))
            })
            .collect();
        shown.sort();
        shown
    }

    #[test]
    fn the_first_of_a_minute_is_due_at_once_and_the_others_at_its_end() {
        let counts = AuditCounts::default();
        for second in [0, 1, 2] {
            counts.count_refusal(refusal("acme", "crm"), at(second));
        }
        counts.count_refusal(refusal("acme", "billing"), at(3));
        let one = |subject: &str, n| (Some("acme".to_owned()), subject.to_owned(), n);
        assert_eq!(shown(counts.take(at(4), false)), [one("billing", 1), one("crm", 1)]);
        assert_eq!(shown(counts.take(at(59), false)), []);
        assert_eq!(shown(counts.take(at(60), false)), [one("crm", 2)]);
        counts.count_refusal(refusal("acme", "crm"), at(61));
        counts.count_refusal(refusal("acme", "crm"), at(62));
        assert_eq!(shown(counts.take(at(63), true)), [one("crm", 1), one("crm", 1)]);
        assert_eq!(shown(counts.take(at(200), true)), []);
    }

    #[test]
    fn strangers_who_invent_names_are_counted_together() {
        let counts = AuditCounts::default();
        for n in 0..5000 {
            counts.count_refusal(refusal(&format!("t{n}"), ""), at(0));
        }
        let due = shown(counts.take(at(60), false));
        assert_eq!(due.len(), KINDS_MAX + 2);
        assert_eq!(due.iter().map(|(.., n)| n).sum::<u64>(), 5000);
        let of_estate: u64 = due.iter().filter(|it| it.0.is_none()).map(|(.., n)| n).sum();
        assert_eq!(of_estate, 4000);
    }

    #[test]
    fn what_could_not_be_written_comes_again() {
        let counts = AuditCounts::default();
        counts.count_refusal(refusal("acme", "crm"), at(0));
        let due = counts.take(at(0), false);
        counts.count_refusal(refusal("zoo", "crm"), at(1));
        counts.put_back(due);
        assert_eq!(shown(counts.take(at(2), false)).len(), 2);
    }
}
