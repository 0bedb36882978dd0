//! Tokens and refused requests, for the audit: counted by minute, so that no stranger can fill the disk with them.
//!
//! The first of a kind in a minute is written within a second, all others of that minute when it is over. A server that
//! is killed loses the counts of its last minute.

use std::collections::{HashMap, HashSet};

use gatehouse_core::event::audit::{RefusalEntry, RefusalReason, TokenEntry};
use gatehouse_core::event::{Cause, Entry, Origin};
use gatehouse_core::rights::{Tenants, scopes_to_words};
use gatehouse_core::{TenantName, Timestamp};
use gatehouse_store::StoreError;
use parking_lot::Mutex;

use super::App;
use crate::auth::{Grant, IssuedToken};

/// Most kinds of one tenant in a minute. Further ones are counted together.
const KINDS_MAX: usize = 50;

/// Most names in a second of which this server doesn't know yet whether they are tenants.
const NEW_NAMES_MAX: usize = 100;

/// How often all tenants are read: then each one is known, whatever strangers name.
const TENANTS_INTERVAL_MILLISECONDS: i64 = 60_000;

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
    counted: HashMap<Option<TenantName>, HashMap<Kind, Option<Entry>>>,
    due: Vec<AuditedEntry>,
    /// Tenants that exist, or did a while ago. Strangers can name any: a name counts for itself once it is known.
    known: HashSet<TenantName>,
    /// When all tenants were read.
    known_at: Option<Timestamp>,
    /// Entries of names that are not known yet.
    new_names: HashMap<TenantName, Vec<(Kind, Entry)>>,
}

/// Tokens or refusals that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Refusal { reason: RefusalReason, subject: String },
    Token { subject: String, scopes: String },
}

impl Kind {
    /// The kind of all that are too many to be told apart.
    fn of_further(&self) -> Self {
        match self {
            Self::Refusal { reason, .. } => {
                Self::Refusal { reason: *reason, subject: String::new() }
            }
            Self::Token { .. } => Self::Token { subject: String::new(), scopes: String::new() },
        }
    }
}

/// A refused request.
pub(crate) struct Refusal<'r> {
    pub(crate) tenant: Option<TenantName>,
    pub(crate) reason: RefusalReason,
    /// The client that exists.
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
        for (tenant, kinds) in self.counted.drain() {
            let later = kinds.into_values().flatten();
            self.due.extend(later.map(|entry| (tenant.clone(), entry)));
        }
    }

    /// Counts one of a kind, as soon as it is known whether there is such a tenant.
    fn count(&mut self, tenant: Option<TenantName>, kind: Kind, entry: Entry) {
        let Some(name) = tenant else { return self.count_of(None, kind, entry) };
        if self.known.contains(&name) {
            return self.count_of(Some(name), kind, entry);
        }
        if let Some(entries) = self.new_names.get_mut(&name) {
            let found = entries.iter().position(|(it, _)| *it == kind);
            match found {
                Some(n) => add(&mut entries[n].1, entry),
                None if entries.len() < KINDS_MAX => entries.push((kind, entry)),
                None => self.count_of(None, kind.of_further(), blank(entry)),
            }
        } else if self.new_names.len() < NEW_NAMES_MAX {
            self.new_names.insert(name, vec![(kind, entry)]);
        } else {
            self.count_of(None, kind.of_further(), blank(entry));
        }
    }

    fn count_of(&mut self, tenant: Option<TenantName>, kind: Kind, entry: Entry) {
        let kinds = self.counted.entry(tenant.clone()).or_default();
        let (kind, entry) = match kinds.len() >= KINDS_MAX && !kinds.contains_key(&kind) {
            true => (kind.of_further(), blank(entry)),
            false => (kind, entry),
        };
        match kinds.get_mut(&kind) {
            None => {
                kinds.insert(kind, None);
                self.due.push((tenant, entry));
            }
            Some(later @ None) => *later = Some(entry),
            Some(Some(sum)) => add(sum, entry),
        }
    }

    /// Counts the entries of names that were not known: those of tenants for them, the others for the estate.
    fn sort(&mut self, tenants: HashSet<TenantName>, names: HashSet<TenantName>) {
        self.known.extend(tenants);
        for name in names {
            for (kind, entry) in self.new_names.remove(&name).unwrap_or_default() {
                match self.known.contains(&name) {
                    true => self.count_of(Some(name.clone()), kind, entry),
                    false => self.count_of(None, kind, entry),
                }
            }
        }
    }
}

