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
const LOST_MARKS_MAX: usize = 3;

/// Connections of an account, and failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Got {
    pub(crate) connections: Vec<Arc<Connection>>,
    pub(crate) failures: Failures,
}

impl Got {
    pub(crate) fn failed(failure: Failure) -> Self {
        Self { connections: Vec::new(), failures: failure.into() }
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failures.add(failure);
    }

    /// Removes duplicates: platforms repeat connections while their lists change.
    pub(crate) fn once_each(&mut self) {
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
struct Piece {
    at: Position,
    /// Number of connections before the page.
    before: u64,
    part: Window,
}

/// Reads a window of an account's list.
pub(crate) async fn window(account: &Arc<LiveAccount>, ask: CallContext, window: Window) -> Got {
    let paging = match account.capabilities() {
        Ok(capabilities) => capabilities.paging,
        Err(failure) => return Got::failed(failure),
    };
    if account.known.lock().ends_before(window.start) {
        return Got::default();
    }
    let mut got = match paging.steps {
        PagingMethod::Cursor => walk(account, ask, window, paging).await,
        PagingMethod::Numbered | PagingMethod::Offset => {
            gather(account, ask, paging, window).await.got
        }
    };
    got.once_each();
    got
}

/// Pages that cover a window, for paging by number or offset.
fn pieces(paging: Paging, window: Window) -> Vec<Piece> {
    let numbered = |size: u64| {
        let piece = |piece: gatehouse_core::page::window::PagePart| Piece {
            at: Position::Page { index: piece.index, size: bounded(size) },
            before: piece.index * size,
            part: Window { start: piece.skip, len: piece.take },
        };
        window.pages(size).map(piece).collect()
    };
    let (size_min, size_max) = (u64::from(paging.size_min), u64::from(paging.size_max));
    match paging.steps {
        PagingMethod::Numbered => numbered(window.page_size(size_min, size_max)),
        PagingMethod::Offset | PagingMethod::Cursor => {
            let step = size_max;
            let piece = |n: u64| {
                let before = window.start + n * step;
                let len = step.min(window.end() - before);
                let at = Position::Offset { offset: before, size: bounded(len.max(size_min)) };
                Piece { at, before, part: Window { start: 0, len } }
            };
            (0..window.len.div_ceil(step)).map(piece).collect()
        }
    }
}

/// Page sizes are small.
fn bounded(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Connections of a window, and what the pages say about the list.
pub(crate) struct Gathered {
    pub(crate) got: Got,
    /// Length of the list.
    pub(crate) total: Option<u64>,
    /// Whether the window reaches the end of the list.
    pub(crate) is_last: bool,
}

/// Reads the pages that cover a window: those known to exist at once, then those that turn out to exist. At most one
/// page
/// is requested that may not exist.
pub(crate) async fn gather(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    paging: Paging,
    window: Window,
) -> Gathered {
    let pieces = pieces(paging, window);
    let mut exists_up_to = account.known.lock().extent();
    let mut filled: Vec<Filled> = Vec::with_capacity(pieces.len());
    let (mut total, mut is_last, mut is_stuck) = (None, false, false);
    while filled.len() < pieces.len() && !is_last && !is_stuck {
        let left = &pieces[filled.len()..];
        let n_known = left.iter().take_while(|it| it.before < exists_up_to).count();
        if n_known == 0 && total.is_some() {
            break;
        }
        let wave = &left[..n_known.max(1)];
        let answers = join_all(wave.iter().map(|it| fill(account, ask, paging, it))).await;
        total = answers.iter().filter_map(|it| it.page.total).max().or(total);
        for (answer, piece) in answers.iter().zip(wave) {
            is_last |= answer.is_last(piece, paging);
            // Without a total, an empty page leaves the rest open.
            let is_nothing = answer.page.connections.is_empty() && total.is_none();
            is_stuck |= answer.failure.is_some() || is_nothing;
            account.known.lock().learn_extent(
                piece.before,
                answer.page.connections.len(),
                answer.is_last(piece, paging),
            );
        }
        filled.extend(answers);
        // The list may have grown or shrunk.
        exists_up_to = total.unwrap_or(0);
    }
    let mut got = Got::default();
    for (piece, Filled { page, failure }) in pieces.iter().zip(filled) {
        let (n, size) = (page.connections.len(), piece.at.size());
        if n as u64 > u64::from(size) {
            got.fail(Failure::too_many(n, size));
        }
        got.connections.extend(piece.part.slice(page.connections));
        failure.into_iter().for_each(|failure| got.fail(failure));
    }
    Gathered { got, total, is_last }
}

/// A page as far as it could be read.
#[derive(Default)]
struct Filled {
    page: PlatformPage,
    failure: Option<Failure>,
}

impl Filled {
    /// Whether the platform says or shows that the list ends here.
    fn is_last(&self, piece: &Piece, paging: Paging) -> bool {
        let is_short = self.page.connections.len() < piece.at.size() as usize;
        self.page.is_last || (paging.ends_short && is_short && self.failure.is_none())
    }
}

/// Reads one page. A page by offset is filled up: a platform may return fewer connections than requested, and the rest
/// is
/// on no other page.
async fn fill(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    paging: Paging,
    piece: &Piece,
) -> Filled {
    let mut filled = Filled::default();
    let mut at = piece.at.clone();
    let n_wanted = piece.at.size() as usize;
    for nth in 0..SHORT_PAGES_MAX {
        let page = match account.page(ask, &at).await {
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
async fn walk(account: &Arc<LiveAccount>, ask: CallContext, window: Window, paging: Paging) -> Got {
    let Some((at, around)) = mark_around(account, window, paging.size_max) else {
        return walk_alone(account, ask, window, paging).await;
    };
    let part = Window { start: window.start - around.start, len: window.len };
    let (_waiting, has_company) = account.neighbours.join(&at, part).await;
    if has_company && let Ok(Some(page)) = account.page_within(ask, &at, part).await {
        return Got { connections: page.connections, failures: Failures::default() };
    }
    walk_alone(account, ask, window, paging).await
}

/// The largest page that holds a window, if its cursor is cached and cursors are cached at both ends of the window:
/// then
/// positions are reliable. A request without cached cursors walks alone, and caches them.
fn mark_around(account: &LiveAccount, window: Window, size_max: u32) -> Option<(Position, Window)> {
    let around = page_coalescing::window_around(window, size_max)?;
    let known = account.known.lock();
    let mark = |position: u64| {
        let (at, mark) = known.marks.nearest(position, Instant::now())?;
        (at == position).then_some(mark)
    };
    let after = if around.start == 0 { None } else { Some(mark(around.start)?) };
    if window.start > 0 {
        mark(window.start)?;
    }
    mark(window.end())?;
    Some((Position::Cursor { after, size: bounded(around.len) }, around))
}

/// Walks to a window from the nearest cursor that the platform accepts.
async fn walk_alone(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    window: Window,
    paging: Paging,
) -> Got {
    for _ in 0..LOST_MARKS_MAX {
        let start = account.known.lock().marks.nearest(window.start, Instant::now());
        let position = start.as_ref().map(|(position, _)| *position);
        let (got, is_lost) = walk_from(account, ask, window, paging, start).await;
        match position {
            // Expired; an earlier one may still be valid.
            Some(position) if is_lost => account.known.lock().marks.remove(position),
            _ => return got,
        }
    }
    account.known.lock().marks.forget();
    walk_from(account, ask, window, paging, None).await.0
}

/// Walks to a window from a cursor. Also returns whether the platform rejected the first call.
async fn walk_from(
    account: &Arc<LiveAccount>,
    ask: CallContext,
    window: Window,
    paging: Paging,
    start: Option<(u64, String)>,
) -> (Got, bool) {
    let (mut position, mut after) = start.map_or((0, None), |(at, mark)| (at, Some(mark)));
    let mut passed: HashSet<String> = after.iter().cloned().collect();
    let mut got = Got::default();
    for n in 0..WALK_PAGES_MAX {
        let target = if position < window.start { window.start } else { window.end() };
        let size = bounded(target - position).clamp(paging.size_min, paging.size_max);
        let at = Position::Cursor { after: after.clone(), size };
        let page = match account.page(ask, &at).await {
            Ok(page) => page,
            Err(failure) => {
                let is_lost = n == 0 && failure.is_refusal();
                got.fail(failure);
                return (got, is_lost);
            }
        };
        if position == 0 {
            account.known.lock().first = page.connections.first().map(|it| it.local_id.clone());
        } else if account.begins_with(&page) {
            account.known.lock().marks.cut(position);
            got.fail(Failure::circle());
            return (got, false);
        }
        let (began, n_connections) = (position, page.connections.len() as u64);
        let part = Window {
            start: window.start.saturating_sub(position),
            len: window.end().saturating_sub(position.max(window.start)),
        };
        got.connections.extend(part.slice(page.connections));
        position += n_connections;
        let Some(mark) = page.next.filter(|_| !page.is_last) else {
            account.known.lock().marks.cut(position);
            return (got, false);
        };
        // The cursor leads to this page or to one before it.
        let leads_back =
            account.known.lock().marks.position_of(&mark).is_some_and(|it| it <= began);
        if leads_back || !passed.insert(mark.clone()) {
            account.known.lock().marks.cut(position);
            got.fail(Failure::circle());
            return (got, false);
        }
        account.known.lock().marks.keep(position, &mark, Instant::now());
        if position >= window.end() {
            return (got, false);
        }
        after = Some(mark);
    }
    got.fail(Failure::new(
        FailureKind::PageOutOfReach,
        format!(
            "can only be paged through from the start, and {WALK_PAGES_MAX} pages led no further than \
             connection {position}; pages that are asked for in order, or with a larger pageSize, get there"
        ),
    ));
    (got, false)
}
