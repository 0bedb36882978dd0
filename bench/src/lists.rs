//! Cases 4 and 5: pages of lists, against the first page of all accesses, and against the same page of a small store.

pub(crate) mod pages;

use crate::client;
use crate::failure::Failure;
use crate::line::Line;
use crate::options::RoundPlan;
use crate::stage::Stage;
use crate::turns::{self, Ask, Runner};
use pages::Page;

/// Most CPU of a page on the large store, as a multiple of that on the small one.
const GROWTH_GOAL: f64 = 1.5;

/// Results of both cases.
pub(crate) struct Measured {
    /// Each page against the first one of all accesses, on the large store.
    pub(crate) beside_first: Vec<Line>,
    /// Each page on the large store against the same page on the small one.
    pub(crate) beside_small: Vec<Line>,
}

/// Measures every page on both stores.
pub(crate) fn measure(
    large: &Stage,
    small: &Stage,
    course: RoundPlan,
) -> Result<Measured, Failure> {
    let on_large = asks(large);
    let on_small = asks(small);
    let mut runners = Vec::new();
    for ((page, large_ask), (_, small_ask)) in on_large.iter().zip(&on_small) {
        let large = Runner::new(large, std::slice::from_ref(large_ask), 1)?;
        let small = Runner::new(small, std::slice::from_ref(small_ask), 1)?;
        runners.push((page, large, small));
    }
    let mut first = Runner::new(large, std::slice::from_ref(&on_large[0].1), 1)?;

    let RoundPlan { n_rounds, n_slices } = course;
    let mut rounds = vec![(Vec::new(), Vec::new()); runners.len()];
    for round in 0..n_rounds {
        eprintln!("bench: pages of lists, round {} of {n_rounds}", round + 1);
        for ((_, large, small), rounds) in runners.iter_mut().zip(&mut rounds) {
            let [large, first, small] = turns::take([large, &mut first, small], n_slices)?;
            rounds.0.push((large, first));
            rounds.1.push((large, small));
        }
    }
    let mut measured = Measured { beside_first: Vec::new(), beside_small: Vec::new() };
    for ((page, ..), (beside_first, beside_small)) in runners.iter().zip(&rounds) {
        let what = format!("{}, {} page", page.list, page.page.as_str());
        let line = Line::of_cpu(&what, beside_first);
        measured.beside_first.push(match page.goal {
            Some(goal) => line.at_most(goal),
            None => line,
        });
        measured.beside_small.push(Line::of_cpu(&what, beside_small).at_most(GROWTH_GOAL));
    }
    Ok(measured)
}

/// Every page with its request. The first response is checked completely, the others quickly.
fn asks(stage: &Stage) -> Vec<(Page, Ask)> {
    let pages = pages::numbered(stage.fleet).into_iter();
    let ask = |page: Page| {
        let (expected, is_known) = (page.expected.clone(), std::cell::Cell::new(false));
        let request = client::get(&page.path, &stage.token);
        let ask = Ask::new(request, move |answer| {
            if is_known.replace(true) {
                expected.check(answer)
            } else {
                expected.check_closely(answer)
            }
        });
        (page, ask)
    };
    pages.map(ask).collect()
}
