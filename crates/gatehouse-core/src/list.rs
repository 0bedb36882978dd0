//! Lists as intervals: reduces a filter to ranges of running numbers.
//!
//! Accesses are never deleted, and the values that equality filters compare never change. Every access has a gapless
//! running number in each set that it belongs to:
//!
//! ```text
//!   tenant  ⊃  offering  ⊃  contract  ⊃  job  ∋  access
//! ```
//!
//! So equalities reduce to the narrowest set that they name, or to nothing when they contradict each other. The set's
//! size is the exact total, and any page is an interval. Creation times rise with the numbers, so a time span is an
//! interval as well. Two sets are nested or disjoint, so alternatives become disjoint once each set leaves out what its
//! enclosing sets have already. Totals then add up, and [`crate::list::selection`] finds any page among several runs.
//!
//! At most one access that isn't terminated has a username, and any number of terminated ones: each is a run of its
//! own, as long as they are few.
//!
//! Status and labels change, so the accesses that have one are a counted set ([`crate::counted_set`]). A device's name, a
//! username of very many accesses, and the start and end of the active period have no running numbers: for these the
//! store counts rows.

pub mod request;
pub mod search;
pub mod selection;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::access::{Access, Status};
use crate::filter::access::{AccessFilter, Alternative};
use crate::ids::{ContractId, DeviceName, OfferingId, TaskId, Username};
use crate::label::RequiredLabels;
use crate::time::Timestamp;
use crate::time::span::{self, TimeSpan};

/// A set of accesses with running numbers. Wider sets come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumberedSet {
    /// All accesses of the tenant.
    Tenant,
    /// The accesses of an offering.
    Offering(OfferingId),
    /// The accesses of a contract.
    Contract(ContractId),
    /// The accesses that a job created.
    Job(TaskId),
}

/// The sets that an access belongs to.
pub fn sets_of(access: &Access) -> Vec<NumberedSet> {
    let mut sets = vec![
        NumberedSet::Tenant,
        NumberedSet::Offering(access.offering_id.clone()),
        NumberedSet::Contract(access.contract_id.clone()),
    ];
    sets.extend(access.created_by.map(NumberedSet::Job));
    sets
}

/// Number of accesses in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSize {
    /// The last number that was assigned.
    pub total: u64,
    /// Time of the last assignment.
    pub latest_at: Timestamp,
}

/// How a list was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPath {
    /// One interval of running numbers.
    Interval,
    /// Intervals of several sets, merged.
    Merged,
    /// Counted sets.
    Sets,
    /// A scan of rows.
    Counted,
}

/// Facts that the planner needs about a filter.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PlanQuestions {
    /// Sets whose sizes are needed, all at one moment. The tenant's is always among them.
    pub sizes: BTreeSet<NumberedSet>,
    /// Sets whose first access is needed.
    pub firsts: BTreeSet<NumberedSet>,
    /// Usernames whose accesses are needed.
    pub usernames: BTreeSet<Username>,
}

/// Facts that the store has found.
#[derive(Debug, Default)]
pub struct PlanAnswers {
    /// Sizes of sets; a set without a counter is absent.
    pub sizes: HashMap<NumberedSet, SetSize>,
    /// The first accesses of sets.
    pub firsts: HashMap<NumberedSet, Access>,
    /// Accesses by username.
    pub by_username: HashMap<Username, UsernameHolders>,
}

/// Most accesses of one username that the planner looks at.
pub const HOLDERS_MAX: usize = 100;

/// The accesses with a username: at most one that isn't terminated, and any number that are.
#[derive(Debug)]
pub enum UsernameHolders {
    /// All of them, with their numbers in the tenant.
    Few(Vec<(u64, Access)>),
    /// More than [`HOLDERS_MAX`].
    Many,
}

/// Accesses that one alternative selects by running number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermScope {
    /// The accesses of a set.
    Set(NumberedSet),
    /// One access, by its number in the tenant.
    One(u64),
}

/// One alternative, reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The accesses that running numbers select.
    pub scope: TermScope,
    /// Sets known to contain every access of `scope`.
    pub enclosing_sets: Vec<NumberedSet>,
    /// Creation time.
    pub created: TimeSpan,
    /// Conditions that only the rows can tell.
    pub rest: RowConditions,
}

/// Conditions that are checked row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowConditions {
    /// The username.
    pub username: Option<Username>,
    /// The device's name.
    pub device: DeviceNameCondition,
    /// Status at present.
    pub status: Option<Status>,
    /// Labels at present.
    pub labels: RequiredLabels,
    /// Start of the active period.
    pub start: TimeSpan,
    /// End of the active period; `None` also admits accesses without an end.
    pub end: Option<TimeSpan>,
}

impl RowConditions {
    /// No condition.
    pub const NONE: Self = Self {
        username: None,
        device: DeviceNameCondition::Any,
        status: None,
        labels: RequiredLabels::new(),
        start: TimeSpan::ALWAYS,
        end: None,
    };
}

