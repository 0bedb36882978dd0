//! What must not be forgotten.
//!
//! There is one concrete [`Store`], on SQLite or on PostgreSQL, and one text of every statement.
//! `db` alone knows that there are two drivers; migrations, the bulk statements of `bulk`, the copies of
//! `transfer`, `copy` and the checks of `integrity` are the named exceptions. Every method that touches a tenant's data takes the tenant first, and every
//! key begins with it.
//!
//! Reads and writes keep to one shape: lock what decides, read, ask a pure rule of `gatehouse-core`,
//! write. Nothing is answered before it is durable.

mod access;
mod clock;
mod copy;
mod counts;
mod db;
mod ended;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod integrity;
mod keys;
mod meter;
mod migrate;
mod probe;
mod replica;
mod request;
mod retention;
mod setup;
mod store;
mod task;
mod transfer;
mod work_queue;

pub use access::changes::ChangeRule;
pub use access::creation::{CreateRefused, NewAccess};
pub use access::expiry::Swept;
pub use access::list::Listed;
pub use access::usernames::Reuse;
pub use access::{Change, Stored};
pub use clock::Clock;
pub use counts::audit::Audit;
pub use counts::summary::{ContractSummary, Day, Summary};
pub use counts::tally::Tally;
pub use db::{Company, DatabaseUrl, LastEnd, Opener, PATIENCE, SNAPSHOT_SECONDS_MAX};
#[doc(hidden)]
pub use db::{Fate, InMemoryDatabase, Network, SentCall};
pub use ended::{Ended, EndedKind};
pub use error::{DiskTrouble, Failure, Refused, StoreError};
pub use integrity::{Damage, FINDINGS_MAX, Integrity, Usage, check_fully, check_quickly};
pub use keys::keyed::{FormerSeal, Keyed, KeyedKind, SealOwner};
pub use keys::secret::SecretKind;
pub use meter::StoreMeter;
pub use probe::{Point, Probe};
pub use replica::{ALIVE_MILLISECONDS, Replica, SeenReplica};
pub use request::{ANSWER_KEPT_MILLISECONDS, Once, Operation, Repeated};
pub use retention::PASSWORD_PART;
pub use setup::account::{AccountChange, AccountPut, KeptAccount, PutAccountRefused};
pub use setup::contract::{ContractInUse, CountedContract, PutContractRefused};
pub use setup::tenant::TenantInUse;
pub use store::{Put, Store};
pub use task::execution::{Stepped, Terms};
pub use task::item::MadeAccess;
pub use task::stretch::{Items, Patience, Planned, Stretch};
pub use task::{NewTask, NotAccepted, StoredTask};
pub use transfer::{Compared, Contents, Moved, NotMoved, Progress, Stage};
pub use work_queue::{DueKey, DueKind, Lease, NotRun};

#[cfg(test)]
mod tests;
