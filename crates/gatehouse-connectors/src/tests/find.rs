use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Identifier, IdentifierKind};

use super::fake::{Fake, card, iccid, imsi};
use super::{account, context, platforms};
use crate::{FailureKind, FindRequest, FindResult, LiveAccount, LookUp, Paging, Platforms};

const BY_TEN: Paging = Paging::numbered(10);

fn cards(numbers: impl IntoIterator<Item = u64>) -> FindRequest {
    let card = |n| Identifier::parse(IdentifierKind::Iccid, &iccid(n, true)).unwrap();
    FindRequest { identifiers: numbers.into_iter().map(card).collect(), ids: Vec::new() }
}

fn named(ids: &[&str]) -> FindRequest {
    FindRequest { identifiers: Vec::new(), ids: ids.iter().map(|id| id.parse().unwrap()).collect() }
}

fn found(finding: &FindResult) -> Vec<String> {
    finding.products.iter().map(|it| format!("{}/{}", it.account.name, it.id())).collect()
}

fn missing(finding: &FindResult) -> Vec<String> {
    let identifiers = finding.missing.identifiers.iter().map(|it| it.value().to_owned());
    identifiers.chain(finding.missing.ids.iter().map(ToString::to_string)).collect()
}

/// Two accounts of one platform and one of another, with a hundred cards each.
fn three() -> ([Arc<Fake>; 3], [Arc<LiveAccount>; 3]) {
    let fakes = [0, 100, 200].map(|first| Arc::new(Fake::new(BY_TEN, first, 100)));
    let accounts = [
        account("ALPHA", "a", &fakes[0]),
        account("ALPHA", "b", &fakes[1]),
        account("BETA", "c", &fakes[2]),
    ];
    (fakes, accounts)
}

async fn find(
    platforms: &Platforms,
    accounts: &[Arc<LiveAccount>],
    wanted: &FindRequest,
) -> FindResult {
    platforms.find(accounts, wanted, context()).await
}

#[tokio::test]
async fn products_are_found_wherever_they_are_and_the_missing_are_named() {
    let (_, accounts) = three();
    let mut wanted = cards([250, 3, 999]);
    wanted.ids = named(&["ALPHA-card-105", "BETA-card-3", "GAMMA-x", "BETA-card-250"]).ids;
    wanted.identifiers.push(Identifier::parse(IdentifierKind::Imsi, &imsi(7)).unwrap());
    wanted.identifiers.push(Identifier::parse(IdentifierKind::Msisdn, "1234567").unwrap());
    let finding = find(&platforms(), &accounts, &wanted).await;
    assert_eq!(
        found(&finding),
        ["a/ALPHA-card-3", "a/ALPHA-card-7", "b/ALPHA-card-105", "c/BETA-card-250"]
    );
    assert_eq!(missing(&finding), [&iccid(999, true), "1234567", "BETA-card-3", "GAMMA-x"]);
    assert!(finding.failures.is_empty());
}

#[tokio::test]
async fn targets_of_a_failed_account_are_unknown_and_not_missing() {
    let (fakes, accounts) = three();
    fakes[1].fail(FailureKind::Error);
    let mut wanted = cards([3, 105, 999]);
    wanted.ids = named(&["ALPHA-card-105", "ALPHA-card-3", "BETA-card-3"]).ids;
    let finding = find(&platforms(), &accounts, &wanted).await;
    assert_eq!(found(&finding), ["a/ALPHA-card-3"]);
    assert_eq!(
        missing(&finding),
        ["BETA-card-3"],
        "the others could be at the account that failed"
    );
    assert_eq!(finding.failures.len(), 1);
    assert_eq!(finding.failures[0].account.name.as_str(), "b");
}