/// Condition on a device's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceNameCondition {
    /// The device may have any name, or none.
    Any,
    /// The device has this name.
    Named(DeviceName),
    /// The device has no name.
    Unnamed,
}

impl From<Option<DeviceName>> for DeviceNameCondition {
    fn from(name: Option<DeviceName>) -> Self {
        name.map_or(Self::Any, Self::Named)
    }
}

/// The facts that the planner needs about this filter.
pub fn questions(filter: &AccessFilter) -> PlanQuestions {
    let alternatives = filter.alternatives();
    let mut questions = PlanQuestions {
        sizes: alternatives.iter().map(narrowest).chain([NumberedSet::Tenant]).collect(),
        firsts: alternatives.iter().filter(|it| names(it) > 1).map(narrowest).collect(),
        usernames: alternatives.iter().filter_map(username).collect(),
    };
    let narrow = questions.sizes.iter().filter(|set| **set != NumberedSet::Tenant);
    let kinds: HashSet<_> = narrow.clone().map(std::mem::discriminant).collect();
    if kinds.len() > 1 {
        // One of them may be a subset of another.
        questions.firsts = narrow.cloned().collect();
    }
    questions
}

/// The username that selects most. An access without a device name is named after its username.
fn username(alternative: &Alternative) -> Option<Username> {
    let named = || alternative.name.as_ref().and_then(|name| name.as_str().parse().ok());
    alternative.username.clone().or_else(named)
}

fn narrowest(alternative: &Alternative) -> NumberedSet {
    let Alternative { job, contract, offering, .. } = alternative;
    job.map(NumberedSet::Job)
        .or_else(|| contract.clone().map(NumberedSet::Contract))
        .or_else(|| offering.clone().map(NumberedSet::Offering))
        .unwrap_or(NumberedSet::Tenant)
}

/// Number of sets that an alternative names.
fn names(alternative: &Alternative) -> usize {
    let Alternative { job, contract, offering, .. } = alternative;
    [job.is_some(), contract.is_some(), offering.is_some()].into_iter().filter(|it| *it).count()
}

/// Reduces a filter to terms. Alternatives that no access can pass are left out.
pub fn terms(filter: &AccessFilter, answers: &PlanAnswers) -> Vec<Term> {
    let mut terms = Vec::new();
    for alternative in filter.alternatives() {
        let username = username(alternative);
        match username.as_ref().and_then(|username| answers.by_username.get(username)) {
            Some(UsernameHolders::Few(few)) => {
                terms.extend(
                    few.iter().filter_map(|(number, it)| one(alternative, *number, it, answers)),
                );
            }
            Some(UsernameHolders::Many) => terms.extend(many(alternative, username, answers)),
            None => {}
        }
        if alternative.username.is_none() {
            let device = alternative.name.clone().into();
            terms.extend(all_of_set(alternative, None, device, answers));
        }
    }
    terms
}

/// Terms of an alternative whose username very many accesses have.
fn many(alternative: &Alternative, username: Option<Username>, answers: &PlanAnswers) -> Vec<Term> {
    let name = alternative.name.as_ref();
    // An access without a device name is named after its username.
    let unnamed =
        name.filter(|name| username.as_ref().is_some_and(|it| it.as_str() == name.as_str()));
    let unnamed = unnamed.map(|_| DeviceNameCondition::Unnamed);
    // Without a username in the alternative, the accesses with the device name are in another term.
    let named = alternative.username.is_some().then(|| DeviceNameCondition::from(name.cloned()));
    let devices = unnamed.into_iter().chain(named);
    devices.filter_map(|it| all_of_set(alternative, username.clone(), it, answers)).collect()
}

fn one(
    alternative: &Alternative,
    number: u64,
    access: &Access,
    answers: &PlanAnswers,
) -> Option<Term> {
    // An access created after the sets were counted is not in them yet.
    let is_counted =
        answers.sizes.get(&NumberedSet::Tenant).is_some_and(|size| number <= size.total);
    // An access with a device name is found by that name.
    let is_found = alternative.username.is_some() || access.device_name.is_none();
    // Status and labels change, so they are conditions of the term.
    let lasting =
        Alternative { status: None, labels: RequiredLabels::new(), ..alternative.clone() };
    (is_counted && is_found && lasting.passes(access)).then(|| Term {
        scope: TermScope::One(number),
        enclosing_sets: sets_of(access),
        created: TimeSpan {
            from: access.created_at.as_millisecond(),
            until: access.created_at.as_millisecond() + 1,
        },
        rest: RowConditions {
            status: alternative.status,
            labels: alternative.labels.clone(),
            ..RowConditions::NONE
        },
    })
}

