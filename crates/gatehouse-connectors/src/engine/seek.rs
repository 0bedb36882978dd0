//! Looking for several connections at one account, in as few calls as the platform allows.
//!
//! What is sought is asked for kind by kind, as many at a time as the platform takes. Where that would be
//! more calls than looking through the whole list, or where the platform can't be asked for a kind that
//! it carries, the list is looked through instead, as long as it is short.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use gatehouse_core::identifier;
use gatehouse_core::{Connection, Identifier, IdentifierKind};
use smol_str::SmolStr;
use tokio::time::Instant;

use crate::connector::{CallContext, Detail, LookUp, LookUpKey, ProductParts};
use crate::engine::live::LiveAccount;
use crate::engine::scan::{self, Effort, SCAN_DETAILS_MAX, SCAN_PAGES_MAX, Scanned};
use crate::engine::window::Got;
use crate::failure::{Failure, FailureKind, Failures};

/// Calls that are made without a thought about looking through the list instead.
const CALLS_FEW: u64 = 16;

/// Calls that one request makes to an account at the same time; the others wait, and cost nothing yet.
const CALLS_AT_ONCE: usize = 128;

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'w> {
    /// What carries this.
    Carrier(&'w Identifier),
    /// What the platform calls this.
    Named(&'w str),
}

/// What an account gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sighting {
    /// Each connection that was sought, once, in the order of targets, with the targets that it is.
    pub(crate) seen: Vec<(Arc<Connection>, Vec<usize>)>,
    /// Targets of which it isn't known whether the account has them.
    pub(crate) unsure: Vec<usize>,
    /// What failed.
    pub(crate) failures: Failures,
}

/// Looks for all targets at an account. Each has a number of its own.
pub(crate) async fn seek(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    targets: &[(usize, Target<'_>)],
) -> Sighting {
    // Who is looked for is recognised by what it carries.
    let ask = ask.and_for(ProductParts::CHARACTERISTICS);
    let mut seeking = Seeking::new(targets);
    let mut plan = match Plan::new(account, ask, targets) {
        Ok(plan) => plan,
        Err(failure) => {
            seeking.failures.add(failure);
            return seeking.finish();
        }
    };
    if let Some(effort) = plan.worth_of_a_scan(account)
        && let Ok(Scanned { got, is_whole }) = scan::scan(account, ask, effort).await
        && let Ok((got, known)) = plan.recognisable(account, ask, got).await
    {
        seeking.see(got.connections, known);
        got.failures.into_iter().for_each(|failure| seeking.failures.add(failure));
        if is_whole {
            seeking.complete(account, ask).await;
            return seeking.finish();
        }
        if !plan.not_searchable.is_empty() && seeking.failures.is_empty() {
            let detail =
                "its list changed while it was looked through, and it can't be asked otherwise";
            seeking.failures.add(Failure::new(FailureKind::Error, detail));
        }
        // The list leaves it open who isn't there; who can be asked for one by one is.
        plan.not_searchable.clear();
        plan.leave_out(&seeking.found());
    }
    for by in &plan.not_searchable {
        let what = match by {
            LookUpKey::Id => "can't be asked for one connection",
            LookUpKey::Number(kind) => {
                &format!("carries {} and can't be asked for them", kind.as_str())
            }
        };
        let detail = format!("{what}, and its list is too long to be looked through");
        seeking.failures.add(Failure::new(FailureKind::LookupNotSupported, detail));
    }
    let calls: Vec<_> = plan.look_ups.iter().map(|it| it.ask(account, ask)).collect();
    let mut answers = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(connections) => seeking.see(connections, Known::Completely),
            Err(failure) => seeking.failures.add(failure),
        }
    }
    drop(answers);
    seeking.complete(account, ask).await;
    seeking.never_carried = std::mem::take(&mut plan.never_carried);
    seeking.finish()
}

/// The calls that find all targets.
#[derive(Debug, Default)]
struct Plan<'w> {
    look_ups: Vec<OneLookUp<'w>>,
    not_searchable: Vec<LookUpKey>,
    /// Targets that are surely not there, without a call.
    never_carried: HashSet<usize>,
    n_targets: usize,
    /// What the list leaves out of what is to be known.
    detail: Option<Detail>,
    /// Whether the list leaves out what some target is recognised by.
    is_hidden: bool,
}

