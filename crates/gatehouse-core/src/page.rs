//! Pages of a list.

pub mod bracket;
pub mod window;

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

/// How much of a page each of several accounts is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageShare {
    /// How many things each account is asked for, at least one.
    pub size: u64,
    /// Whether there are more accounts than the page has room for, so that something is left out.
    pub is_small: bool,
}

/// Divides a page of `size` among accounts: evenly, and what is left over is left out.
pub fn share(size: u64, n_accounts: u64) -> PageShare {
    let is_small = size < n_accounts;
    PageShare { size: if is_small { 1 } else { size / n_accounts.max(1) }, is_small }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_is_divided_evenly_and_rounded_down() {
        for (size, n_accounts, each, is_small) in [
            (10, 1, 10, false),
            (10, 3, 3, false),
            (10, 10, 1, false),
            (10, 11, 1, true),
            (1, 40, 1, true),
            (1000, 3, 333, false),
            (10, 0, 10, false),
        ] {
            let expected = PageShare { size: each, is_small };
            assert_eq!(share(size, n_accounts), expected, "{size} among {n_accounts}");
        }
    }

    proptest! {
        #[test]
        fn shares_fill_a_page_as_far_as_they_can(size in 1u64..=1000, n_accounts in 1u64..2000) {
            let PageShare { size: each, is_small } = share(size, n_accounts);
            prop_assert!(each >= 1);
            prop_assert_eq!(is_small, n_accounts > size);
            if !is_small {
                prop_assert!(each * n_accounts <= size);
                prop_assert!((each + 1) * n_accounts > size);
            }
        }
    }

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
