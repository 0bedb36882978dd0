//! Windows on a list, and the platform pages that cover them.
//!
//! A page of gatehouse is a [`Window`] on an account's list. A platform has its own page sizes. [`Window::pages`] gives
//! the platform's pages that cover the window, and the part of each that belongs to it.

use crate::page::PageRequest;

/// A window on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number of objects before the window.
    pub start: u64,
    /// Most objects in the window.
    pub len: u64,
}

/// A numbered page of a platform, and the part of it that belongs to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePart {
    /// Number of pages before this one.
    pub index: u64,
    /// Objects of the page before the part.
    pub skip: u64,
    /// Objects of the part.
    pub take: u64,
}

impl Window {
    /// The window of a page.
    pub fn of(page: PageRequest) -> Self {
        Self { start: page.offset(), len: page.size }
    }

    /// The position after the window.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// The page size between `min` and `max` with which the fewest pages cover the window.
    pub fn page_size(self, min: u64, max: u64) -> u64 {
        // No size needs fewer pages than this, and the first candidate mostly needs as few.
        let n_fewest = self.len.div_ceil(max);
        let sizes = self.len.div_ceil(n_fewest).max(min)..=max;
        let best = sizes.clone().find(|size| self.n_pages(*size) == n_fewest);
        best.or_else(|| sizes.min_by_key(|size| self.n_pages(*size))).unwrap_or(max)
    }

    /// Number of pages of a size that cover the window.
    fn n_pages(self, size: u64) -> u64 {
        self.end().div_ceil(size) - self.start / size
    }

    /// The pages of `size` that cover the window, in order.
    pub fn pages(self, size: u64) -> impl Iterator<Item = PagePart> {
        let pages = self.start / size..self.end().div_ceil(size);
        pages.map(move |index| {
            let from = self.start.max(index * size);
            let until = self.end().min((index + 1) * size);
            PagePart { index, skip: from - index * size, take: until - from }
        })
    }

    /// The objects of a list that are in the window.
    pub fn slice<T>(self, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        all.into_iter().skip(at(self.start)).take(at(self.len))
    }
}

#[cfg(test)]
mod tests;
