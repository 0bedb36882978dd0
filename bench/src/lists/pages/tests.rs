use std::time::Duration;

use super::*;

const FLEET: Fleet = Fleet { n_accesses: 10_000, latest_at: 1_800_000_000_000 };

fn page(list: &str, page: PageKind) -> Page {
    let mut pages = numbered(FLEET).into_iter();
    pages.find(|it| it.list == list && it.page == page).unwrap()
}

#[test]
fn the_yardstick_is_the_first_page_of_all_accesses() {
    let first = &numbered(FLEET)[0];
    assert_eq!((first.list, first.page), ("all", PageKind::First));
    assert_eq!(first.path, "/bench/access?pageNumber=1");
    assert_eq!((first.expected.total, first.expected.n_items), (10_000, 100));
}

#[test]
fn pages_are_full_so_that_they_can_be_compared() {
    for page in numbered(FLEET) {
        assert_eq!(page.expected.n_items, 100, "{page:?}");
    }
}

#[test]
fn a_page_begins_with_the_access_that_its_number_says() {
    let last = page("all", PageKind::Last);
    assert_eq!(last.path, "/bench/access?pageNumber=100");
    let number_9901 = FLEET.accesses().nth(9900).unwrap();
    assert_eq!(last.expected.first_username, number_9901.username());

    let job = page("one job", PageKind::Middle);
    assert!(job.path.ends_with("&pageNumber=5"), "{}", job.path);
    assert_eq!(job.expected.total, 1000);
    let first = FLEET.accesses().find(|access| {
        access.made_by.is_some_and(|made_by| made_by.job == 2 && made_by.job_number == 401)
    });
    assert_eq!(job.expected.first_username, first.unwrap().username());
}

#[test]
fn creation_times_are_written_to_the_millisecond() {
    let during = page("creation time", PageKind::First);
    assert_eq!(during.expected.total, 5_000);
    assert_eq!(
        during.path,
        "/bench/access?createdAt%3E%3D2027-01-15T01:45:03.000Z\
         &createdAt%3C2027-01-15T05:55:03.000Z&pageNumber=1"
    );
}

#[test]
fn every_fault_is_reported() {
    let expected = Expected { total: 12, n_items: 1, first_username: "u-a".into() };
    let right = br#"[{"username":"u-a"}]"#.as_slice();
    #[rustfmt::skip]
    let cases = [
        // status  total      body                           fault
        (200,      Some(12),  right,                         ""),
        (404,      Some(12),  right,                         "status 404"),
        (200,      Some(13),  right,                         "13 instead of 12"),
        (200,      None,      right,                         "none instead of 12"),
        (200,      Some(12),  b"[]".as_slice(),              "0 accesses on the page"),
        (200,      Some(12),  b"{}".as_slice(),              "no list"),
        (200,      Some(12),  br#"[{"username":"u-b"}]"#,    "begins with u-b"),
    ];
    for (status, total, body, said) in cases {
        let answer = Answer { status, total, event_number: None, body, latency: Duration::ZERO };
        let fault = expected.check_closely(&answer).err().unwrap_or_default();
        assert!(fault.contains(said) && fault.is_empty() == said.is_empty(), "{said}: {fault}");
    }
}