#[derive(Debug)]
struct OneLookUp<'w> {
    by: LookUpKey,
    /// What is asked for, with the number of the target that it is.
    values: Vec<(usize, &'w str)>,
}

/// A list that leaves out what is looked for, and is too long to ask for it.
struct TooMany;

impl<'w> Plan<'w> {
    fn new(
        account: &LiveAccount,
        ask: CallContext,
        targets: &[(usize, Target<'w>)],
    ) -> Result<Self, Failure> {
        let capabilities = account.capabilities()?;
        let detail = capabilities.detail.clone().filter(|it| it.parts.meets(ask.parts));
        let mut plan = Self { n_targets: targets.len(), detail, ..Self::default() };
        for by in LookUpKey::ALL {
            let values = targets.iter().filter_map(|(n, target)| match (by, target) {
                (LookUpKey::Id, Target::Named(local_id)) => Some((*n, *local_id)),
                (LookUpKey::Number(kind), Target::Carrier(it)) if it.kind() == kind => {
                    Some((*n, it.value()))
                }
                _ => None,
            });
            let values: Vec<(usize, &str)> = values.collect();
            if values.is_empty() {
                continue;
            }
            plan.is_hidden |= capabilities.is_hidden(by);
            match capabilities.look_up(by) {
                LookUp::Searched { values_max } => {
                    let at_once = usize::try_from(values_max).unwrap_or(usize::MAX).max(1);
                    let look_up = |values: &[_]| OneLookUp { by, values: values.to_vec() };
                    plan.look_ups.extend(values.chunks(at_once).map(look_up));
                }
                LookUp::NeverCarried => plan.never_carried.extend(values.iter().map(|(n, _)| *n)),
                LookUp::NotSearchable => plan.not_searchable.push(by),
            }
        }
        Ok(plan)
    }

    /// Whether the list is worth looking through instead.
    fn worth_of_a_scan(&self, account: &LiveAccount) -> Option<Effort> {
        if !self.not_searchable.is_empty() {
            return (!scan::is_too_long(account)).then_some(Effort::Needed);
        }
        // What the list leaves out would have to be asked for besides.
        let n_details = self.detail.as_ref().map_or(0, |it| it.n_calls(self.n_targets));
        let n_calls = (self.look_ups.len() as u64).saturating_sub(n_details);
        let is_shorter = scan::n_pages(account).is_none_or(|n_pages| n_pages < n_calls);
        let is_worth =
            n_calls > CALLS_FEW && is_shorter && scan::tells_its_length(account) && !self.is_hidden;
        is_worth.then(|| Effort::Cheaper { n_pages_max: SCAN_PAGES_MAX.min(n_calls - 1) })
    }

    /// A list in which every target can be recognised, and how much is then known of those in it: what it leaves out
    /// is asked for, where that is bounded.
    async fn recognisable(
        &self,
        account: &LiveAccount,
        ask: CallContext,
        mut got: Got,
    ) -> Result<(Got, Known), TooMany> {
        let Some(detail) = self.detail.as_ref().filter(|_| self.is_hidden) else {
            return Ok((got, Known::AsListed));
        };
        if detail.n_calls(got.connections.len()) > SCAN_DETAILS_MAX {
            account.known.lock().too_long = Some(Instant::now());
            return Err(TooMany);
        }
        let completed = account.complete(ask, std::mem::take(&mut got.connections)).await;
        got.connections = completed.connections;
        completed.failures.into_iter().for_each(|failure| got.fail(failure));
        Ok((got, Known::Completely))
    }

    /// Leaves out what needs no call any more.
    fn leave_out(&mut self, found: &HashSet<usize>) {
        for look_up in &mut self.look_ups {
            look_up.values.retain(|(n, _)| !found.contains(n));
        }
        self.look_ups.retain(|look_up| !look_up.values.is_empty());
    }
}

impl OneLookUp<'_> {
    async fn ask(
        &self,
        account: &Arc<LiveAccount>,
        ask: CallContext,
    ) -> Result<Vec<Arc<Connection>>, Failure> {
        let values = self.values.iter().map(|(_, value)| (*value).to_owned()).collect();
        account.look_up(ask, self.by, values).await
    }
}

/// How much is known of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// What its list shows.
    AsListed,
    /// All that is to be.
    Completely,
}

