//! `gatehouse event`: what has changed in a tenant, in order.
//!
//! | file | contents |
//! |---|---|
//! | `list`, `tail` | the commands of these names |
//! | `range`, `conditions` | the flags that select events |
//! | `columns` | an event as a row |

pub(super) mod columns;
pub(super) mod conditions;
mod list;
pub(super) mod range;
mod tail;

tenant_command! {
    /// Show what has changed, when and by whom, and follow it as it happens
    EventCommand {
        List(list::List),
        Tail(tail::Tail),
    }
}
