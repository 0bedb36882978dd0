//! The estate file: what the operator wants there to be.
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
//! The same reader reads the objects of a file and the bodies of the admin API. Only a file may name its
//! secrets instead of holding them (`expansion`).

mod account;
mod expansion;

pub use account::{
    CREDENTIAL_BYTES_MAX, CREDENTIAL_NAME_CHARS_MAX, CREDENTIALS_MAX, SETTINGS_BYTES_MAX,
    read_account,
};

pub use expansion::{NAMED_FILE_BYTES_MAX, Surroundings};

use std::path::Path;

use gatehouse_core::{
    AccountName, BillingModel, Contract, ContractId, ContractStatus, OfferingId, Tenant, TenantName,
};

use gatehouse_core::page::PAGE_NUMBER_MAX;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use serde_saphyr::UserMessageFormatter;

use crate::app::account::AccountInput;
use crate::reader::{Fault, Faults, Json, Reader, instant, list, number, parsed, word};

/// Most accesses that a contract can be limited to.
pub const ACCESSES_MAX: u64 = 1_000_000_000_000;

/// Everything that an estate file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estate {
    /// Its tenants, in the order of the file.
    pub tenants: Vec<EstateTenant>,
}

/// A tenant and what it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstateTenant {
    /// The tenant.
    pub tenant: Tenant,
    /// Its contracts, in the order of the file.
    pub contracts: Vec<Contract>,
    /// Its accounts at external platforms, in the order of the file.
    pub accounts: Vec<AccountInput>,
}

/// Why a file is no estate.
#[derive(Debug, thiserror::Error)]
pub enum BadEstate {
    /// It can't be read.
    #[error("{0}: {1}")]
    Unreadable(String, std::io::Error),
    /// It can't be read as YAML.
    #[error("{0} can't be read as YAML: {1}")]
    NotYaml(String, String),
    /// It says something that can't be.
    #[error("{} is not an estate:{}", .0, listed(.1))]
    Faults(String, Vec<Fault>),
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

impl Estate {
    /// Reads an estate file, with what it names of the process's variables and of files beside it.
    pub fn load(path: &Path) -> Result<Self, BadEstate> {
        let shown = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse_in(&Surroundings::of(path), &shown, &text),
            Err(cause) => Err(BadEstate::Unreadable(shown, cause)),
        }
    }

    /// Reads the text of an estate file as if it lay here; `shown` is what errors call it.
    pub fn parse(shown: &str, text: &str) -> Result<Self, BadEstate> {
        Self::parse_in(&Surroundings::of(Path::new("")), shown, text)
    }

    /// The same where something else is around it.
    pub fn parse_in(
        surroundings: &Surroundings<'_>,
        shown: &str,
        text: &str,
    ) -> Result<Self, BadEstate> {
        let json: Json = serde_saphyr::from_str(text).map_err(|error| {
            let why = error.without_snippet().render_with_formatter(&UserMessageFormatter);
            BadEstate::NotYaml(shown.to_owned(), why)
        })?;
        read_estate(json, surroundings)
            .map_err(|faults| BadEstate::Faults(shown.to_owned(), faults))
    }
}

fn read_estate(json: Json, surroundings: &Surroundings<'_>) -> Result<Estate, Vec<Fault>> {
    let mut faults = Faults::default();
    if json == Json::Null {
        faults.add("the file", "is empty; it should have a list of `tenants`");
        return faults.check().map(|()| Estate { tenants: Vec::new() });
    }
    let mut reader = Reader::new(json, "", &mut faults);
    let tenants = reader.required("tenants", list);
    reader.finish();
    let mut estate = Estate { tenants: Vec::new() };
    for (n, json) in tenants.known().into_iter().flatten().enumerate() {
        let path = format!("tenants[{n}]");
        if let Some(tenant) = read_estate_tenant(json.clone(), &path, surroundings, &mut faults) {
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
    surroundings: &Surroundings<'_>,
    faults: &mut Faults,
) -> Option<EstateTenant> {
    let mut reader = Reader::new(json, path, faults);
    let name = reader.required("name", parsed::<TenantName>);
    let contracts = reader.optional("contracts", list).unwrap_or_default();
    let accounts = reader.optional("accounts", list).unwrap_or_default();
    let tenant = read_tenant(reader, name.known());
    let contracts = read_contracts(contracts, path, faults);
    let accounts = read_accounts(accounts, path, surroundings, faults);
    Some(EstateTenant { tenant: tenant?, contracts, accounts })
}

fn read_contracts(contracts: Vec<Json>, path: &str, faults: &mut Faults) -> Vec<Contract> {
    let mut read: Vec<Contract> = Vec::new();
    for (n, json) in contracts.into_iter().enumerate() {
        let path = format!("{path}.contracts[{n}]");
        let mut reader = Reader::new(json, &path, faults);
        let id = reader.required("id", parsed::<ContractId>);
        if let Some(contract) = read_contract(reader, id.known()) {
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
    surroundings: &Surroundings<'_>,
    faults: &mut Faults,
) -> Vec<AccountInput> {
    let mut read: Vec<AccountInput> = Vec::new();
    for (n, mut json) in accounts.into_iter().enumerate() {
        let path = format!("{path}.accounts[{n}]");
        expansion::expand_account(&mut json, &path, surroundings, faults);
        let mut reader = Reader::new(json, &path, faults);
        let name = reader.required("name", parsed::<AccountName>);
        if let Some(input) = read_account(reader, name.known()) {
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

/// Reads what a tenant says beside its name. `None` comes with faults.
pub fn read_tenant(mut reader: Reader<'_>, name: Option<&TenantName>) -> Option<Tenant> {
    let time_zone = reader.optional("timeZone", parsed).unwrap_or_default();
    let requests_per_second =
        reader.optional("requestsPerSecond", number(0, REQUESTS_PER_SECOND_MAX));
    let page_number_max = reader.optional("pageNumberMax", number(1, PAGE_NUMBER_MAX));
    reader.finish();
    Some(Tenant { name: name?.clone(), time_zone, requests_per_second, page_number_max })
}

/// Reads what a contract says beside its identifier. `None` comes with faults.
pub fn read_contract(mut reader: Reader<'_>, id: Option<&ContractId>) -> Option<Contract> {
    let offering_id = reader.required("productOfferingId", parsed::<OfferingId>);
    let billing_model =
        reader.required("billingModel", word(&BillingModel::ALL, BillingModel::as_str));
    let status = reader.optional("status", word(&ContractStatus::ALL, ContractStatus::as_str));
    let start = reader.optional("startDateTime", instant);
    let end = reader.optional("endDateTime", instant);
    let validity = reader.optional("validityPeriod", parsed);
    let n_accesses_max = reader.optional("maxAccesses", number(0, ACCESSES_MAX));
    if let (Some(start), Some(end)) = (start, end)
        && end <= start
    {
        reader.fault("endDateTime", "must be later than startDateTime");
    }
    if validity.is_some() && billing_model.known() == Some(&BillingModel::PayPerUse) {
        reader.fault("validityPeriod", "is for PREPAID contracts, and this one is PAY_PER_USE");
    }
    reader.finish();
    Some(Contract {
        id: id?.clone(),
        offering_id: offering_id.known()?.clone(),
        billing_model: *billing_model.known()?,
        status: status.unwrap_or(ContractStatus::Active),
        start,
        end,
        validity,
        n_accesses_max,
    })
}

#[cfg(test)]
mod tests;
