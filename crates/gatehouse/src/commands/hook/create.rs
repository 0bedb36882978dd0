//! `gatehouse hook create`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatehouse_core::Dialect;
use reqwest::Method;

use super::{CREATED, DIALECT, ID, KEY, NAME};
use crate::client::api::{TenantArgs, object};
use crate::failure::Failure;
use crate::terminal::output::{Column, OutputFormat, show_one, text};

/// Create a hook, and show its key once
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse hook create --dialect basic --name 'nginx in Hamburg'
  gatehouse hook create --dialect rabbitmq")]
pub(crate) struct Create {
    /// Dialect in which the gateway asks
    #[arg(long, value_name = "DIALECT", value_parser = dialect())]
    dialect: Dialect,
    /// Display name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

const COLUMNS: &[Column] = &[ID, KEY, DIALECT, NAME, CREATED];

impl Create {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let dialect = self.dialect.as_str();
        let body = object([("dialect", Some(dialect.to_owned())), ("name", self.name)]);
        let path = ["-", "admin", "tenants", server.tenant.as_str(), "hooks"];
        let request = server.server.request(Method::POST, &path).body(body);
        let hook = request.success().await?.body;
        show_one(format, COLUMNS, &hook)?;
        if format == OutputFormat::Table {
            let (tenant, key) = (&server.tenant, text(&hook, "key"));
            let rest = match self.dialect {
                Dialect::Json => String::new(),
                other => format!("/{}", other.as_str()),
            };
            eprintln!(
                "the key is shown only now; the gateway asks at /{tenant}/verify/~{key}{rest}"
            );
        }
        Ok(())
    }
}

fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let known = PossibleValuesParser::new(Dialect::ALL.map(Dialect::as_str));
    known.try_map(|word| Dialect::from_word(&word).ok_or("no dialect"))
}
