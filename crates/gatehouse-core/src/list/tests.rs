//! Compares the planner with a check of every access, over random populations and filters.

use super::*;
use crate::access::Status;
use crate::filter::Expression;
use crate::filter::access::FILTER_FIELDS;
use crate::ids::AccessId;
use crate::label::Labels;
use crate::list::selection::{PositionLookUp, RunSelection};
use proptest::prelude::*;

/// One of the two jobs of a contract.
fn job(contract: usize, n: usize) -> TaskId {
    TaskId::from_bytes([contract as u8 * 2 + n as u8 + 1; 16])
}

/// A population: for each access its contract (of four, in two offerings), its job, and the time since the one before
/// it. Three accesses have each username.
fn populate(seeds: &[(usize, Option<usize>, i64)]) -> Vec<Access> {
    let mut at = 1000;
    let access = |(n, (contract, made_by, later)): (usize, &(usize, Option<usize>, i64))| {
        at += later;
        let created_at = Timestamp::from_millisecond(at).unwrap();
        Access {
            id: AccessId::new(n as u64, &[0; 10]),
            contract_id: format!("c{contract}").parse().unwrap(),
            offering_id: format!("o{}", contract / 2).parse().unwrap(),
            username: format!("u{}", n / 3).parse().unwrap(),
            device_name: (n % 3 == 0).then(|| format!("u{}", n / 2).parse().unwrap()),
            status: Status::Active,
            start: created_at,
            end: None,
            created_by: made_by.map(|n| job(*contract, n)),
            created_at,
            first_connected_at: None,
            termination: None,
            version: 1,
            labels: Labels::NONE,
        }
    };
    seeds.iter().enumerate().map(access).collect()
}

fn is_in(set: &NumberedSet, access: &Access) -> bool {
    sets_of(access).contains(set)
}

/// The store's answers.
fn answer(questions: &PlanQuestions, population: &[Access]) -> PlanAnswers {
    let of = |set: &NumberedSet| {
        population.iter().filter(|access| is_in(set, access)).collect::<Vec<_>>()
    };
    let mut answers = PlanAnswers::default();
    for set in &questions.sizes {
        let found = of(set);
        let latest_at = found.last().map_or(Timestamp::EPOCH, |access| access.created_at);
        answers.sizes.insert(set.clone(), SetSize { total: found.len() as u64, latest_at });
    }
    for set in &questions.firsts {
        answers.firsts.extend(of(set).first().map(|first| (set.clone(), (*first).clone())));
    }
    for (n, access) in population.iter().enumerate() {
        if questions.usernames.contains(&access.username) {
            let none = || UsernameHolders::Few(Vec::new());
            let holders = answers.by_username.entry(access.username.clone()).or_insert_with(none);
            match holders {
                UsernameHolders::Few(few) if few.len() < HOLDERS_MAX => {
                    few.push((n as u64 + 1, access.clone()));
                }
                _ => *holders = UsernameHolders::Many,
            }
        }
    }
    answers
}

fn find_runs(terms: &[Term], population: &[Access]) -> Vec<NumberRun> {
    let mut pieces = Vec::new();
    for (scope, spans) in disjoint(terms) {
        match scope {
            TermScope::One(number) => {
                pieces.push((NumberedSet::Tenant, Interval { after: number - 1, to: number }));
            }
            TermScope::Set(set) => pieces.extend(spans.iter().map(|span| {
                let rank = |at: i64| {
                    let members = members(&set, population);
                    let before = |it: &&(u64, &Access)| it.1.created_at.as_millisecond() < at;
                    members.iter().filter(before).count() as u64
                };
                (set.clone(), Interval { after: rank(span.from), to: rank(span.until) })
            })),
        }
    }
    runs(pieces)
}

fn members<'p>(set: &NumberedSet, population: &'p [Access]) -> Vec<(u64, &'p Access)> {
    (1..).zip(population).filter(|(_, access)| is_in(set, access)).collect()
}

/// The numbers on the page after the first `offset`, by the runs.
fn page(runs: &[NumberRun], offset: u64, size: u64, population: &[Access]) -> Vec<u64> {
    let bounds: Vec<Interval> =
        runs.iter().map(|run| Interval { after: 0, to: run.len() }).collect();
    let number = |run: usize, position: u64| {
        let slice = runs[run].slice(Interval { after: position - 1, to: position });
        members(&runs[run].set, population)[slice[0].after as usize].0
    };
    let mut numbers = Vec::new();
    let mut counts = Vec::new();
    for n in [offset, offset + size] {
        let mut selection = RunSelection::new(&bounds, n);
        while let Some(PositionLookUp { run, positions }) = selection.look_ups(1).into_iter().next()
        {
            selection.learn(run, positions.into_iter().map(|it| (it, number(run, it))));
        }
        counts.push(selection.counts());
    }
    for (run, (after, to)) in counts[0].iter().zip(&counts[1]).enumerate() {
        numbers.extend((after + 1..=*to).map(|position| number(run, position)));
    }
    numbers.sort_unstable();
    numbers
}

fn any_query() -> impl Strategy<Value = String> {
    let condition = prop_oneof![
        (0..5).prop_map(|n| format!("contractId=c{n}")),
        (0..3).prop_map(|n| format!("productOfferingId=o{n}")),
        (0..4_usize, 0..2_usize)
            .prop_map(|(contract, n)| format!("createdBy={}", job(contract, n))),
        (0..30).prop_map(|n| format!("username=u{n}")),
        (1000..1060_i64, prop::sample::select(vec!["%3E=", "%3C=", "="])).prop_map(
            |(at, operator)| {
                format!("createdAt{operator}{}", Timestamp::from_millisecond(at).unwrap())
            }
        ),
    ];
    let alternative = prop::collection::vec(condition, 1..4);
    prop::collection::vec(alternative, 1..6).prop_map(|alternatives| {
        alternatives.iter().map(|it| it.join("&")).collect::<Vec<_>>().join(";")
    })
}

