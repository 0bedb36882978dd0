//! Repeated idempotent requests, which get the stored response of the first one.

use gatehouse_core::credential::Password;
use gatehouse_core::{TaskId, TenantName, Timestamp};
use gatehouse_store::{IdempotentRequest, Repeated, StoreError};

use super::access::{IssuedAccess, OneTimePassword};
use super::{App, Error};

impl App {
    /// The stored response of a creation, if it is kept until after `at`.
    pub(super) async fn stored_creation(
        &self,
        tenant: &TenantName,
        idempotent: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<IssuedAccess>, Error> {
        let repeated = self.store.repeated_creation(tenant, idempotent, at).await?;
        let Some((access, sealed)) = same_body(idempotent, repeated)? else { return Ok(None) };
        let password = self.vault.unseal(&purpose(tenant, &idempotent.secret_name()), &sealed);
        let password = password.map_err(|bad| StoreError::Unexpected(bad.into()))?;
        if password.is_empty() {
            // The client gave a hash.
            return Ok(Some(IssuedAccess { access, password: None }));
        }
        let password = String::from_utf8(password).map_err(|_| unreadable())?;
        let password = Password::new(password).map_err(|_| unreadable())?;
        Ok(Some(IssuedAccess { access, password: Some(OneTimePassword::new(password)) }))
    }

    /// The Task of an accepted batch, if the response is kept until after `at`.
    pub(super) async fn stored_batch(
        &self,
        tenant: &TenantName,
        idempotent: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<TaskId>, Error> {
        same_body(idempotent, self.store.repeated_batch(tenant, idempotent, at).await?)
    }

    /// Adds the sealed password, which a repeated request shows; nothing is sealed where the client gave a hash.
    pub(super) fn with_response(
        &self,
        tenant: &TenantName,
        idempotent: IdempotentRequest,
        password: Option<&Password>,
    ) -> IdempotentRequest {
        let purpose = purpose(tenant, &idempotent.secret_name());
        let sealed = self.vault.seal(&purpose, password.map_or("", Password::reveal).as_bytes());
        IdempotentRequest { sealed: Some(sealed), ..idempotent }
    }
}

/// The stored result, if the request has the same body.
fn same_body<T>(
    idempotent: &IdempotentRequest,
    found: Option<Repeated<T>>,
) -> Result<Option<T>, Error> {
    match found {
        None => Ok(None),
        Some(Repeated::Same(made)) => Ok(Some(made)),
        Some(Repeated::AnotherBody) => Err(Error::KeyReused(idempotent.key.clone())),
    }
}

/// Purpose of a stored response's seal. Unique, because tenants and operations have no spaces.
pub(super) fn purpose(tenant: &TenantName, name: &str) -> String {
    format!("answer {tenant} {name}")
}

fn unreadable() -> Error {
    StoreError::Unexpected("a stored response holds no password".into()).into()
}
