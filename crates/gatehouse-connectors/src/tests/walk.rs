use std::sync::Arc;
use std::time::Duration;

use super::fake::Fake;
use super::{account, list, names};
use crate::engine::window::WALK_PAGES_MAX;
use crate::{FailureKind, Paging};

const BY_TEN: Paging = Paging::cursor(10);

#[tokio::test]
async fn the_next_page_takes_one_call() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    for number in 1..=10 {
        assert_eq!(names(&list(&accounts, "", number, 10).await).len(), 10);
    }
    assert_eq!(fake.n_calls().0, 10);
    // An earlier page is as near.
    assert_eq!(names(&list(&accounts, "", 4, 10).await)[0], "a/card-30");
    assert_eq!(fake.n_calls().0, 11);
}

#[tokio::test]
async fn a_page_that_is_too_far_away_is_out_of_reach() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 2000));
    let accounts = [account("ALPHA", "a", &fake)];
    let reach = WALK_PAGES_MAX as u64;
    let listing = list(&accounts, "", reach + 1, 10).await;
    assert!(listing.products.is_empty());
    assert_eq!(listing.failures[0].failure.kind, FailureKind::PageOutOfReach);
    assert_eq!(fake.n_calls().0, WALK_PAGES_MAX as u32);
    // The walk has cached its cursors, so the next one continues there.
    assert_eq!(names(&list(&accounts, "", reach + 1, 10).await)[0], "a/card-640");
    let fresh = [account("ALPHA", "b", &fake)];
    assert_eq!(names(&list(&fresh, "", reach, 10).await)[0], "b/card-630");
}

#[tokio::test]
async fn cursors_that_lead_in_a_circle_are_reported() {
    let fake = Fake { circles: true, ..Fake::new(BY_TEN, 0, 30) };
    let listing = list(&[account("ALPHA", "a", &Arc::new(fake))], "", 3, 10).await;
    assert_eq!(listing.failures[0].failure.kind, FailureKind::Error);
    assert!(listing.failures[0].failure.detail.contains("circle"));
}

#[tokio::test]
async fn a_list_that_begins_again_is_reported_on_every_page() {
    for size in [3, 5, 10, 12] {
        let fake = Fake { begins_again: true, ..Fake::new(BY_TEN, 0, 10) };
        let accounts = [account("ALPHA", "a", &Arc::new(fake))];
        let mut all = Vec::new();
        let mut n_told = 0;
        for number in 1..10 {
            let listing = list(&accounts, "", number, size).await;
            all.extend(names(&listing));
            n_told += usize::from(!listing.failures.is_empty());
        }
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!((distinct.len(), all.len()), (10, 10), "by {size}: {all:?}");
        assert!(n_told > 0, "by {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_begins_again_is_reported_for_neighbours_too() {
    let latency = Duration::from_millis(50);
    let paging = Paging::cursor(20);
    let fake = Fake { latency, begins_again: true, ..Fake::new(paging, 0, 20) };
    let accounts = [account("ALPHA", "a", &Arc::new(fake))];
    for number in 1..=4 {
        list(&accounts, "", number, 10).await;
    }
    let pages = (1..=4).map(|number| list(&accounts, "", number, 10));
    let pages = futures_util::future::join_all(pages).await;
    let n_products: Vec<usize> = pages.iter().map(|page| page.products.len()).collect();
    assert_eq!(n_products, [10, 10, 0, 0]);
    assert!(pages[2..].iter().all(|page| page.failures.len() == 1));
}

#[tokio::test(start_paused = true)]
async fn neighbouring_pages_are_read_together_once_cursors_are_cached() {
    let latency = Duration::from_millis(50);
    let paging = Paging::cursor(100);
    let fake = Arc::new(Fake { latency, ..Fake::new(paging, 0, 985) });
    let accounts = [account("ALPHA", "a", &fake)];
    let all = async || {
        let pages = (1..=100).map(|number| list(&accounts, "", number, 10));
        let pages = futures_util::future::join_all(pages).await;
        pages.iter().flat_map(names).collect::<Vec<_>>()
    };
    let expected: Vec<String> = (0..985).map(|n| format!("a/card-{n}")).collect();
    assert_eq!(all().await, expected, "when nothing is known");
    for number in 1..=100 {
        list(&accounts, "", number, 10).await;
    }
    let before = fake.n_calls().0;
    assert_eq!(all().await, expected, "when everything is");
    let n_calls = fake.n_calls().0 - before;
    // The last page, without a cursor after it, is read alone.
    assert_eq!(n_calls, 11);
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_find_each_next_page_in_one_call() {
    let latency = Duration::from_millis(50);
    let paging = Paging::cursor(100);
    let fake = Arc::new(Fake { latency, ..Fake::new(paging, 0, 400) });
    let accounts = [account("ALPHA", "a", &fake)];
    for number in 1..=40 {
        let pages = (0..8).map(|_| list(&accounts, "", number, 10));
        let pages = futures_util::future::join_all(pages).await;
        assert!(pages.iter().all(|page| page.products.len() == 10), "{number}");
        assert_eq!(fake.n_calls().0, u32::try_from(number).unwrap());
    }
    // Also for two adjacent pages at once.
    let before = fake.n_calls().0;
    let fresh = [account("ALPHA", "b", &fake)];
    list(&fresh, "", 1, 10).await;
    for number in 2..=20 {
        tokio::join!(list(&fresh, "", number - 1, 10), list(&fresh, "", number, 10));
    }
    assert_eq!(fake.n_calls().0 - before, 1 + 2 * 19);
}

#[tokio::test]
async fn cursors_beyond_the_end_are_removed() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 60));
    let accounts = [account("ALPHA", "a", &fake)];
    let all = async || {
        let mut all = Vec::new();
        for number in 1..=8 {
            all.extend(names(&list(&accounts, "", number, 10).await));
        }
        all
    };
    assert_eq!(all().await.len(), 60);
    fake.connections.lock().unwrap().drain(..15);
    // Cursors name the connection before them, as on many platforms.
    *fake.removed_before_cursor.lock().unwrap() = 15;
    assert_eq!(all().await, (15..60).map(|n| format!("a/card-{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn cursors_survive_a_temporary_failure() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 1000));
    let accounts = [account("ALPHA", "a", &fake)];
    for number in 1..=80 {
        list(&accounts, "", number, 10).await;
    }
    fake.fail(FailureKind::Error);
    assert_eq!(list(&accounts, "", 81, 10).await.failures.len(), 1);
    *fake.failure.lock().unwrap() = None;
    let listing = list(&accounts, "", 81, 10).await;
    assert_eq!(names(&listing)[0], "a/card-800");
    assert!(listing.failures.is_empty());
}

#[tokio::test]
async fn an_expired_cursor_is_replaced_by_a_new_walk() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    list(&accounts, "", 5, 10).await;
    *fake.cursor_prefix.lock().unwrap() = "other".into();
    let listing = list(&accounts, "", 6, 10).await;
    assert_eq!(names(&listing)[0], "a/card-50");
    assert!(listing.failures.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cursors_expire() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    list(&accounts, "", 5, 10).await;
    assert_eq!(fake.n_calls().0, 5);
    tokio::time::advance(Duration::from_secs(3600)).await;
    list(&accounts, "", 5, 10).await;
    assert_eq!(fake.n_calls().0, 10);
}