/// Adds an entry of the same kind.
fn add(sum: &mut Entry, one: Entry) {
    match (sum, one) {
        (Entry::Refusals(sum), Entry::Refusals(one)) => sum.n += one.n,
        (Entry::Tokens(sum), Entry::Tokens(one)) => {
            sum.n += one.n;
            sum.expires = one.expires.max(sum.expires);
        }
        // A kind has entries of one kind.
        _ => {}
    }
}

/// An entry that stands for different ones, without what only the first one has.
fn blank(mut entry: Entry) -> Entry {
    let origin = Origin::of(Cause::Request(String::new()));
    match &mut entry {
        Entry::Refusals(it) => (it.client, it.origin) = (String::new(), origin),
        Entry::Tokens(it) => {
            (it.subject, it.scopes, it.id) = Default::default();
            it.origin = origin;
        }
        _ => {}
    }
    entry
}

impl AuditCounts {
    /// Counts a refused request.
    pub(crate) fn count_refusal(&self, refusal: Refusal<'_>, now: Timestamp) {
        let Refusal { tenant, reason, client, subject, correlation_id, peer } = refusal;
        let mut counts = self.0.lock();
        counts.advance(now);
        let kind = Kind::Refusal { reason, subject: client.unwrap_or(subject).to_owned() };
        let cause = Cause::Request(subject.to_owned());
        let origin = Origin { cause, correlation_id: correlation_id.to_owned(), peer };
        let client = client.unwrap_or_default().to_owned();
        let entry = RefusalEntry { reason, client, n: 1, since: now, origin };
        counts.count(tenant, kind, Entry::Refusals(entry));
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
            let kind = Kind::Token { subject: grant.subject.clone(), scopes };
            counts.count(tenant, kind, entry);
        }
    }

    /// Whether all tenants have to be read again.
    fn needs_tenants(&self, now: Timestamp) -> bool {
        let read_at = self.0.lock().known_at;
        read_at.is_none_or(|at| {
            now.as_millisecond() - at.as_millisecond() >= TENANTS_INTERVAL_MILLISECONDS
        })
    }

    fn set_tenants(&self, tenants: HashSet<TenantName>, now: Timestamp) {
        let mut counts = self.0.lock();
        (counts.known, counts.known_at) = (tenants, Some(now));
    }

    /// Names of tenants that may not exist.
    fn new_names(&self) -> HashSet<TenantName> {
        self.0.lock().new_names.keys().cloned().collect()
    }

    /// Sorts the entries of these names, of which some are tenants'.
    fn sort(&self, tenants: HashSet<TenantName>, names: HashSet<TenantName>) {
        self.0.lock().sort(tenants, names);
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
        let counts = &self.audit_counts;
        if counts.needs_tenants(self.now()) {
            let tenants = self.store.tenant_names().await?;
            counts.set_tenants(tenants.into_iter().collect(), self.now());
        }
        let names = counts.new_names();
        if !names.is_empty() {
            let mut tenants = HashSet::new();
            for name in &names {
                if self.store.tenant(name).await?.is_some() {
                    tenants.insert(name.clone());
                }
            }
            counts.sort(tenants, names);
        }
        let due = counts.take(self.now(), is_end);
        if due.is_empty() {
            return Ok(());
        }
        self.store.write_audit(due).await.map_err(|(left, error)| {
            counts.put_back(left);
            error
        })
    }
}

#[cfg(test)]
mod tests;
