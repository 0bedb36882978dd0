use super::*;
use crate::{Change, CreateRefused, StoreError, StoredAccess};
use gatehouse_core::lifecycle::{self, StateConflict, TargetStatus};
use gatehouse_core::{Access, Status};

async fn create(store: &Store, new: NewAccess) -> Result<Access, CreateRefused> {
    store.create_access(&acme(), new).await.unwrap()
}

async fn n_live(case: &Case, contract: &str) -> u64 {
    let id = contract.parse().unwrap();
    case.store.contract(&acme(), &id, case.clock.now()).await.unwrap().unwrap().n_live
}

async fn change(
    store: &Store,
    id: AccessId,
    rule: impl FnOnce(&StoredAccess, &Contract) -> Change + Clone + Send + 'static,
) -> Access {
    let tenant = acme();
    let changed =
        store.change_access::<StoreError, _>(&tenant, id, origin(), move |it, contract| {
            Ok(rule(it, contract))
        });
    changed.await.unwrap().unwrap()
}

#[tokio::test]
async fn created_accesses_are_read_back() {
    for case in stores("created_accesses_are_read_back").await {
        set_up(&case.store).await;
        let full = NewAccess {
            device_name: Some("pump 🛰 7".parse().unwrap()),
            created_by: Some("job-019f0000-0000-7000-8000-000000000001".parse().unwrap()),
            ..new("c1", "o'hara\"%_")
        };
        for new in [full, new("c3", "plain")] {
            let made = create(&case.store, new.clone()).await.unwrap();
            assert_eq!(made.status, Status::Active);
            assert_eq!((made.start, made.end, made.version), (day(0), None, 1));
            assert_eq!(made.created_by, new.created_by);
            let read = case.store.access(&acme(), new.id).await.unwrap().unwrap();
            assert_eq!(read, made, "{}", case.kind);
            let stored = case.store.access_by_username(&acme(), &new.username).await.unwrap();
            let stored = stored.unwrap();
            assert_eq!((stored.access, stored.password), (made, new.password), "{}", case.kind);
        }
    }
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    for case in stores("tenants_do_not_see_each_other").await {
        set_up(&case.store).await;
        case.store.put_tenant(&tenant("other"), &audited()).await.unwrap();
        let other: TenantName = "other".parse().unwrap();
        case.store.put_contract(&other, &contract("c1", "o1"), &audited()).await.unwrap().unwrap();
        let made = create(&case.store, new("c1", "ann")).await.unwrap();
        assert_eq!(case.store.access(&other, made.id).await.unwrap(), None);
        assert_eq!(case.store.access_by_username(&other, &made.username).await.unwrap(), None);
        let same_name = case.store.create_access(&other, new("c1", "ann")).await.unwrap();
        assert!(same_name.is_ok(), "a username is unique in its tenant alone: {}", case.kind);
    }
}

#[tokio::test]
async fn refusals_say_why() {
    for case in stores("refusals_say_why").await {
        set_up(&case.store).await;
        create(&case.store, new("c1", "ann")).await.unwrap();
        let suspended = Contract { status: ContractStatus::Suspended, ..contract("c2", "o1") };
        case.store.put_contract(&acme(), &suspended, &audited()).await.unwrap().unwrap();
        let nobody = "nobody".parse().unwrap();
        let refused = case.store.create_access(&nobody, new("c1", "x")).await.unwrap();
        assert_eq!(refused, Err(CreateRefused::NoTenant));
        assert_eq!(create(&case.store, new("c9", "x")).await, Err(CreateRefused::NoContract));
        assert_eq!(create(&case.store, new("c1", "ann")).await, Err(CreateRefused::UsernameTaken));
        assert_eq!(
            create(&case.store, new("c2", "x")).await,
            Err(CreateRefused::Refused(StateConflict::ContractSuspended))
        );
    }
}

#[tokio::test]
async fn creation_times_never_go_back() {
    for case in stores("creation_times_never_go_back").await {
        set_up(&case.store).await;
        case.clock.set(day(5));
        create(&case.store, new("c1", "first")).await.unwrap();
        case.clock.set(day(4));
        let second = create(&case.store, new("c3", "second")).await.unwrap();
        assert_eq!(second.created_at, day(5), "{}", case.kind);
        assert_eq!(second.start, day(4), "{}: it starts now all the same", case.kind);
    }
}

