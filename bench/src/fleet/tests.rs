use std::collections::{HashMap, HashSet};

use super::*;

const FLEET: Fleet = Fleet { n_accesses: 20_000, latest_at: 1_800_000_000_000 };

#[test]
fn running_numbers_have_no_gaps_in_any_set() {
    let mut last: HashMap<String, u64> = HashMap::new();
    let mut follows = |set: String, number: u64| {
        let last = last.entry(set.clone()).or_default();
        assert_eq!(number, *last + 1, "{set}");
        *last = number;
    };
    for access in FLEET.accesses() {
        follows("tenant".into(), access.number);
        follows(access.offering_id().into(), access.offering_number);
        follows(access.contract_id().into(), access.contract_number);
        if let Some(made_by) = access.made_by {
            follows(format!("job {}", made_by.job), made_by.job_number);
        }
    }
    let full_pages = last.values().all(|total| total.is_multiple_of(100));
    assert!(full_pages, "{last:?}");
}

#[test]
fn a_job_has_a_thousand_accesses_of_one_contract() {
    let mut jobs: HashMap<u64, Vec<usize>> = HashMap::new();
    for access in FLEET.accesses() {
        if let Some(made_by) = access.made_by {
            jobs.entry(made_by.job).or_default().push(access.contract);
        }
    }
    assert_eq!(jobs.len() as u64, FLEET.n_jobs());
    for (job, contracts) in jobs {
        assert_eq!(contracts.len(), 1000, "job {job}");
        assert!(contracts.iter().all(|contract| *contract == contracts[0]), "job {job}");
    }
}

#[test]
fn single_accesses_of_a_contract_are_scattered() {
    let singles = FLEET.accesses().filter(|access| access.made_by.is_none());
    let numbers: Vec<u64> =
        singles.filter(|access| access.contract == 3).map(|access| access.number).collect();
    assert_eq!(numbers.len() as u64, FLEET.n_accesses / 20);
    let near = numbers.windows(2).filter(|pair| pair[1] - pair[0] < 3).count();
    assert!(near < numbers.len() / 10, "{near} of {} lie close together", numbers.len());
}

#[test]
fn one_of_twenty_is_suspended_at_any_place_among_them() {
    let suspended: Vec<u64> =
        FLEET.accesses().filter(|it| it.is_suspended).map(|it| it.number - 1).collect();
    let twenties = suspended.iter().map(|n| n / 20);
    assert!(twenties.eq(0..FLEET.n_accesses / 20));
    let places: HashSet<u64> = suspended.iter().map(|n| n % 20).collect();
    assert_eq!(places.len(), 20);
    assert_eq!(FLEET.active().count() as u64, FLEET.n_active());
}

#[test]
fn only_ends_are_in_the_future() {
    let mut before = 0;
    for access in FLEET.accesses() {
        assert!(access.created_at > before && access.created_at <= FLEET.latest_at);
        before = access.created_at;
        assert_eq!(access.end_at.is_some(), access.number % 10 == 0);
        assert!(access.end_at.is_none_or(|end_at| end_at >= FLEET.latest_at + NO_END_BEFORE_MS));
    }
    assert_eq!(before, FLEET.latest_at);
}

#[test]
fn names_have_the_servers_form_and_are_unique() {
    let mut seen = HashSet::new();
    for access in FLEET.accesses() {
        let username = access.username();
        assert_eq!(username.len(), "u-x4qdsxeskppctukm".len());
        assert!(seen.insert(username));
        assert!(seen.insert(access.id().to_string()));
    }
    let first = FLEET.accesses().next().unwrap();
    assert_eq!(first.id().get_version_num(), 7);
    assert_eq!(first.password_hash().len(), "hmac-sha256$1a2b3c4d$".len() + 43);
    let shared = FLEET.accesses().filter(Access::is_shared_name);
    assert_eq!(shared.count() as u64, FLEET.n_jobs());
}
