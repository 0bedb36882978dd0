use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::fake::{Fake, iccid, imsi};
use super::{account, context, filter, list, names, platforms};
use crate::{CallContext, FailureKind, Health, LookUp, Paging};
use gatehouse_core::PageRequest;

const BY_TEN: Paging = Paging::numbered(10);

#[tokio::test]
async fn a_page_is_in_the_order_of_accounts() {
    let one = account("ALPHA", "one", &Arc::new(Fake::new(BY_TEN, 0, 5)));
    let two = account("BETA", "two", &Arc::new(Fake::new(Paging::cursor(3), 100, 5)));
    let accounts = [one, two];
    let listing = list(&accounts, "", 1, 4).await;
    assert_eq!(names(&listing), ["one/card-0", "one/card-1", "two/card-100", "two/card-101"]);
    let listing = list(&accounts, "platform=BETA", 1, 4).await;
    assert_eq!(names(&listing).len(), 4);
    assert_eq!(names(&list(&accounts, "", 3, 4).await), ["one/card-4", "two/card-104"]);
    assert!(names(&list(&accounts, "platform=GAMMA", 1, 4).await).is_empty());
    assert!(names(&list(&[], "", 1, 4).await).is_empty());
}

#[tokio::test]
async fn a_page_too_small_for_all_accounts_is_cut_and_says_so() {
    let accounts: Vec<_> = (0..5)
        .map(|n| account("ALPHA", &format!("a{n}"), &Arc::new(Fake::new(BY_TEN, n * 100, 9))))
        .collect();
    let listing = list(&accounts, "", 2, 3).await;
    assert_eq!(names(&listing), ["a0/card-1", "a1/card-101", "a2/card-201"]);
    assert_eq!(listing.too_many_accounts, Some(5));
    // The filter decides the number of accounts.
    let listing = list(&accounts, "relatedParty.name=a1;relatedParty.name=a3", 1, 3).await;
    assert_eq!(names(&listing), ["a1/card-100", "a3/card-300"]);
    assert_eq!(listing.too_many_accounts, None);
}

#[tokio::test]
async fn identifiers_are_looked_up_and_their_hits_paged_through() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 1000));
    let accounts = [account("ALPHA", "a", &fake)];
    // In both notations, twice, and one that does not exist.
    let cards: Vec<String> = [7, 5, 6, 7, 2000].iter().map(|n| iccid(*n, true)).collect();
    let query = format!("iccid={},{}&imsi={}", cards.join(","), iccid(5, false), imsi(900));
    let listing = list(&accounts, &query, 1, 3).await;
    assert_eq!(names(&listing), ["a/card-7", "a/card-5", "a/card-6"]);
    let listing = list(&accounts, &query, 2, 3).await;
    assert_eq!(names(&listing), ["a/card-900"]);
    assert!(names(&list(&accounts, &query, 3, 3).await).is_empty());
    assert_eq!(fake.n_calls(), (0, 6, 0), "no page of its list was needed");
    let query = format!("iccid={}&customProperty.value=2", cards.join(","));
    assert_eq!(names(&list(&accounts, &query, 1, 3).await), ["a/card-5"]);
}

