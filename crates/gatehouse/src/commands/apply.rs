//! `gatehouse apply`: makes tenants, contracts and accounts as an estate file says, and shows the
//! difference.
//!
//! Each object that the file names becomes exactly what the file says, but for credentials that it leaves
//! out: these are kept. Nothing is deleted unless `--prune` is given, and never a tenant. Running it twice
//! changes nothing the second time.
//!
//! What can't be made might be what is there under another name, so nothing of its tenant is deleted then.
//!
//! Credentials are never shown. A server doesn't show them either, so whether those of the file are others
//! is known only when they have been sent.

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

use crate::client::api::{Answer, Connection, Server};
use crate::client::wire;
use crate::commands::connector::OwnConnectors;
use crate::failure::{Failure, Kind};

/// Make tenants, contracts and accounts as an estate file says
#[derive(Args)]
pub(crate) struct Apply {
    /// The estate file (YAML)
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Delete accounts, and contracts without accesses, that the file leaves out of the tenants it names;
    /// none of a tenant of which something can't be made
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    own: OwnConnectors,
}

impl Apply {
    pub(crate) fn run(self) -> Result<(), Failure> {
        wire::run(self.apply())
    }

    async fn apply(self) -> Result<(), Failure> {
        // The whole file first: nothing is sent of one that has a fault.
        let estate = Estate::load(&self.file).map_err(|bad| Failure::input(bad.to_string()))?;
        let unfit = unfit_accounts(&estate, self.own.manifests()?);
        if !unfit.is_empty() {
            let file = self.file.display();
            let listed: String = unfit.iter().map(|line| format!("\n  {line}")).collect();
            return Err(Failure::input(format!(
                "nothing of {file} was applied, its accounts have faults:{listed}"
            )));
        }
        let mut work = Work {
            server: self.connection.open()?,
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

/// What can't change of a contract that has accesses, as only the server knows.
const FIXED: [&str; 2] = ["productOfferingId", "billingModel"];

/// What may change where an account's credentials are sent, as only the server knows.
const LEADING: [&str; 2] = ["connector", "settings"];

/// What a dry run can say about credentials.
const ONLY_THE_SERVER_KNOWS: &str = "whether these are others is known when they are sent";

struct Work {
    server: Server,
    dry_run: bool,
    n_changed: usize,
    n_unchanged: usize,
    /// Of which only the server can tell whether they would change.
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

    /// Makes one object so; true when it was not there before.
    async fn put(&mut self, shown: &str, path: &[&str], wanted: &Value) -> Result<bool, Failure> {
        let present = self.server.ask(Method::GET, path).answer().await?;
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
            let put = self.server.ask(Method::PUT, path).body(wanted.clone()).answer().await?;
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

    /// Makes one account so. What is there can be compared but for the credentials.
    async fn put_account(&mut self, tenant: &str, wanted: &AccountInput) -> Result<(), Failure> {
        let name = wanted.account.name.as_str();
        let shown = format!("account {tenant}/{name}");
        let path = ["-", "admin", "tenants", tenant, "accounts", name];
        let mut present = self.server.ask(Method::GET, &path).answer().await?;
        let is_new = match present.status {
            200 => false,
            404 => true,
            _ => return self.fail(&shown, &present),
        };
        let kept = match &mut present.body {
            Value::Object(present) => present.remove("hasCredentials"),
            _ => None,
        };
        let keeps_credentials = kept == Some(Value::Bool(true));
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
        let put = self.server.ask(Method::PUT, &path).body(body).answer().await?;
        if !matches!(put.status, 200 | 201) {
            return self.fail(&shown, &put);
        }
        let changed = put.body.get("changed").and_then(Value::as_array);
        match changed {
            // It was made.
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

    /// Shows an object that is now so, or would be.
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
                let deleted = self.server.ask(Method::DELETE, &path).answer().await?;
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
            // Only the tenant's own view says whether it has accesses, and only the server knows for
            // sure: it refuses to delete one that ever had any.
            if !self.dry_run {
                let path = ["-", "admin", "tenants", name, "contracts", id];
                let deleted = self.server.ask(Method::DELETE, &path).answer().await?;
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

    /// Reports an object that can't be made so. Who may not do this at all, or asks at a wrong address,
    /// is told once.
    fn fail(&mut self, shown: &str, answer: &Answer) -> Result<(), Failure> {
        let title = answer.body.get("title").and_then(Value::as_str);
        if matches!(answer.status, 401 | 403) || title == Some("Unknown path") {
            return Err(answer.failure().about(shown));
        }
        self.n_failed += 1;
        eprintln!("! {}", answer.failure().about(shown));
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
            n => {
                Err(Failure::new(Kind::Partial, format!("{n} could not be made as the file says")))
            }
        }
    }
}

/// All that the server would refuse of accounts, as far as that can be seen here: a line for each field. Of a
/// connector that isn't known here the server may know.
fn unfit_accounts(estate: &Estate, manifests: Manifests) -> Vec<String> {
    // Which addresses platforms may have is a setting of the server, and its to say.
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

/// The faults that the server will find, too: credentials that the file leaves out may be kept there.
fn only_sure(
    faults: Vec<SettingFault>,
    has_credentials: bool,
) -> impl Iterator<Item = SettingFault> {
    let is_of_credentials = |it: &SettingFault| it.name.split('.').next() == Some("credentials");
    faults.into_iter().filter(move |it| has_credentials || !is_of_credentials(it))
}

/// What differs between what is there and what is wanted, a line for each field.
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
    fn a_difference_is_told_field_by_field() {
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
    fn credentials_that_the_file_leaves_out_are_no_fault() {
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
