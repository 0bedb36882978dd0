//! Making an estate so, at start.

use gatehouse_core::account::AddressSource;
use gatehouse_store::Put;

use super::{App, Error};
use crate::estate::Estate;

/// An object of an estate that could not be made as the file says.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {cause}")]
pub struct NotApplied {
    /// Which object.
    pub object: String,
    /// Why.
    pub cause: Error,
}

impl App {
    /// Makes each object that the estate names exactly as it says, and deletes nothing.
    pub async fn apply_estate(&self, estate: &Estate) -> Result<(), NotApplied> {
        // What can be seen to be wrong is seen before anything is made.
        for wanted in &estate.tenants {
            for input in &wanted.accounts {
                self.check_account_input(&wanted.tenant.name, input).await.map_err(|cause| {
                    let (account, tenant) = (&input.account.name, &wanted.tenant.name);
                    NotApplied { object: format!("account {account} of tenant {tenant}"), cause }
                })?;
            }
        }
        let mut n_created = 0;
        let mut count = |put| n_created += usize::from(put == Put::Created);
        for wanted in &estate.tenants {
            let name = &wanted.tenant.name;
            let failed = |object: String| move |cause| NotApplied { object, cause };
            let put = self.put_tenant(&wanted.tenant).await;
            count(put.map_err(failed(format!("tenant {name}")))?);
            for contract in &wanted.contracts {
                let put = self.put_contract(name, contract).await;
                count(put.map_err(failed(format!("contract {} of tenant {name}", contract.id)))?);
            }
            for input in &wanted.accounts {
                let account = &input.account.name;
                let put = self.put_account(name, input, AddressSource::Operator).await;
                let put = put.map_err(failed(format!("account {account} of tenant {name}")))?;
                count(put.put);
            }
        }
        tracing::info!(n_created, "estate applied");
        Ok(())
    }
}