#[tokio::test]
async fn a_failed_account_hides_nothing_of_the_others() {
    for (kind, health) in [
        (FailureKind::Error, Health::Down),
        (FailureKind::Open, Health::Down),
        (FailureKind::Throttled, Health::Unknown),
    ] {
        let broken = Arc::new(Fake::new(BY_TEN, 100, 5));
        broken.fail(kind);
        let accounts = [
            account("ALPHA", "good", &Arc::new(Fake::new(BY_TEN, 0, 5))),
            account("ALPHA", "worse", &broken),
        ];
        let listing = list(&accounts, "", 1, 20).await;
        assert_eq!(names(&listing).len(), 5);
        assert_eq!(listing.failures.len(), 1);
        assert_eq!(listing.failures[0].account.name.as_str(), "worse");
        assert_eq!(listing.failures[0].failure.kind, kind);
        assert_eq!(accounts[0].health(), Health::Up);
        assert_eq!(accounts[1].health(), health);
        // The account is called again, and recovers.
        *broken.failure.lock().unwrap() = None;
        assert_eq!(names(&list(&accounts, "", 1, 20).await).len(), 10);
        assert_eq!(accounts[1].health(), Health::Up);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_account_is_a_timeout_at_the_deadline() {
    let silent = Fake { hangs: true.into(), ..Fake::new(BY_TEN, 100, 5) };
    let accounts = [
        account("ALPHA", "good", &Arc::new(Fake::new(BY_TEN, 0, 5))),
        account("ALPHA", "silent", &Arc::new(silent)),
    ];
    let begin = Instant::now();
    let listing = list(&accounts, "", 1, 20).await;
    assert_eq!(begin.elapsed().as_secs(), 10);
    assert_eq!(names(&listing).len(), 5);
    assert_eq!(listing.failures[0].failure.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn surplus_connections_are_cut_and_reported() {
    let fake = Fake { too_many: 3, ..Fake::new(BY_TEN, 0, 30) };
    let listing = list(&[account("ALPHA", "a", &Arc::new(fake))], "", 1, 5).await;
    assert_eq!(names(&listing).len(), 5);
    assert_eq!(listing.failures[0].failure.kind, FailureKind::Error);
    assert!(listing.failures[0].failure.detail.contains("gave 8 connections on a page of 5"));
}

#[tokio::test]
async fn duplicate_connections_come_once() {
    let fake = Fake::new(BY_TEN, 0, 3);
    let again = fake.connections.lock().unwrap()[1].clone();
    fake.connections.lock().unwrap().insert(2, again);
    let listing = list(&[account("ALPHA", "a", &Arc::new(fake))], "", 1, 10).await;
    assert_eq!(names(&listing), ["a/card-0", "a/card-1", "a/card-2"]);
    assert!(listing.failures.is_empty());
}

#[tokio::test]
async fn pages_that_do_not_exist_are_not_read() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 25));
    let accounts = [account("ALPHA", "a", &fake)];
    assert_eq!(names(&list(&accounts, "", 1, 1000).await).len(), 25);
    assert_eq!(fake.n_calls().0, 3);
    assert_eq!(names(&list(&accounts, "", 1, 1000).await).len(), 25);
    assert_eq!(fake.n_calls().0, 6);
    // New connections are found at once.
    fake.connections.lock().unwrap().extend((25..47).map(super::fake::card));
    assert_eq!(names(&list(&accounts, "", 1, 1000).await).len(), 47);
    assert_eq!(fake.n_calls().0, 11);
}

#[tokio::test(start_paused = true)]
async fn a_page_beyond_a_fresh_total_is_not_read() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 25));
    let accounts = [account("ALPHA", "a", &fake)];
    assert_eq!(names(&list(&accounts, "", 3, 10).await).len(), 5);
    assert!(names(&list(&accounts, "", 4, 10).await).is_empty());
    assert_eq!(fake.n_calls().0, 1);
    // An older total may be outdated.
    fake.connections.lock().unwrap().extend((25..47).map(super::fake::card));
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(names(&list(&accounts, "", 4, 10).await).len(), 10);
}

#[tokio::test]
async fn a_list_without_a_total_is_read_until_a_page_is_empty() {
    let fake = Fake { tells_total: false, ..Fake::new(BY_TEN, 0, 25) };
    let fake = Arc::new(fake);
    let accounts = [account("ALPHA", "a", &fake)];
    assert_eq!(names(&list(&accounts, "", 1, 1000).await).len(), 25);
    assert_eq!(fake.n_calls().0, 4);
    assert_eq!(names(&list(&accounts, "", 1, 20).await).len(), 20);
    assert_eq!(fake.n_calls().0, 6);
    assert_eq!(names(&list(&accounts, "", 2, 20).await).len(), 5);
    assert_eq!(fake.n_calls().0, 8);
}

#[tokio::test]
async fn an_unsearchable_kind_is_scanned_for_or_reported() {
    let fake = |n| {
        let mut fake = Fake::new(BY_TEN, 0, n);
        fake.capabilities.imsi = LookUp::NotSearchable;
        Arc::new(fake)
    };
    let small = fake(490);
    let query = format!("imsi={}&iccid={}", imsi(480), iccid(3, false));
    let listing = list(&[account("ALPHA", "a", &small)], &query, 1, 10).await;
    assert_eq!(names(&listing), ["a/card-480", "a/card-3"], "in the order of the request");
    assert!(listing.failures.is_empty());
    let large = fake(510);
    let listing = list(&[account("ALPHA", "a", &large)], &query, 1, 10).await;
    assert_eq!(names(&listing), ["a/card-3"]);
    assert_eq!(listing.failures[0].failure.kind, FailureKind::LookupNotSupported);
    assert!(listing.failures[0].failure.detail.contains("IMSI"));
    assert_eq!(large.n_calls(), (1, 1, 0));
    // A kind that is never carried causes no call and no failure.
    let listing = list(&[account("ALPHA", "a", &large)], "serialNumber=12345", 1, 10).await;
    assert!(listing.products.is_empty() && listing.failures.is_empty());
    assert_eq!(large.n_calls(), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_for_one_page_share_a_call() {
    // No call reads more than that page, though the platform has larger ones.
    for paging in [Paging::numbered(100), Paging::cursor(100)] {
        let latency = Duration::from_millis(50);
        let fake = Arc::new(Fake { latency, ..Fake::new(paging, 0, 300) });
        let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &fake)]);
        let filter = filter("");
        let page = PageRequest { number: 1, size: 10 };
        let pages = (0..20).map(|_| platforms.list(&accounts, &filter, page, context()));
        let pages = futures_util::future::join_all(pages).await;
        assert!(pages.iter().all(|page| page.products.len() == 10));
        assert_eq!(fake.n_calls().0, 1, "{paging:?}");
        assert_eq!(fake.n_connections.load(std::sync::atomic::Ordering::Relaxed), 10);
    }
    let fake = Arc::new(Fake::new(BY_TEN, 0, 30));
    let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &fake)]);
    let filter = filter("");
    let page =
        |number| platforms.list(&accounts, &filter, PageRequest { number, size: 10 }, context());
    let (one, other, another) = tokio::join!(page(1), page(1), page(2));
    assert_eq!(names(&one), names(&other));
    assert_ne!(names(&one), names(&another));
    assert_eq!(fake.n_calls().0, 2);
    page(1).await;
    assert_eq!(fake.n_calls().0, 3, "afterwards it is asked for again");
}

