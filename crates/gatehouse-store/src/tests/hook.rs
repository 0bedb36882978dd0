use super::*;
use gatehouse_core::hook::HOOKS_MAX;
use gatehouse_core::{Dialect, Hook, HookId, PageRequest};

use crate::HookRefused;

fn hook(n: u64, name: Option<&str>) -> Hook {
    Hook {
        id: HookId::new(n, &[0; 10]),
        dialect: Dialect::Basic,
        name: name.map(|name| name.parse().unwrap()),
        created_at: day(3),
        used_at: None,
    }
}

fn digest(n: u64) -> [u8; 32] {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&n.to_be_bytes());
    digest
}

const ALL: PageRequest = PageRequest { number: 1, size: 9 };

#[tokio::test]
async fn a_hook_is_found_by_its_key_until_it_is_deleted() {
    for case in stores("a_hook_is_kept").await {
        let store = &case.store;
        let (first, second) = (hook(1, Some("Hamburg")), hook(2, None));
        let nowhere = store.create_hook(&acme(), &first, digest(1), &audited()).await.unwrap();
        assert_eq!(nowhere, Err(HookRefused::NoTenant), "{}", case.kind);
        assert_eq!(store.hooks(&acme(), ALL).await.unwrap(), None);

        set_up(store).await;
        for (n, it) in [(1, &first), (2, &second)] {
            store.create_hook(&acme(), it, digest(n), &audited()).await.unwrap().unwrap();
        }
        let found = store.hook_by_key(&acme(), &digest(1)).await.unwrap();
        assert_eq!(found.as_ref(), Some(&first), "{}", case.kind);
        assert_eq!(store.hook(&acme(), first.id).await.unwrap(), found);
        assert_eq!(store.hook_by_key(&acme(), &digest(3)).await.unwrap(), None);
        let other: TenantName = "rival".parse().unwrap();
        assert_eq!(store.hook_by_key(&other, &digest(1)).await.unwrap(), None);

        // Times of use never go back: servers write what they have seen at different times.
        for (given, kept) in [(5, 5), (4, 5), (6, 6)] {
            let gone = (other.clone(), first.id, day(9));
            let uses = vec![(acme(), first.id, day(given)), gone];
            store.record_hook_uses(uses).await.unwrap();
            let used_at = store.hook(&acme(), first.id).await.unwrap().unwrap().used_at;
            assert_eq!(used_at, Some(day(kept)), "{}", case.kind);
        }
        let page = store.hooks(&acme(), ALL).await.unwrap().unwrap();
        let used = Hook { used_at: Some(day(6)), ..first.clone() };
        assert_eq!((page.items, page.total), (vec![used, second], 2), "{}", case.kind);

        assert!(!store.delete_hook(&other, first.id, &audited()).await.unwrap());
        assert!(store.delete_hook(&acme(), first.id, &audited()).await.unwrap());
        assert!(!store.delete_hook(&acme(), first.id, &audited()).await.unwrap());
        assert_eq!(store.hook_by_key(&acme(), &digest(1)).await.unwrap(), None);

        assert!(store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok());
        set_up(store).await;
        let page = store.hooks(&acme(), ALL).await.unwrap().unwrap();
        assert_eq!(page.total, 0, "{}: hooks go with their tenant", case.kind);
    }
}

#[tokio::test]
async fn a_tenant_has_a_limited_number_of_hooks() {
    for case in stores("hooks_are_limited").await {
        let store = &case.store;
        set_up(store).await;
        for n in 0..HOOKS_MAX {
            let made = store.create_hook(&acme(), &hook(n, None), digest(n), &audited()).await;
            made.unwrap().unwrap();
        }
        let more = hook(HOOKS_MAX, None);
        let refused = store.create_hook(&acme(), &more, digest(HOOKS_MAX), &audited()).await;
        assert_eq!(refused.unwrap(), Err(HookRefused::TooMany), "{}", case.kind);
    }
}
