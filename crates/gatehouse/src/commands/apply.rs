//! `gatehouse apply`: makes tenants, contracts and accounts match an estate file, and shows the difference.
//!
//! Each object in the file gets exactly the file's fields; credentials that the file omits stay as they are. Nothing is
//! deleted without `--prune`, and never a tenant. A second run changes nothing.
//!
//! A failed object might exist under another name, so its tenant is not pruned.
//!
//! Credentials are never shown. The server doesn't return them either, so a change is known only after the PUT.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gatehouse_connectors::{AddressRules, Catalog, Manifests, SettingFault};
use gatehouse_core::account::Credentials;
use gatehouse_server::app::account::AccountInput;
use gatehouse_server::estate::{Estate, EstateTenant};
use gatehouse_server::fields::{account_body, contract_body, tenant_body};
use reqwest::Method;
use serde_json::{Map, Value};

use crate::client::api::{ApiResponse, Server, ServerArgs};
use crate::commands::connector::ConnectorsDir;
use crate::failure::{Failure, FailureKind};
use crate::runtime;

/// Make tenants, contracts and accounts match an estate file
#[derive(Args)]
pub(crate) struct Apply {
    /// The estate file (YAML)
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// Only show the changes, without making them
    #[arg(long)]
    dry_run: bool,
    /// Delete accounts, and contracts without accesses, that the file omits from its tenants; skips a tenant where an
    /// object failed
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    server_args: ServerArgs,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

impl Apply {
    pub(crate) fn run(self) -> Result<(), Failure> {
        runtime::run(self.apply())
    }

    async fn apply(self) -> Result<(), Failure> {
        // The whole file first: a file with a fault sends nothing.
        let estate = Estate::load(&self.file).map_err(|bad| Failure::input(bad.to_string()))?;
        let unfit = unfit_accounts(&estate, self.connectors.manifests()?);
        if !unfit.is_empty() {
            let file = self.file.display();
            let listed: String = unfit.iter().map(|line| format!("\n  {line}")).collect();
            return Err(Failure::input(format!(
                "nothing of {file} was applied, its accounts have faults:{listed}"
            )));
        }
        let mut work = Work {
            server: self.server_args.open()?,
            dry_run: self.dry_run,
            n_changed: 0,
            n_unchanged: 0,
            n_unknown: 0,
            n_failed: 0,
        };
        for tenant in &estate.tenants {
            work.apply_tenant(tenant, self.prune).await?;
        }
        work.finish()
    }
}

/// Fields that can't change once a contract has accesses, which only the server knows.
const FIXED: [&str; 2] = ["productOfferingId", "billingModel"];

/// Fields that may change where an account's credentials are sent, which only the server knows.
const LEADING: [&str; 2] = ["connector", "settings"];

const ONLY_THE_SERVER_KNOWS: &str = "whether they change is known after they are sent";

struct Work {
    server: Server,
    dry_run: bool,
    n_changed: usize,
    n_unchanged: usize,
    /// Objects of which only the server knows whether they would change.
    n_unknown: usize,
    n_failed: usize,
}

impl Work {
    async fn apply_tenant(&mut self, wanted: &EstateTenant, prune: bool) -> Result<(), Failure> {
        let name = wanted.tenant.name.as_str();
        let n_failed_before = self.n_failed;
        let path = ["-", "admin", "tenants", name];
        let is_new =
            self.put(&format!("tenant {name}"), &path, &tenant_body(&wanted.tenant).into()).await?;
        for contract in &wanted.contracts {
            let id = contract.id.as_str();
            let path = ["-", "admin", "tenants", name, "contracts", id];
            self.put(&format!("contract {name}/{id}"), &path, &contract_body(contract).into())
                .await?;
        }
        for account in &wanted.accounts {
            self.put_account(name, account).await?;
        }
        if !prune || is_new {
            return Ok(());
        }
        let n_failed = self.n_failed - n_failed_before;
        if n_failed > 0 {
            println!(
                "= tenant {name} is not pruned: {n_failed} could not be made as the file says"
            );
            return Ok(());
        }
        self.prune_contracts(wanted).await?;
        self.prune_accounts(wanted).await
    }

    /// Creates or replaces an object; returns whether it is new.
    async fn put(&mut self, shown: &str, path: &[&str], wanted: &Value) -> Result<bool, Failure> {
        let present = self.server.request(Method::GET, path).response().await?;
        let (difference, is_new) = match present.status {
            200 => (difference(&present.body, wanted), false),
            404 => (difference(&Value::Null, wanted), true),
            _ => return self.fail(shown, &present).map(|()| false),
        };
        if difference.is_empty() {
            self.n_unchanged += 1;
            return Ok(false);
        }
        if !self.dry_run {
            let put =
                self.server.request(Method::PUT, path).body(wanted.clone()).response().await?;
            if !matches!(put.status, 200 | 201) {
                return self.fail(shown, &put).map(|()| false);
            }
        }
        self.changed(shown, is_new, &difference);
        let fixed = |line: &String| FIXED.iter().any(|name| line.starts_with(name));
        if self.dry_run && !is_new && difference.iter().any(fixed) {
            println!("    (refused if it has accesses: {} can't change then)", FIXED.join(" and "));
        }
        Ok(is_new)
    }

