//! `gatehouse hook`: gateways (brokers, proxies, RADIUS servers) that may ask whether a device may connect.

mod create;
mod delete;
mod list;

use crate::terminal::output::{Column, Fit};

tenant_command! {
    /// Let brokers, proxies and RADIUS servers ask whether a device may connect
    ///
    /// A hook is the right of a gateway to ask for checks of one tenant in one dialect. The gateway shows the hook's
    /// key, in the path or in the header `X-Hook-Key`. The token of these commands needs the scope `admin`.
    HookCommand {
        Create(create::Create),
        List(list::List),
        Delete(delete::Delete),
    }
}

const ID: Column = Column::text("ID", "id", Fit::Whole);
const KEY: Column = Column::text("KEY", "key", Fit::Whole);
const DIALECT: Column = Column::text("DIALECT", "dialect", Fit::Whole);
const NAME: Column = Column::text("NAME", "name", Fit::Cut(8));
const LAST_USED: Column = Column::time("LAST USED (UTC)", "lastUsedAt", Fit::Whole);
const CREATED: Column = Column::time("CREATED (UTC)", "createdAt", Fit::Optional(0));
