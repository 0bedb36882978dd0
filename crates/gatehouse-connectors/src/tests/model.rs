//! Random accounts of every paging method against the connections that they hold.

use std::sync::Arc;

use gatehouse_core::PageRequest;
use gatehouse_core::page::share;
use proptest::prelude::*;

use super::fake::Fake;
use super::{account, context, filter, names, platforms};
use crate::{LiveAccount, Paging};

#[derive(Clone, Debug)]
struct Kind {
    paging: Paging,
    n: u64,
    tells_total: bool,
    short_by: u64,
}

fn kind() -> impl Strategy<Value = Kind> {
    let paging = (0u32..4, 1u32..12, 1u32..12).prop_map(|(kind, size, min)| {
        let paging = match kind {
            0 => Paging::numbered(size),
            1 => Paging::fixed(size),
            2 => Paging::offset(size),
            _ => Paging::cursor(size),
        };
        Paging { size_min: min.min(size).max(paging.size_min), ..paging }
    });
    (paging, 0u64..30, any::<bool>(), 0u64..3).prop_map(|(paging, n, tells_total, short_by)| Kind {
        paging,
        n,
        tells_total,
        short_by,
    })
}

fn accounts(kinds: &[Kind]) -> Vec<Arc<LiveAccount>> {
    let account = |(n, kind): (usize, &Kind)| {
        let fake = Fake {
            tells_total: kind.tells_total,
            short_by: kind.short_by,
            ..Fake::new(kind.paging, n as u64 * 1000, kind.n)
        };
        account("ALPHA", &format!("a{n:02}"), &Arc::new(fake))
    };
    kinds.iter().enumerate().map(account).collect()
}

/// The connections of a page.
fn expected(kinds: &[Kind], passes: impl Fn(u64) -> bool, page: PageRequest) -> Vec<String> {
    let each = share(page.size, kinds.len() as u64).size;
    let mut all = Vec::new();
    for (account, kind) in kinds.iter().enumerate() {
        let start = (page.number - 1) * each;
        let window = (start..start + each).filter(|it| *it < kind.n);
        let numbers = window.map(|it| account as u64 * 1000 + it).filter(|it| passes(*it));
        all.extend(numbers.map(|it| format!("a{account:02}/card-{it}")));
    }
    all.truncate(usize::try_from(page.size).unwrap());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pages_hold_everything_once(
        kinds in proptest::collection::vec(kind(), 1..=40),
        size in prop_oneof![1u64..5, 35u64..45, 75u64..85, 900u64..=1000, 1u64..=1000],
        in_order in any::<bool>(),
        by_property in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (platforms, accounts) = (platforms(), accounts(&kinds));
            let query = if by_property { "customProperty.name=third&customProperty.value=1" } else { "" };
            let passes = |n: u64| !by_property || n % 3 == 1;
            let each = share(size, kinds.len() as u64).size;
            let last = kinds.iter().map(|kind| kind.n.div_ceil(each)).max().unwrap_or(0) + 1;
            let mut numbers: Vec<u64> = (1..=last).collect();
            if !in_order {
                numbers.reverse();
            }
            for number in numbers {
                let page = PageRequest { number, size };
                let listing = platforms.list(&accounts, &filter(query), page, context()).await;
                prop_assert_eq!(names(&listing), expected(&kinds, passes, page), "page {}", number);
                prop_assert!(listing.failures.is_empty(), "{:?}", listing.failures);
                let is_small = size < kinds.len() as u64;
                prop_assert_eq!(listing.too_many_accounts, is_small.then_some(kinds.len()));
            }
            Ok(())
        })?;
    }
}
