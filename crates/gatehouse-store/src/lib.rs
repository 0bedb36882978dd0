//! The store: everything that gatehouse keeps durably.
//!
//! There is one concrete [`Store`], on SQLite or on PostgreSQL, and one text of every statement. Only `db` knows the
//! two drivers. The named exceptions are migrations, the bulk statements of `bulk`, the copies of `transfer` and
//! `copy`, and the checks of `integrity`. Every method that touches a tenant's data takes the tenant first, and every
//! key begins with it.
//!
//! Writes keep to one shape: lock the rows that decide, read them, ask a pure rule of `gatehouse-core`, write. A caller
//! gets its response only after the commit is durable.

mod access;
mod clock;
mod copy;
mod counted_sets;
mod counts;
mod db;
mod error;
mod failpoint;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod integrity;
mod journal;
mod keys;
mod meter;
mod migrate;
mod replica;
mod request;
mod retention;
mod revocation;
mod setup;
mod store;
mod task;
mod transfer;
mod work_queue;

pub use access::changes::{ChangeRule, ItemChange};
pub use access::creation::{CreateRefused, NewAccess};
pub use access::expiry::ExpiryResult;
pub use access::list::Listed;
pub use access::matching::Matching;
pub use access::search::FOUND_MAX;
pub use access::username_reuse::UsernameReuse;
pub use access::{Change, StoredAccess};
pub use clock::Clock;
pub use counted_sets::building::SetBuilding;
pub use counted_sets::label_counts::LabelCount;
pub use counted_sets::progress::UnbuiltSets;
pub use counts::recount::Recount;
pub use counts::summary::{ContractSummary, Day, Summary};
pub use counts::tally::Tally;
#[doc(hidden)]
pub use db::{CallFate, DatabaseCall, InMemoryDatabase, Network};
pub use db::{DatabaseUrl, LastShutdown, OpenMode, RETRY_WINDOW, SNAPSHOT_SECONDS_MAX, Waiters};
pub use error::{DiskTrouble, OpenRefused, RuleError, StoreError};
pub use failpoint::{Failpoint, Failpoints};
pub use integrity::{Damage, FINDINGS_MAX, Integrity, Usage, check_fully, check_quickly};
pub use journal::audit::Audited;
pub use journal::chain::{ChainKey, Mac};
pub use journal::feed::{EventFilter, EventPage, NoEvents};
pub use journal::hub::delivery::{
    Deliveries, HubBacklog, HubWork, NextDelivery, SentMessage, UndeliveredEvent, WAITING_MAX,
};
pub use journal::hub::{HubChange, HubRefused, StoredHub};
pub use journal::outlet::{OutletPosition, OutletRest};
pub use journal::unfolding::{Event, EventSubject};
pub use journal::verification::{ChainBreak, CheckedJournal, JournalHead};
pub use journal::{Journal, JournalKind};
pub use keys::key_uses::{FormerSeal, KeyUse, KeyUseKind, SealOwner};
pub use keys::secret::SecretKind;
pub use meter::StoreMeter;
pub use replica::{ALIVE_MILLISECONDS, LiveReplica, Replica};
pub use request::{IdempotentRequest, Operation, RESPONSE_KEPT_MILLISECONDS, Repeated};
pub use retention::PASSWORD_PART;
pub use revocation::{Revocation, RevocationKind};
pub use setup::account::{AccountChange, AccountPut, PutAccountRefused, StoredAccount};
pub use setup::contract::{ContractInUse, CountedContract, PutContractRefused};
pub use setup::hook::HookRefused;
pub use setup::tenant::TenantInUse;
pub use store::{Put, Store};
pub use task::chunk::{ChunkLimits, ItemChunk, PlannedItem, PlannedItems};
pub use task::execution::{StepResult, TaskLifetimes};
pub use task::item::CreatedAccess;
pub use task::{NewTask, NotAccepted, StoredTask};
pub use transfer::{
    NotTransferred, TableComparison, TableContents, TransferProgress, TransferResult, TransferStage,
};
pub use work_queue::{Lease, WorkError, WorkKey, WorkKind};

#[cfg(test)]
mod tests;
