//! The last numbers of many journals.

use gatehouse_core::TenantName;

use super::*;
use crate::ChainKey;

#[tokio::test]
async fn the_last_numbers_of_any_number_of_tenants_are_read_together() {
    for Case { store, kind, .. } in stores("last_events").await {
        set_up(&store).await;
        let names: Vec<TenantName> =
            (0..102).map(|n| format!("t{n}").parse().unwrap()).chain([acme()]).collect();
        for name in &names[1..102] {
            store.put_tenant(&tenant(name.as_str()), &audited()).await.unwrap();
        }
        store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        let key = ChainKey::new(|_| [7; 32], |_, _| true);
        while store.number_events(&key).await.unwrap() > 0 {}
        for n in [0, 1, 2, 50, 51, 100, 101, 103] {
            let names = &names[103 - n..];
            let found = store.last_events(names).await.unwrap();
            let expected = names.iter().filter(|it| it.as_str() != "t0");
            let expected = expected.map(|it| (it.clone(), u64::from(*it == acme()))).collect();
            assert_eq!(found, expected, "{kind}: {n} tenants");
        }
    }
}
