use std::sync::Arc;
use std::time::Duration;

use super::fake::Fake;
use super::{account, list, names};
use crate::window::WALK_PAGES_MAX;
use crate::{FailureKind, Paging};

const BY_TEN: Paging = Paging::Cursor { size_max: 10 };

#[tokio::test]
async fn the_next_page_is_one_step_away() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    for number in 1..=10 {
        assert_eq!(names(&list(&accounts, "", number, 10).await).len(), 10);
    }
    assert_eq!(fake.n_calls().0, 10);
    // One that lies back is as near.
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
    assert_eq!(listing.troubles[0].failure.kind, FailureKind::PageOutOfReach);
    assert_eq!(fake.n_calls().0, WALK_PAGES_MAX as u32);
    // What was walked is known now, so it goes on from there.
    assert_eq!(names(&list(&accounts, "", reach + 1, 10).await)[0], "a/card-640");
    let fresh = [account("ALPHA", "b", &fake)];
    assert_eq!(names(&list(&fresh, "", reach, 10).await)[0], "b/card-630");
}

#[tokio::test]
async fn marks_that_lead_in_a_circle_are_told() {
    let fake = Fake { circles: true, ..Fake::new(BY_TEN, 0, 30) };
    let listing = list(&[account("ALPHA", "a", &Arc::new(fake))], "", 3, 10).await;
    assert_eq!(listing.troubles[0].failure.kind, FailureKind::Error);
    assert!(listing.troubles[0].failure.detail.contains("circle"));
}

#[tokio::test]
async fn a_list_that_begins_again_is_told_on_every_page() {
    for size in [3, 5, 10, 12] {
        let fake = Fake { begins_again: true, ..Fake::new(BY_TEN, 0, 10) };
        let accounts = [account("ALPHA", "a", &Arc::new(fake))];
        let mut all = Vec::new();
        let mut n_told = 0;
        for number in 1..10 {
            let listing = list(&accounts, "", number, size).await;
            all.extend(names(&listing));
            n_told += usize::from(!listing.troubles.is_empty());
        }
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!((distinct.len(), all.len()), (10, 10), "by {size}: {all:?}");
        assert!(n_told > 0, "by {size}");
    }
}

#[tokio::test]
async fn a_platform_that_fails_for_a_while_keeps_its_marks() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 1000));
    let accounts = [account("ALPHA", "a", &fake)];
    for number in 1..=80 {
        list(&accounts, "", number, 10).await;
    }
    fake.fail(FailureKind::Error);
    assert_eq!(list(&accounts, "", 81, 10).await.troubles.len(), 1);
    *fake.failure.lock().unwrap() = None;
    let listing = list(&accounts, "", 81, 10).await;
    assert_eq!(names(&listing)[0], "a/card-800");
    assert!(listing.troubles.is_empty());
}

#[tokio::test]
async fn a_mark_that_has_had_its_time_is_no_loss() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    list(&accounts, "", 5, 10).await;
    *fake.marks.lock().unwrap() = "other".into();
    let listing = list(&accounts, "", 6, 10).await;
    assert_eq!(names(&listing)[0], "a/card-50");
    assert!(listing.troubles.is_empty());
}

#[tokio::test(start_paused = true)]
async fn marks_are_kept_for_a_while_only() {
    let fake = Arc::new(Fake::new(BY_TEN, 0, 100));
    let accounts = [account("ALPHA", "a", &fake)];
    list(&accounts, "", 5, 10).await;
    assert_eq!(fake.n_calls().0, 5);
    tokio::time::advance(Duration::from_secs(3600)).await;
    list(&accounts, "", 5, 10).await;
    assert_eq!(fake.n_calls().0, 10);
}
