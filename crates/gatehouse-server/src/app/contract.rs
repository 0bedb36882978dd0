//! Creating, replacing and deleting contracts.

use gatehouse_core::event::Origin;
use gatehouse_core::{Contract, ContractId, TenantName};
use gatehouse_store::{ContractInUse, Put, PutContractRefused};

use super::{App, Error, audit};

impl App {
    /// Creates or replaces the contract.
    pub async fn put_contract(
        &self,
        tenant: &TenantName,
        contract: &Contract,
        origin: &Origin,
    ) -> Result<Put, Error> {
        match self.store.put_contract(tenant, contract, &audit::of_contract(origin)).await? {
            Ok(put) => Ok(put),
            Err(PutContractRefused::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(PutContractRefused::InUse(ContractInUse { n_accesses })) => Err(Error::InUse {
                what: "productOfferingId and billingModel of the contract can't change",
                n_accesses,
            }),
        }
    }

    /// Deletes a contract that has no accesses.
    pub async fn delete_contract(
        &self,
        tenant: &TenantName,
        id: &ContractId,
        origin: &Origin,
    ) -> Result<(), Error> {
        match self.store.delete_contract(tenant, id, &audit::of_contract(origin)).await? {
            None => Err(Error::NotFound("contract", id.to_string())),
            Some(Ok(())) => Ok(()),
            Some(Err(ContractInUse { n_accesses })) => {
                Err(Error::InUse { what: "the contract can't be deleted", n_accesses })
            }
        }
    }
}
