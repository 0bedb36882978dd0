//! Every list, with the requested pages, their expected content, and the goal.
//!
//! A new list is a line in [`numbered_lists`], in [`combined_lists`], or in [`counted_lists`] if the server has to count
//! for it.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::Answer;
use crate::fleet::{Access, DAY_MS, Fleet, SHARED_DEVICE_NAME, TENANT};

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) list: &'static str,
    pub(crate) page: PageKind,
    pub(crate) path: String,
    pub(crate) expected: Expected,
    /// Most CPU as a multiple of the first page's of all accesses, if there is a goal.
    pub(crate) goal: Option<f64>,
    /// Most CPU as a multiple of that among few accesses, if there is a goal.
    pub(crate) growth_goal: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) total: u64,
    pub(crate) n_items: u64,
    pub(crate) first_username: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    First,
    Middle,
    Last,
}

const PAGE_SIZE: u64 = 100;

/// The last page of a list whose total is not a multiple of 100 would be shorter than the others.
const FULL_PAGES: &[PageKind] = &[PageKind::First, PageKind::Middle];

const EVERY_PAGE: &[PageKind] = &[PageKind::First, PageKind::Middle, PageKind::Last];

/// A list, with a predicate for its accesses.
struct List {
    name: &'static str,
    filter: String,
    holds: Box<dyn Fn(&Access) -> bool>,
    pages: &'static [PageKind],
    goal: Option<f64>,
    growth_goal: Option<f64>,
}

/// Most CPU of a page on the large store, as a multiple of that on the small one.
const GROWTH_GOAL: f64 = 1.5;

/// Lists whose pages are found by running numbers or by counted sets.
fn numbered_lists(fleet: Fleet) -> Vec<List> {
    let job = fleet.n_jobs() / 2;
    let of_job = move |a: &Access| a.made_by.is_some_and(|made_by| made_by.job == job);
    let job = format!("createdBy=job-{}", fleet.job_id(job));

    let (from, until) = middle_half(fleet);
    let then = move |a: &Access| (from..until).contains(&a.created_at);
    let created = format!("createdAt%3E%3D{}&createdAt%3C{}", show_time(from), show_time(until));

    const TWO: &str = "contractId=C-2;contractId=C-7";
    #[rustfmt::skip]
    let lists = vec![
        //   what                   filter                    its accesses                      pages       goal
        list("all",                 "",                       |_| true,                         EVERY_PAGE, Some(1.5)),
        list("one contract",        "contractId=C-3",         |a| a.contract == 3,              EVERY_PAGE, Some(2.0)),
        list("two contracts",       TWO,                      |a| [2, 7].contains(&a.contract), EVERY_PAGE, Some(1.5)),
        list("one offering",        "productOfferingId=PO-A", |a| a.offering_id() == "PO-A",    EVERY_PAGE, Some(2.0)),
        list("one job",             &job,                     of_job,                           EVERY_PAGE, Some(1.5)),
        list("creation time",       &created,                 then,                             EVERY_PAGE, Some(1.5)),
        list("one status",          "status=SUSPENDED",       |a| a.is_suspended,               EVERY_PAGE, Some(6.0)),
    ];
    lists
}

/// Lists by two sets of which no sums tell the total: their pages read every part of both.
fn combined_lists() -> Vec<List> {
    let both = |a: &Access| !a.is_suspended && a.contract == 3;
    let either = |a: &Access| !a.is_suspended && [2, 7].contains(&a.contract);
    const BOTH: &str = "status=ACTIVE&contractId=C-3";
    const EITHER: &str = "status=ACTIVE&contractId=C-2;status=ACTIVE&contractId=C-7";
    #[rustfmt::skip]
    let lists = [
        //   what                   filter  its accesses  pages       goal
        list("status, contract",    BOTH,   both,         FULL_PAGES, Some(30.0)),
        list("status, 2 contracts", EITHER, either,       FULL_PAGES, Some(30.0)),
    ];
    lists.map(|list| List { growth_goal: None, ..list }).into()
}

/// Lists that are counted: a name and an end have no running numbers.
fn counted_lists(fleet: Fleet) -> Vec<List> {
    let name = format!("name={SHARED_DEVICE_NAME}");
    let next_year = fleet.latest_at + 365 * DAY_MS;
    let late = move |a: &Access| a.end_at.is_some_and(|end_at| end_at >= next_year);
    let end = format!("endDateTime%3E%3D{}", show_time(next_year));
    vec![
        list("device name", &name, Access::is_shared_name, &[PageKind::Middle], None),
        list("end date", &end, late, &[PageKind::Middle], None),
    ]
}