fn any_population() -> impl Strategy<Value = Vec<Access>> {
    let seed = (0..4_usize, prop::option::of(0..2_usize), 0..3_i64);
    prop::collection::vec(seed, 0..60).prop_map(|seeds| populate(&seeds))
}

fn read(query: &str) -> AccessFilter {
    AccessFilter::read(&Expression::parse(query, &FILTER_FIELDS)).unwrap()
}

proptest! {
    #[test]
    fn intervals_have_exactly_the_accesses_that_pass(population in any_population(), query in any_query()) {
        let filter = read(&query);
        let answers = answer(&questions(&filter), &population);
        let terms = terms(&filter, &answers);
        prop_assert!(is_numbered(&terms));
        let runs = find_runs(&terms, &population);
        let numbered = (1..).zip(&population);
        let expected: Vec<u64> =
            numbered.filter(|(_, it)| filter.passes(it)).map(|(number, _)| number).collect();
        prop_assert_eq!(runs.iter().map(NumberRun::len).sum::<u64>(), expected.len() as u64);
        for offset in 0..=expected.len() {
            let found = page(&runs, offset as u64, 7, &population);
            let expected = &expected[offset..expected.len().min(offset + 7)];
            prop_assert_eq!(&found, expected, "{} after {}", query, offset);
        }
    }
}

#[test]
fn the_planner_asks_only_for_facts_that_matter() {
    let asked = |query: &str| {
        let questions = questions(&read(query));
        (questions.sizes.len() - 1, questions.firsts.len(), questions.usernames.len())
    };
    #[rustfmt::skip]
    let cases = [
        // query                                       // sets, firsts, usernames
        ("",                                           (0, 0, 0)),
        ("contractId=A",                               (1, 0, 0)),
        ("contractId=A;contractId=B",                  (2, 0, 0)),
        ("contractId=A&productOfferingId=B",           (1, 1, 0)),
        ("contractId=A;productOfferingId=B",           (2, 2, 0)),
        ("contractId=A;createdAt%3E=2026-01-01",       (1, 0, 0)),
        ("username=A",                                 (0, 0, 1)),
        ("username=A&contractId=B",                    (1, 0, 1)),
        ("name=A",                                     (0, 0, 1)),
        ("name=A%0AB",                                 (0, 0, 0)),
        ("name=A:B",                                   (0, 0, 1)),
        ("contractId=A&contractId=B",                  (0, 0, 0)),
    ];
    for (query, expected) in cases {
        assert_eq!(asked(query), expected, "{query}");
    }
}

#[test]
fn only_names_starts_and_ends_are_checked_row_by_row() {
    let population = populate(&[(0, Some(0), 1), (0, None, 1), (1, None, 1), (2, None, 1)]);
    #[rustfmt::skip]
    let cases = [
        ("",                                           true),
        ("contractId=c0&createdAt%3E=2020-01-01",      true),
        ("contractId=c0;productOfferingId=o1",         true),
        ("username=u0&name=u0&startDateTime=1970-01-01T00:00:01.002Z", true),
        ("username=u1&endDateTime%3E=2020-01-01",      true),
        ("username=u1;username=u0&contractId=c0",      true),
        ("name=u1",                                    false),
        ("startDateTime%3E=1970-01-01",                false),
        ("contractId=c0&endDateTime%3C2020-01-01",     false),
        ("contractId=c0;name=u1",                      false),
        ("contractId=c9&name=u1",                      true), // nothing is there to look at
    ];
    for (query, is_by_number) in cases {
        let filter = read(query);
        let terms = terms(&filter, &answer(&questions(&filter), &population));
        assert_eq!(is_numbered(&terms), is_by_number, "{query}");
    }
}

#[test]
fn a_username_of_very_many_accesses_is_checked_row_by_row() {
    let mut population = populate(&[(0, None, 1); HOLDERS_MAX + 1]);
    for (n, access) in population.iter_mut().enumerate() {
        access.username = "mac".parse().unwrap();
        access.device_name = (n % 2 == 0).then(|| "pump".parse().unwrap());
    }
    let named = |name: &str| DeviceNameCondition::Named(name.parse().unwrap());
    #[rustfmt::skip]
    let cases = [
        // query                        // username, device
        ("username=mac",                vec![(true, DeviceNameCondition::Any)]),
        ("username=mac&contractId=c0",  vec![(true, DeviceNameCondition::Any)]),
        ("username=mac&contractId=c1",  vec![]),
        ("username=mac&name=pump",      vec![(true, named("pump"))]),
        ("username=mac&name=mac",       vec![(true, DeviceNameCondition::Unnamed), (true, named("mac"))]),
        ("name=mac",                    vec![(true, DeviceNameCondition::Unnamed), (false, named("mac"))]),
        ("name=pump",                   vec![(false, named("pump"))]),
    ];
    for (query, expected) in cases {
        let filter = read(query);
        let terms = terms(&filter, &answer(&questions(&filter), &population));
        let rests = terms.into_iter().map(|it| (it.rest.username.is_some(), it.rest.device));
        assert_eq!(rests.collect::<Vec<_>>(), expected, "{query}");
    }
}
