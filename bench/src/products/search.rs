//! Finding many cards over all accounts, in round trips.

use std::time::Duration;

use super::requester::{Expected, Requester, call};
use super::simulation::{OTHER_TOKEN, OWN_TOKEN, Platform, ROUND_TRIP, Simulation};
use super::{MIXED, milliseconds, warm};
use crate::failure::Failure;
use crate::result_line::ResultLine;
use crate::table::with_commas;

/// Cards in one request. Every second one exists.
const N_WANTED: usize = 1000;

/// Most round trips.
const GOAL: f64 = 2.0;

/// Finds many cards over all accounts: unknown ones, and the same ones again.
pub(super) fn measure(
    requester: &Requester,
    simulation: &Simulation,
    platforms: &[Platform],
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: {N_WANTED} cards");
    let n_there = N_WANTED / 2 / platforms.len();
    simulation.set_latency(Duration::ZERO)?;
    let iccids = |token| {
        let of_each = platforms.iter().map(|it| it.first_iccids(n_rounds * n_there, token));
        of_each.collect::<Result<Vec<_>, Failure>>()
    };
    // The others are another customer's cards at the same platforms.
    let (own, others) = (iccids(OWN_TOKEN)?, iccids(OTHER_TOKEN)?);
    simulation.set_latency(ROUND_TRIP)?;

    let mut client = requester.connect()?;
    warm(requester, &mut client, MIXED, 1..=1)?;
    let expected =
        Expected { status: 200, n_products: N_WANTED / 2, errors: &[(404, N_WANTED / 2)] };
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for round in 0..n_rounds {
        let of_round = round * n_there..(round + 1) * n_there;
        let both = own.iter().chain(&others);
        let wanted: Vec<&str> =
            both.flat_map(|it| &it[of_round.clone()]).map(String::as_str).collect();
        let request = requester.find(MIXED, &wanted);
        for times in [&mut cold, &mut warm] {
            let took = call(&mut client, &request, &expected)?;
            times.push((milliseconds(took), milliseconds(ROUND_TRIP)));
        }
    }
    let line = |how, rounds| {
        let n_wanted = with_commas(N_WANTED as u64);
        let what = format!("{n_wanted} cards, half of them there, in round trips: {how}");
        ResultLine::new(&what, "ms", rounds).at_most(GOAL)
    };
    Ok(vec![line("never seen", cold), line("seen before", warm)])
}
