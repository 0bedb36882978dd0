//! Searches one account for several connections, in as few calls as possible.
//!
//! Targets are looked up kind by kind, as many per call as the platform allows. If a scan of the whole list takes fewer
//! calls, or the platform can't search for a kind, the list is scanned instead, provided it is short.

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

/// Number of look-ups that are made without considering a scan.
const CALLS_FEW: u64 = 16;

/// Concurrent calls of one request to an account; further calls wait, and cost nothing yet.
const CALLS_AT_ONCE: usize = 128;

/// A search target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'w> {
    /// A connection with this identifier.
    Carrier(&'w Identifier),
    /// The connection with this platform id.
    Named(&'w str),
}

/// Result of searching one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sighting {
    /// Each matching connection once, in the order of targets, with the numbers of its targets.
    pub(crate) seen: Vec<(Arc<Connection>, Vec<usize>)>,
    /// Targets that the account could neither confirm nor deny.
    pub(crate) unsure: Vec<usize>,
    /// Failures.
    pub(crate) failures: Failures,
}

/// Searches an account for all targets, each with its number.
pub(crate) async fn seek(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    targets: &[(usize, Target<'_>)],
) -> Sighting {
    // Connections are matched by their identifiers.
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
        // A changing list leaves some targets open; those that can be looked up still are.
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
    /// Targets that no connection can match, without a call.
    never_carried: HashSet<usize>,
    n_targets: usize,
    /// Requested parts that the list leaves out.
    detail: Option<Detail>,
    /// Whether the list leaves out identifiers of a target.
    is_hidden: bool,
}

#[derive(Debug)]
struct OneLookUp<'w> {
    by: LookUpKey,
    /// Values to look up, with the numbers of their targets.
    values: Vec<(usize, &'w str)>,
}

/// A list that leaves out the identifiers, with too many connections to read them all.
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

    /// Whether to scan the list instead, and at what cost.
    fn worth_of_a_scan(&self, account: &LiveAccount) -> Option<Effort> {
        if !self.not_searchable.is_empty() {
            return (!scan::is_too_long(account)).then_some(Effort::Needed);
        }
        // The scan needs detail calls as well.
        let n_details = self.detail.as_ref().map_or(0, |it| it.n_calls(self.n_targets));
        let n_calls = (self.look_ups.len() as u64).saturating_sub(n_details);
        let is_shorter = scan::n_pages(account).is_none_or(|n_pages| n_pages < n_calls);
        let is_worth =
            n_calls > CALLS_FEW && is_shorter && scan::tells_its_length(account) && !self.is_hidden;
        is_worth.then(|| Effort::Cheaper { n_pages_max: SCAN_PAGES_MAX.min(n_calls - 1) })
    }

    /// Adds the identifiers that the list leaves out, if there are few enough connections; also returns the level of
    /// detail.
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

    /// Removes targets that were found.
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

/// How much of a connection was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// What the list shows.
    AsListed,
    /// All requested parts.
    Completely,
}

/// State of a search.
struct Seeking<'w> {
    /// Ids of connections of which only the list was read.
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

    /// Adds the connections that match a target: platforms also return similar ones.
    fn see(&mut self, connections: impl IntoIterator<Item = Arc<Connection>>, known: Known) {
        for connection in connections {
            let carried = connection.identifiers.iter();
            let carried = carried
                .filter_map(|(kind, it)| self.by_number.get(&(*kind, identifier::key(*kind, it))));
            let named = self.by_name.get(connection.local_id.as_str());
            let targets: Vec<usize> = carried.chain(named).copied().collect();
            if !targets.is_empty() {
                // A connection may match again by another number.
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

    /// Reads the details of connections of which only the list was read.
    async fn complete(&mut self, account: &LiveAccount, ask: CallContext) {
        let mut bare: Vec<_> =
            self.as_listed.drain().filter_map(|id| self.seen.remove(&id)).collect();
        // Sorted, so that the order of calls is deterministic.
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

    /// Numbers of the targets that were found.
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
        // Sorted by id as well: several connections may match the same target.
        seen.sort_unstable_by(|(one, these), (other, those)| {
            (these.first(), &one.local_id).cmp(&(those.first(), &other.local_id))
        });
        // By the API's contract, an account with any failure leaves all targets open that it didn't show.
        let is_unsure = |n: &usize| !found.contains(n) && !self.never_carried.contains(n);
        let targets = self.by_number.values().chain(self.by_name.values()).copied();
        let unsure =
            if self.failures.is_empty() { Vec::new() } else { targets.filter(is_unsure).collect() };
        Sighting { seen, unsure, failures: self.failures }
    }
}