    /// Creates or replaces an account. Everything but the credentials can be compared.
    async fn put_account(&mut self, tenant: &str, wanted: &AccountInput) -> Result<(), Failure> {
        let name = wanted.account.name.as_str();
        let shown = format!("account {tenant}/{name}");
        let path = ["-", "admin", "tenants", tenant, "accounts", name];
        let mut present = self.server.request(Method::GET, &path).response().await?;
        let is_new = match present.status {
            200 => false,
            404 => true,
            _ => return self.fail(&shown, &present),
        };
        let stored = match &mut present.body {
            Value::Object(present) => present.remove("hasCredentials"),
            _ => None,
        };
        let keeps_credentials = stored == Some(Value::Bool(true));
        let mut body = Value::from(account_body(&wanted.account, &wanted.settings));
        let present = if is_new { &Value::Null } else { &present.body };
        let mut difference = difference(present, &body);
        let has_credentials = wanted.credentials.is_some();
        if difference.is_empty() && !has_credentials {
            self.n_unchanged += 1;
            return Ok(());
        }
        if self.dry_run {
            match (is_new, has_credentials) {
                (_, false) => {}
                (true, true) => difference.push("credentials: set".into()),
                (false, true) if difference.is_empty() => {
                    self.n_unknown += 1;
                    println!("? {shown}\n    credentials: {ONLY_THE_SERVER_KNOWS}");
                    return Ok(());
                }
                (false, true) => difference.push(format!("credentials: {ONLY_THE_SERVER_KNOWS}")),
            }
            self.changed(&shown, is_new, &difference);
            let addresses = |line: &String| LEADING.iter().any(|name| line.starts_with(name));
            if keeps_credentials && !has_credentials && difference.iter().any(addresses) {
                println!(
                    "    (refused if that changes where its credentials are sent: give them, too)"
                );
            }
            return Ok(());
        }
        if let Some(credentials) = &wanted.credentials {
            let secrets = credentials.names().map(|it| (it, credentials.reveal(it)));
            body["credentials"] = serde_json::json!(secrets.collect::<BTreeMap<_, _>>());
        }
        let put = self.server.request(Method::PUT, &path).body(body).response().await?;
        if !matches!(put.status, 200 | 201) {
            return self.fail(&shown, &put);
        }
        let changed = put.body.get("changed").and_then(Value::as_array);
        match changed {
            // The account was created.
            None if has_credentials => difference.push("credentials: set".into()),
            Some(fields) if fields.iter().any(|it| it == "credentials") => {
                difference.push("credentials: changed".into());
            }
            _ => {}
        }
        if difference.is_empty() {
            self.n_unchanged += 1;
        } else {
            self.changed(&shown, is_new, &difference);
        }
        Ok(())
    }

    /// Shows an object that was changed, or would be.
    fn changed(&mut self, shown: &str, is_new: bool, difference: &[String]) {
        self.n_changed += 1;
        println!("{} {shown}", if is_new { "+" } else { "~" });
        for line in difference {
            println!("    {line}");
        }
    }

    async fn prune_accounts(&mut self, wanted: &EstateTenant) -> Result<(), Failure> {
        let tenant = wanted.tenant.name.as_str();
        for present in self.server.all(&["-", "admin", "tenants", tenant, "accounts"]).await? {
            let Some(name) = present.get("name").and_then(Value::as_str) else { continue };
            if wanted.accounts.iter().any(|it| it.account.name.as_str() == name) {
                continue;
            }
            let shown = format!("account {tenant}/{name}");
            if !self.dry_run {
                let path = ["-", "admin", "tenants", tenant, "accounts", name];
                let deleted = self.server.request(Method::DELETE, &path).response().await?;
                if deleted.status != 204 {
                    self.fail(&shown, &deleted)?;
                    continue;
                }
            }
            self.n_changed += 1;
            println!("- {shown}");
        }
        Ok(())
    }

