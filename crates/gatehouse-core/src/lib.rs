//! The nouns of gatehouse and the rules between them.
//!
//! No I/O, no clock, no randomness and no serialization: a rule's inputs are arguments, and its decision is a value. So
//! property tests cover every rule, and one noun names a file here, in the store and in the API.

pub mod access;
pub mod account;
pub mod batch_failure;
pub mod client;
pub mod contract;
pub mod counted_set;
pub mod credential;
pub mod event;
pub mod filter;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod gateway;
pub mod generational_cache;
pub mod identifier;
pub mod ids;
pub mod label;
pub mod lifecycle;
pub mod list;
pub mod page;
pub mod product;
pub mod rate;
pub mod rights;
pub mod task;
pub mod tenant;
pub mod time;

pub use access::{Access, ShownAccess, Status};
pub use account::Account;
pub use batch_failure::{BatchFailure, BatchFailureKind};
pub use client::{Client, ClientId};
pub use contract::{BillingModel, Contract, ContractStatus};
pub use event::hub::{self, Hub, HubQuery, HubState};
pub use gateway::dialect::Dialect;
pub use gateway::hook::{self, Hook};
pub use gateway::policy::{self, Policy};
pub use generational_cache::GenerationalCache;
pub use identifier::{Identifier, IdentifierKind};
pub use ids::{
    AccessId, AccountName, ClientName, ConnectorName, ContractId, DeviceName, EventId, HookId,
    HookName, HubId, LabelKey, LabelValue, OfferingId, PlatformAccount, PlatformName, RequestKey,
    TaskId, TenantName, Username,
};
pub use label::Labels;
pub use page::{Page, PageRequest};
pub use product::{Connection, Product, ProductId};
pub use rate::{CurrentShare, ReplicaShare};
pub use task::{Task, TaskState};
pub use tenant::Tenant;
pub use time::Timestamp;