fn list(
    name: &'static str,
    filter: &str,
    holds: impl Fn(&Access) -> bool + 'static,
    pages: &'static [PageKind],
    goal: Option<f64>,
) -> List {
    List {
        name,
        filter: filter.to_owned(),
        holds: Box::new(holds),
        pages,
        goal,
        growth_goal: Some(GROWTH_GOAL),
    }
}

/// Pages that are found by running numbers or by counted sets. The first is the yardstick of all others.
pub(crate) fn numbered(fleet: Fleet) -> Vec<Page> {
    let mut lists = numbered_lists(fleet);
    lists.extend(combined_lists());
    of_lists(&lists, fleet)
}

/// Pages of lists that have to be counted.
pub(crate) fn counted(fleet: Fleet) -> Vec<Page> {
    of_lists(&counted_lists(fleet), fleet)
}

fn of_lists(lists: &[List], fleet: Fleet) -> Vec<Page> {
    let mut totals = vec![0; lists.len()];
    for access in fleet.accesses() {
        for (list, total) in lists.iter().zip(&mut totals) {
            *total += u64::from((list.holds)(&access));
        }
    }
    let mut pages: Vec<Vec<(u64, Page)>> =
        lists.iter().zip(totals).map(|(list, total)| list.pages(total)).collect();

    // A second pass finds the first access of each page.
    let mut n_seen = vec![0; lists.len()];
    for access in fleet.accesses() {
        for ((list, pages), n_seen) in lists.iter().zip(&mut pages).zip(&mut n_seen) {
            if !(list.holds)(&access) {
                continue;
            }
            for (n_before, page) in pages {
                if *n_before == *n_seen {
                    page.expected.first_username = access.username();
                }
            }
            *n_seen += 1;
        }
    }
    pages.into_iter().flatten().map(|(_, page)| page).collect()
}

impl List {
    /// The pages of a list with this total, each with the number of accesses before it.
    fn pages(&self, total: u64) -> Vec<(u64, Page)> {
        let one = |page: &PageKind| {
            let number = page.number(total);
            let n_before = (number - 1) * PAGE_SIZE;
            let filter =
                if self.filter.is_empty() { String::new() } else { format!("{}&", self.filter) };
            let n_items = PAGE_SIZE.min(total - n_before);
            let page = Page {
                list: self.name,
                page: *page,
                path: format!("/{TENANT}/access?{filter}pageNumber={number}"),
                expected: Expected { total, n_items, first_username: String::new() },
                goal: self.goal,
                growth_goal: self.growth_goal,
            };
            (n_before, page)
        };
        self.pages.iter().map(one).collect()
    }
}

impl PageKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Middle => "middle",
            Self::Last => "last",
        }
    }

    /// The page's number in a list with this total.
    fn number(self, total: u64) -> u64 {
        let last = total.div_ceil(PAGE_SIZE).max(1);
        match self {
            Self::First => 1,
            Self::Middle => last.div_ceil(2),
            Self::Last => last,
        }
    }
}

impl Expected {
    /// Checks status, total and length of a page.
    pub(crate) fn check(&self, answer: &Answer<'_>) -> Result<(), String> {
        if answer.status != 200 {
            let body = String::from_utf8_lossy(answer.body);
            return Err(format!("status {} instead of 200: {body}", answer.status));
        }
        if answer.total != Some(self.total) {
            let total = answer.total.map_or("none".to_owned(), |total| total.to_string());
            return Err(format!("X-Total-Count is {total} instead of {}", self.total));
        }
        let items = serde_json::from_slice::<Vec<IgnoredAny>>(answer.body);
        let n_items = items.map_err(|cause| format!("the body is no list: {cause}"))?.len() as u64;
        if n_items != self.n_items {
            return Err(format!("{n_items} accesses on the page instead of {}", self.n_items));
        }
        Ok(())
    }

    /// Checks a page and its first access.
    pub(crate) fn check_closely(&self, answer: &Answer<'_>) -> Result<(), String> {
        self.check(answer)?;
        let items: Value = serde_json::from_slice(answer.body).unwrap_or_default();
        let first = items[0]["username"].as_str().unwrap_or("nobody");
        if first == self.first_username {
            Ok(())
        } else {
            Err(format!("the page begins with {first} instead of {}", self.first_username))
        }
    }
}

/// The creation times of the middle half of the fleet: first inclusive, last exclusive.
fn middle_half(fleet: Fleet) -> (i64, i64) {
    let quarter = fleet.n_accesses / 4;
    (fleet.created_at(quarter + 1), fleet.created_at(3 * quarter + 1))
}

fn show_time(unix_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(unix_ms);
    time.map_or_else(|_| unix_ms.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests;