#[tokio::test]
async fn targets_of_an_unsearchable_kind_stay_unknown() {
    let mut fake = Fake::new(BY_TEN, 0, 1000);
    fake.capabilities.iccid = LookUp::NotSearchable;
    let accounts = [account("ALPHA", "a", &Arc::new(fake))];
    let finding = find(&platforms(), &accounts, &cards([3, 5000])).await;
    assert!(found(&finding).is_empty() && missing(&finding).is_empty());
    assert_eq!(finding.failures[0].failure.kind, FailureKind::LookupNotSupported);
    // A number that is never carried is missing.
    let mut fake = Fake::new(BY_TEN, 0, 1000);
    fake.capabilities.iccid = LookUp::NeverCarried;
    let accounts = [account("ALPHA", "a", &Arc::new(fake))];
    let finding = find(&platforms(), &accounts, &cards([3])).await;
    assert_eq!(missing(&finding).len(), 1);
}

#[tokio::test]
async fn many_targets_are_looked_up_in_batches() {
    let (fakes, accounts) = three();
    let finding = find(&platforms(), &accounts, &cards((0..300).chain(5000..5700))).await;
    assert_eq!(found(&finding).len(), 300);
    assert_eq!(missing(&finding).len(), 700);
    for fake in fakes {
        assert_eq!(fake.n_calls(), (0, 10, 0));
    }
}

#[tokio::test]
async fn a_short_list_is_scanned_instead_of_many_look_ups() {
    let mut fake = Fake::new(BY_TEN, 0, 95);
    fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
    let fake = Arc::new(fake);
    let accounts = [account("ALPHA", "a", &fake)];
    let finding = find(&platforms(), &accounts, &cards(90..190)).await;
    assert_eq!((found(&finding).len(), missing(&finding).len()), (5, 95));
    assert_eq!(fake.n_calls(), (10, 0, 0));
    // A few are looked up one by one.
    let finding = find(&platforms(), &accounts, &cards(0..4)).await;
    assert_eq!(found(&finding).len(), 4);
    assert_eq!(fake.n_calls(), (10, 4, 0));
    // So are many, if the list is longer.
    let mut fake = Fake::new(BY_TEN, 0, 400);
    fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
    let fake = Arc::new(fake);
    let finding = find(&platforms(), &[account("ALPHA", "a", &fake)], &cards(0..30)).await;
    assert_eq!(found(&finding).len(), 30);
    assert_eq!(fake.n_calls(), (1, 30, 0));
}

#[tokio::test]
async fn a_found_target_is_searched_at_its_last_account_first() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    let n_look_ups = || fakes.iter().map(|it| it.n_calls().1).collect::<Vec<_>>();
    assert_eq!(found(&find(&platforms, &accounts, &cards([105])).await), ["b/ALPHA-card-105"]);
    assert_eq!(n_look_ups(), [1, 1, 1]);
    assert_eq!(found(&find(&platforms, &accounts, &cards([105])).await), ["b/ALPHA-card-105"]);
    assert_eq!(n_look_ups(), [1, 2, 1]);
    // The card has moved: the other accounts are searched, too.
    let moved = fakes[1].connections.lock().unwrap().remove(5);
    fakes[2].connections.lock().unwrap().push(moved);
    assert_eq!(found(&find(&platforms, &accounts, &cards([105])).await), ["c/BETA-card-105"]);
    assert_eq!(n_look_ups(), [2, 3, 2]);
    // For other accounts, the cache has nothing.
    find(&platforms, &accounts[..2], &cards([105])).await;
    assert_eq!(n_look_ups(), [3, 4, 2]);
}

#[tokio::test]
async fn all_connections_with_a_number_are_found() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    fakes[2].connections.lock().unwrap().push(card(105));
    for _ in 0..2 {
        let finding = find(&platforms, &accounts, &cards([105])).await;
        assert_eq!(found(&finding), ["b/ALPHA-card-105", "c/BETA-card-105"]);
    }
    // If an account failed, the holders found are not stored as complete.
    fakes[2].fail(FailureKind::Error);
    assert_eq!(found(&find(&platforms, &accounts, &cards([106])).await), ["b/ALPHA-card-106"]);
    *fakes[2].failure.lock().unwrap() = None;
    fakes[2].connections.lock().unwrap().push(card(106));
    let finding = find(&platforms, &accounts, &cards([106])).await;
    assert_eq!(found(&finding), ["b/ALPHA-card-106", "c/BETA-card-106"]);
}

