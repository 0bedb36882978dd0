//! Settings of the journals.

use gatehouse_connectors::{AddressRules, AddressUse, Network};
use gatehouse_core::Timestamp;
use gatehouse_store::JournalKind;
use serde::{Deserialize, Serialize};

use super::{Duration, Nats};

/// Range of the time that events are kept.
const RETENTIONS: std::ops::RangeInclusive<Duration> = Duration::seconds(60)..=Duration::days(3650);

/// Highest limit of streams.
const STREAMS_MAX: u64 = 1_000_000;

/// Range of the time that a subscriber may take to answer.
const CALLBACK_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(100)..=Duration::seconds(60);

/// Range of the time that an event is tried.
const CALLBACK_RETRIES: std::ops::RangeInclusive<Duration> =
    Duration::seconds(1)..=Duration::days(30);

/// Settings of the journal.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How long events of accesses and Tasks are kept.
    pub retention: Duration,
    /// How long the audit is kept.
    pub audit_retention: Duration,
    /// Most streams of events at one server.
    pub streams: u64,
    /// Most of them of one tenant.
    pub streams_of_tenant: u64,
    /// Whether this server sends events to subscribers and to NATS.
    pub deliver: bool,
    /// Private networks in which subscribers may be, also without TLS.
    pub callback_networks: Vec<Network>,
    /// How long an event is tried before it is a dead letter.
    pub callback_retry_for: Duration,
    /// How long a subscriber may take to answer.
    pub callback_timeout: Duration,
    /// The message broker that all events go to.
    #[serde(skip_serializing_if = "Nats::is_unset")]
    pub nats: Nats,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            retention: Duration::days(30),
            audit_retention: Duration::days(400),
            streams: 1000,
            streams_of_tenant: 20,
            deliver: true,
            callback_networks: Vec::new(),
            callback_retry_for: Duration::days(3),
            callback_timeout: Duration::seconds(15),
            nats: Nats::default(),
        }
    }
}

impl Events {
    pub(super) fn check(&self) -> Result<(), String> {
        let (shortest, longest) = (RETENTIONS.start(), RETENTIONS.end());
        let all = [("retention", self.retention), ("audit_retention", self.audit_retention)];
        for (name, retention) in all {
            if !(shortest.get()..=longest.get()).contains(&retention.get()) {
                return Err(format!(
                    "events.{name} must be {shortest} to {longest}, not {retention}"
                ));
            }
        }
        self.nats.check()?;
        let (shortest, longest) = (CALLBACK_TIMEOUTS.start(), CALLBACK_TIMEOUTS.end());
        let timeout = self.callback_timeout;
        if !(shortest.get()..=longest.get()).contains(&timeout.get()) {
            return Err(format!(
                "events.callback_timeout must be {shortest} to {longest}, not {timeout}"
            ));
        }
        let (shortest, longest) = (CALLBACK_RETRIES.start(), CALLBACK_RETRIES.end());
        let retry_for = self.callback_retry_for;
        if !(shortest.get()..=longest.get()).contains(&retry_for.get()) {
            return Err(format!(
                "events.callback_retry_for must be {shortest} to {longest}, not {retry_for}"
            ));
        }
        for (name, n) in [("streams", self.streams), ("streams_of_tenant", self.streams_of_tenant)]
        {
            if !(1..=STREAMS_MAX).contains(&n) {
                return Err(format!("events.{name} must be 1 to {STREAMS_MAX}"));
            }
        }
        Ok(())
    }

    /// Where subscribers may be.
    pub(crate) fn callback_rules(&self) -> AddressRules {
        let allowed_networks = self.callback_networks.clone();
        let addresses_of = AddressUse::Callbacks;
        AddressRules { addresses_of, allowed_networks, ..AddressRules::default() }
    }

    /// Entries of such a journal from before this time are deleted.
    pub(crate) fn kept_from(&self, kind: JournalKind, now: Timestamp) -> Timestamp {
        let retention = match kind {
            JournalKind::Changes => self.retention,
            JournalKind::Audit => self.audit_retention,
        };
        let milliseconds = i64::try_from(retention.get().as_millis()).unwrap_or(i64::MAX);
        now.plus_milliseconds(milliseconds.saturating_neg())
    }
}
