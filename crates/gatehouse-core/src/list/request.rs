//! The request for a list, besides its filter: a page, an order, and whether the total is wanted.

use crate::list::Interval;
use crate::page::PageRequest;

/// A page of a list, in an order, with or without the list's total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// The page.
    pub page: PageRequest,
    /// The order of the whole list.
    pub order: ListOrder,
    /// Whether the total is wanted. Some lists are found much faster without it.
    pub with_total: bool,
}

/// The order of a list of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// In the order of creation.
    #[default]
    OldestFirst,
    /// The last created first.
    NewestFirst,
}

impl ListOrder {
    /// The order that a client names.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "createdAt" => Some(Self::OldestFirst),
            "-createdAt" => Some(Self::NewestFirst),
            _ => None,
        }
    }

    /// Words for the orders.
    pub const WORDS: [&str; 2] = ["createdAt", "-createdAt"];
}

impl From<PageRequest> for ListRequest {
    fn from(page: PageRequest) -> Self {
        Self { page, order: ListOrder::OldestFirst, with_total: true }
    }
}

impl ListRequest {
    /// The positions on the page, in order of creation, in a list of `total` accesses.
    pub fn window(&self, total: u64) -> Interval {
        let begin = self.page.offset().min(total);
        let end = self.page.offset().saturating_add(self.page.size).min(total);
        match self.order {
            ListOrder::OldestFirst => Interval { after: begin, to: end },
            ListOrder::NewestFirst => Interval { after: total - end, to: total - begin },
        }
    }

    /// Brings accesses that are in order of creation into the list's order.
    pub fn arrange<T>(&self, mut oldest_first: Vec<T>) -> Vec<T> {
        if self.order == ListOrder::NewestFirst {
            oldest_first.reverse();
        }
        oldest_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_either_order_has_its_positions() {
        for (number, size, total, oldest_first, newest_first) in [
            (1, 10, 25, (0, 10), (15, 25)),
            (2, 10, 25, (10, 20), (5, 15)),
            (3, 10, 25, (20, 25), (0, 5)),
            (4, 10, 25, (25, 25), (0, 0)),
            (1, 10, 0, (0, 0), (0, 0)),
        ] {
            for (order, (after, to)) in
                [(ListOrder::OldestFirst, oldest_first), (ListOrder::NewestFirst, newest_first)]
            {
                let page = PageRequest { number, size };
                let request = ListRequest { page, order, with_total: true };
                let context = format!("{order:?}, page {number} of {total}");
                assert_eq!(request.window(total), Interval { after, to }, "{context}");
            }
        }
    }

    #[test]
    fn each_word_names_an_order() {
        let orders = ListOrder::WORDS.map(ListOrder::from_word);
        assert_eq!(orders, [Some(ListOrder::OldestFirst), Some(ListOrder::NewestFirst)]);
        assert_eq!(ListOrder::from_word("name"), None);
    }
}
