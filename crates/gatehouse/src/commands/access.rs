//! `gatehouse access`: the accesses of a tenant, one at a time.
//!
//! | file | what it has |
//! |---|---|
//! | `create`, `list`, `show` | the verbs of these names |
//! | `change` | `rotate`, `suspend`, `activate` and `terminate`: they change one access |
//! | `chosen` | which access is meant by what a person types |

mod change;
mod chosen;
mod create;
mod list;
mod show;

use clap::{Args, Subcommand};

use crate::client::api::Tenancy;
use crate::client::wire;
use crate::failure::Failure;
use crate::terminal::output::{Column, Room};

/// Issue, find, change and end accesses, one at a time; `gatehouse batch` does many
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AccessCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenancy: Tenancy,
}

#[derive(Subcommand)]
enum Verb {
    Create(create::Create),
    List(Box<list::List>),
    Show(show::Show),
    Rotate(change::Rotate),
    Suspend(change::Suspend),
    Activate(change::Activate),
    Terminate(change::Terminate),
}

impl AccessCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { verb, tenancy } = self;
        wire::run(async move {
            match verb {
                Verb::Create(create) => create.run(&tenancy).await,
                Verb::List(list) => list.run(&tenancy).await,
                Verb::Show(show) => show.run(&tenancy).await,
                Verb::Rotate(rotate) => rotate.run(&tenancy).await,
                Verb::Suspend(suspend) => suspend.run(&tenancy).await,
                Verb::Activate(activate) => activate.run(&tenancy).await,
                Verb::Terminate(terminate) => terminate.run(&tenancy).await,
            }
        })
    }
}

/// What is shown of an access.
pub(crate) const COLUMNS: &[Column] =
    &[ID, USERNAME, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS, BATCH];

/// The same as the server's own tables have it, for what it makes no table of.
pub(crate) const TABLE_COLUMNS: &[Column] =
    &[ID, USERNAME, PASSWORD, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS];

/// The same with its password, which is shown now or never.
pub(crate) const COLUMNS_WITH_PASSWORD: &[Column] =
    &[ID, USERNAME, PASSWORD, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS, BATCH];

const ID: Column = Column::text("ID", "id", Room::Whole);
const USERNAME: Column = Column::text("USERNAME", "username", Room::Cut(8));
const PASSWORD: Column = Column::text("PASSWORD", "password", Room::Whole);
// A table has it as the name.
const DEVICE_NAME: Column = Column::text("DEVICE NAME", "deviceName", Room::Never);
const NAME: Column = Column::text("NAME", "name", Room::Cut(13));
const STATUS: Column = Column::text("STATUS", "status", Room::Whole);
const CONTRACT: Column = Column::text("CONTRACT", "contractId", Room::IfLeft(0));
const OFFERING: Column = Column::text("OFFERING", "productOfferingId", Room::IfLeft(3));
const STARTS: Column = Column::time("STARTS (UTC)", "startDateTime", Room::IfLeft(2));
const ENDS: Column = Column::time("ENDS (UTC)", "endDateTime", Room::IfLeft(1));
const BATCH: Column = Column::text("BATCH", "createdBy", Room::IfLeft(4));
