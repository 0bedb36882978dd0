use super::*;
use crate::{ContractInUse, Put, PutContractRefused};
use gatehouse_core::{ContractId, PageRequest};

#[tokio::test]
async fn a_contract_is_stored_as_given() {
    for case in stores("a_contract_is_stored_as_given").await {
        case.store.put_tenant(&tenant("acme"), &audited()).await.unwrap();
        let full = Contract {
            billing_model: BillingModel::Prepaid,
            status: ContractStatus::Suspended,
            start: Some(day(-3)),
            end: Some(day(400)),
            validity: Some("P1Y".parse().unwrap()),
            n_accesses_max: Some(u64::from(u32::MAX)),
            ..contract("a b/c", "o1")
        };
        for (given, put) in [
            (full.clone(), Put::Created),
            (contract("a b/c", "o1"), Put::Replaced),
            (Contract { offering_id: "o2".parse().unwrap(), ..full }, Put::Replaced),
        ] {
            assert_eq!(
                case.store.put_contract(&acme(), &given, &audited()).await.unwrap(),
                Ok(put)
            );
            let read = case.store.contract(&acme(), &given.id, day(0)).await.unwrap().unwrap();
            assert_eq!((read.contract, read.n_live), (given, 0), "{}", case.kind);
        }
    }
}

#[tokio::test]
async fn a_contract_with_accesses_keeps_its_offering_and_billing() {
    for case in stores("a_contract_with_accesses_keeps_its_offering").await {
        set_up(&case.store).await;
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        let in_use = ContractInUse { n_accesses: 1 };
        let prepaid = Contract { billing_model: BillingModel::Prepaid, ..contract("c1", "o1") };
        for changed in [contract("c1", "o2"), prepaid] {
            let put = case.store.put_contract(&acme(), &changed, &audited()).await.unwrap();
            assert_eq!(put, Err(PutContractRefused::InUse(in_use)), "{}", case.kind);
        }
        let suspended = Contract { status: ContractStatus::Suspended, ..contract("c1", "o1") };
        let put = case.store.put_contract(&acme(), &suspended, &audited()).await.unwrap();
        assert_eq!(put, Ok(Put::Replaced));

        let id: ContractId = "c1".parse().unwrap();
        let deleted = case.store.delete_contract(&acme(), &id, &audited()).await.unwrap();
        assert_eq!(deleted, Some(Err(in_use)), "{}", case.kind);
    }
}

#[tokio::test]
async fn a_contract_without_accesses_can_be_deleted_and_created_again() {
    for case in stores("a_contract_without_accesses_can_go").await {
        set_up(&case.store).await;
        let id: ContractId = "c1".parse().unwrap();
        assert_eq!(
            case.store.delete_contract(&acme(), &id, &audited()).await.unwrap(),
            Some(Ok(()))
        );
        assert_eq!(case.store.delete_contract(&acme(), &id, &audited()).await.unwrap(), None);
        assert_eq!(case.store.contract(&acme(), &id, day(0)).await.unwrap(), None);
        let again =
            case.store.put_contract(&acme(), &contract("c1", "o9"), &audited()).await.unwrap();
        assert_eq!(again, Ok(Put::Created));
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn contracts_are_listed_by_identifier() {
    for case in stores("contracts_are_listed_by_identifier").await {
        let page = |number, size| PageRequest { number, size };
        assert_eq!(case.store.contracts(&acme(), page(1, 2), day(0)).await.unwrap(), None);
        let put =
            case.store.put_contract(&acme(), &contract("c1", "o1"), &audited()).await.unwrap();
        assert_eq!(put, Err(PutContractRefused::NoTenant));
        set_up(&case.store).await;
        for (number, expected) in [(1, "c1 c2"), (2, "c3"), (3, "")] {
            let page = case.store.contracts(&acme(), page(number, 2), day(0)).await.unwrap();
            let page = page.unwrap();
            let ids: Vec<_> = page.items.iter().map(|it| it.contract.id.as_str()).collect();
            assert_eq!((ids.join(" ").as_str(), page.total), (expected, 3), "{}", case.kind);
        }
    }
}