fn all_of_set(
    alternative: &Alternative,
    username: Option<Username>,
    device: DeviceNameCondition,
    answers: &PlanAnswers,
) -> Option<Term> {
    let set = narrowest(alternative);
    answers.sizes.get(&set).filter(|size| size.total > 0)?;
    let first = answers.firsts.get(&set);
    if let Some(first) = first {
        let named = Alternative {
            offering: alternative.offering.clone(),
            contract: alternative.contract.clone(),
            job: alternative.job,
            ..Alternative::ANY
        };
        // All of a set's accesses belong to the same wider sets, so its first access stands for all.
        named.passes(first).then_some(())?;
    }
    let mut enclosing_sets = first.map(sets_of).unwrap_or_else(|| vec![NumberedSet::Tenant]);
    enclosing_sets.retain(|wider| *wider < set);
    Some(Term {
        enclosing_sets,
        created: alternative.created,
        rest: RowConditions {
            username,
            device,
            status: alternative.status,
            labels: alternative.labels.clone(),
            start: alternative.start,
            end: alternative.end,
        },
        scope: TermScope::Set(set),
    })
}

/// Whether running numbers decide these terms completely.
pub fn is_numbered(terms: &[Term]) -> bool {
    terms.iter().all(|term| term.rest == RowConditions::NONE)
}

/// Whether sets of numbers are the best way to combine these terms. A single term by name or username is found
/// as fast among the rows; alternatives are not, because all their accesses would be gathered.
pub fn are_sets_best(terms: &[Term]) -> bool {
    let is_of_rows =
        |rest: &RowConditions| rest.username.is_some() || rest.device != DeviceNameCondition::Any;
    match terms {
        [only] => !is_of_rows(&only.rest),
        _ => true,
    }
}

impl RowConditions {
    /// Whether counted sets decide all conditions.
    pub fn is_of_sets(&self) -> bool {
        let Self { username, device, status: _, labels: _, start, end } = self;
        username.is_none()
            && *device == DeviceNameCondition::Any
            && *start == TimeSpan::ALWAYS
            && end.is_none()
    }
}

/// Makes terms disjoint: for each scope, the spans of creation time that no enclosing set has.
pub fn disjoint(terms: &[Term]) -> Vec<(TermScope, Vec<TimeSpan>)> {
    let mut spans: BTreeMap<&TermScope, Vec<TimeSpan>> = BTreeMap::new();
    let mut enclosing_sets: BTreeMap<&TermScope, &[NumberedSet]> = BTreeMap::new();
    for term in terms {
        spans.entry(&term.scope).or_default().push(term.created);
        enclosing_sets.insert(&term.scope, &term.enclosing_sets);
    }
    let spans: BTreeMap<&TermScope, Vec<TimeSpan>> =
        spans.into_iter().map(|(scope, spans)| (scope, span::union(spans))).collect();
    let mut disjoint = Vec::new();
    for (scope, own) in &spans {
        let held =
            enclosing_sets[scope].iter().filter_map(|set| spans.get(&TermScope::Set(set.clone())));
        let held = span::union(held.flatten().copied().collect());
        let left = span::without(own, &held);
        if !left.is_empty() {
            disjoint.push(((*scope).clone(), left));
        }
    }
    disjoint
}

/// Accesses of one set, in order: intervals of its running numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberRun {
    /// The set of the running numbers.
    pub set: NumberedSet,
    /// The intervals, in order and without overlaps.
    pub intervals: Vec<Interval>,
}

/// Groups disjoint parts of sets: one run per set.
pub fn runs(parts: Vec<(NumberedSet, Interval)>) -> Vec<NumberRun> {
    let mut by_set: BTreeMap<NumberedSet, Vec<Interval>> = BTreeMap::new();
    for (set, interval) in parts.into_iter().filter(|(_, interval)| !interval.is_empty()) {
        by_set.entry(set).or_default().push(interval);
    }
    let run = |(set, mut intervals): (NumberedSet, Vec<Interval>)| {
        intervals.sort_unstable_by_key(|interval| interval.after);
        NumberRun { set, intervals }
    };
    by_set.into_iter().map(run).collect()
}

/// The running numbers from `after + 1` to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The number before the first.
    pub after: u64,
    /// The last number.
    pub to: u64,
}

impl Interval {
    /// Count of numbers.
    pub fn len(self) -> u64 {
        self.to.saturating_sub(self.after)
    }

    /// Whether the interval has no numbers.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl NumberRun {
    /// Number of accesses in the run.
    pub fn len(&self) -> u64 {
        self.intervals.iter().map(|interval| interval.len()).sum()
    }

    /// Whether the run has no accesses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The running number at this position of the run, counted from one.
    pub fn number_at(&self, position: u64) -> Option<u64> {
        let one = Interval { after: position.checked_sub(1)?, to: position };
        self.slice(one).first().map(|slice| slice.to)
    }

    /// The running numbers at these positions of the run.
    pub fn slice(&self, positions: Interval) -> Vec<Interval> {
        let mut slices = Vec::new();
        let mut passed = 0;
        for interval in &self.intervals {
            let local = |position: u64| {
                interval.after + position.saturating_sub(passed).min(interval.len())
            };
            let slice = Interval { after: local(positions.after), to: local(positions.to) };
            if !slice.is_empty() {
                slices.push(slice);
            }
            passed += interval.len();
        }
        slices
    }
}

#[cfg(test)]
mod tests;
