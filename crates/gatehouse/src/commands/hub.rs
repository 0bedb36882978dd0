//! `gatehouse hub`: a tenant's subscriptions to its events, which the server sends to the subscribers' callbacks.
//!
//! | file | contents |
//! |---|---|
//! | `create`, `list`, `show`, `rotate`, `delete`, `deliveries`, `dead_letters`, `replay` | the commands of these names |
//! | `state` | `pause` and `resume` |
//! | `hub_id` | the hub that the user names |

mod create;
mod dead_letters;
mod delete;
mod deliveries;
mod hub_id;
mod list;
mod replay;
mod rotate;
mod show;
mod state;

use crate::terminal::output::{Column, Fit};

tenant_command! {
    /// Send events to a subscriber's address, and see what was delivered
    ///
    /// A hub is a subscription: the server sends the tenant's events to its callback, signed with its secret. The token
    /// needs the scope `event:write`.
    HubCommand {
        Create(create::Create),
        List(list::List),
        Show(show::Show),
        Pause(state::Pause),
        Resume(state::Resume),
        Rotate(rotate::Rotate),
        Delete(delete::Delete),
        Deliveries(deliveries::Deliveries),
        DeadLetters(dead_letters::DeadLetters),
        Replay(replay::Replay),
    }
}

const COLUMNS: &[Column] = &[
    ID,
    STATE,
    CALLBACK,
    QUERY,
    WAITING,
    DEAD_LETTERS,
    MISSED,
    FAILING_SINCE,
    NEXT_ATTEMPT,
    POSITION,
    CREATED,
    FORMER_SECRET_UNTIL,
];

/// Columns of a hub with its secret, which is shown only once.
const COLUMNS_WITH_SECRET: &[Column] = &[
    ID,
    SECRET,
    STATE,
    CALLBACK,
    QUERY,
    WAITING,
    DEAD_LETTERS,
    MISSED,
    FAILING_SINCE,
    NEXT_ATTEMPT,
    POSITION,
    CREATED,
    FORMER_SECRET_UNTIL,
];

const ID: Column = Column::text("ID", "id", Fit::Whole);
const SECRET: Column = Column::text("SECRET", "secret", Fit::Whole);
const STATE: Column = Column::text("STATE", "state", Fit::Whole);
const CALLBACK: Column = Column::text("CALLBACK", "callback", Fit::Cut(16));
const QUERY: Column = Column::text("QUERY", "query", Fit::Optional(2));
const WAITING: Column = Column::text("WAITING", "waiting", Fit::Optional(1));
const DEAD_LETTERS: Column = Column::text("DEAD LETTERS", "deadLetters", Fit::Whole);
const MISSED: Column = Column::text("MISSED", "missed", Fit::Optional(3));
const FAILING_SINCE: Column = Column::time("FAILING SINCE (UTC)", "failingSince", Fit::Optional(0));
const NEXT_ATTEMPT: Column = Column::time("NEXT ATTEMPT (UTC)", "nextAttempt", Fit::Optional(4));
const POSITION: Column = Column::text("POSITION", "position", Fit::Optional(5));
const CREATED: Column = Column::time("CREATED (UTC)", "createdAt", Fit::Optional(6));
const FORMER_SECRET_UNTIL: Column =
    Column::time("FORMER SECRET UNTIL (UTC)", "formerSecretUntil", Fit::Optional(7));
