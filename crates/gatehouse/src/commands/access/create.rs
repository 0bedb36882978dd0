//! `gatehouse access create`.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;

use super::COLUMNS_WITH_PASSWORD;
use crate::client::api::{Tenancy, object, request_key};
use crate::failure::Failure;
use crate::terminal::output::{Form, show_one};
use crate::terminal::text_input;

/// Issue an access, and show its password once
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse access create --contract C-PAYG --device-name pump-7
  gatehouse access create --contract C-PAYG --password-file password.txt")]
pub(crate) struct Create {
    /// The contract that it belongs to
    #[arg(long, value_name = "ID")]
    contract: String,
    /// Its username [default: one is made up]
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// What the device is called
    #[arg(long, value_name = "NAME")]
    device_name: Option<String>,
    /// A file with the password, `-` for standard input [default: a strong one is made up]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The request's own name: sent again with it, it is done once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let password = self.password_file.as_deref().map(text_input::read_secret).transpose()?;
        let (server, form) = tenancy.open().await?;
        let body = object([
            ("contractId", Some(self.contract)),
            ("username", self.username),
            ("password", password),
            ("deviceName", self.device_name),
        ]);
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let ask = server.ask(Method::POST, &["access"]).keyed(&key).body(body);
        let access = ask.success().await?.body;
        show_one(form, COLUMNS_WITH_PASSWORD, &access)?;
        if form == Form::Table {
            eprintln!("the password is shown only now");
        }
        Ok(())
    }
}
