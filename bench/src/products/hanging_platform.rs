//! One platform hangs: duration of a page at first, and once the circuit breaker is open.

use std::time::Duration;

use super::requester::{Expected, Requester, call};
use super::simulation::Platform;
use super::{MIXED, N_ACCOUNTS, N_PAGES, PAGE_SIZE, milliseconds, one_page_time, page, warm};
use crate::client::Client;
use crate::failure::Failure;
use crate::quantiles::median;
use crate::result_line::ResultLine;

/// The server's default deadline for platforms.
const DEADLINE: Duration = Duration::from_secs(10);

/// Longest duration of a page, as a multiple of the deadline.
const GOAL_DEADLINE: f64 = 1.05;

/// Longest duration of a page with an open circuit breaker, as a multiple of that with all platforms up.
const GOAL_WITHOUT_ONE: f64 = 1.15;

/// Failed calls that open the circuit breaker.
const N_FAILURES: u64 = 5;

/// Distance between pages that need separate calls to a platform: adjacent pages share calls.
const PAGES_APART: u64 = 10;

/// Most rounds: each takes twenty seconds.
const ROUNDS_MAX: usize = 3;

/// Pages while one platform hangs: at first, and once the circuit breaker is open.
pub(super) fn measure(
    requester: &Requester,
    platforms: &[Platform],
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    let n_rounds = n_rounds.min(ROUNDS_MAX);
    let Some(hanging_platform) = platforms.first() else { return Ok(Vec::new()) };
    let mut client = requester.connect()?;
    let (mut first, mut left_alone) = (Vec::new(), Vec::new());
    let n_products = PAGE_SIZE - PAGE_SIZE / N_ACCOUNTS;
    let late = Expected { status: 206, n_products, errors: &[(504, 1)] };
    let shut = Expected { errors: &[(503, 1)], ..late };
    for round in 0..n_rounds {
        eprintln!("bench: a platform hangs, round {} of {n_rounds}", round + 1);
        warm(requester, &mut client, MIXED, 1..=N_PAGES)?;
        let all_up = one_page_time(requester, &mut client, MIXED)?;

        hanging_platform.behave(r#"{"fault": "hang"}"#)?;
        let requests: Vec<_> =
            (0..N_FAILURES).map(|n| requester.page(&page(MIXED, 1 + n * PAGES_APART))).collect();
        let clients = (0..N_FAILURES).map(|_| requester.connect()).collect::<Result<Vec<_>, _>>();
        let (_, times) = requester.pages_at_once(&mut clients?, &requests, &late)?;
        let times = times.into_iter().map(|it| it.as_secs_f64()).collect();
        first.push((median(times), DEADLINE.as_secs_f64()));

        let pages = (1..=N_PAGES).map(|number| {
            let request = requester.page(&page(MIXED, number));
            call(&mut client, &request, &shut).map(milliseconds)
        });
        left_alone.push((median(pages.collect::<Result<_, _>>()?), all_up));

        hanging_platform.behave(r#"{"fault": "none"}"#)?;
        wait_until_up(requester, &mut client)?;
    }
    Ok(vec![
        ResultLine::new("a page while one hangs, beside the deadline", "s", first)
            .at_most(GOAL_DEADLINE),
        ResultLine::new("a page once it is left alone, beside one with all up", "ms", left_alone)
            .at_most(GOAL_WITHOUT_ONE),
    ])
}

/// Requests pages until the server has tried the platform again. Each page takes a while, which limits the rate.
fn wait_until_up(requester: &Requester, client: &mut Client) -> Result<(), Failure> {
    const N_TRIES_MAX: u32 = 2000;
    let request = requester.page(&page(MIXED, 1));
    for _ in 0..N_TRIES_MAX {
        match call(client, &request, &page(MIXED, 1).full()) {
            Ok(_) => return Ok(()),
            Err(Failure::WrongAnswer(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Err(Failure::WrongAnswer("a platform that is up again is not asked again".to_owned()))
}
