use super::*;
use crate::{Put, TenantInUse};
use gatehouse_core::PageRequest;

#[tokio::test]
async fn a_tenant_is_stored_as_given() {
    for case in stores("a_tenant_is_stored_as_given").await {
        assert_eq!(case.store.tenant(&acme()).await.unwrap(), None);
        assert_eq!(case.store.put_tenant(&tenant("acme"), &audited()).await.unwrap(), Put::Created);
        let time_zone = "Asia/Tokyo".parse().unwrap();
        let moved = Tenant {
            time_zone,
            requests_per_second: Some(7),
            page_number_max: Some(9),
            ..tenant("acme")
        };
        assert_eq!(case.store.put_tenant(&moved, &audited()).await.unwrap(), Put::Replaced);
        assert_eq!(case.store.tenant(&acme()).await.unwrap(), Some(moved), "{}", case.kind);
    }
}

#[tokio::test]
async fn tenants_are_listed_by_name() {
    for case in stores("tenants_are_listed_by_name").await {
        for name in ["b", "a", "B", "a-b"] {
            case.store.put_tenant(&tenant(name), &audited()).await.unwrap();
        }
        for (number, expected) in [(1, "B a a-b"), (2, "b"), (3, "")] {
            let page = case.store.tenants(PageRequest { number, size: 3 }).await.unwrap();
            let names: Vec<_> = page.items.iter().map(|it| it.name.as_str()).collect();
            assert_eq!((names.join(" ").as_str(), page.total), (expected, 4), "{}", case.kind);
        }
    }
}

#[tokio::test]
async fn a_tenant_is_deleted_with_its_contracts_unless_it_has_accesses() {
    for case in stores("a_tenant_goes_with_its_contracts").await {
        set_up(&case.store).await;
        assert!(case.store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok());
        assert_eq!(case.store.delete_tenant(&acme(), &audited()).await.unwrap(), None);
        let contract = case.store.contract(&acme(), &"c1".parse().unwrap(), day(0)).await;
        assert_eq!(contract.unwrap(), None, "{}", case.kind);

        set_up(&case.store).await;
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        let deleted = case.store.delete_tenant(&acme(), &audited()).await.unwrap();
        assert_eq!(deleted, Some(Err(TenantInUse { n_accesses: 1 })), "{}", case.kind);
    }
}
