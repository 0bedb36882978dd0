//! One page of all accounts, against the slowest of them.

use super::requester::Requester;
use super::simulation::{OWN_TOKEN, Platform};
use super::{MIXED, N_ACCOUNTS, SHARE, milliseconds, page_time, warm};
use crate::client::Client;
use crate::failure::Failure;
use crate::quantiles::median;
use crate::result_line::ResultLine;

/// Longest duration of a page, as a multiple of the slowest account's.
const GOAL: f64 = 1.1;

/// A page of all accounts, alternating with direct calls to every account.
pub(super) fn measure(
    requester: &Requester,
    platforms: &[Platform],
    n_rounds: usize,
) -> Result<ResultLine, Failure> {
    eprintln!("bench: a page, and each account alone");
    let mut client = requester.connect()?;
    let direct = platforms.iter().map(|it| {
        Ok::<_, Failure>((Client::connect(&it.address)?, it.first_page(SHARE, OWN_TOKEN)))
    });
    let mut direct = direct.collect::<Result<Vec<_>, _>>()?;
    let (mut pages, mut alone) = (Vec::new(), vec![Vec::new(); platforms.len()]);
    warm(requester, &mut client, MIXED, 1..=N_ACCOUNTS as u64)?;
    for _ in 0..n_rounds {
        let mut of_round = Vec::new();
        for (n, (direct, request)) in direct.iter_mut().enumerate() {
            of_round.push(page_time(requester, &mut client, MIXED, n as u64 + 1)?);
            alone[n].push(milliseconds(direct.call(request)?.latency));
        }
        pages.push(median(of_round));
    }
    // The account that is slowest over all rounds, not the one with the worst single round.
    let slowest = alone
        .into_iter()
        .max_by(|one, other| f64::total_cmp(&median(one.clone()), &median(other.clone())));
    let rounds = pages.into_iter().zip(slowest.unwrap_or_default()).collect();
    Ok(ResultLine::new("a page, beside the slowest account alone", "ms", rounds).at_most(GOAL))
}
