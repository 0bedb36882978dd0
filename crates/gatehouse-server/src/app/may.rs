//! Rights of a connected device, by the policy of its contract.
//!
//! The decision needs no password: a gateway asks after it has let the device in. It never activates an access, and
//! reads the row each time, so that a confirmed change takes effect at once.

use gatehouse_core::policy::{PolicyNames, TopicAction};
use gatehouse_core::{TenantName, Username, lifecycle};

use super::{App, Error};

/// A use of a broker by a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAction<'a> {
    /// Being connected.
    Connect,
    /// Publishing to some topic.
    PublishAny,
    /// Subscribing to some topic.
    SubscribeAny,
    /// Using this topic.
    Topic(TopicAction<'a>),
}

impl App {
    /// Whether the device with this username may do each of these things. An unknown username may do nothing.
    pub async fn may(
        &self,
        tenant: &TenantName,
        username: &Username,
        actions: &[DeviceAction<'_>],
    ) -> Result<Vec<bool>, Error> {
        let found = self.store.access_with_policy(tenant, username).await?;
        let connected = found.and_then(|(stored, policy)| {
            let access = lifecycle::may_connect(&stored.access, self.now()).ok()??;
            Some((access, policy))
        });
        let Some((access, policy)) = connected else { return Ok(vec![false; actions.len()]) };
        let names = PolicyNames::of(tenant, &access);
        let is_allowed = |action: &DeviceAction<'_>| match action {
            DeviceAction::Connect => true,
            DeviceAction::PublishAny => policy.rules_of(&names).any(|(_, rule)| rule.publish),
            DeviceAction::SubscribeAny => policy.rules_of(&names).any(|(_, rule)| rule.subscribe),
            DeviceAction::Topic(action) => policy.allows(&names, action),
        };
        Ok(actions.iter().map(is_allowed).collect())
    }
}
