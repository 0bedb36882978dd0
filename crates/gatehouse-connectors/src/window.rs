//! One account's part of a page: a window on its list, whatever pages the platform gives.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use gatehouse_core::Connection;
use gatehouse_core::window::Window;
use tokio::time::Instant;

use crate::connector::{Ask, Paging, PlatformPage, Position};
use crate::failure::{Failure, FailureKind, Failures};
use crate::live::LiveAccount;

/// Most pages that are walked through for one request, where there is no other way.
pub(crate) const WALK_PAGES_MAX: usize = 64;

/// What an account gave, and what failed beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Got {
    pub(crate) connections: Vec<Connection>,
    pub(crate) failures: Failures,
}

impl Got {
    fn failed(failure: Failure) -> Self {
        Self { connections: Vec::new(), failures: failure.into() }
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failures.add(failure);
    }

    /// Leaves each connection once: platforms repeat some while their lists change.
    pub(crate) fn once_each(&mut self) {
        let mut seen = HashSet::new();
        let is_new: Vec<bool> =
            self.connections.iter().map(|it| seen.insert(it.local_id.as_str())).collect();
        if is_new.contains(&false) {
            let mut is_new = is_new.into_iter();
            self.connections.retain(|_| is_new.next().unwrap_or(true));
        }
    }
}

/// A page of the platform, and the part of it that belongs to the window.
struct Piece {
    at: Position,
    /// How many connections lie before the page.
    before: u64,
    part: Window,
}

/// Asks an account for a window on its list.
pub(crate) async fn window(account: &Arc<LiveAccount>, ask: Ask, window: Window) -> Got {
    let paging = match account.capabilities() {
        Ok(capabilities) => capabilities.paging,
        Err(failure) => return Got::failed(failure),
    };
    let mut got = match paging {
        Paging::Cursor { size_max } => walk(account, ask, window, size_max).await,
        _ => gather(account, ask, pieces(paging, window)).await,
    };
    got.once_each();
    got
}

/// The pages that hold a window, where pages can be asked for by where they are.
fn pieces(paging: Paging, window: Window) -> Vec<Piece> {
    let numbered = |size: u64| {
        let piece = |piece: gatehouse_core::window::Piece| Piece {
            at: Position::Page { index: piece.index, size: bounded(size) },
            before: piece.index * size,
            part: Window { start: piece.skip, len: piece.take },
        };
        window.pages(size).map(piece).collect()
    };
    match paging {
        Paging::Numbered { size_max } => numbered(window.page_size(u64::from(size_max))),
        Paging::Fixed { size } => numbered(u64::from(size)),
        Paging::Offset { size_max } | Paging::Cursor { size_max } => {
            let step = u64::from(size_max);
            let piece = |n: u64| {
                let before = window.start + n * step;
                let size = step.min(window.end() - before);
                let at = Position::Offset { offset: before, size: bounded(size) };
                Piece { at, before, part: Window { start: 0, len: size } }
            };
            (0..window.len.div_ceil(step)).map(piece).collect()
        }
    }
}

/// Sizes of pages are small.
fn bounded(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Asks for pages at once: those that should exist, and then those that turned out to.
async fn gather(account: &Arc<LiveAccount>, ask: Ask, pieces: Vec<Piece>) -> Got {
    let known_total = account.known().total;
    let is_expected =
        |n: usize, piece: &Piece| n == 0 || known_total.is_none_or(|total| piece.before < total);
    let n_expected = pieces.iter().enumerate().take_while(|(n, it)| is_expected(*n, it)).count();
    let (expected, others) = pieces.split_at(n_expected);

    let mut answers = join_all(expected.iter().map(|piece| account.page(ask, &piece.at))).await;
    if !others.is_empty() {
        // More may have come since the total was told.
        let told = answers.iter().flatten().filter_map(|page| page.total).max();
        let is_over = answers.iter().flatten().any(|page| page.is_last);
        let exists = |piece: &&Piece| !is_over && told.is_none_or(|total| piece.before < total);
        let asking = others.iter().take_while(exists).map(|piece| account.page(ask, &piece.at));
        answers.extend(join_all(asking).await);
    }
    let mut got = Got::default();
    for (piece, answer) in pieces.iter().zip(answers) {
        match answer {
            Ok(page) => {
                let PlatformPage { connections, .. } = page;
                let (n, size) = (connections.len(), piece.at.size());
                if n as u64 > u64::from(size) {
                    got.fail(Failure::too_many(n, size));
                }
                got.connections.extend(piece.part.slice(connections));
            }
            Err(failure) => got.fail(failure),
        }
    }
    got
}

/// Walks to a window from the nearest mark.
async fn walk(account: &Arc<LiveAccount>, ask: Ask, window: Window, size_max: u32) -> Got {
    let start = account.known().marks.nearest(window.start, Instant::now());
    let is_from_start = start.is_none();
    let (got, is_lost) = walk_from(account, ask, window, size_max, start).await;
    if is_lost && !is_from_start {
        // The mark may have had its time; the way from the start is always there.
        account.known().marks.forget();
        return walk_from(account, ask, window, size_max, None).await.0;
    }
    got
}

/// Walks to a window from a mark. Also tells whether the platform refused at the very first step.
async fn walk_from(
    account: &Arc<LiveAccount>,
    ask: Ask,
    window: Window,
    size_max: u32,
    start: Option<(u64, String)>,
) -> (Got, bool) {
    let (mut position, mut after) = start.map_or((0, None), |(at, mark)| (at, Some(mark)));
    let mut passed = HashSet::new();
    let mut got = Got::default();
    for n in 0..WALK_PAGES_MAX {
        let target = if position < window.start { window.start } else { window.end() };
        let size = u64::from(size_max).min(target - position);
        let at = Position::Cursor { after: after.clone(), size: bounded(size) };
        let page = match account.page(ask, &at).await {
            Ok(page) => page,
            Err(failure) => {
                let is_lost = n == 0 && failure.kind == FailureKind::Error;
                got.fail(failure);
                return (got, is_lost);
            }
        };
        let n_connections = page.connections.len() as u64;
        let part = Window {
            start: window.start.saturating_sub(position),
            len: window.end().saturating_sub(position.max(window.start)),
        };
        got.connections.extend(part.slice(page.connections));
        position += n_connections;
        let Some(mark) = page.next.filter(|_| !page.is_last) else { return (got, false) };
        if !passed.insert(mark.clone()) {
            got.fail(Failure::new(
                FailureKind::Error,
                "gave the same mark for the next page twice: its list leads in a circle",
            ));
            return (got, false);
        }
        account.known().marks.keep(position, &mark, Instant::now());
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
