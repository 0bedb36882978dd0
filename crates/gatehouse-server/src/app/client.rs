//! OAuth clients, whose tokens the built-in issuer signs.

use std::collections::BTreeSet;

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::event::Origin;
use gatehouse_core::rights::Scope;
use gatehouse_core::{Client, ClientId, ClientName, TenantName};
use gatehouse_store::StoreError;
use gatehouse_vault::{
    Disconnection, HashCaller, VaultError, generate_client_code, generate_password,
};

use super::access::OneTimePassword;
use super::guess_limiter::SecretOwner;
use super::verify::RENEWAL_MAX;
use super::{App, Error, audit};

/// A new client with its secret, which is never shown again.
pub struct NewClient {
    /// The client.
    pub client: Client,
    /// The client secret.
    pub secret: OneTimePassword,
}

/// An unknown client, or a wrong secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongClient {
    /// Whether there is a client with this identifier. Not for the response.
    pub exists: bool,
}

impl App {
    /// Creates a client whose tokens may have these scopes.
    pub async fn create_client(
        &self,
        tenant: &TenantName,
        name: Option<ClientName>,
        scopes: BTreeSet<Scope>,
        origin: &Origin,
    ) -> Result<NewClient, Error> {
        let id = ClientId::new(tenant, &generate_client_code());
        let id = id.expect("a code is letters and digits");
        let client = Client { id, name, scopes, created_at: self.now() };
        let secret = generate_password();
        let hash = self.vault.hash_generated(&secret);
        if !self.store.create_client(tenant, &client, &hash, &audit::of_client(origin)).await? {
            return Err(Error::NoTenant(tenant.to_string()));
        }
        Ok(NewClient { client, secret: OneTimePassword::new(secret) })
    }

    /// Finds the client with this id and secret.
    ///
    /// Generated secrets can't be guessed, so the right one is always accepted, whatever others try with the client's
    /// id. Only failures are counted, and a distinct error reports too many.
    pub async fn authenticate_client(
        &self,
        disconnection: &dyn Disconnection,
        id: &str,
        secret: &str,
    ) -> Result<Result<Client, WrongClient>, Error> {
        let (Ok(id), Ok(secret)) = (id.parse::<ClientId>(), Password::new(secret.to_owned()))
        else {
            return Ok(Err(WrongClient { exists: false }));
        };
        let Some((client, hash)) = self.store.client(id.tenant(), &id).await? else {
            return Ok(Err(WrongClient { exists: false }));
        };
        if self.check_secret(disconnection, &client, &hash, &secret).await? {
            return Ok(Ok(client));
        }
        let counted = self.guess_limiter.begin(SecretOwner::Client, id.tenant(), &id.to_string());
        let wrong = WrongClient { exists: true };
        counted.map(|_| Err(wrong)).map_err(|wait| Error::TooManyGuesses(wait, None))
    }

    /// Checks the secret. If a former master key made its hash, a right secret is hashed again with the first key.
    async fn check_secret(
        &self,
        disconnection: &dyn Disconnection,
        client: &Client,
        hash: &StoredHash,
        secret: &Password,
    ) -> Result<bool, Error> {
        let id = &client.id;
        let caller = HashCaller { tenant: id.tenant(), disconnection };
        let is_right = match self.vault.check(caller, hash, secret).await {
            Err(VaultError::UnknownKey) => {
                tracing::warn!(client = %id, "the master key of the client's secret is missing");
                false
            }
            checked => checked?,
        };
        if !is_right {
            return Ok(false);
        }
        let renewing = async {
            let renewed = self.vault.renew(caller, hash, secret).await;
            let Ok(Some(after)) = renewed else { return Ok(()) };
            if !self.has_newest_key().await? {
                return Ok(());
            }
            self.store.renew_client_secret(id.tenant(), id, hash, &after).await.map(drop)
        };
        if let Ok(Err(why)) = tokio::time::timeout(RENEWAL_MAX, renewing).await {
            let why: StoreError = why;
            tracing::warn!(%why, client = %id, "the client's secret could not be hashed with the new master key");
        }
        Ok(true)
    }

    /// Deletes a client and revokes its tokens: here at once, at other servers within a second.
    pub async fn delete_client(
        &self,
        tenant: &TenantName,
        id: &ClientId,
        origin: &Origin,
    ) -> Result<(), Error> {
        let audited = audit::of_client(origin);
        let revocation = self.store.delete_client(tenant, id, &audited).await?;
        self.revocations.add(revocation.ok_or_else(|| Error::NotFound("client", id.to_string()))?);
        Ok(())
    }
}