/// Targets, half found.
struct Seeking<'w> {
    /// Those who are known as their list shows them.
    as_listed: HashSet<SmolStr>,
    by_number: HashMap<(IdentifierKind, &'w str), usize>,
    by_name: HashMap<&'w str, usize>,
    seen: HashMap<SmolStr, (Arc<Connection>, Vec<usize>)>,
    never_carried: HashSet<usize>,
    failures: Failures,
}

impl<'w> Seeking<'w> {
    fn new(targets: &[(usize, Target<'w>)]) -> Self {
        let mut by_number = HashMap::new();
        let mut by_name = HashMap::new();
        for (n, target) in targets {
            match target {
                Target::Carrier(it) => by_number.insert((it.kind(), it.key()), *n),
                Target::Named(local_id) => by_name.insert(*local_id, *n),
            };
        }
        Self {
            as_listed: HashSet::new(),
            by_number,
            by_name,
            seen: HashMap::new(),
            never_carried: HashSet::new(),
            failures: Failures::default(),
        }
    }

    /// Takes connections in, as far as they are sought: platforms also answer with what is alike.
    fn see(&mut self, connections: impl IntoIterator<Item = Arc<Connection>>, known: Known) {
        for connection in connections {
            let carried = connection.identifiers.iter();
            let carried = carried
                .filter_map(|(kind, it)| self.by_number.get(&(*kind, identifier::key(*kind, it))));
            let named = self.by_name.get(connection.local_id.as_str());
            let targets: Vec<usize> = carried.chain(named).copied().collect();
            if !targets.is_empty() {
                // The same one again may carry another number.
                let id = connection.local_id.clone();
                if known == Known::AsListed {
                    self.as_listed.insert(id.clone());
                } else if self.as_listed.remove(&id) {
                    self.seen.remove(&id);
                }
                let (_, known) = self.seen.entry(id).or_insert((connection, Vec::new()));
                known.extend(targets);
            }
        }
    }

    /// Learns what is to be known of those who are known as their list shows them.
    async fn complete(&mut self, account: &LiveAccount, ask: CallContext) {
        let mut bare: Vec<_> =
            self.as_listed.drain().filter_map(|id| self.seen.remove(&id)).collect();
        // In an order of their own, so that calls are.
        bare.sort_unstable_by(|(one, _), (other, _)| one.local_id.cmp(&other.local_id));
        let connections = bare.iter().map(|(connection, _)| Arc::clone(connection)).collect();
        let mut targets: HashMap<SmolStr, Vec<usize>> =
            bare.into_iter().map(|(it, targets)| (it.local_id.clone(), targets)).collect();
        let completed = account.complete(ask, connections).await;
        completed.failures.into_iter().for_each(|failure| self.failures.add(failure));
        for connection in completed.connections {
            let id = connection.local_id.clone();
            let targets = targets.remove(&id).unwrap_or_default();
            self.seen.insert(id, (connection, targets));
        }
    }

    /// The targets that were found.
    fn found(&self) -> HashSet<usize> {
        self.seen.values().flat_map(|(_, targets)| targets).copied().collect()
    }

    fn finish(self) -> Sighting {
        let found = self.found();
        let mut seen: Vec<_> = self.seen.into_values().collect();
        for (_, targets) in &mut seen {
            targets.sort_unstable();
            targets.dedup();
        }
        // Who carries the same number is told apart by name, so that the order is always the same.
        seen.sort_unstable_by(|(one, these), (other, those)| {
            (these.first(), &one.local_id).cmp(&(those.first(), &other.local_id))
        });
        // Of an account that fails in anything, nothing that it didn't show is taken to be missing: the contract
        // wants it so.
        let is_unsure = |n: &usize| !found.contains(n) && !self.never_carried.contains(n);
        let targets = self.by_number.values().chain(self.by_name.values()).copied();
        let unsure =
            if self.failures.is_empty() { Vec::new() } else { targets.filter(is_unsure).collect() };
        Sighting { seen, unsure, failures: self.failures }
    }
}
