//! What is measured: every list, the page that is asked for, the answer that is right, and the goal.
//!
//! A new list is a line in [`lists`]. Something else than a list is a function beside [`all`] that makes
//! [`Case`]s.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::Answer;
use crate::fleet::{Access, DAY_MS, Fleet, SHARED_DEVICE_NAME, TENANT};

/// A request that is measured. The first case is the yardstick of all others.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What is listed.
    pub(crate) list: &'static str,
    pub(crate) page: PageKind,
    pub(crate) path: String,
    pub(crate) expected: Expected,
    /// How many times the CPU of the yardstick it may use; `None` where there is no goal.
    pub(crate) goal: Option<f64>,
}

impl Case {
    /// Whether the server has to count for it. Such a case is measured less often, as it takes long.
    pub(crate) fn counts(&self) -> bool {
        self.goal.is_none()
    }
}

/// The answer that is right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) total: u64,
    pub(crate) n_items: u64,
    pub(crate) first_username: String,
}

/// Which page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    First,
    Middle,
    Last,
}

/// The server's own default.
const PAGE_SIZE: u64 = 100;

const EVERY_PAGE: &[PageKind] = &[PageKind::First, PageKind::Middle, PageKind::Last];

/// A list, and which accesses it must hold.
struct List {
    name: &'static str,
    filter: String,
    holds: Box<dyn Fn(&Access) -> bool>,
    pages: &'static [PageKind],
    goal: Option<f64>,
}

/// The lists. A name and an end date have no running numbers, so their lists are counted.
fn lists(fleet: Fleet) -> Vec<List> {
    let job = fleet.n_jobs() / 2;
    let of_job = move |a: &Access| a.made_by.is_some_and(|made_by| made_by.job == job);
    let job = format!("createdBy=job-{}", fleet.job_id(job));

    let (from, until) = middle_half(fleet);
    let then = move |a: &Access| (from..until).contains(&a.created_at);
    let created = format!("createdAt%3E%3D{}&createdAt%3C{}", show_time(from), show_time(until));

    let name = format!("name={SHARED_DEVICE_NAME}");
    let next_year = fleet.latest_at + 365 * DAY_MS;
    let late = move |a: &Access| a.end_at.is_some_and(|end_at| end_at >= next_year);
    let end = format!("endDateTime%3E%3D{}", show_time(next_year));

    const TWO: &str = "contractId=C-2;contractId=C-7";
    #[rustfmt::skip]
    let lists = vec![
        //   what             filter                    what it must hold                 pages       goal
        list("all",           "",                       |_| true,                         EVERY_PAGE, Some(1.5)),
        list("one contract",  "contractId=C-3",         |a| a.contract == 3,              EVERY_PAGE, Some(2.0)),
        list("two contracts", TWO,                      |a| [2, 7].contains(&a.contract), EVERY_PAGE, Some(1.5)),
        list("one offering",  "productOfferingId=PO-A", |a| a.offering_id() == "PO-A",    EVERY_PAGE, Some(2.0)),
        list("one job",       &job,                     of_job,                           EVERY_PAGE, Some(1.5)),
        list("creation time", &created,                 then,                             EVERY_PAGE, Some(1.5)),
        list("device name",   &name,                    Access::is_shared_name,           EVERY_PAGE, None),
        list("end date",      &end,                     late,                             EVERY_PAGE, None),
    ];
    lists
}

fn list(
    name: &'static str,
    filter: &str,
    holds: impl Fn(&Access) -> bool + 'static,
    pages: &'static [PageKind],
    goal: Option<f64>,
) -> List {
    List { name, filter: filter.to_owned(), holds: Box::new(holds), pages, goal }
}

/// Every case for a store with this fleet, always in the same order.
pub(crate) fn all(fleet: Fleet) -> Vec<Case> {
    let lists = lists(fleet);
    let mut totals = vec![0; lists.len()];
    for access in fleet.accesses() {
        for (list, total) in lists.iter().zip(&mut totals) {
            *total += u64::from((list.holds)(&access));
        }
    }
    let mut cases: Vec<Vec<(u64, Case)>> =
        lists.iter().zip(totals).map(|(list, total)| list.cases(total)).collect();

    // Once more, for what stands at the top of each page.
    let mut n_seen = vec![0; lists.len()];
    for access in fleet.accesses() {
        for ((list, cases), n_seen) in lists.iter().zip(&mut cases).zip(&mut n_seen) {
            if !(list.holds)(&access) {
                continue;
            }
            for (n_before, case) in cases {
                if *n_before == *n_seen {
                    case.expected.first_username = access.username();
                }
            }
            *n_seen += 1;
        }
    }
    cases.into_iter().flatten().map(|(_, case)| case).collect()
}

impl List {
    /// The cases of a list with this total, each with the number of accesses before its page.
    fn cases(&self, total: u64) -> Vec<(u64, Case)> {
        let case = |page: &PageKind| {
            let number = page.number(total);
            let n_before = (number - 1) * PAGE_SIZE;
            let filter =
                if self.filter.is_empty() { String::new() } else { format!("{}&", self.filter) };
            let n_items = PAGE_SIZE.min(total - n_before);
            let case = Case {
                list: self.name,
                page: *page,
                path: format!("/{TENANT}/access?{filter}pageNumber={number}"),
                expected: Expected { total, n_items, first_username: String::new() },
                goal: self.goal,
            };
            (n_before, case)
        };
        self.pages.iter().map(case).collect()
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
    /// Says what is wrong with an answer, of which the length of the page is all that is read.
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

    /// The same, and that it is the right page.
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

/// From when, inclusive, until when, exclusive, the middle half of the fleet was made.
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
