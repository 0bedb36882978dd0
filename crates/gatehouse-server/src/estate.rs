//! The estate file: the tenants, contracts and accounts that the operator declares.
//!
//! ```yaml
//! tenants:
//!   - name: demo
//!     timeZone: Europe/Berlin
//!     contracts:
//!       - { id: C-PAYG, productOfferingId: PO-IOT-PAYG, billingModel: PAY_PER_USE }
//!     accounts:
//!       - name: acme-eu
//!         platform: ALPHA
//!         connector: simulator
//!         platformAccount: "100234"
//!         settings: { baseUrl: "http://127.0.0.1:9700" }
//!         credentials: { token: "${env:ACME_EU_TOKEN}" }
//! ```
//!
//! One reader reads the objects of a file and the bodies of the admin API. Only a file may reference its secrets
//! (`expansion`).

mod expansion;

pub use expansion::{ExpansionContext, NAMED_FILE_BYTES_MAX};

use std::path::Path;

use gatehouse_core::{
    Account, AccountName, BillingModel, Contract, ContractId, ContractStatus, Tenant, TenantName,
};
use serde_saphyr::UserMessageFormatter;

use crate::app::account::AccountInput;
use crate::fields::gateway::policy;
use crate::fields::{account, contract, label, tenant};
use crate::reader::{Array, Fault, Faults, Field, Json, Reader};

const TENANTS: Field<Array> = list("tenants");
const CONTRACTS: Field<Array> = list("contracts");
const ACCOUNTS: Field<Array> = list("accounts");

/// A list that only estate files have; the OpenAPI document doesn't show it.
const fn list(name: &'static str) -> Field<Array> {
    Field::new(name, Array(|| serde_json::Value::Null), "")
}

/// The content of an estate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estate {
    /// The tenants, in the order of the file.
    pub tenants: Vec<EstateTenant>,
}

/// A tenant with its contracts and accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstateTenant {
    /// The tenant.
    pub tenant: Tenant,
    /// Its contracts, in the order of the file.
    pub contracts: Vec<Contract>,
    /// Its accounts at external platforms, in the order of the file.
    pub accounts: Vec<AccountInput>,
}

/// Why an estate file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadEstate {
    /// The file can't be read.
    #[error("{0}: {1}")]
    Unreadable(String, std::io::Error),
    /// The file isn't YAML.
    #[error("{0} can't be read as YAML: {1}")]
    NotYaml(String, String),
    /// The file's content is invalid.
    #[error("{} is not an estate:{}", .0, listed(.1))]
    Faults(String, Vec<Fault>),
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

impl Estate {
    /// Reads an estate file, and expands its references to environment variables and files.
    pub fn load(path: &Path) -> Result<Self, BadEstate> {
        let shown = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse_in(&ExpansionContext::of(path), &shown, &text),
            Err(cause) => Err(BadEstate::Unreadable(shown, cause)),
        }
    }

    /// Parses the text of an estate file as if it were in the current directory; errors name it `shown`.
    pub fn parse(shown: &str, text: &str) -> Result<Self, BadEstate> {
        Self::parse_in(&ExpansionContext::of(Path::new("")), shown, text)
    }

    /// Parses the text of an estate file with the given variables and directory.
    pub fn parse_in(
        context: &ExpansionContext<'_>,
        shown: &str,
        text: &str,
    ) -> Result<Self, BadEstate> {
        let json: Json = serde_saphyr::from_str(text).map_err(|error| {
            let why = error.without_snippet().render_with_formatter(&UserMessageFormatter);
            BadEstate::NotYaml(shown.to_owned(), why)
        })?;
        read_estate(json, context).map_err(|faults| BadEstate::Faults(shown.to_owned(), faults))
    }
}

fn read_estate(json: Json, context: &ExpansionContext<'_>) -> Result<Estate, Vec<Fault>> {
    let mut faults = Faults::default();
    if json == Json::Null {
        faults.add("the file", "is empty; it should have a list of `tenants`");
        return faults.check().map(|()| Estate { tenants: Vec::new() });
    }
    let mut reader = Reader::new(json, "", &mut faults);
    let tenants = reader.required(TENANTS);
    reader.finish();
    let mut estate = Estate { tenants: Vec::new() };
    for (n, json) in tenants.as_option().into_iter().flatten().enumerate() {
        let path = format!("tenants[{n}]");
        if let Some(tenant) = read_estate_tenant(json.clone(), &path, context, &mut faults) {
            let name = &tenant.tenant.name;
            if estate.tenants.iter().any(|other| other.tenant.name == *name) {
                faults.add(format!("{path}.name"), format!("names `{name}` a second time"));
            }
            estate.tenants.push(tenant);
        }
    }
    faults.check().map(|()| estate)
}