#[tokio::test]
async fn a_quota_counts_accesses_that_have_not_ended() {
    for case in stores("a_quota_counts_accesses_that_have_not_ended").await {
        set_up(&case.store).await;
        let two = |end| Contract { n_accesses_max: Some(2), end, ..contract("c1", "o1") };
        case.store.put_contract(&acme(), &two(Some(day(3))), &audited()).await.unwrap().unwrap();
        let full = Err(CreateRefused::Refused(StateConflict::QuotaReached(2)));
        let first = create(&case.store, new("c1", "a")).await.unwrap();
        create(&case.store, new("c1", "b")).await.unwrap();
        assert_eq!(create(&case.store, new("c1", "c")).await, full);
        assert_eq!(n_live(&case, "c1").await, 2);

        set_status(&case.store, first.id, TargetStatus::Terminated, day(1)).await;
        assert_eq!(n_live(&case, "c1").await, 1, "{}", case.kind);
        create(&case.store, new("c1", "d")).await.unwrap();
        assert_eq!(create(&case.store, new("c1", "e")).await, full);

        // Two accesses have ended, which frees quota even before their expiry is stored.
        case.clock.set(day(3));
        case.store.put_contract(&acme(), &two(None), &audited()).await.unwrap().unwrap();
        assert_eq!(n_live(&case, "c1").await, 0, "{}", case.kind);
        let after = create(&case.store, new("c1", "f")).await.unwrap();
        assert_eq!(n_live(&case, "c1").await, 1);
        set_status(&case.store, after.id, TargetStatus::Terminated, day(4)).await;
        set_status(&case.store, after.id, TargetStatus::Terminated, day(5)).await;
        assert_eq!(n_live(&case, "c1").await, 0, "terminated twice is counted once");
    }
}

#[tokio::test]
async fn a_change_is_made_by_its_rule_or_not_at_all() {
    #[derive(Debug, PartialEq)]
    struct No;
    impl From<StoreError> for No {
        fn from(_: StoreError) -> Self {
            No
        }
    }
    impl crate::RuleError for No {
        fn of_store(&self) -> Option<&StoreError> {
            None
        }
    }
    for case in stores("a_change_is_made_by_its_rule_or_not_at_all").await {
        set_up(&case.store).await;
        let made = create(&case.store, new("c1", "ann")).await.unwrap();
        let refused = case.store.change_access(&acme(), made.id, origin(), |_, _| Err(No)).await;
        assert_eq!(refused, Err(No));
        assert_eq!(case.store.access(&acme(), made.id).await.unwrap(), Some(made.clone()));

        let changed = change(&case.store, made.id, |it, contract| {
            let access =
                lifecycle::set_status(&it.access, contract, TargetStatus::Suspended, day(1))
                    .unwrap();
            Change { access, password: Some(StoredHash::new("rotated".into())) }
        })
        .await;
        assert_eq!((changed.status, changed.version), (Status::Suspended, 2));
        let stored = case.store.access_by_username(&acme(), &made.username).await.unwrap().unwrap();
        assert_eq!(stored.access, changed, "{}", case.kind);
        assert_eq!(stored.password.as_str(), "rotated");

        let missing = new("c1", "missing").id;
        assert_eq!(
            case.store.change_access(&acme(), missing, origin(), |_, _| Err(No)).await,
            Ok(None)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_first_connections_activates() {
    for case in stores("one_of_many_first_connections_activates").await {
        set_up(&case.store).await;
        let prepaid = Contract {
            billing_model: BillingModel::Prepaid,
            validity: Some("P30D".parse().unwrap()),
            ..contract("pre", "o3")
        };
        case.store.put_contract(&acme(), &prepaid, &audited()).await.unwrap().unwrap();
        let made = create(&case.store, new("pre", "ann")).await.unwrap();
        assert_eq!(made.status, Status::PendingActive);

        let connections = (0..50).map(|n| {
            let store = case.store.clone();
            tokio::spawn(async move {
                let now = day(n);
                change(&store, made.id, move |it, contract| {
                    // Later connections are allowed by the activation that the first one stored.
                    let access = lifecycle::connect(&it.access, contract, now)
                        .unwrap_or_else(|_| it.access.clone());
                    Change { access, password: None }
                })
                .await
            })
        });
        for connection in connections.collect::<Vec<_>>() {
            connection.await.unwrap();
        }
        let after = case.store.access(&acme(), made.id).await.unwrap().unwrap();
        assert_eq!(after.version, 2, "{}: changed once", case.kind);
        assert_eq!(after.first_connected_at, Some(after.start));
    }
}

#[tokio::test]
async fn committed_writes_exist_after_closing() {
    for case in stores("committed_writes_exist_after_closing").await {
        set_up(&case.store).await;
        let made = create(&case.store, new("c1", "ann")).await.unwrap();
        case.store.close().await;
        let closed = case.store.create_access(&acme(), new("c1", "late")).await;
        assert!(matches!(closed, Err(StoreError::Unavailable(_))), "{}", case.kind);
        let again = case.another().await.unwrap();
        assert_eq!(again.access(&acme(), made.id).await.unwrap(), Some(made));
        again.ping().await.unwrap();
    }
}
