//! Cases 4 and 5: pages of lists, against the first page of all accesses, and against the same page of a small store.

pub(crate) mod pages;

use crate::client;
use crate::failure::Failure;
use crate::fixture::Fixture;
use crate::options::RoundPlan;
use crate::result_line::ResultLine;
use crate::runner::{self, CheckedRequest, Runner, Sample};
use pages::Page;

/// Results of both cases.
pub(crate) struct Measured {
    /// Each page against the first one of all accesses, on the large store.
    pub(crate) against_first: Vec<ResultLine>,
    /// Each page on the large store against the same page on the small one.
    pub(crate) against_small: Vec<ResultLine>,
}

pub(crate) fn measure(
    large: &Fixture,
    small: &Fixture,
    plan: RoundPlan,
) -> Result<Measured, Failure> {
    let on_large = requests(large);
    let on_small = requests(small);
    let mut runners = Vec::new();
    for ((page, large_ask), (_, small_ask)) in on_large.iter().zip(&on_small) {
        let large = Runner::new(large, std::slice::from_ref(large_ask), 1)?;
        let small = Runner::new(small, std::slice::from_ref(small_ask), 1)?;
        runners.push((page, large, small));
    }
    let mut first = Runner::new(large, std::slice::from_ref(&on_large[0].1), 1)?;

    let RoundPlan { n_rounds, n_slices } = plan;
    let mut rounds = vec![(Vec::new(), Vec::new()); runners.len()];
    for round in 0..n_rounds {
        eprintln!("bench: pages of lists, round {} of {n_rounds}", round + 1);
        for ((_, large, small), rounds) in runners.iter_mut().zip(&mut rounds) {
            let [large, first, small] = runner::run_round([large, &mut first, small], n_slices)?;
            rounds.0.push((large, first));
            rounds.1.push((large, small));
        }
    }
    let mut measured = Measured { against_first: Vec::new(), against_small: Vec::new() };
    for ((page, ..), (against_first, against_small)) in runners.iter().zip(&rounds) {
        let what = format!("{}, {} page", page.list, page.page.as_str());
        measured.against_first.push(line(&what, against_first, page.goal));
        measured.against_small.push(line(&what, against_small, page.growth_goal));
    }
    Ok(measured)
}

fn line(what: &str, rounds: &[(Sample, Sample)], goal: Option<f64>) -> ResultLine {
    let line = ResultLine::of_cpu(what, rounds);
    match goal {
        Some(goal) => line.at_most(goal),
        None => line,
    }
}

/// Every page with its request. The first response is checked completely, the others quickly.
fn requests(fixture: &Fixture) -> Vec<(Page, CheckedRequest)> {
    let pages = pages::numbered(fixture.fleet).into_iter();
    let request_of = |page: Page| {
        let (expected, is_known) = (page.expected.clone(), std::cell::Cell::new(false));
        let request = client::get(&page.path, &fixture.token);
        let request_of = CheckedRequest::new(request, move |answer| {
            if is_known.replace(true) {
                expected.check(answer)
            } else {
                expected.check_closely(answer)
            }
        });
        (page, request_of)
    };
    pages.map(request_of).collect()
}
