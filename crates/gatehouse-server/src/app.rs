//! The service's operations, independent of HTTP.
//!
//! Handlers and the command line change state through this module. Plain reads go straight to the store: a function
//! that only passes its arguments on would add nothing.

pub mod access;
pub mod account;
pub(crate) mod audit;
pub mod audit_counts;
pub mod batch;
pub mod batch_filter;
pub mod chosen_password;
pub mod client;
pub mod contract;
pub mod error;
pub mod estate;
mod guess_limiter;
pub mod hook;
mod hook_keys;
pub mod hub;
pub mod may;
pub mod outcome;
pub mod product;
mod repeat;
pub mod requester;
pub mod reseal;
pub mod tenant;
pub mod verify;

pub use error::Error;

use std::sync::Arc;

use gatehouse_connectors::{AddressRules, CallbackClient, Platforms};
use gatehouse_core::{AccessId, CurrentShare, Timestamp};
use gatehouse_store::{ChainKey, Clock, Store};
use gatehouse_vault::{JournalKey, Vault, random};
use tokio::sync::Notify;

use self::audit_counts::AuditCounts;
use self::guess_limiter::GuessLimiter;
use self::hook_keys::HookKeys;
use crate::auth::revocations::Revocations;
use crate::config::{Config, Events, FAILED_CHECKS, Tasks};
use crate::delivery::meter::HubMeter;
use crate::nats::meter::NatsMeter;
use crate::work::backup::Backups;
use crate::work::check::Checks;
use crate::work::event_watch::EventWatch;
use crate::work::journal;
use crate::work::meter::WorkMeter;

/// Messages to subscribers that are under way at once, for the number of idle connections.
pub(crate) const CALLBACKS_AT_ONCE: usize = 256;

/// The service with everything it uses. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The database.
    pub store: Store,
    /// Hashes passwords and seals secrets.
    pub vault: Arc<Vault>,
    /// The clock.
    pub clock: Clock,
    /// Settings of batch processing.
    pub tasks: Tasks,
    /// Settings of the journal.
    pub events: Events,
    /// External platforms.
    pub platforms: Arc<Platforms>,
    /// This server's share of every limit; the platform clients use the same one.
    pub share: CurrentShare,
    /// Tokens and refused requests that the audit doesn't have yet.
    pub(crate) audit_counts: Arc<AuditCounts>,
    /// The key of the journals' chains.
    pub(crate) chain_key: ChainKey,
    /// Revoked tokens, clients and tenants.
    pub(crate) revocations: Revocations,
    /// Limits failed checks of passwords and client secrets.
    pub(crate) guess_limiter: Arc<GuessLimiter>,
    /// Keys of hooks that were used lately.
    pub(crate) hook_keys: Arc<HookKeys>,
    /// Sends messages to subscribers.
    pub(crate) callbacks: Arc<CallbackClient>,
    /// Figures of hubs.
    pub(crate) hub_meter: Arc<HubMeter>,
    /// Figures of the events that go to NATS.
    pub(crate) nats_meter: Arc<NatsMeter>,
    /// Notified when outlets may be due.
    pub(crate) outlets_due: Arc<Notify>,
    /// Notified when hubs may be due.
    pub(crate) deliveries_due: Arc<Notify>,
    /// Notified when a batch is due.
    pub(crate) wake: Arc<Notify>,
    /// Wakes the streams of tenants that have new events.
    pub(crate) event_watch: Arc<EventWatch>,
    /// Figures of background work.
    pub(crate) meter: Arc<WorkMeter>,
    /// Backups of the embedded store, where the settings schedule them.
    pub(crate) backups: Option<Arc<Backups>>,
    /// Checks of the embedded store; `None` on PostgreSQL.
    pub(crate) checks: Option<Arc<Checks>>,
}

impl App {
    /// Creates the service.
    pub fn new(
        store: Store,
        vault: Arc<Vault>,
        clock: Clock,
        tasks: Tasks,
        platforms: Arc<Platforms>,
    ) -> Self {
        let (wake, meter) = (Arc::default(), Arc::default());
        let share = platforms.share().clone();
        let guess_limiter = Arc::new(GuessLimiter::new(FAILED_CHECKS, share.clone()));
        let revocations = Revocations::default();
        let chain_key = journal::chain_key(vault.new_journal_key());
        let callbacks = CallbackClient::new(AddressRules::default(), CALLBACKS_AT_ONCE);
        let callbacks = callbacks.expect("the clients of platforms were built in the same way");
        Self {
            store,
            vault,
            clock,
            tasks,
            events: Events::default(),
            platforms,
            share,
            audit_counts: Arc::default(),
            hook_keys: Arc::default(),
            callbacks: Arc::new(callbacks),
            hub_meter: Arc::default(),
            nats_meter: Arc::default(),
            outlets_due: Arc::default(),
            deliveries_due: Arc::default(),
            chain_key,
            revocations,
            guess_limiter,
            wake,
            event_watch: Arc::default(),
            meter,
            backups: None,
            checks: None,
        }
    }

    /// Adds the backups and checks of the embedded store that the settings ask for.
    pub fn with_store_maintenance(mut self, config: &Config) -> Self {
        let backups = config.backup.schedule();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        self.events = config.events.clone();
        self.backups = backups.map(|it| {
            Arc::new(Backups::new(store.clone(), clock.clone(), it, config.data_dir.clone()))
        });
        let interval = config.store.check_interval.map(|it| it.get());
        self.checks =
            (!self.store.is_shared()).then(|| Arc::new(Checks::new(store, clock, interval)));
        self
    }

    /// Sets the key of the journals' chains, by default that of a new store.
    pub fn with_journal_key(mut self, key: JournalKey) -> Self {
        self.chain_key = journal::chain_key(key);
        self
    }

    /// Sets how many failed checks of a secret are free; 0 turns the limit off.
    pub fn with_failed_checks(mut self, free: u32) -> Self {
        self.guess_limiter = Arc::new(GuessLimiter::new(free, self.share.clone()));
        self
    }

    /// Sets the client that sends messages to subscribers. The default client sends to public addresses alone.
    pub fn with_callbacks(mut self, client: CallbackClient) -> Self {
        self.callbacks = Arc::new(client);
        self
    }

    /// Looks at once for hubs that are due.
    pub(crate) fn wake_deliveries(&self) {
        self.deliveries_due.notify_one();
        self.outlets_due.notify_one();
    }

    /// The key of the journals' chains.
    pub fn chain_key(&self) -> &ChainKey {
        &self.chain_key
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Generates the id of an access.
    fn draw_access_id(&self) -> AccessId {
        AccessId::new(self.now().unix_milliseconds(), &random::bytes())
    }
}
