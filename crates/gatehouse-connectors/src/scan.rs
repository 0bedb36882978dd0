//! Looking through an account's whole list, where that is bounded.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::connector::{Ask, Paging, PlatformPage, Position};
use crate::failure::Failure;
use crate::live::LiveAccount;
use crate::window::Got;

/// Most pages that a list may have to be looked through.
pub(crate) const SCAN_PAGES_MAX: u64 = 50;

/// Why a list was not looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// How many pages it takes to look through an account's list, as far as that is known.
pub(crate) fn n_pages(account: &LiveAccount) -> Option<u64> {
    let size = page_size(account.capabilities().ok()?.paging);
    account.known().total.map(|total| total.div_ceil(u64::from(size)).max(1))
}

/// Looks through an account's whole list, unless that takes more pages than so many.
pub(crate) async fn scan(
    account: &Arc<LiveAccount>,
    ask: Ask,
    n_pages_max: u64,
) -> Result<Got, TooLong> {
    let mut got = Got::default();
    let paging = match account.capabilities() {
        Ok(capabilities) => capabilities.paging,
        Err(failure) => {
            got.fail(failure);
            return Ok(got);
        }
    };
    let size = page_size(paging);
    let mut at = position(paging, 0, None);
    for n in 0..n_pages_max {
        let page = match account.page(ask, &at).await {
            Ok(page) => page,
            Err(failure) => {
                got.fail(failure);
                return Ok(got);
            }
        };
        if let (Some(total), false) = (page.total, matches!(paging, Paging::Cursor { .. })) {
            // Where it ends is known: the others can be asked for at once.
            let n_pages = total.div_ceil(u64::from(size));
            if n_pages > n_pages_max {
                return Err(TooLong);
            }
            take(&mut got, page, size);
            let others: Vec<Position> =
                (n + 1..n_pages).map(|index| position(paging, index, None)).collect();
            for answer in join_all(others.iter().map(|at| account.page(ask, at))).await {
                match answer {
                    Ok(page) => take(&mut got, page, size),
                    Err(failure) => got.fail(failure),
                }
            }
            got.once_each();
            return Ok(got);
        }
        let is_over = match paging {
            Paging::Cursor { .. } => page.next.is_none(),
            // A short page need not be the last one; an empty one is.
            _ => page.connections.is_empty(),
        };
        let is_over = is_over || page.is_last;
        at = position(paging, n + 1, page.next.clone());
        take(&mut got, page, size);
        if is_over {
            got.once_each();
            return Ok(got);
        }
    }
    Err(TooLong)
}

fn take(got: &mut Got, page: PlatformPage, size: u32) {
    let n = page.connections.len();
    if n as u64 > u64::from(size) {
        got.fail(Failure::too_many(n, size));
    }
    got.connections.extend(page.connections);
}

fn page_size(paging: Paging) -> u32 {
    match paging {
        Paging::Numbered { size_max: size }
        | Paging::Fixed { size }
        | Paging::Offset { size_max: size }
        | Paging::Cursor { size_max: size } => size,
    }
}

fn position(paging: Paging, index: u64, after: Option<String>) -> Position {
    let size = page_size(paging);
    match paging {
        Paging::Numbered { .. } | Paging::Fixed { .. } => Position::Page { index, size },
        Paging::Offset { .. } => Position::Offset { offset: index * u64::from(size), size },
        Paging::Cursor { .. } => Position::Cursor { after, size },
    }
}