    async fn prune_contracts(&mut self, wanted: &EstateTenant) -> Result<(), Failure> {
        let name = wanted.tenant.name.as_str();
        for present in self.server.all(&["-", "admin", "tenants", name, "contracts"]).await? {
            let Some(id) = present.get("id").and_then(Value::as_str) else { continue };
            if wanted.contracts.iter().any(|contract| contract.id.as_str() == id) {
                continue;
            }
            let shown = format!("contract {name}/{id}");
            // Only the server knows whether the contract has accesses: it refuses to delete one that ever had any.
            if !self.dry_run {
                let path = ["-", "admin", "tenants", name, "contracts", id];
                let deleted = self.server.request(Method::DELETE, &path).response().await?;
                if deleted.status == 409 {
                    println!("= {shown} stays: it has accesses");
                    continue;
                }
                if deleted.status != 204 {
                    self.fail(&shown, &deleted)?;
                    continue;
                }
            }
            self.n_changed += 1;
            println!("- {shown}{}", if self.dry_run { ", unless it has accesses" } else { "" });
        }
        Ok(())
    }

    /// Reports an object that failed. A lack of rights or a wrong address ends the command instead, since it would
    /// repeat for each object.
    fn fail(&mut self, shown: &str, response: &ApiResponse) -> Result<(), Failure> {
        let title = response.body.get("title").and_then(Value::as_str);
        if matches!(response.status, 401 | 403) || title == Some("Unknown path") {
            return Err(response.failure().with_context(shown));
        }
        self.n_failed += 1;
        eprintln!("! {}", response.failure().with_context(shown));
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        let verb = if self.dry_run { "would change" } else { "changed" };
        let unknown = match self.n_unknown {
            0 => String::new(),
            n => format!(", {n} may change"),
        };
        println!("{} {verb}, {} unchanged{unknown}", self.n_changed, self.n_unchanged);
        match self.n_failed {
            0 => Ok(()),
            n => Err(Failure::new(
                FailureKind::Partial,
                format!("{n} could not be made as the file says"),
            )),
        }
    }
}

/// Faults in accounts that the server would report, a line for each field. Unknown connectors are left to the server,
/// which may know them.
fn unfit_accounts(estate: &Estate, manifests: Manifests) -> Vec<String> {
    // The server's settings decide which addresses are allowed, so all are here.
    let catalog = Catalog::new(AddressRules::for_local_user(true), manifests);
    let none = Credentials::default();
    let mut lines = Vec::new();
    for EstateTenant { tenant, accounts, .. } in &estate.tenants {
        for AccountInput { account, settings, credentials } in accounts {
            if !catalog.names().contains(&account.connector.as_str()) {
                continue;
            }
            let given = credentials.as_ref().unwrap_or(&none);
            let faults = catalog.faults(&account.connector, settings, given);
            for SettingFault { name, reason } in only_sure(faults, credentials.is_some()) {
                lines.push(format!("account {}/{}: {name} {reason}", tenant.name, account.name));
            }
        }
    }
    lines
}

/// The faults that the server would find, too: it may already have credentials that the file omits.
fn only_sure(
    faults: Vec<SettingFault>,
    has_credentials: bool,
) -> impl Iterator<Item = SettingFault> {
    let is_of_credentials = |it: &SettingFault| it.name.split('.').next() == Some("credentials");
    faults.into_iter().filter(move |it| has_credentials || !is_of_credentials(it))
}

/// The differing fields, a line for each.
fn difference(present: &Value, wanted: &Value) -> Vec<String> {
    let none = Map::new();
    let present = present.as_object().unwrap_or(&none);
    let wanted = wanted.as_object().unwrap_or(&none);
    let mut lines = Vec::new();
    for (name, new) in wanted {
        match present.get(name) {
            Some(old) if old == new => {}
            Some(old) => lines.push(format!("{name}: {old} → {new}")),
            None => lines.push(format!("{name}: {new}")),
        }
    }
    for (name, old) in present {
        if !wanted.contains_key(name) {
            lines.push(format!("{name}: {old} → (default)"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_shown_field_by_field() {
        let present = json!({"id": "a", "status": "ACTIVE", "maxAccesses": 5});
        assert_eq!(difference(&present, &present), Vec::<String>::new());
        assert_eq!(
            difference(&present, &json!({"id": "a", "status": "SUSPENDED", "endDateTime": "x"})),
            [
                "status: \"ACTIVE\" → \"SUSPENDED\"",
                "endDateTime: \"x\"",
                "maxAccesses: 5 → (default)"
            ]
        );
        assert_eq!(difference(&Value::Null, &json!({"id": "a"})), ["id: \"a\""]);
    }

    #[test]
    fn omitted_credentials_are_no_fault() {
        let fault = |name: &str| SettingFault { name: name.into(), reason: "is missing".into() };
        let faults = ["settings.baseUrl", "credentials", "credentials.token", "connector"];
        let sure = |has_credentials| {
            let faults = faults.map(fault).to_vec();
            only_sure(faults, has_credentials).map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(sure(true), faults);
        assert_eq!(sure(false), ["settings.baseUrl", "connector"]);
    }
}
