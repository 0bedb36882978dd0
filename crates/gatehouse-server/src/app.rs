//! What the service does, free of HTTP.
//!
//! Handlers and the command line come through here for anything that changes state. Plain reads go
//! straight to the store: a function that only passes its arguments on would be one more room to
//! walk through.

pub mod access;
pub mod account;
pub mod batch;
pub mod client;
pub mod contract;
pub mod error;
pub mod estate;
mod guesses;
pub mod outcome;
pub mod product;
mod repeat;
pub mod reseal;
pub mod tenant;
pub mod verify;

pub use error::Error;

use std::sync::Arc;

use gatehouse_connectors::Platforms;
use gatehouse_core::{AccessId, CurrentShare, Timestamp};
use gatehouse_store::{Clock, Store};
use gatehouse_vault::{Vault, random};
use tokio::sync::Notify;

use self::guesses::Guesses;
use crate::auth::revocations::Revocations;
use crate::config::{Config, FAILED_CHECKS, Tasks};
use crate::work::backup::Backups;
use crate::work::check::Checks;
use crate::work::meter::WorkMeter;

/// Everything that the service works with. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// What it remembers.
    pub store: Store,
    /// Its secrets.
    pub vault: Arc<Vault>,
    /// What time it is.
    pub clock: Clock,
    /// How batches are worked off.
    pub tasks: Tasks,
    /// The platforms outside.
    pub platforms: Arc<Platforms>,
    /// Which part of every limit is this server's; the lines to platforms look at the same one.
    pub share: CurrentShare,
    /// Whose tokens are taken no more.
    pub(crate) revocations: Revocations,
    /// How often secrets may be guessed.
    pub(crate) guesses: Arc<Guesses>,
    /// Told when there is a batch to work on.
    pub(crate) wake: Arc<Notify>,
    /// What has been done while nobody waited.
    pub(crate) meter: Arc<WorkMeter>,
    /// Backups of the embedded store, where the settings ask for them.
    pub(crate) backups: Option<Arc<Backups>>,
    /// Checks of the embedded store, where the server runs on it.
    pub(crate) checks: Option<Arc<Checks>>,
}

impl App {
    /// The service on a store and a vault.
    pub fn new(
        store: Store,
        vault: Arc<Vault>,
        clock: Clock,
        tasks: Tasks,
        platforms: Arc<Platforms>,
    ) -> Self {
        let (wake, meter) = (Arc::default(), Arc::default());
        let share = platforms.slice().clone();
        let guesses = Arc::new(Guesses::new(FAILED_CHECKS, share.clone()));
        let revocations = Revocations::default();
        Self {
            store,
            vault,
            clock,
            tasks,
            platforms,
            share,
            revocations,
            guesses,
            wake,
            meter,
            backups: None,
            checks: None,
        }
    }

    /// Has the server back its store up and check it, as the settings say.
    pub fn with_store_maintenance(mut self, config: &Config) -> Self {
        let backups = config.backup.schedule();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        self.backups = backups.map(|it| {
            Arc::new(Backups::new(store.clone(), clock.clone(), it, config.data_dir.clone()))
        });
        let interval = config.store.check_interval.map(|it| it.get());
        self.checks =
            (!self.store.is_shared()).then(|| Arc::new(Checks::new(store, clock, interval)));
        self
    }

    /// Sets how many failed checks of a secret are free; 0 switches the limit off.
    pub fn with_failed_checks(mut self, free: u32) -> Self {
        self.guesses = Arc::new(Guesses::new(free, self.share.clone()));
        self
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Draws an identifier for an access.
    fn draw_access_id(&self) -> AccessId {
        AccessId::new(self.now().unix_milliseconds(), &random::bytes())
    }
}
