//! Applying an estate file at start.

use gatehouse_core::account::AddressSource;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_store::Put;

use super::{App, Error};
use crate::estate::Estate;

/// An object of an estate that could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {cause}")]
pub struct NotApplied {
    /// The object.
    pub object: String,
    /// The error.
    pub cause: Error,
}

impl App {
    /// Creates or replaces every object of the estate; deletes nothing.
    pub async fn apply_estate(&self, estate: &Estate) -> Result<(), NotApplied> {
        // Checks all accounts before the first write.
        for entry in &estate.tenants {
            for input in &entry.accounts {
                self.check_account_input(&entry.tenant.name, input).await.map_err(|cause| {
                    let (account, tenant) = (&input.account.name, &entry.tenant.name);
                    NotApplied { object: format!("account {account} of tenant {tenant}"), cause }
                })?;
            }
        }
        let (mut n_created, origin) = (0, Origin::of(Cause::Server));
        let mut count = |put| n_created += usize::from(put == Put::Created);
        for entry in &estate.tenants {
            let name = &entry.tenant.name;
            let failed = |object: String| move |cause| NotApplied { object, cause };
            let put = self.put_tenant(&entry.tenant, &origin).await;
            count(put.map_err(failed(format!("tenant {name}")))?);
            for contract in &entry.contracts {
                let put = self.put_contract(name, contract, &origin).await;
                count(put.map_err(failed(format!("contract {} of tenant {name}", contract.id)))?);
            }
            for input in &entry.accounts {
                let account = &input.account.name;
                let put = self.put_account(name, input, AddressSource::Operator, &origin).await;
                let put = put.map_err(failed(format!("account {account} of tenant {name}")))?;
                count(put.put);
            }
        }
        tracing::info!(n_created, "estate applied");
        Ok(())
    }
}
