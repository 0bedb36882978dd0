//! A contract's policy: what its accesses may do once they are connected.
//!
//! One policy has the same outcome in every dialect: brokers write topics differently, but each dialect translates them
//! into the form that is decided on here. Without a policy, a device may connect, and nothing beyond.

mod stored;
mod topic;

pub use stored::BadPolicy;
pub use topic::{BadTopicPattern, TOPIC_CHARS_MAX, Topic, TopicFilter, TopicPattern};

use std::collections::BTreeSet;

use crate::access::Access;
use crate::ids::{AccessId, TenantName};

/// Most rules for topics in a policy.
pub const TOPIC_RULES_MAX: usize = 100;

/// A contract's policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The topics that a device may use. What no rule allows is denied.
    pub topics: Vec<TopicRule>,
    /// Tags of the device as a user of RabbitMQ.
    pub tags: BTreeSet<Tag>,
}

impl Policy {
    /// Whether the policy says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an access may do this.
    pub fn allows(&self, names: &PolicyNames<'_>, action: &TopicAction<'_>) -> bool {
        self.topics.iter().any(|rule| rule.allows(names, action))
    }

    /// The rules with the names of an access, without those that its names don't fit into.
    pub fn rules_of(&self, names: &PolicyNames<'_>) -> impl Iterator<Item = (String, &TopicRule)> {
        self.topics.iter().filter_map(|rule| Some((rule.topic.fill(names)?, rule)))
    }
}

/// Topics that a device may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRule {
    /// The topics.
    pub topic: TopicPattern,
    /// Whether the device may publish to them.
    pub publish: bool,
    /// Whether the device may subscribe to them.
    pub subscribe: bool,
}

impl TopicRule {
    fn allows(&self, names: &PolicyNames<'_>, action: &TopicAction<'_>) -> bool {
        let is_allowed = match action {
            TopicAction::Publish(_) => self.publish,
            TopicAction::Subscribe(_) | TopicAction::Receive(_) => self.subscribe,
        };
        if !is_allowed {
            return false;
        }
        let Some(filled) = self.topic.fill(names) else { return false };
        match action {
            TopicAction::Publish(topic) | TopicAction::Receive(topic) => {
                topic::matches(&filled, topic)
            }
            TopicAction::Subscribe(filter) => topic::covers(&filled, filter),
        }
    }
}

/// Use of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicAction<'a> {
    /// Publishing to a topic.
    Publish(Topic<'a>),
    /// Subscribing to the topics of a filter.
    Subscribe(TopicFilter<'a>),
    /// Getting a message of a topic.
    Receive(Topic<'a>),
}

/// Names of an access that a policy's topics can contain.
#[derive(Clone, Copy, Debug)]
pub struct PolicyNames<'a> {
    /// The tenant: `{tenant}`.
    pub tenant: &'a str,
    /// The username: `{username}`.
    pub username: &'a str,
    /// The access: `{accessId}`.
    pub access_id: AccessId,
    /// The contract: `{contractId}`.
    pub contract_id: &'a str,
}

impl<'a> PolicyNames<'a> {
    /// The names of an access.
    pub fn of(tenant: &'a TenantName, access: &'a Access) -> Self {
        Self {
            tenant: tenant.as_str(),
            username: access.username.as_str(),
            access_id: access.id,
            contract_id: access.contract_id.as_str(),
        }
    }
}

/// A tag of a user of RabbitMQ, which gives rights at its management interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// Everything.
    Administrator,
    /// The user's own queues and exchanges.
    Management,
    /// Figures of all connections.
    Monitoring,
    /// Policies of the broker.
    Policymaker,
}

impl Tag {
    /// Every tag.
    pub const ALL: [Self; 4] =
        [Self::Administrator, Self::Management, Self::Monitoring, Self::Policymaker];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Management => "management",
            Self::Monitoring => "monitoring",
            Self::Policymaker => "policymaker",
        }
    }

    /// The tag with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

#[cfg(test)]
mod tests;