#[tokio::test(start_paused = true)]
async fn neighbouring_pages_are_read_together() {
    for paging in [Paging::numbered(100), Paging::offset(100)] {
        let latency = Duration::from_millis(50);
        let fake = Arc::new(Fake { latency, ..Fake::new(paging, 0, 985) });
        let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &fake)]);
        let filter = filter("");
        let page = |number| {
            platforms.list(&accounts, &filter, PageRequest { number, size: 10 }, context())
        };
        let pages = futures_util::future::join_all((1..=100).map(page)).await;
        let all: Vec<String> = pages.iter().flat_map(names).collect();
        let expected: Vec<String> = (0..985).map(|n| format!("a/card-{n}")).collect();
        assert_eq!(all, expected, "{paging:?}");
        assert_eq!(fake.n_calls().0, 10, "one for each page of the platform");
        // Far from each other, each call reads only its own page.
        let fake = Arc::new(Fake { latency, ..Fake::new(paging, 0, 985) });
        let accounts = [account("ALPHA", "a", &fake)];
        let page = |number| {
            platforms.list(&accounts, &filter, PageRequest { number, size: 10 }, context())
        };
        let pages = futures_util::future::join_all([1, 11, 21, 31, 41].map(page)).await;
        assert!(pages.iter().all(|page| page.products.len() == 10));
        assert_eq!(fake.n_connections.load(std::sync::atomic::Ordering::Relaxed), 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_larger_page_does_not_fail_the_smaller_ones() {
    for paging in [Paging::numbered(100), Paging::offset(100)] {
        let latency = Duration::from_millis(50);
        let fake = Arc::new(Fake { latency, size_taken: 50, ..Fake::new(paging, 0, 300) });
        let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &fake)]);
        let filter = filter("");
        let page = |number| {
            platforms.list(&accounts, &filter, PageRequest { number, size: 10 }, context())
        };
        let pages = futures_util::future::join_all((1..=30).map(page)).await;
        assert!(pages.iter().all(|page| page.products.len() == 10 && page.failures.is_empty()));
    }
}

#[tokio::test]
async fn a_short_larger_page_does_not_serve_the_smaller_ones() {
    let fake = Fake { short_by: 3, tells_total: false, ..Fake::new(Paging::offset(100), 0, 500) };
    let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &Arc::new(fake))]);
    let filter = filter("");
    let page =
        |number| platforms.list(&accounts, &filter, PageRequest { number, size: 10 }, context());
    let pages = futures_util::future::join_all((1..=51).map(page)).await;
    let all: Vec<String> = pages.iter().flat_map(names).collect();
    assert_eq!(all, (0..500).map(|n| format!("a/card-{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_later_request_keeps_its_own_deadline() {
    let silent = Arc::new(Fake { hangs: true.into(), ..Fake::new(BY_TEN, 0, 5) });
    let (platforms, accounts) = (platforms(), [account("ALPHA", "a", &silent)]);
    let filter = filter("");
    let page = PageRequest { number: 1, size: 10 };
    let within = |seconds| CallContext::until(Instant::now() + Duration::from_secs(seconds));
    let begin = Instant::now();
    let short = platforms.list(&accounts, &filter, page, within(1));
    let long = platforms.list(&accounts, &filter, page, within(3));
    let ended = async |listing| {
        let listing: crate::Listing = Box::pin(listing).await;
        assert_eq!(listing.failures[0].failure.kind, FailureKind::Timeout);
        begin.elapsed().as_secs()
    };
    let (short, long) = tokio::join!(
        ended(Box::pin(short) as std::pin::Pin<Box<dyn Future<Output = _>>>),
        ended(Box::pin(long))
    );
    assert_eq!((short, long), (1, 3));
    assert_eq!(silent.n_calls().0, 2);
}
