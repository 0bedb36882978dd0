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
use crate::engine::window::Fetched;
use crate::failure::{Failure, FailureKind, Failures};

/// Number of look-ups that are made without considering a scan.
const LOOK_UPS_FEW: u64 = 16;

/// Concurrent calls of one request to an account; further calls wait, and cost nothing yet.
const CALLS_AT_ONCE: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchTarget<'w> {
    /// A connection with this identifier.
    Identifier(&'w Identifier),
    /// The connection with this platform id.
    Id(&'w str),
}

/// Result of searching one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountMatches {
    /// Each matching connection once, in the order of targets, with the numbers of its targets.
    pub(crate) matches: Vec<(Arc<Connection>, Vec<usize>)>,
    /// Targets that the account could neither confirm nor deny.
    pub(crate) unsure: Vec<usize>,
    pub(crate) failures: Failures,
}

/// Searches an account for all targets, each with its number.
pub(crate) async fn search_account(
    account: &Arc<LiveAccount>,
    context: CallContext,
    targets: &[(usize, SearchTarget<'_>)],
) -> AccountMatches {
    // Connections are matched by their identifiers.
    let context = context.and_for(ProductParts::CHARACTERISTICS);
    let mut state = SearchState::new(targets);
    let mut plan = match Plan::new(account, context, targets) {
        Ok(plan) => plan,
        Err(failure) => {
            state.failures.add(failure);
            return state.finish();
        }
    };
    if let Some(effort) = plan.scan_effort(account)
        && let Ok(Scanned { fetched, is_whole }) = scan::scan(account, context, effort).await
        && let Ok((fetched, level)) = plan.with_identifiers(account, context, fetched).await
    {
        state.add(fetched.connections, level);
        fetched.failures.into_iter().for_each(|failure| state.failures.add(failure));
        if is_whole {
            state.complete(account, context).await;
            return state.finish();
        }
        if !plan.not_searchable.is_empty() && state.failures.is_empty() {
            let detail = "its list changed during a scan, and it can't be searched";
            state.failures.add(Failure::new(FailureKind::Error, detail));
        }
        // A changing list leaves some targets open; those that can be looked up still are.
        plan.not_searchable.clear();
        plan.remove_found(&state.found());
    }
    for by in &plan.not_searchable {
        let what = match by {
            LookUpKey::Id => "can't look up a single connection",
            LookUpKey::Number(kind) => &format!("has {} and can't search for them", kind.as_str()),
        };
        let detail = format!("{what}, and its list is too long to scan");
        state.failures.add(Failure::new(FailureKind::LookupNotSupported, detail));
    }
    let calls: Vec<_> = plan.look_ups.iter().map(|it| it.send(account, context)).collect();
    let mut results = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE);
    while let Some(result) = results.next().await {
        match result {
            Ok(connections) => state.add(connections, DetailLevel::Full),
            Err(failure) => state.failures.add(failure),
        }
    }
    drop(results);
    state.complete(account, context).await;
    state.never_carried = std::mem::take(&mut plan.never_carried);
    state.finish()
}

#[derive(Debug, Default)]
struct Plan<'w> {
    look_ups: Vec<LookUpCall<'w>>,
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
struct LookUpCall<'w> {
    by: LookUpKey,
    /// Values to look up, with the numbers of their targets.
    values: Vec<(usize, &'w str)>,
}

/// A list that leaves out the identifiers, with too many connections to read them all.
struct TooManyDetails;

impl<'w> Plan<'w> {
    fn new(
        account: &LiveAccount,
        context: CallContext,
        targets: &[(usize, SearchTarget<'w>)],
    ) -> Result<Self, Failure> {
        let capabilities = account.capabilities()?;
        let detail = capabilities.detail.clone().filter(|it| it.parts.meets(context.parts));
        let mut plan = Self { n_targets: targets.len(), detail, ..Self::default() };
        for by in LookUpKey::ALL {
            let values = targets.iter().filter_map(|(n, target)| match (by, target) {
                (LookUpKey::Id, SearchTarget::Id(local_id)) => Some((*n, *local_id)),
                (LookUpKey::Number(kind), SearchTarget::Identifier(it)) if it.kind() == kind => {
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
                    let look_up = |values: &[_]| LookUpCall { by, values: values.to_vec() };
                    plan.look_ups.extend(values.chunks(at_once).map(look_up));
                }
                LookUp::NeverCarried => plan.never_carried.extend(values.iter().map(|(n, _)| *n)),
                LookUp::NotSearchable => plan.not_searchable.push(by),
            }
        }
        Ok(plan)
    }

    /// Whether to scan the list instead, and at what cost.
    fn scan_effort(&self, account: &LiveAccount) -> Option<Effort> {
        if !self.not_searchable.is_empty() {
            return (!scan::is_too_long(account)).then_some(Effort::Needed);
        }
        // The scan needs detail calls as well.
        let n_details = self.detail.as_ref().map_or(0, |it| it.n_calls(self.n_targets));
        let n_calls = (self.look_ups.len() as u64).saturating_sub(n_details);
        let is_shorter = scan::n_pages(account).is_none_or(|n_pages| n_pages < n_calls);
        let is_worth =
            n_calls > LOOK_UPS_FEW && is_shorter && scan::gives_total(account) && !self.is_hidden;
        is_worth.then(|| Effort::Cheaper { n_pages_max: SCAN_PAGES_MAX.min(n_calls - 1) })
    }

    /// Adds the identifiers that the list leaves out, if there are few enough connections; also returns the level of
    /// detail.
    async fn with_identifiers(
        &self,
        account: &LiveAccount,
        context: CallContext,
        mut fetched: Fetched,
    ) -> Result<(Fetched, DetailLevel), TooManyDetails> {
        let Some(detail) = self.detail.as_ref().filter(|_| self.is_hidden) else {
            return Ok((fetched, DetailLevel::Listed));
        };
        if detail.n_calls(fetched.connections.len()) > SCAN_DETAILS_MAX {
            account.list.lock().too_long = Some(Instant::now());
            return Err(TooManyDetails);
        }
        let detailed = account.complete(context, std::mem::take(&mut fetched.connections)).await;
        fetched.connections = detailed.connections;
        detailed.failures.into_iter().for_each(|failure| fetched.fail(failure));
        Ok((fetched, DetailLevel::Full))
    }

    fn remove_found(&mut self, found: &HashSet<usize>) {
        for look_up in &mut self.look_ups {
            look_up.values.retain(|(n, _)| !found.contains(n));
        }
        self.look_ups.retain(|look_up| !look_up.values.is_empty());
    }
}

impl LookUpCall<'_> {
    async fn send(
        &self,
        account: &Arc<LiveAccount>,
        context: CallContext,
    ) -> Result<Vec<Arc<Connection>>, Failure> {
        let values = self.values.iter().map(|(_, value)| (*value).to_owned()).collect();
        account.look_up(context, self.by, values).await
    }
}

/// How much of a connection was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DetailLevel {
    /// The fields of the list.
    Listed,
    /// All requested parts.
    Full,
}

struct SearchState<'w> {
    /// Ids of connections of which only the list was read.
    as_listed: HashSet<SmolStr>,
    by_number: HashMap<(IdentifierKind, &'w str), usize>,
    by_name: HashMap<&'w str, usize>,
    matches: HashMap<SmolStr, (Arc<Connection>, Vec<usize>)>,
    never_carried: HashSet<usize>,
    failures: Failures,
}

impl<'w> SearchState<'w> {
    fn new(targets: &[(usize, SearchTarget<'w>)]) -> Self {
        let mut by_number = HashMap::new();
        let mut by_name = HashMap::new();
        for (n, target) in targets {
            match target {
                SearchTarget::Identifier(it) => by_number.insert((it.kind(), it.key()), *n),
                SearchTarget::Id(local_id) => by_name.insert(*local_id, *n),
            };
        }
        Self {
            as_listed: HashSet::new(),
            by_number,
            by_name,
            matches: HashMap::new(),
            never_carried: HashSet::new(),
            failures: Failures::default(),
        }
    }

    /// Adds the connections that match a target: platforms also return similar ones.
    fn add(&mut self, connections: impl IntoIterator<Item = Arc<Connection>>, level: DetailLevel) {
        for connection in connections {
            let carried = connection.identifiers.iter();
            let carried = carried
                .filter_map(|(kind, it)| self.by_number.get(&(*kind, identifier::key(*kind, it))));
            let named = self.by_name.get(connection.local_id.as_str());
            let targets: Vec<usize> = carried.chain(named).copied().collect();
            if !targets.is_empty() {
                // A connection may match again by another number.
                let id = connection.local_id.clone();
                if level == DetailLevel::Listed {
                    self.as_listed.insert(id.clone());
                } else if self.as_listed.remove(&id) {
                    self.matches.remove(&id);
                }
                let (_, all) = self.matches.entry(id).or_insert((connection, Vec::new()));
                all.extend(targets);
            }
        }
    }

    /// Reads the details of connections of which only the list was read.
    async fn complete(&mut self, account: &LiveAccount, context: CallContext) {
        let mut bare: Vec<_> =
            self.as_listed.drain().filter_map(|id| self.matches.remove(&id)).collect();
        // Sorted, so that the order of calls is deterministic.
        bare.sort_unstable_by(|(one, _), (other, _)| one.local_id.cmp(&other.local_id));
        let connections = bare.iter().map(|(connection, _)| Arc::clone(connection)).collect();
        let mut targets: HashMap<SmolStr, Vec<usize>> =
            bare.into_iter().map(|(it, targets)| (it.local_id.clone(), targets)).collect();
        let detailed = account.complete(context, connections).await;
        detailed.failures.into_iter().for_each(|failure| self.failures.add(failure));
        for connection in detailed.connections {
            let id = connection.local_id.clone();
            let targets = targets.remove(&id).unwrap_or_default();
            self.matches.insert(id, (connection, targets));
        }
    }

    /// Numbers of the targets that were found.
    fn found(&self) -> HashSet<usize> {
        self.matches.values().flat_map(|(_, targets)| targets).copied().collect()
    }

    fn finish(self) -> AccountMatches {
        let found = self.found();
        let mut matches: Vec<_> = self.matches.into_values().collect();
        for (_, targets) in &mut matches {
            targets.sort_unstable();
            targets.dedup();
        }
        // Sorted by id as well: several connections may match the same target.
        matches.sort_unstable_by(|(one, these), (other, those)| {
            (these.first(), &one.local_id).cmp(&(those.first(), &other.local_id))
        });
        // By the API's contract, an account with any failure leaves all targets open that it didn't show.
        let is_unsure = |n: &usize| !found.contains(n) && !self.never_carried.contains(n);
        let targets = self.by_number.values().chain(self.by_name.values()).copied();
        let unsure =
            if self.failures.is_empty() { Vec::new() } else { targets.filter(is_unsure).collect() };
        AccountMatches { matches, unsure, failures: self.failures }
    }
}
