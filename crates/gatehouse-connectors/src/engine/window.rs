//! One account's part of a page: a window of its list, whatever the platform's paging.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use gatehouse_core::Connection;
use gatehouse_core::page::window::Window;
use tokio::time::Instant;

use crate::connector::{CallContext, Paging, PagingMethod, PlatformPage, Position};
use crate::engine::live::LiveAccount;
use crate::engine::page_coalescing;
use crate::failure::{Failure, FailureKind, Failures};

/// Most pages that one request walks through by cursor.
pub(crate) const WALK_PAGES_MAX: usize = 64;

/// Most calls to fill one page.
const SHORT_PAGES_MAX: usize = 20;

/// Rejected cursors after which all of the account's cursors count as expired.
const STALE_CURSORS_MAX: usize = 3;

/// Connections of an account, and failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) connections: Vec<Arc<Connection>>,
    pub(crate) failures: Failures,
}

impl Fetched {
    pub(crate) fn failed(failure: Failure) -> Self {
        Self { connections: Vec::new(), failures: failure.into() }
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failures.add(failure);
    }

    /// Removes duplicates: platforms repeat connections while their lists change.
    pub(crate) fn dedup(&mut self) {
        let mut seen = HashSet::with_capacity(self.connections.len());
        let is_new: Vec<bool> =
            self.connections.iter().map(|it| seen.insert(it.local_id.as_str())).collect();
        if is_new.contains(&false) {
            let mut is_new = is_new.into_iter();
            self.connections.retain(|_| is_new.next().unwrap_or(true));
        }
    }
}

/// A page of the platform, and its part of the window.
struct CoveringPage {
    at: Position,
    /// Number of connections before the page.
    before: u64,
    part: Window,
}

/// Reads a window of an account's list.
pub(crate) async fn window(
    account: &Arc<LiveAccount>,
    context: CallContext,
    window: Window,
) -> Fetched {
    let paging = match account.capabilities() {
        Ok(capabilities) => capabilities.paging,
        Err(failure) => return Fetched::failed(failure),
    };
    if account.list.lock().ends_before(window.start) {
        return Fetched::default();
    }
    let mut fetched = match paging.steps {
        PagingMethod::Cursor => walk(account, context, window, paging).await,
        PagingMethod::Numbered | PagingMethod::Offset => {
            gather(account, context, paging, window).await.fetched
        }
    };
    fetched.dedup();
    fetched
}

/// Pages that cover a window, for paging by number or offset.
fn covering_pages(paging: Paging, window: Window) -> Vec<CoveringPage> {
    let numbered = |size: u64| {
        let covering = |covering: gatehouse_core::page::window::PagePart| CoveringPage {
            at: Position::Page { index: covering.index, size: bounded(size) },
            before: covering.index * size,
            part: Window { start: covering.skip, len: covering.take },
        };
        window.pages(size).map(covering).collect()
    };
    let (size_min, size_max) = (u64::from(paging.size_min), u64::from(paging.size_max));
    match paging.steps {
        PagingMethod::Numbered => numbered(window.page_size(size_min, size_max)),
        PagingMethod::Offset | PagingMethod::Cursor => {
            let step = size_max;
            let covering = |n: u64| {
                let before = window.start + n * step;
                let len = step.min(window.end() - before);
                let at = Position::Offset { offset: before, size: bounded(len.max(size_min)) };
                CoveringPage { at, before, part: Window { start: 0, len } }
            };
            (0..window.len.div_ceil(step)).map(covering).collect()
        }
    }
}

