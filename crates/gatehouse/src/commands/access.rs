//! `gatehouse access`: the accesses of a tenant, one at a time.
//!
//! | file | contents |
//! |---|---|
//! | `create`, `import`, `list`, `search`, `count`, `show` | the commands of these names |
//! | `change` | `rotate`, `suspend`, `activate` and `terminate`, which change one access |
//! | `label` | sets and removes labels of one access |
//! | `selection` | finds the access that the user names |

mod change;
mod count;
mod create;
pub(crate) mod import;
mod label;
mod list;
mod search;
mod selection;
mod show;

use crate::client::label as label_list;
use crate::terminal::output::{Column, Fit};

tenant_command! {
    /// Issue, find, change and terminate accesses, one at a time; `gatehouse batch` does many
    AccessCommand {
        Create(create::Create),
        Import(import::Import),
        List(Box<list::List>),
        Search(search::Search),
        Count(count::Count),
        Show(show::Show),
        Label(label::Label),
        Rotate(change::Rotate),
        Suspend(change::Suspend),
        Activate(change::Activate),
        Terminate(change::Terminate),
    }
}

pub(crate) const COLUMNS: &[Column] =
    &[ID, USERNAME, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS, BATCH, LABELS];

/// Columns of the server's own CSV, for results of which the server makes none.
pub(crate) const TABLE_COLUMNS: &[Column] =
    &[ID, USERNAME, PASSWORD, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS];

/// Columns of an access with its password, which is shown only once.
pub(crate) const COLUMNS_WITH_PASSWORD: &[Column] = &[
    ID,
    USERNAME,
    PASSWORD,
    DEVICE_NAME,
    NAME,
    STATUS,
    CONTRACT,
    OFFERING,
    STARTS,
    ENDS,
    BATCH,
    LABELS,
];

const ID: Column = Column::text("ID", "id", Fit::Whole);
const USERNAME: Column = Column::text("USERNAME", "username", Fit::Cut(8));
const PASSWORD: Column = Column::text("PASSWORD", "password", Fit::Whole);
// Tables show it as the name.
const DEVICE_NAME: Column = Column::text("DEVICE NAME", "deviceName", Fit::CsvOnly);
const NAME: Column = Column::text("NAME", "name", Fit::Cut(13));
const STATUS: Column = Column::text("STATUS", "status", Fit::Whole);
const CONTRACT: Column = Column::text("CONTRACT", "contractId", Fit::Optional(0));
const OFFERING: Column = Column::text("OFFERING", "productOfferingId", Fit::Optional(3));
const STARTS: Column = Column::time("STARTS (UTC)", "startDateTime", Fit::Optional(2));
const ENDS: Column = Column::time("ENDS (UTC)", "endDateTime", Fit::Optional(1));
const BATCH: Column = Column::text("BATCH", "createdBy", Fit::Optional(5));
const LABELS: Column = Column::computed("LABELS", "labels", label_list::shown, Fit::Optional(4));
