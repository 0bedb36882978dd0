//! `gatehouse client`: OAuth clients of the built-in issuer, where there is no identity provider. Works on the data
//! directory or the database itself, also while a server runs.

use clap::{Args, Subcommand};
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::rights::{parse_scopes, scopes_to_words};
use gatehouse_core::{Client, ClientId, PageRequest, TenantName};
use gatehouse_server::app::App;
use gatehouse_server::fields::client_body;

use crate::commands::serve::Settings;
use crate::host::open_store::{self, Intent};
use crate::runtime;
use crate::terminal::output::{TableOrJson, print_json};

const PAGE_SIZE: u64 = 1000;

/// Create, list and delete clients: machines that get tokens at /-/oauth2/token
#[derive(Args)]
pub(crate) struct ClientCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a client, and show its secret once
    Create(Create),
    /// List a tenant's clients
    List(List),
    /// Delete a client; its tokens are refused from now on
    Delete(Delete),
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    tenant_settings: TenantSettings,
    /// Scopes that its tokens may have: access:read, access:write, access:verify, product:read, event:read,
    /// event:write, admin; separated by spaces
    #[arg(long, value_name = "SCOPES")]
    scope: String,
    /// Display name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: TableOrJson,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    tenant_settings: TenantSettings,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: TableOrJson,
}

#[derive(Args)]
struct Delete {
    #[command(flatten)]
    tenant_settings: TenantSettings,
    /// The client, as `gatehouse client list` shows it
    #[arg(value_name = "CLIENT_ID")]
    id: String,
}

#[derive(Args)]
struct TenantSettings {
    /// The tenant
    #[arg(long, value_name = "NAME", env = "GATEHOUSE_TENANT")]
    tenant: String,
    #[command(flatten)]
    settings: Settings,
}

impl ClientCommand {
    pub(crate) fn run(self) -> Result<(), String> {
        runtime::run(async {
            match self.verb {
                Verb::Create(create) => create.run().await,
                Verb::List(list) => list.run().await,
                Verb::Delete(delete) => delete.run().await,
            }
        })
    }
}

impl Create {
    async fn run(self) -> Result<(), String> {
        let scopes = parse_scopes(&self.scope).map_err(|bad| format!("--scope {bad}"))?;
        let name = self.name.map(|name| name.parse()).transpose();
        let name = name.map_err(|bad| format!("--name {bad}"))?;
        let (app, tenant) = self.tenant_settings.open().await?;
        let made = app.create_client(&tenant, name, scopes, &Origin::of(Cause::Command)).await;
        app.store.close().await;
        let made = made.map_err(|why| why.to_string())?;
        let (client, secret) = (&made.client, made.secret.reveal());
        match self.output {
            TableOrJson::Json => print_json(&client_body(client, Some(secret))),
            TableOrJson::Table => {
                println!("client id      {}", client.id);
                println!("client secret  {secret}");
                println!("scope          {}", scopes_to_words(&client.scopes));
                eprintln!(
                    "the secret is shown only now; for a token, POST both to /-/oauth2/token"
                );
                Ok(())
            }
        }
    }
}

impl List {
    async fn run(self) -> Result<(), String> {
        let (app, tenant) = self.tenant_settings.open().await?;
        let mut clients: Vec<Client> = Vec::new();
        for number in 1.. {
            let request = PageRequest { number, size: PAGE_SIZE };
            let page = app.store.clients(&tenant, request).await;
            let page = page.map_err(|why| why.explained())?;
            let page = page.ok_or_else(|| format!("there is no tenant `{tenant}`"))?;
            clients.extend(page.items);
            if number >= request.last(page.total) {
                break;
            }
        }
        app.store.close().await;
        match self.output {
            TableOrJson::Json => {
                let all: Vec<_> = clients.iter().map(|it| client_body(it, None)).collect();
                print_json(&all)
            }
            TableOrJson::Table => {
                show_table(&clients);
                Ok(())
            }
        }
    }
}

impl Delete {
    async fn run(self) -> Result<(), String> {
        let id = self.id.parse::<ClientId>();
        let id = id.map_err(|bad| format!("CLIENT_ID {bad}, not `{}`", self.id))?;
        let (app, tenant) = self.tenant_settings.open().await?;
        let deleted = app.delete_client(&tenant, &id, &Origin::of(Cause::Command)).await;
        app.store.close().await;
        deleted.map_err(|why| why.to_string())?;
        println!("{id} is deleted; tokens that it has got are refused within a second");
        Ok(())
    }
}

impl TenantSettings {
    async fn open(&self) -> Result<(App, TenantName), String> {
        let tenant = self.tenant.parse::<TenantName>();
        let tenant = tenant.map_err(|bad| format!("--tenant: `{}` {bad}", self.tenant))?;
        let config = self.settings.load(&[])?;
        let app = open_store::open(&config, Intent::Write).await?;
        Ok((app, tenant))
    }
}

fn show_table(clients: &[Client]) {
    let width = clients.iter().map(|it| it.id.to_string().len()).max().unwrap_or(0).max(9);
    println!("{:width$}  {:24}  {:40}  NAME", "CLIENT ID", "CREATED", "SCOPE");
    for client in clients {
        let id = client.id.to_string();
        let (created, scope) = (client.created_at.to_string(), scopes_to_words(&client.scopes));
        let name = client.name.as_ref().map_or("", |name| name.as_str());
        println!("{id:width$}  {created:24}  {scope:40}  {name}");
    }
}
