//! CPU of the server per product.

use super::requester::{Page, Requester, call};
use super::{MIXED, PAGE_SIZE, used_by};
use crate::failure::Failure;
use crate::result_line::ResultLine;
use crate::server::Server;

/// Most CPU of a product, in microseconds.
const GOAL_US: f64 = 20.0;

/// Products on a large page, and pages in a round.
const PAGE_SIZE_LARGE: usize = 1000;
const N_PAGES: u64 = 10;

/// CPU of the server per product on large pages, with platforms that respond at once.
pub(super) fn measure(
    requester: &Requester,
    server: &Server,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: CPU for each product");
    let kinds: [(&str, &str, usize); 3] = [
        ("CPU of the server for a product, pages of 1,000", "", PAGE_SIZE_LARGE),
        ("the same with fields=none", "&fields=none", PAGE_SIZE_LARGE),
        ("the same on pages of 100, a call for ten products", "", PAGE_SIZE),
    ];
    let mut client = requester.connect()?;
    let mut figures = vec![Vec::new(); kinds.len()];
    // The first round finds the cursors, and is not counted.
    for round in 0..=n_rounds {
        for ((_, more, size), figures) in kinds.iter().zip(&mut figures) {
            let before = used_by(server)?;
            for number in 1..=N_PAGES {
                let page = Page { tenant: MIXED, number, size: *size, more };
                call(&mut client, &requester.page(&page), &page.full())?;
            }
            let after = used_by(server)?;
            let n_products = N_PAGES as usize * size;
            if round > 0 {
                figures.push(after.since(&before).as_secs_f64() * 1e6 / n_products as f64);
            }
        }
    }
    let lines = kinds.iter().zip(figures).map(|((what, _, size), figures)| {
        let line = ResultLine::alone(what, "µs", figures);
        if *size == PAGE_SIZE_LARGE { line.at_most(GOAL_US) } else { line }
    });
    Ok(lines.collect())
}
