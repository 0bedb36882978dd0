//! `gatehouse access create`.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;

use super::COLUMNS_WITH_PASSWORD;
use crate::client::api::{TenantArgs, object, request_key};
use crate::client::label::{self, Label};
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, show_one};
use crate::terminal::text_input;

/// Issue an access, and show its password once
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse access create --contract C-PAYG --device-name pump-7 --label site=hamburg
  gatehouse access create --contract C-PAYG --password-file password.txt")]
pub(crate) struct Create {
    /// Contract of the access
    #[arg(long, value_name = "ID")]
    contract: String,
    /// Username [default: a generated one]
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Name of the device
    #[arg(long, value_name = "NAME")]
    device_name: Option<String>,
    /// Label of the access; give it once for each label
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label::parse_label)]
    labels: Vec<Label>,
    /// File with the password, `-` for standard input [default: a generated, strong one]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Idempotency key: a request that is sent again with its key is processed once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let password = self.password_file.as_deref().map(text_input::read_secret).transpose()?;
        let (server, format) = tenant_args.open().await?;
        let mut body = object([
            ("contractId", Some(self.contract)),
            ("username", self.username),
            ("password", password),
            ("deviceName", self.device_name),
        ]);
        if let Some(labels) = label::as_body(&self.labels) {
            body["labels"] = labels;
        }
        let key = self.idempotency_key.unwrap_or_else(request_key);
        let request = server.request(Method::POST, &["access"]).idempotent(&key).body(body);
        let access = request.success().await?.body;
        show_one(format, COLUMNS_WITH_PASSWORD, &access)?;
        if format == OutputFormat::Table {
            eprintln!("the password is shown only now");
        }
        Ok(())
    }
}