/// Page sizes are small.
fn bounded(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Connections of a window, and what the pages say about the list.
pub(crate) struct Gathered {
    pub(crate) fetched: Fetched,
    /// Length of the list.
    pub(crate) total: Option<u64>,
    /// Whether the window reaches the end of the list.
    pub(crate) is_last: bool,
}

/// Reads the pages that cover a window: those known to exist at once, then those that turn out to exist. At most one
/// page is requested that may not exist.
pub(crate) async fn gather(
    account: &Arc<LiveAccount>,
    context: CallContext,
    paging: Paging,
    window: Window,
) -> Gathered {
    let covering_pages = covering_pages(paging, window);
    let mut exists_up_to = account.list.lock().extent();
    let mut filled: Vec<Filled> = Vec::with_capacity(covering_pages.len());
    let (mut total, mut is_last, mut is_stuck) = (None, false, false);
    while filled.len() < covering_pages.len() && !is_last && !is_stuck {
        let remaining = &covering_pages[filled.len()..];
        let n_known = remaining.iter().take_while(|it| it.before < exists_up_to).count();
        if n_known == 0 && total.is_some() {
            break;
        }
        let wave = &remaining[..n_known.max(1)];
        let answers = join_all(wave.iter().map(|it| fill(account, context, paging, it))).await;
        total = answers.iter().filter_map(|it| it.page.total).max().or(total);
        for (answer, covering) in answers.iter().zip(wave) {
            is_last |= answer.is_last(covering, paging);
            // Without a total, an empty page leaves the rest open.
            let is_nothing = answer.page.connections.is_empty() && total.is_none();
            is_stuck |= answer.failure.is_some() || is_nothing;
            account.list.lock().learn_extent(
                covering.before,
                answer.page.connections.len(),
                answer.is_last(covering, paging),
            );
        }
        filled.extend(answers);
        // The list may have grown or shrunk.
        exists_up_to = total.unwrap_or(0);
    }
    let mut fetched = Fetched::default();
    for (covering, Filled { page, failure }) in covering_pages.iter().zip(filled) {
        let (n, size) = (page.connections.len(), covering.at.size());
        if n as u64 > u64::from(size) {
            fetched.fail(Failure::too_many(n, size));
        }
        fetched.connections.extend(covering.part.slice(page.connections));
        failure.into_iter().for_each(|failure| fetched.fail(failure));
    }
    Gathered { fetched, total, is_last }
}

/// A page as far as it could be read.
#[derive(Default)]
struct Filled {
    page: PlatformPage,
    failure: Option<Failure>,
}

impl Filled {
    /// Whether the platform says or shows that the list ends here.
    fn is_last(&self, covering: &CoveringPage, paging: Paging) -> bool {
        let is_short = self.page.connections.len() < covering.at.size() as usize;
        self.page.is_last || (paging.ends_short && is_short && self.failure.is_none())
    }
}

/// Reads one page. A page by offset is filled up: a platform may return fewer connections than requested, and the rest
/// is on no other page.
async fn fill(
    account: &Arc<LiveAccount>,
    context: CallContext,
    paging: Paging,
    covering: &CoveringPage,
) -> Filled {
    let mut filled = Filled::default();
    let mut at = covering.at.clone();
    let n_wanted = covering.at.size() as usize;
    for nth in 0..SHORT_PAGES_MAX {
        let page = match account.page(context, &at).await {
            Ok(page) => page,
            Err(failure) => {
                filled.failure = Some(failure);
                return filled;
            }
        };
        let n = page.connections.len() as u64;
        filled.page.connections.extend(page.connections);
        filled.page.total = page.total.or(filled.page.total);
        filled.page.is_last = page.is_last;
        let Position::Offset { offset, size } = &mut at else { return filled };
        *offset += n;
        let is_over = page.is_last || page.total.is_some_and(|total| *offset >= total);
        let n_filled = filled.page.connections.len();
        if nth > 0 && n_filled > n_wanted {
            // The missing number was below the smallest page size; the surplus is on the next page, too.
            filled.page.connections.truncate(n_wanted);
            filled.page.is_last = false;
        }
        if n == 0 || n_filled >= n_wanted || is_over {
            return filled;
        }
        *size = bounded((n_wanted - n_filled) as u64).max(paging.size_min);
    }
    let detail = format!("gave {SHORT_PAGES_MAX} pages that were shorter than it was asked for");
    filled.failure = Some(Failure::new(FailureKind::Error, detail));
    filled
}

/// Reads a window by cursor, together with requests for neighbouring windows.
async fn walk(
    account: &Arc<LiveAccount>,
    context: CallContext,
    window: Window,
    paging: Paging,
) -> Fetched {
    let Some((at, around)) = cached_page_around(account, window, paging.size_max) else {
        return walk_alone(account, context, window, paging).await;
    };
    let part = Window { start: window.start - around.start, len: window.len };
    let (_waiting, has_neighbours) = account.page_waiters.join(&at, part).await;
    if has_neighbours && let Ok(Some(page)) = account.page_within(context, &at, part).await {
        return Fetched { connections: page.connections, failures: Failures::default() };
    }
    walk_alone(account, context, window, paging).await
}

/// The largest page that holds a window, if its cursor is cached and cursors are cached at both ends of the window:
/// then positions are reliable. A request without cached cursors walks alone, and caches them.
fn cached_page_around(
    account: &LiveAccount,
    window: Window,
    size_max: u32,
) -> Option<(Position, Window)> {
    let around = page_coalescing::window_around(window, size_max)?;
    let list = account.list.lock();
    let cursor = |position: u64| {
        let (at, cursor) = list.cursors.nearest(position, Instant::now())?;
        (at == position).then_some(cursor)
    };
    let after = if around.start == 0 { None } else { Some(cursor(around.start)?) };
    if window.start > 0 {
        cursor(window.start)?;
    }
    cursor(window.end())?;
    Some((Position::Cursor { after, size: bounded(around.len) }, around))
}

/// Walks to a window from the nearest cursor that the platform accepts.
async fn walk_alone(
    account: &Arc<LiveAccount>,
    context: CallContext,
    window: Window,
    paging: Paging,
) -> Fetched {
    for _ in 0..STALE_CURSORS_MAX {
        let start = account.list.lock().cursors.nearest(window.start, Instant::now());
        let position = start.as_ref().map(|(position, _)| *position);
        let (fetched, is_stale) = walk_from(account, context, window, paging, start).await;
        match position {
            // Expired; an earlier one may still be valid.
            Some(position) if is_stale => account.list.lock().cursors.remove(position),
            _ => return fetched,
        }
    }
    account.list.lock().cursors.clear();
    walk_from(account, context, window, paging, None).await.0
}

/// Walks to a window from a cursor. Also returns whether the platform rejected the first call.
async fn walk_from(
    account: &Arc<LiveAccount>,
    context: CallContext,
    window: Window,
    paging: Paging,
    start: Option<(u64, String)>,
) -> (Fetched, bool) {
    let (mut position, mut after) = start.map_or((0, None), |(at, cursor)| (at, Some(cursor)));
    let mut passed: HashSet<String> = after.iter().cloned().collect();
    let mut fetched = Fetched::default();
    for n in 0..WALK_PAGES_MAX {
        let target = if position < window.start { window.start } else { window.end() };
        let size = bounded(target - position).clamp(paging.size_min, paging.size_max);
        let at = Position::Cursor { after: after.clone(), size };
        let page = match account.page(context, &at).await {
            Ok(page) => page,
            Err(failure) => {
                let is_stale = n == 0 && failure.is_refusal();
                fetched.fail(failure);
                return (fetched, is_stale);
            }
        };
        if position == 0 {
            account.list.lock().first = page.connections.first().map(|it| it.local_id.clone());
        } else if account.begins_with(&page) {
            account.list.lock().cursors.truncate(position);
            fetched.fail(Failure::cycle());
            return (fetched, false);
        }
        let (began, n_connections) = (position, page.connections.len() as u64);
        let part = Window {
            start: window.start.saturating_sub(position),
            len: window.end().saturating_sub(position.max(window.start)),
        };
        fetched.connections.extend(part.slice(page.connections));
        position += n_connections;
        let Some(cursor) = page.next.filter(|_| !page.is_last) else {
            account.list.lock().cursors.truncate(position);
            return (fetched, false);
        };
        // The cursor leads to this page or to one before it.
        let leads_back =
            account.list.lock().cursors.position_of(&cursor).is_some_and(|it| it <= began);
        if leads_back || !passed.insert(cursor.clone()) {
            account.list.lock().cursors.truncate(position);
            fetched.fail(Failure::cycle());
            return (fetched, false);
        }
        account.list.lock().cursors.insert(position, &cursor, Instant::now());
        if position >= window.end() {
            return (fetched, false);
        }
        after = Some(cursor);
    }
    fetched.fail(Failure::new(
        FailureKind::PageOutOfReach,
        format!(
            "can only be paged from the start, and {WALK_PAGES_MAX} pages led no further than \
             connection {position}; requests for pages in order, or with a larger pageSize, get there"
        ),
    ));
    (fetched, false)
}
