//! Stretches of a list, and how they are covered by the smaller pages of somebody else.
//!
//! A page of ours is a [`Window`] on an account's list: so many things behind so many others. A platform
//! gives pages of its own sizes. [`Window::pages`] says which of them hold the window, and which part of
//! each belongs to it.

use crate::page::PageRequest;

/// A stretch of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many things lie before it.
    pub start: u64,
    /// How many it may hold.
    pub len: u64,
}

/// A numbered page of a platform, and the part of it that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePart {
    /// How many pages lie before it.
    pub index: u64,
    /// How many things of it come before what is meant.
    pub skip: u64,
    /// How many are meant.
    pub take: u64,
}

impl Window {
    /// The window that a page is.
    pub fn of(page: PageRequest) -> Self {
        Self { start: page.offset(), len: page.size }
    }

    /// What lies before or in it.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// The size to ask for, where pages may have any size from `min` to `max`: one with which the fewest pages hold
    /// the window.
    pub fn page_size(self, min: u64, max: u64) -> u64 {
        // No size does with fewer than this, and mostly the first one that is looked at does with as few.
        let n_fewest = self.len.div_ceil(max);
        let sizes = self.len.div_ceil(n_fewest).max(min)..=max;
        let best = sizes.clone().find(|size| self.n_pages(*size) == n_fewest);
        best.or_else(|| sizes.min_by_key(|size| self.n_pages(*size))).unwrap_or(max)
    }

    /// How many pages of a size hold it.
    fn n_pages(self, size: u64) -> u64 {
        self.end().div_ceil(size) - self.start / size
    }

    /// The pages of `size` that hold it, in order.
    pub fn pages(self, size: u64) -> impl Iterator<Item = PagePart> {
        let pages = self.start / size..self.end().div_ceil(size);
        pages.map(move |index| {
            let from = self.start.max(index * size);
            let until = self.end().min((index + 1) * size);
            PagePart { index, skip: from - index * size, take: until - from }
        })
    }

    /// What of a list belongs to it.
    pub fn slice<T>(self, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        all.into_iter().skip(at(self.start)).take(at(self.len))
    }
}

#[cfg(test)]
mod tests;
