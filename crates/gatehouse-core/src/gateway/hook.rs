//! A hook: a gateway's right to ask for checks of one tenant in one dialect. The gateway proves it with a key.

use super::dialect::Dialect;
use crate::ids::{HookId, HookName};
use crate::time::Timestamp;

/// Most hooks of a tenant.
pub const HOOKS_MAX: u64 = 1000;

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The identifier.
    pub id: HookId,
    /// The dialect in which the gateway asks.
    pub dialect: Dialect,
    /// Name for people.
    pub name: Option<HookName>,
    /// When the hook was made.
    pub created_at: Timestamp,
    /// When its key was last used, to the minute; `None` if it never was.
    pub used_at: Option<Timestamp>,
}
