//! `gatehouse access rotate`, `suspend`, `activate` and `terminate`: one access is changed.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::selection::{AccessSelection, described};
use super::{COLUMNS, COLUMNS_WITH_PASSWORD};
use crate::client::api::{TenantArgs, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, show_one, text};
use crate::terminal::question::confirm;
use crate::terminal::text_input;

/// Give an access a new password, and show it once
#[derive(Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    selection: AccessSelection,
    /// File with the password, `-` for standard input [default: the server generates a strong one]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Refuse an access until it is activated again
#[derive(Args)]
#[command(after_help = "\
The very next connection attempt is refused. Examples:
  gatehouse access suspend pump-7
  gatehouse access suspend 01a1dd3f-f1be-708c-81bb-51208c72ed9c")]
pub(crate) struct Suspend {
    #[command(flatten)]
    selection: AccessSelection,
}

/// Activate an access again, or cancel its termination
#[derive(Args)]
pub(crate) struct Activate {
    #[command(flatten)]
    selection: AccessSelection,
}

/// Terminate an access now and for good
#[derive(Args)]
pub(crate) struct Terminate {
    #[command(flatten)]
    selection: AccessSelection,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Rotate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        // A generated password is known to be strong, so checks need no slow hash.
        let to = match &self.password_file {
            Some(path) => json!({ "password": text_input::read_secret(path)? }),
            None => json!({ "rotatePassword": true }),
        };
        let (server, format) = tenant_args.open().await?;
        let access = self.selection.find(&server).await?;
        let changed = change(&server, &access, to).await?;
        show_one(format, COLUMNS_WITH_PASSWORD, &changed)?;
        if format == OutputFormat::Table {
            eprintln!("the password is shown only now; the old one is refused from now on");
        }
        Ok(())
    }
}

impl Suspend {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        set_status(tenant_args, &self.selection, "SUSPENDED").await
    }
}

impl Activate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        set_status(tenant_args, &self.selection, "ACTIVE").await
    }
}

impl Terminate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let access = self.selection.find(&server).await?;
        let consequence = format!(
            "{} is terminated now and for good: its device is refused, and the access can't be restored.",
            described(&access)
        );
        confirm(&consequence, self.yes)?;
        let changed = change(&server, &access, json!({ "status": "TERMINATED" })).await?;
        show_one(format, COLUMNS, &changed)
    }
}

async fn set_status(
    tenant_args: &TenantArgs,
    selection: &AccessSelection,
    status: &str,
) -> Result<(), Failure> {
    let (server, format) = tenant_args.open().await?;
    let access = selection.find(&server).await?;
    let changed = change(&server, &access, json!({ "status": status })).await?;
    show_one(format, COLUMNS, &changed)
}

pub(super) async fn change(
    server: &TenantServer,
    access: &Value,
    to: Value,
) -> Result<Value, Failure> {
    let request = server.request(Method::PATCH, &["access", &text(access, "id")]);
    Ok(request.body(to).success().await?.body)
}
