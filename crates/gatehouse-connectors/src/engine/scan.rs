//! Scans an account's whole list, if it is short.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::page::window::Window;
use tokio::time::Instant;

use crate::connector::{CallContext, Paging, PagingMethod, Position};
use crate::engine::live::LiveAccount;
use crate::engine::window::{Fetched, Gathered, gather};

/// Most pages of a list that is scanned.
pub(crate) const SCAN_PAGES_MAX: u64 = 50;

pub(crate) const SCAN_DETAILS_MAX: u64 = 1000;

/// How long a list counts as too long once it was found so.
const TOO_LONG_LIFE: Duration = Duration::from_secs(5 * 60);

/// Cost that a scan may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// There is no other way: the full limits hold.
    Needed,
    /// Look-ups are possible too: the scan may take so many pages, and only if the first one gives the total.
    Cheaper { n_pages_max: u64 },
}

#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) fetched: Fetched,
    /// Whether the scan surely missed nothing.
    pub(crate) is_whole: bool,
}

/// The list is too long to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Number of pages of a scan, if the length is known.
pub(crate) fn n_pages(account: &LiveAccount) -> Option<u64> {
    let size = u64::from(account.capabilities().ok()?.paging.size_max);
    account.list.lock().total().map(|total| total.div_ceil(size).max(1))
}

/// Whether pages of the account's list may give its length.
pub(crate) fn gives_total(account: &LiveAccount) -> bool {
    account.capabilities().is_ok_and(|it| it.paging.tells_total)
}

/// Whether the account's list is known to be too long to scan.
pub(crate) fn is_too_long(account: &LiveAccount) -> bool {
    let too_long_at = account.list.lock().too_long;
    n_pages(account).is_some_and(|n_pages| n_pages > SCAN_PAGES_MAX)
        || too_long_at.is_some_and(|at| at.elapsed() < TOO_LONG_LIFE)
}

/// Scans an account's whole list, unless it costs more than `effort` allows.
pub(crate) async fn scan(
    account: &Arc<LiveAccount>,
    context: CallContext,
    effort: Effort,
) -> Result<Scanned, TooLong> {
    let paging = match account.capabilities() {
        Ok(capabilities) => capabilities.paging,
        Err(failure) => return Ok(Scanned { fetched: Fetched::failed(failure), is_whole: false }),
    };
    let whole = match paging.steps {
        PagingMethod::Cursor => by_cursor(account, context, paging.size_max).await,
        PagingMethod::Numbered | PagingMethod::Offset => {
            by_position(account, context, paging, effort).await
        }
    };
    if whole.is_err() {
        account.list.lock().too_long = Some(Instant::now());
    }
    whole
}

/// Reads pages up to the total that the first one gives, or else until one is empty.
async fn by_position(
    account: &Arc<LiveAccount>,
    context: CallContext,
    paging: Paging,
    effort: Effort,
) -> Result<Scanned, TooLong> {
    let size = u64::from(paging.size_max);
    let mut window = Window { start: 0, len: size };
    let Gathered { mut fetched, mut total, mut is_last } =
        gather(account, context, paging, window).await;
    let n_pages_max = match (effort, total) {
        (Effort::Needed, _) => SCAN_PAGES_MAX,
        (Effort::Cheaper { n_pages_max }, Some(_)) => n_pages_max,
        (Effort::Cheaper { .. }, None) => return Err(TooLong),
    };
    let total_before = total;
    let mut n_new = fetched.connections.len();
    let mut n_pages = 1;
    while fetched.failures.is_empty() && !is_last {
        window.start = window.end();
        window.len = match total {
            Some(total) if total > size * n_pages_max => return Err(TooLong),
            Some(total) if total <= window.start => break,
            Some(total) => total - window.start,
            None if n_new == 0 => break,
            None if n_pages >= n_pages_max => return Err(TooLong),
            None => size,
        };
        let more = gather(account, context, paging, window).await;
        n_pages += window.len.div_ceil(size);
        n_new = more.fetched.connections.len();
        (total, is_last) = (more.total.or(total), more.is_last);
        fetched.connections.extend(more.fetched.connections);
        more.fetched.failures.into_iter().for_each(|failure| fetched.fail(failure));
    }
    fetched.dedup();
    // A list that changes meanwhile moves connections to pages that were read already.
    let n_seen = fetched.connections.len() as u64;
    let is_counted = total == total_before && total.is_none_or(|total| total == n_seen);
    Ok(Scanned { is_whole: is_counted && fetched.failures.is_empty(), fetched })
}

async fn by_cursor(
    account: &Arc<LiveAccount>,
    context: CallContext,
    size: u32,
) -> Result<Scanned, TooLong> {
    let mut fetched = Fetched::default();
    let mut after = None;
    for _ in 0..SCAN_PAGES_MAX {
        let page = match account.page(context, &Position::Cursor { after, size }).await {
            Ok(page) => page,
            Err(failure) => {
                fetched.fail(failure);
                return Ok(Scanned { fetched, is_whole: false });
            }
        };
        fetched.connections.extend(page.connections);
        after = page.next.filter(|_| !page.is_last);
        if after.is_none() {
            fetched.dedup();
            return Ok(Scanned { fetched, is_whole: true });
        }
    }
    Err(TooLong)
}
