//! Pages of a list.

/// Which page is asked for: both numbers begin at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The page's number.
    pub number: u64,
    /// How many things are on a page.
    pub size: u64,
}

/// Highest page number that can be asked for.
pub const PAGE_NUMBER_MAX: u64 = 10_000_000;

/// Most things on a page, whatever is configured.
pub const PAGE_SIZE_MAX: u64 = 1000;

/// Things on a page when the request doesn't say.
pub const PAGE_SIZE_DEFAULT: u64 = 100;

impl PageRequest {
    /// How many things lie on the pages before.
    pub fn offset(self) -> u64 {
        (self.number - 1) * self.size
    }

    /// The number of the last page of `total` things; a list without things has one page.
    pub fn last(self, total: u64) -> u64 {
        total.div_ceil(self.size).max(1)
    }
}

/// One page, and how many things the whole list has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What was asked for.
    pub request: PageRequest,
    /// What is on it.
    pub items: Vec<T>,
    /// How many things all pages have together.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_holds_the_last_thing() {
        for (total, size, last) in
            [(0, 10, 1), (1, 10, 1), (10, 10, 1), (11, 10, 2), (1000, 1, 1000)]
        {
            assert_eq!(PageRequest { number: 1, size }.last(total), last, "{total} by {size}");
        }
        let deepest = PageRequest { number: PAGE_NUMBER_MAX, size: PAGE_SIZE_MAX };
        assert_eq!(deepest.offset(), 9_999_999_000);
    }
}
