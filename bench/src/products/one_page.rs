//! One page over all accounts, beside the slowest of them.

use super::asking::Asker;
use super::simulation::{OWN_TOKEN, Platform};
use super::{MIXED, N_ACCOUNTS, SHARE, milliseconds, page_time, warm};
use crate::client::Client;
use crate::failure::Failure;
use crate::line::Line;
use crate::quantiles::median;

/// How many times longer a page may take than the slowest account alone.
const GOAL: f64 = 1.1;

/// A page of all accounts, in turns with every account alone, asked directly.
pub(super) fn measure(
    asker: &Asker,
    platforms: &[Platform],
    n_rounds: usize,
) -> Result<Line, Failure> {
    eprintln!("bench: a page beside each account alone");
    let mut client = asker.connect()?;
    let direct = platforms.iter().map(|it| {
        Ok::<_, Failure>((Client::connect(&it.address)?, it.first_page(SHARE, OWN_TOKEN)))
    });
    let mut direct = direct.collect::<Result<Vec<_>, _>>()?;
    let (mut pages, mut alone) = (Vec::new(), vec![Vec::new(); platforms.len()]);
    warm(asker, &mut client, MIXED, 1..=N_ACCOUNTS as u64)?;
    for _ in 0..n_rounds {
        let mut of_round = Vec::new();
        for (n, (direct, request)) in direct.iter_mut().enumerate() {
            of_round.push(page_time(asker, &mut client, MIXED, n as u64 + 1)?);
            alone[n].push(milliseconds(direct.ask(request)?.latency));
        }
        pages.push(median(of_round));
    }
    // The account that is slowest over all rounds, not whichever was disturbed most in one.
    let slowest = alone
        .into_iter()
        .max_by(|one, other| f64::total_cmp(&median(one.clone()), &median(other.clone())));
    let rounds = pages.into_iter().zip(slowest.unwrap_or_default()).collect();
    Ok(Line::new("a page, beside the slowest account alone", "ms", rounds).at_most(GOAL))
}
