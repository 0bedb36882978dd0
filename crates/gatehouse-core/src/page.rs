//! Pages of a list.

pub mod bracket;
pub mod window;

/// The requested page: number and size begin at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The page's number.
    pub number: u64,
    /// Objects per page.
    pub size: u64,
}

/// Highest page number that can be asked for.
pub const PAGE_NUMBER_MAX: u64 = 10_000_000;

/// Most objects on a page, whatever is configured.
pub const PAGE_SIZE_MAX: u64 = 1000;

/// Objects on a page when the request doesn't say.
pub const PAGE_SIZE_DEFAULT: u64 = 100;

impl PageRequest {
    /// Number of objects on the pages before.
    pub fn offset(self) -> u64 {
        (self.number - 1) * self.size
    }

    /// The number of the last page of `total` objects; an empty list has one page.
    pub fn last(self, total: u64) -> u64 {
        total.div_ceil(self.size).max(1)
    }
}

/// One page, and the size of the whole list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The requested page.
    pub request: PageRequest,
    /// Objects on the page.
    pub items: Vec<T>,
    /// Objects on all pages together.
    pub total: u64,
}

/// The share of a page that each of several accounts fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageShare {
    /// Objects to request from each account, at least one.
    pub size: u64,
    /// Whether the page is smaller than the number of accounts, so that objects are left out.
    pub is_small: bool,
}

/// Divides a page of `size` evenly among accounts; the remainder stays empty.
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
        fn shares_fill_a_page_up_to_the_remainder(size in 1u64..=1000, n_accounts in 1u64..2000) {
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
    fn the_last_page_has_the_last_object() {
        for (total, size, last) in
            [(0, 10, 1), (1, 10, 1), (10, 10, 1), (11, 10, 2), (1000, 1, 1000)]
        {
            assert_eq!(PageRequest { number: 1, size }.last(total), last, "{total} by {size}");
        }
        let deepest = PageRequest { number: PAGE_NUMBER_MAX, size: PAGE_SIZE_MAX };
        assert_eq!(deepest.offset(), 9_999_999_000);
    }
}