fn read_estate_tenant(
    json: Json,
    path: &str,
    context: &ExpansionContext<'_>,
    faults: &mut Faults,
) -> Option<EstateTenant> {
    let mut reader = Reader::new(json, path, faults);
    let name = reader.required(tenant::NAME);
    let contracts = reader.optional(CONTRACTS).unwrap_or_default();
    let accounts = reader.optional(ACCOUNTS).unwrap_or_default();
    let tenant = read_tenant(reader, name.as_option());
    let contracts = read_contracts(contracts, path, faults);
    let accounts = read_accounts(accounts, path, context, faults);
    Some(EstateTenant { tenant: tenant?, contracts, accounts })
}

fn read_contracts(contracts: Vec<Json>, path: &str, faults: &mut Faults) -> Vec<Contract> {
    let mut read: Vec<Contract> = Vec::new();
    for (n, json) in contracts.into_iter().enumerate() {
        let path = format!("{path}.contracts[{n}]");
        let mut reader = Reader::new(json, &path, faults);
        let id = reader.required(contract::ID);
        if let Some(contract) = read_contract(reader, id.as_option()) {
            if read.iter().any(|other| other.id == contract.id) {
                let reason = format!("names `{}` a second time in its tenant", contract.id);
                faults.add(format!("{path}.id"), reason);
            }
            read.push(contract);
        }
    }
    read
}

fn read_accounts(
    accounts: Vec<Json>,
    path: &str,
    context: &ExpansionContext<'_>,
    faults: &mut Faults,
) -> Vec<AccountInput> {
    let mut read: Vec<AccountInput> = Vec::new();
    for (n, mut json) in accounts.into_iter().enumerate() {
        let path = format!("{path}.accounts[{n}]");
        expansion::expand_account(&mut json, &path, context, faults);
        let mut reader = Reader::new(json, &path, faults);
        let name = reader.required(account::NAME);
        if let Some(input) = read_account(reader, name.as_option()) {
            let name = &input.account.name;
            if read.iter().any(|other| other.account.name == *name) {
                let reason = format!("names `{name}` a second time in its tenant");
                faults.add(format!("{path}.name"), reason);
            }
            read.push(input);
        }
    }
    read
}

/// Reads a tenant's fields except its name. `None` means that there are faults.
pub fn read_tenant(mut reader: Reader<'_>, name: Option<&TenantName>) -> Option<Tenant> {
    let time_zone = reader.optional(tenant::TIME_ZONE).unwrap_or_default();
    let requests_per_second = reader.optional(tenant::REQUESTS_PER_SECOND);
    let page_number_max = reader.optional(tenant::PAGE_NUMBER_LIMIT);
    let label_keys = label::optional_keys(&mut reader);
    reader.finish();
    let name = name?.clone();
    Some(Tenant { name, time_zone, requests_per_second, page_number_max, label_keys })
}

/// Reads a contract's fields except its identifier. `None` means that there are faults.
pub fn read_contract(mut reader: Reader<'_>, id: Option<&ContractId>) -> Option<Contract> {
    let offering_id = reader.required(contract::OFFERING_ID);
    let billing_model = reader.required(contract::BILLING_MODEL);
    let status = reader.optional(contract::STATUS);
    let start = reader.optional(contract::START);
    let end = reader.optional(contract::END);
    let validity = reader.optional(contract::VALIDITY);
    let n_accesses_max = reader.optional(contract::MAX_ACCESSES);
    let policy = policy::optional_policy(&mut reader);
    if let (Some(start), Some(end)) = (start, end)
        && end <= start
    {
        reader.fault(contract::END.name, "must be later than startDateTime");
    }
    if validity.is_some() && billing_model.as_option() == Some(&BillingModel::PayPerUse) {
        let reason = "is for PREPAID contracts, and this one is PAY_PER_USE";
        reader.fault(contract::VALIDITY.name, reason);
    }
    reader.finish();
    Some(Contract {
        id: id?.clone(),
        offering_id: offering_id.as_option()?.clone(),
        billing_model: *billing_model.as_option()?,
        status: status.unwrap_or(ContractStatus::Active),
        start,
        end,
        validity,
        n_accesses_max,
        policy,
    })
}

/// Reads an account's fields except its name. `None` means that there are faults.
pub fn read_account(mut reader: Reader<'_>, name: Option<&AccountName>) -> Option<AccountInput> {
    let platform = reader.required(account::PLATFORM);
    let connector = reader.required(account::CONNECTOR);
    let platform_account = reader.required(account::PLATFORM_ACCOUNT);
    let settings = reader.required(account::SETTINGS);
    let mut faults = Vec::new();
    let read = |json| account::read_credentials(json, &mut faults);
    let credentials = reader.optional_by(account::CREDENTIALS, read);
    for (name, reason) in faults {
        reader.fault(&name, reason);
    }
    reader.finish();
    let account = Account {
        platform: platform.into_option()?,
        name: name?.clone(),
        connector: connector.into_option()?,
        platform_account: platform_account.into_option()?,
    };
    Some(AccountInput { account, settings: settings.into_option()?, credentials })
}

#[cfg(test)]
mod tests;
