//! `gatehouse apply`: makes tenants and contracts as an estate file says, and shows the difference.
//!
//! Each object that the file names becomes exactly what the file says. Nothing is deleted unless
//! `--prune` is given, and never a tenant. Running it twice changes nothing the second time.

use std::path::PathBuf;

use clap::Args;
use gatehouse_core::{Contract, Tenant};
use gatehouse_server::estate::{Estate, EstateTenant};
use gatehouse_server::http::{ContractBody, TenantBody};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::{Answer, Connection, Server};

/// Make tenants and contracts as an estate file says
#[derive(Args)]
pub(crate) struct Apply {
    /// The estate file (YAML)
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Delete contracts that the file leaves out of the tenants it names, if they have no accesses
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Apply {
    pub(crate) fn run(self) -> Result<(), String> {
        // The whole file first: nothing is sent of one that has a fault.
        let estate = Estate::load(&self.file).map_err(|bad| bad.to_string())?;
        let mut work = Work {
            server: self.connection.open()?,
            dry_run: self.dry_run,
            n_changed: 0,
            n_unchanged: 0,
            n_failed: 0,
        };
        for tenant in &estate.tenants {
            work.apply_tenant(tenant, self.prune)?;
        }
        work.finish()
    }
}

/// What can't change of a contract that has accesses, as only the server knows.
const FIXED: [&str; 2] = ["productOfferingId", "billingModel"];

struct Work {
    server: Server,
    dry_run: bool,
    n_changed: usize,
    n_unchanged: usize,
    n_failed: usize,
}

impl Work {
    fn apply_tenant(&mut self, wanted: &EstateTenant, prune: bool) -> Result<(), String> {
        let name = wanted.tenant.name.as_str();
        let path = ["-", "admin", "tenants", name];
        let is_new = self.put(&format!("tenant {name}"), &path, &tenant_body(&wanted.tenant))?;
        for contract in &wanted.contracts {
            let id = contract.id.as_str();
            let path = ["-", "admin", "tenants", name, "contracts", id];
            self.put(&format!("contract {name}/{id}"), &path, &contract_body(contract))?;
        }
        if prune && !is_new { self.prune(wanted) } else { Ok(()) }
    }

    /// Makes one object so; true when it was not there before.
    fn put(&mut self, shown: &str, path: &[&str], wanted: &Value) -> Result<bool, String> {
        let present = self.server.ask(Method::GET, path, None)?;
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
            let put = self.server.ask(Method::PUT, path, Some(wanted))?;
            if !matches!(put.status, 200 | 201) {
                return self.fail(shown, &put).map(|()| false);
            }
        }
        self.n_changed += 1;
        println!("{} {shown}", if is_new { "+" } else { "~" });
        for line in &difference {
            println!("    {line}");
        }
        let fixed = |line: &String| FIXED.iter().any(|name| line.starts_with(name));
        if self.dry_run && !is_new && difference.iter().any(fixed) {
            println!("    (refused if it has accesses: {} can't change then)", FIXED.join(" and "));
        }
        Ok(is_new)
    }

    fn prune(&mut self, wanted: &EstateTenant) -> Result<(), String> {
        let name = wanted.tenant.name.as_str();
        for present in self.server.all(&["-", "admin", "tenants", name, "contracts"])? {
            let Some(id) = present.get("id").and_then(Value::as_str) else { continue };
            if wanted.contracts.iter().any(|contract| contract.id.as_str() == id) {
                continue;
            }
            let shown = format!("contract {name}/{id}");
            // Only the tenant's own view says whether it has accesses, and only the server knows for
            // sure: it refuses to delete one that ever had any.
            if !self.dry_run {
                let path = ["-", "admin", "tenants", name, "contracts", id];
                let deleted = self.server.ask(Method::DELETE, &path, None)?;
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
    fn fail(&mut self, shown: &str, answer: &Answer) -> Result<(), String> {
        let why = answer.explain();
        let title = answer.body.get("title").and_then(Value::as_str);
        if matches!(answer.status, 401 | 403) || title == Some("Unknown path") {
            return Err(format!("{shown}: {why}"));
        }
        self.n_failed += 1;
        eprintln!("! {shown}: {why}");
        Ok(())
    }

    fn finish(self) -> Result<(), String> {
        let verb = if self.dry_run { "would change" } else { "changed" };
        println!("{} {verb}, {} unchanged", self.n_changed, self.n_unchanged);
        match self.n_failed {
            0 => Ok(()),
            n => Err(format!("{n} could not be made as the file says")),
        }
    }
}

fn tenant_body(tenant: &Tenant) -> Value {
    to_value(&TenantBody::new(tenant))
}

fn contract_body(contract: &Contract) -> Value {
    to_value(&ContractBody::new(contract))
}

fn to_value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).expect("bodies are plain data")
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
}
