//! Parts that lists leave out: read only if needed, only for the connections shown, and once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_core::{Connection, Identifier, IdentifierKind, PageRequest};

use super::fake::{Fake, card, iccid, imsi};
use super::{account, context, filter, platforms};
use crate::{
    CallContext, FindRequest, FindResult, Listing, LiveAccount, LookUp, Paging, ProductParts,
};

const FIXED: Paging = Paging::fixed(10);

fn n_details(fake: &Fake) -> u32 {
    fake.n_details.load(Ordering::Relaxed)
}

async fn list(
    accounts: &[Arc<LiveAccount>],
    query: &str,
    size: u64,
    parts: ProductParts,
) -> Listing {
    let page = PageRequest { number: 2, size };
    platforms().list(accounts, &filter(query), page, CallContext { parts, ..context() }).await
}

async fn find(
    accounts: &[Arc<LiveAccount>],
    kind: IdentifierKind,
    numbers: &[String],
) -> FindResult {
    let identifiers = numbers.iter().map(|it| Identifier::parse(kind, it).unwrap()).collect();
    platforms().find(accounts, &FindRequest { identifiers, ids: Vec::new() }, context()).await
}

fn connections(finding: &FindResult) -> Vec<Arc<Connection>> {
    finding.products.iter().map(|it| Arc::clone(&it.connection)).collect()
}

#[tokio::test]
async fn details_are_read_only_for_connections_on_the_page() {
    let fake = Arc::new(Fake::with_details(FIXED, 0, 25));
    let listing = list(&[account("ALPHA", "a", &fake)], "", 3, ProductParts::ALL).await;
    let shown: Vec<_> = listing.products.iter().map(|it| Arc::clone(&it.connection)).collect();
    assert_eq!(shown, [card(3), card(4), card(5)]);
    assert_eq!((fake.n_calls().0, n_details(&fake)), (1, 3));
}

#[tokio::test]
async fn parts_that_are_not_needed_are_not_read() {
    let fake = Arc::new(Fake::with_details(FIXED, 0, 25));
    let accounts = [account("ALPHA", "a", &fake)];
    let status = ProductParts { status: true, ..ProductParts::default() };
    for parts in [ProductParts::default(), status] {
        assert_eq!(list(&accounts, "", 3, parts).await.products.len(), 3);
    }
    assert_eq!(n_details(&fake), 0);
    let by_property = "customProperty.name=third&customProperty.value=1";
    let listing = list(&accounts, by_property, 6, ProductParts::default()).await;
    assert_eq!(listing.products.len(), 2, "a filter wants to know it");
    assert_eq!(n_details(&fake), 6);
}

#[tokio::test]
async fn connections_without_details_are_left_out_and_reported() {
    let fake = Arc::new(Fake::with_details(FIXED, 0, 25));
    fake.keeps_details.store(true, Ordering::Relaxed);
    let listing = list(&[account("ALPHA", "a", &fake)], "", 3, ProductParts::ALL).await;
    assert_eq!(listing.products.len(), 2);
    assert_eq!(listing.failures.len(), 1);
}

#[tokio::test]
async fn a_number_missing_from_the_list_is_found_in_the_details() {
    let mut fake = Fake::with_details(FIXED, 0, 25);
    fake.capabilities.imsi = LookUp::NotSearchable;
    let fake = Arc::new(fake);
    let finding = find(&[account("ALPHA", "a", &fake)], IdentifierKind::Imsi, &[imsi(7)]).await;
    assert_eq!(connections(&finding), [card(7)]);
    assert_eq!(n_details(&fake), 25);
}

#[tokio::test]
async fn a_scan_reads_details_of_the_matches() {
    let mut fake = Fake::with_details(Paging::numbered(100), 0, 90);
    fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
    fake.capabilities.detail.as_mut().unwrap().values_max = 100;
    let fake = Arc::new(fake);
    let numbers: Vec<String> = (0..40).map(|n| iccid(n, false)).collect();
    let finding = find(&[account("ALPHA", "a", &fake)], IdentifierKind::Iccid, &numbers).await;
    assert_eq!(connections(&finding), (0..40).map(card).collect::<Vec<_>>());
    assert_eq!((fake.n_calls(), n_details(&fake)), ((1, 0, 0), 40));
}

#[tokio::test]
async fn a_list_is_not_scanned_if_details_would_cost_more() {
    let mut fake = Fake::with_details(Paging::numbered(100), 0, 90);
    fake.capabilities.iccid = LookUp::Searched { values_max: 1 };
    let fake = Arc::new(fake);
    let numbers: Vec<String> = (0..40).map(|n| iccid(n, false)).collect();
    let finding = find(&[account("ALPHA", "a", &fake)], IdentifierKind::Iccid, &numbers).await;
    assert_eq!(finding.products.len(), 40);
    assert_eq!((fake.n_calls(), n_details(&fake)), ((0, 40, 0), 0));
}
