//! `gatehouse hook delete`.

use clap::Args;
use gatehouse_core::HookId;
use reqwest::Method;

use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, text};
use crate::terminal::question::{confirm, is_interactive};

/// Delete a hook: its gateway lets no further device in
#[derive(Args)]
pub(crate) struct Delete {
    /// The hook's ID, as `gatehouse hook list` shows it
    #[arg(value_name = "HOOK")]
    hook: String,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hook.to_ascii_lowercase();
        if id.parse::<HookId>().is_err() {
            let hook = &self.hook;
            return Err(Failure::input(format!(
                "`{hook}` is no hook: their IDs are like hook-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000"
            ))
            .advise("`gatehouse hook list` shows the hooks"));
        }
        let (server, format) = tenant_args.open().await?;
        let path = ["-", "admin", "tenants", server.tenant.as_str(), "hooks", &id];
        if !self.yes && is_interactive() {
            let hook = server.server.request(Method::GET, &path).success().await?.body;
            let [dialect, name] = ["dialect", "name"].map(|it| text(&hook, it));
            let gateway = if name.is_empty() { dialect } else { format!("{name} ({dialect})") };
            confirm(
                &format!("{id} is deleted for good: {gateway} lets no further device in."),
                self.yes,
            )?;
        }
        server.server.request(Method::DELETE, &path).success().await?;
        if format == OutputFormat::Table {
            println!("{id} is deleted; every server refuses its key within a second");
        }
        Ok(())
    }
}
