//! Requests that come again: they get what they got the first time.

use gatehouse_core::credential::Password;
use gatehouse_core::{TaskId, TenantName, Timestamp};
use gatehouse_store::{IdempotentRequest, Repeated, StoreError};

use super::access::{IssuedAccess, OneTimePassword};
use super::{App, Error};

impl App {
    /// What a creation was answered, if that is kept until after `at`.
    pub(super) async fn issued_before(
        &self,
        tenant: &TenantName,
        once: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<IssuedAccess>, Error> {
        let repeated = self.store.repeated_creation(tenant, once, at).await?;
        let Some((access, sealed)) = same(once, repeated)? else { return Ok(None) };
        let password = self.vault.unseal(&purpose(tenant, &once.secret_name()), &sealed);
        let password = password.map_err(|bad| StoreError::Unexpected(bad.into()))?;
        let password = String::from_utf8(password).map_err(|_| unreadable())?;
        let password = Password::new(password).map_err(|_| unreadable())?;
        Ok(Some(IssuedAccess { access, password: Some(OneTimePassword::new(password)) }))
    }

    /// The Task that a batch became, if that is kept until after `at`.
    pub(super) async fn accepted_before(
        &self,
        tenant: &TenantName,
        once: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<TaskId>, Error> {
        same(once, self.store.repeated_batch(tenant, once, at).await?)
    }

    /// The same request with what its answer will show.
    pub(super) fn with_answer(
        &self,
        tenant: &TenantName,
        once: IdempotentRequest,
        password: &Password,
    ) -> IdempotentRequest {
        let sealed =
            self.vault.seal(&purpose(tenant, &once.secret_name()), password.reveal().as_bytes());
        IdempotentRequest { sealed: Some(sealed), ..once }
    }
}

/// What was made by the same request, unless it was another one.
fn same<T>(once: &IdempotentRequest, repeated: Option<Repeated<T>>) -> Result<Option<T>, Error> {
    match repeated {
        None => Ok(None),
        Some(Repeated::Same(made)) => Ok(Some(made)),
        Some(Repeated::AnotherBody) => Err(Error::KeyReused(once.key.clone())),
    }
}

/// What an answer is sealed for. Neither tenants nor the operations, with which names begin, have spaces in them.
pub(super) fn purpose(tenant: &TenantName, name: &str) -> String {
    format!("answer {tenant} {name}")
}

fn unreadable() -> Error {
    StoreError::Unexpected("a kept answer holds no password".into()).into()
}
