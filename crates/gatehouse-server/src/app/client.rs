//! Clients: machines that get their tokens from us.

use std::collections::BTreeSet;

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::rights::Scope;
use gatehouse_core::{Client, ClientId, ClientName, TenantName};
use gatehouse_store::StoreError;
use gatehouse_vault::{
    Disconnection, HashCaller, VaultError, generate_client_code, generate_password,
};

use super::access::OneTimePassword;
use super::guesses::Guessed;
use super::verify::RENEWAL_MAX;
use super::{App, Error};

/// A client with its secret, which is never shown again.
pub struct NewClient {
    /// The client.
    pub client: Client,
    /// What it proves itself with.
    pub secret: OneTimePassword,
}

impl App {
    /// Makes a client whose tokens may allow these scopes.
    pub async fn create_client(
        &self,
        tenant: &TenantName,
        name: Option<ClientName>,
        scopes: BTreeSet<Scope>,
    ) -> Result<NewClient, Error> {
        let id = ClientId::new(tenant, &generate_client_code());
        let id = id.expect("a code is letters and digits");
        let client = Client { id, name, scopes, created_at: self.now() };
        let secret = generate_password();
        let hash = self.vault.hash_generated(&secret);
        if !self.store.create_client(tenant, &client, &hash).await? {
            return Err(Error::NoTenant(tenant.to_string()));
        }
        Ok(NewClient { client, secret: OneTimePassword::new(secret) })
    }

    /// The client that this identifier and secret belong to.
    ///
    /// Its secret can't be guessed, so a right one is always taken, whatever others try under its name: only failures are
    /// counted, and told apart where there are too many.
    pub async fn authenticate_client(
        &self,
        gone: &dyn Disconnection,
        id: &str,
        secret: &str,
    ) -> Result<Option<Client>, Error> {
        let (Ok(id), Ok(secret)) = (id.parse::<ClientId>(), Password::new(secret.to_owned()))
        else {
            return Ok(None);
        };
        let Some((client, hash)) = self.store.client(id.tenant(), &id).await? else {
            return Ok(None);
        };
        if self.check_secret(gone, &client, &hash, &secret).await? {
            return Ok(Some(client));
        }
        let counted = self.guesses.begin(Guessed::Client, id.tenant(), &id.to_string());
        counted.map(|_| None).map_err(|wait| Error::TooManyGuesses(wait, None))
    }

    /// Whether the secret is the client's. A right one is hashed again under the first master key, where a former
    /// one has made its hash.
    async fn check_secret(
        &self,
        gone: &dyn Disconnection,
        client: &Client,
        hash: &StoredHash,
        secret: &Password,
    ) -> Result<bool, Error> {
        let id = &client.id;
        let asker = HashCaller { tenant: id.tenant(), gone };
        let is_right = match self.vault.check(asker, hash, secret).await {
            Err(VaultError::UnknownKey) => {
                tracing::warn!(client = %id, "its secret was hashed with a master key that is not here");
                false
            }
            checked => checked?,
        };
        if !is_right {
            return Ok(false);
        }
        let renewing = async {
            let renewed = self.vault.renew(asker, hash, secret).await;
            let Ok(Some(after)) = renewed else { return Ok(()) };
            if !self.has_newest_key().await? {
                return Ok(());
            }
            self.store.renew_client_secret(id.tenant(), id, hash, &after).await.map(drop)
        };
        if let Ok(Err(why)) = tokio::time::timeout(RENEWAL_MAX, renewing).await {
            let why: StoreError = why;
            tracing::warn!(%why, client = %id, "its secret keeps the hash of a former master key");
        }
        Ok(true)
    }

    /// Deletes a client. Tokens that it has got are taken no more: here at once, by other servers within a second.
    pub async fn delete_client(&self, tenant: &TenantName, id: &ClientId) -> Result<(), Error> {
        let ended = self.store.delete_client(tenant, id).await?;
        self.revocations.add(ended.ok_or_else(|| Error::NotFound("client", id.to_string()))?);
        Ok(())
    }
}