#[tokio::test(start_paused = true)]
async fn cached_holders_expire() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    find(&platforms, &accounts, &cards([105])).await;
    tokio::time::advance(Duration::from_secs(600)).await;
    find(&platforms, &accounts, &cards([105])).await;
    assert_eq!(fakes[0].n_calls().1, 2);
}

#[tokio::test(start_paused = true)]
async fn other_accounts_are_searched_while_the_last_holder_is_slow() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    find(&platforms, &accounts, &cards([105])).await;
    // The card has moved, and its old account hangs.
    let moved = fakes[1].connections.lock().unwrap().remove(5);
    fakes[2].connections.lock().unwrap().push(moved);
    fakes[1].hang();
    let finding = find(&platforms, &accounts, &cards([105])).await;
    assert_eq!(found(&finding), ["c/BETA-card-105"]);
    assert_eq!(finding.failures.len(), 1, "{:?}", finding.failures);
    assert_eq!(finding.failures[0].account.name.as_str(), "b");
    assert_eq!(accounts.each_ref().map(|it| it.health().as_str()), ["UP", "DOWN", "UP"]);
}

#[tokio::test]
async fn one_connection_may_come_twice_with_different_numbers() {
    let fake = Fake::new(BY_TEN, 0, 3);
    let mut again = Arc::unwrap_or_clone(card(1));
    again.identifiers.clone_from(&card(900).identifiers);
    fake.connections.lock().unwrap().push(Arc::new(again));
    let accounts = [account("ALPHA", "a", &Arc::new(fake))];
    let finding = find(&platforms(), &accounts, &cards([1, 900])).await;
    assert_eq!((found(&finding).len(), missing(&finding).len()), (1, 0));
}

#[tokio::test]
async fn a_list_of_unknown_length_is_scanned_only_if_necessary() {
    let mut fake = Fake::new(Paging::cursor(10), 0, 1000);
    fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
    let fake = Arc::new(fake);
    let accounts = [account("ALPHA", "a", &fake)];
    let finding = find(&platforms(), &accounts, &cards(900..940)).await;
    assert_eq!(found(&finding).len(), 40);
    assert_eq!(fake.n_calls(), (0, 40, 0));
    // Without a search, a scan is tried, but not again for a while.
    let mut fake = Fake::new(Paging::cursor(10), 0, 1000);
    fake.capabilities.iccid = LookUp::NotSearchable;
    let fake = Arc::new(fake);
    let accounts = [account("ALPHA", "a", &fake)];
    for _ in 0..3 {
        let finding = find(&platforms(), &accounts, &cards([900])).await;
        assert_eq!(finding.failures[0].failure.kind, FailureKind::LookupNotSupported);
    }
    assert_eq!(fake.n_calls(), (50, 0, 0));
}

#[tokio::test]
async fn targets_missed_by_a_scan_of_a_changing_list_are_looked_up() {
    for paging in [BY_TEN, Paging::offset(10)] {
        let mut fake = Fake::new(paging, 0, 100);
        fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
        fake.shrinks = true.into();
        let fake = Arc::new(fake);
        let accounts = [account("ALPHA", "a", &fake)];
        let finding = find(&platforms(), &accounts, &cards(1..100)).await;
        assert_eq!((found(&finding).len(), missing(&finding)), (99, vec![]), "{paging:?}");
        assert!(finding.failures.is_empty());
        assert_eq!(fake.n_calls().1, 1, "the one that moved onto a page that was read already");
        // Without a search, the target stays unknown.
        let mut fake = Fake::new(paging, 0, 100);
        fake.capabilities.iccid = LookUp::NotSearchable;
        fake.shrinks = true.into();
        let accounts = [account("ALPHA", "a", &Arc::new(fake))];
        let finding = find(&platforms(), &accounts, &cards(1..100)).await;
        assert_eq!((found(&finding).len(), missing(&finding)), (98, vec![]), "{paging:?}");
        assert_eq!(finding.failures.len(), 1);
    }
}

