//! `gatehouse access rotate`, `suspend`, `activate` and `terminate`: one access is changed.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::chosen::{Chosen, described};
use super::{COLUMNS, COLUMNS_WITH_PASSWORD};
use crate::client::api::{Tenancy, TenantServer};
use crate::failure::Failure;
use crate::terminal::output::{Form, show_one, text};
use crate::terminal::question::confirm;
use crate::terminal::text_input;

/// Give an access a new password, and show it once
#[derive(Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    chosen: Chosen,
    /// A file with the password, `-` for standard input [default: the server draws a strong one]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Keep an access out until it is activated again
#[derive(Args)]
#[command(after_help = "\
The very next connection is refused. Examples:
  gatehouse access suspend pump-7
  gatehouse access suspend 01a1dd3f-f1be-708c-81bb-51208c72ed9c")]
pub(crate) struct Suspend {
    #[command(flatten)]
    chosen: Chosen,
}

/// Let an access in again, or call its termination off
#[derive(Args)]
pub(crate) struct Activate {
    #[command(flatten)]
    chosen: Chosen,
}

/// End an access now and for good
#[derive(Args)]
pub(crate) struct Terminate {
    #[command(flatten)]
    chosen: Chosen,
    /// Don't ask
    #[arg(short, long)]
    yes: bool,
}

impl Rotate {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        // One that the server draws is known to be strong, and costs its checks no slow hash.
        let to = match &self.password_file {
            Some(path) => json!({ "password": text_input::read_secret(path)? }),
            None => json!({ "rotatePassword": true }),
        };
        let (server, form) = tenancy.open().await?;
        let access = self.chosen.find(&server).await?;
        let changed = change(&server, &access, to).await?;
        show_one(form, COLUMNS_WITH_PASSWORD, &changed)?;
        if form == Form::Table {
            eprintln!("the password is shown only now; the old one lets nobody in any more");
        }
        Ok(())
    }
}

impl Suspend {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        set_status(tenancy, &self.chosen, "SUSPENDED").await
    }
}

impl Activate {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        set_status(tenancy, &self.chosen, "ACTIVE").await
    }
}

impl Terminate {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let access = self.chosen.find(&server).await?;
        let consequence = format!(
            "{} ends now and for good: its device is kept out, and nothing brings the access back.",
            described(&access)
        );
        confirm(&consequence, self.yes)?;
        let changed = change(&server, &access, json!({ "status": "TERMINATED" })).await?;
        show_one(form, COLUMNS, &changed)
    }
}

async fn set_status(tenancy: &Tenancy, chosen: &Chosen, status: &str) -> Result<(), Failure> {
    let (server, form) = tenancy.open().await?;
    let access = chosen.find(&server).await?;
    let changed = change(&server, &access, json!({ "status": status })).await?;
    show_one(form, COLUMNS, &changed)
}

async fn change(server: &TenantServer, access: &Value, to: Value) -> Result<Value, Failure> {
    let ask = server.ask(Method::PATCH, &["access", &text(access, "id")]);
    Ok(ask.body(to).success().await?.body)
}
