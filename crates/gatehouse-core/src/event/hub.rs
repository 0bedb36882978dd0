//! A hub: a tenant's subscription to its events, which are sent to an address of the subscriber.

mod query;
mod retry;

pub use query::{BadHubQuery, EVENTS_AT_ONCE_MAX, HubQuery, MessageFormat};
pub use retry::{RETRY_PAUSE_MAX_MILLISECONDS, retry_pause_milliseconds};

use crate::ids::HubId;
use crate::time::Timestamp;

/// Most characters of a callback's URL.
pub const CALLBACK_CHARS_MAX: usize = 2048;

/// Messages of a hub that are shown: the latest ones.
pub const DELIVERIES_SHOWN_MAX: u64 = 200;

/// Most hubs of a tenant.
pub const HUBS_MAX: u64 = 100;

/// A hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// The identifier.
    pub id: HubId,
    /// The URL that events are sent to.
    pub callback: String,
    /// Which events are sent, and how.
    pub query: HubQuery,
    /// Whether events are sent.
    pub state: HubState,
    /// When the hub was made.
    pub created_at: Timestamp,
    /// Until when messages are signed with the former secret, too.
    pub former_secret_until: Option<Timestamp>,
}

/// Whether a hub's events are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubState {
    /// Events are sent.
    Active,
    /// Events wait until the subscriber continues.
    Paused,
    /// The hub was ended: its deletion is the last event that it gets.
    Ending,
}

impl HubState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Ending];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Paused => "PAUSED",
            Self::Ending => "ENDING",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