#[tokio::test]
async fn no_target_is_missing_from_an_account_that_failed_in_part() {
    let mut fake = Fake::new(BY_TEN, 0, 1000);
    fake.capabilities.imsi = LookUp::NotSearchable;
    let accounts = [account("ALPHA", "a", &Arc::new(fake))];
    let mut wanted = cards([3, 5000]);
    wanted.identifiers.push(Identifier::parse(IdentifierKind::Imsi, &imsi(700)).unwrap());
    wanted.identifiers.push(Identifier::parse(IdentifierKind::SerialNumber, "12345").unwrap());
    wanted.ids = named(&["ALPHA-none"]).ids;
    let finding = find(&platforms(), &accounts, &wanted).await;
    assert_eq!(found(&finding), ["a/ALPHA-card-3"]);
    assert_eq!(missing(&finding), ["12345"], "it carries no such number at all");
    assert_eq!(finding.failures.len(), 1);
}

#[tokio::test]
async fn short_pages_hide_nothing_from_a_scan() {
    for tells_total in [true, false] {
        let mut fake = Fake::new(Paging::offset(10), 0, 95);
        (fake.short_by, fake.tells_total) = (4, tells_total);
        fake.capabilities.iccid = LookUp::NotSearchable;
        let accounts = [account("ALPHA", "a", &Arc::new(fake))];
        let finding = find(&platforms(), &accounts, &cards([7, 94, 500])).await;
        assert_eq!(found(&finding).len(), 2);
        assert_eq!(missing(&finding).len(), 1);
    }
}

#[tokio::test]
async fn a_product_of_two_accounts_comes_once() {
    let fakes = [Arc::new(Fake::new(BY_TEN, 0, 10)), Arc::new(Fake::new(BY_TEN, 0, 10))];
    let accounts = [account("ALPHA", "a", &fakes[0]), account("ALPHA", "b", &fakes[1])];
    let finding = find(&platforms(), &accounts, &cards([3])).await;
    assert_eq!(found(&finding), ["a/ALPHA-card-3"]);
}

#[tokio::test]
async fn one_product_is_read_from_the_account_that_showed_it() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    let id = "ALPHA-card-105".parse().unwrap();
    let reading = platforms.read(&accounts, &id, context()).await;
    assert_eq!(reading.product.unwrap().account.name.as_str(), "b");
    assert_eq!(fakes.each_ref().map(|it| it.n_calls().2), [1, 1, 0]);
    platforms.read(&accounts, &id, context()).await;
    assert_eq!(fakes.each_ref().map(|it| it.n_calls().2), [1, 2, 0]);
    // A list fills the cache, too.
    let page = gatehouse_core::PageRequest { number: 1, size: 30 };
    platforms.list(&accounts, &super::filter(""), page, context()).await;
    platforms.read(&accounts, &"ALPHA-card-3".parse().unwrap(), context()).await;
    assert_eq!(fakes.each_ref().map(|it| it.n_calls().2), [2, 2, 0]);
}

#[tokio::test]
async fn a_missing_product_differs_from_an_unknown_one() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    let reading = platforms.read(&accounts, &"ALPHA-none".parse().unwrap(), context()).await;
    assert!(reading.product.is_none() && reading.failures.is_empty());
    fakes[0].fail(FailureKind::Open);
    let reading = platforms.read(&accounts, &"ALPHA-none".parse().unwrap(), context()).await;
    assert_eq!(reading.failures[0].failure.kind, FailureKind::Open);
    let reading = platforms.read(&accounts, &"BETA-none".parse().unwrap(), context()).await;
    assert!(reading.failures.is_empty(), "another platform has nothing to do with it");
}

#[tokio::test]
async fn lists_of_one_account_fill_the_cache_too() {
    let (fakes, accounts) = three();
    let platforms = platforms();
    let page = gatehouse_core::PageRequest { number: 1, size: 10 };
    platforms.list(&accounts[1..2], &super::filter(""), page, context()).await;
    let finding = find(&platforms, &accounts, &named(&["ALPHA-card-103"])).await;
    assert_eq!(found(&finding), ["b/ALPHA-card-103"]);
    assert_eq!(fakes.each_ref().map(|fake| fake.n_calls().2), [0, 1, 0]);
}
