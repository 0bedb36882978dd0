//! Hubs: subscriptions to a tenant's events.

use gatehouse_core::event::Origin;
use gatehouse_core::hub::{HUBS_MAX, HubQuery};
use gatehouse_core::{Hub, HubId, HubState, TenantName};
use gatehouse_store::{HubChange, HubRefused, StoredHub};
use gatehouse_vault::{WebhookSecret, random};
use zeroize::Zeroizing;

use super::{App, Error, audit};
use crate::reader::Fault;

/// How long messages are signed with the former secret, too.
const FORMER_SECRET_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// A hub, with its secret if that is new.
pub struct IssuedHub {
    /// The hub.
    pub stored: StoredHub,
    /// The secret, which is never shown again.
    pub secret: Option<Zeroizing<String>>,
}

/// A change of a hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubUpdate {
    /// Whether events are sent.
    pub state: Option<HubState>,
    /// Whether to make a new secret.
    pub rotates_secret: bool,
}

/// Purpose of the seal of a hub's secret. Unique, because tenant names have no spaces.
pub(crate) fn purpose(tenant: &TenantName, id: HubId) -> String {
    format!("hub {tenant} {id}")
}

impl App {
    /// Creates a hub, which gets the tenant's events from now on.
    pub async fn create_hub(
        &self,
        tenant: &TenantName,
        callback: String,
        query: HubQuery,
        origin: &Origin,
    ) -> Result<IssuedHub, Error> {
        self.callbacks.check(&callback).map_err(|why| {
            Error::InvalidHub(vec![Fault { name: "callback".into(), reason: why.to_string() }])
        })?;
        let now = self.now();
        let id = HubId::new(now.unix_milliseconds(), &random::bytes());
        let state = HubState::Active;
        let hub = Hub { id, callback, query, state, created_at: now, former_secret_until: None };
        let secret = WebhookSecret::draw();
        let sealed = self.vault.seal_webhook_secret(&purpose(tenant, id), &secret);
        let audited = audit::of_hub(origin);
        match self.store.create_hub(tenant, &hub, &sealed, &audited).await? {
            Ok(()) => {}
            Err(HubRefused::NoTenant) => return Err(Error::NoTenant(tenant.to_string())),
            Err(HubRefused::NoJournal) => return Err(Error::NoJournal),
            Err(HubRefused::TooMany) => return Err(Error::TooManyHubs(HUBS_MAX)),
        }
        let stored = self.store.hub(tenant, id).await?;
        let stored = stored.ok_or_else(|| Error::NotFound("hub", id.to_string()))?;
        Ok(IssuedHub { stored, secret: Some(secret.reveal()) })
    }

    /// Pauses a hub, continues it, or gives it a new secret.
    pub async fn update_hub(
        &self,
        tenant: &TenantName,
        id: HubId,
        update: HubUpdate,
        origin: &Origin,
    ) -> Result<IssuedHub, Error> {
        let secret = update.rotates_secret.then(WebhookSecret::draw);
        let until = self.now().plus_milliseconds(FORMER_SECRET_MILLISECONDS);
        let sealed = secret
            .as_ref()
            .map(|secret| (self.vault.seal_webhook_secret(&purpose(tenant, id), secret), until));
        let change = HubChange { state: update.state, secret: sealed };
        let stored = self.store.change_hub(tenant, id, change, &audit::of_hub(origin)).await?;
        let stored = stored.ok_or_else(|| Error::NotFound("hub", id.to_string()))?;
        self.wake_deliveries();
        Ok(IssuedHub { stored, secret: secret.map(|it| it.reveal()) })
    }

    /// Ends a hub: the event of its deletion is the last one that it gets.
    pub async fn end_hub(
        &self,
        tenant: &TenantName,
        id: HubId,
        origin: &Origin,
    ) -> Result<(), Error> {
        if !self.store.end_hub(tenant, id, &audit::of_hub(origin)).await? {
            return Err(Error::NotFound("hub", id.to_string()));
        }
        self.wake_deliveries();
        Ok(())
    }

    /// Sends dead letters again, all or these; returns how many.
    pub async fn replay_dead_letters(
        &self,
        tenant: &TenantName,
        id: HubId,
        numbers: Option<&[u64]>,
    ) -> Result<u64, Error> {
        let n = self.store.replay_dead_letters(tenant, id, numbers).await?;
        self.wake_deliveries();
        Ok(n)
    }
}
