//! `gatehouse access`: the accesses of a tenant, one at a time.
//!
//! | file | contents |
//! |---|---|
//! | `create`, `list`, `show` | the commands of these names |
//! | `change` | `rotate`, `suspend`, `activate` and `terminate`, which change one access |
//! | `selection` | finds the access that the user names |

mod change;
mod create;
mod list;
mod selection;
mod show;

use clap::{Args, Subcommand};

use crate::client::api::TenantArgs;
use crate::client::wire;
use crate::failure::Failure;
use crate::terminal::output::{Column, ColumnFit};

/// Issue, find, change and end accesses, one at a time; `gatehouse batch` does many
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AccessCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenant_args: TenantArgs,
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
        let Self { verb, tenant_args } = self;
        wire::run(async move {
            match verb {
                Verb::Create(create) => create.run(&tenant_args).await,
                Verb::List(list) => list.run(&tenant_args).await,
                Verb::Show(show) => show.run(&tenant_args).await,
                Verb::Rotate(rotate) => rotate.run(&tenant_args).await,
                Verb::Suspend(suspend) => suspend.run(&tenant_args).await,
                Verb::Activate(activate) => activate.run(&tenant_args).await,
                Verb::Terminate(terminate) => terminate.run(&tenant_args).await,
            }
        })
    }
}

/// Columns of an access.
pub(crate) const COLUMNS: &[Column] =
    &[ID, USERNAME, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS, BATCH];

/// Columns of the server's own CSV, for results of which the server makes none.
pub(crate) const TABLE_COLUMNS: &[Column] =
    &[ID, USERNAME, PASSWORD, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS];

/// Columns of an access with its password, which is shown only once.
pub(crate) const COLUMNS_WITH_PASSWORD: &[Column] =
    &[ID, USERNAME, PASSWORD, DEVICE_NAME, NAME, STATUS, CONTRACT, OFFERING, STARTS, ENDS, BATCH];

const ID: Column = Column::text("ID", "id", ColumnFit::Whole);
const USERNAME: Column = Column::text("USERNAME", "username", ColumnFit::Cut(8));
const PASSWORD: Column = Column::text("PASSWORD", "password", ColumnFit::Whole);
// Tables show it as the name.
const DEVICE_NAME: Column = Column::text("DEVICE NAME", "deviceName", ColumnFit::CsvOnly);
const NAME: Column = Column::text("NAME", "name", ColumnFit::Cut(13));
const STATUS: Column = Column::text("STATUS", "status", ColumnFit::Whole);
const CONTRACT: Column = Column::text("CONTRACT", "contractId", ColumnFit::Optional(0));
const OFFERING: Column = Column::text("OFFERING", "productOfferingId", ColumnFit::Optional(3));
const STARTS: Column = Column::time("STARTS (UTC)", "startDateTime", ColumnFit::Optional(2));
const ENDS: Column = Column::time("ENDS (UTC)", "endDateTime", ColumnFit::Optional(1));
const BATCH: Column = Column::text("BATCH", "createdBy", ColumnFit::Optional(4));
