//! The setup in the audit: each object as responses show it, without its secrets.

use gatehouse_core::account::AddressSource;
use gatehouse_core::event::Origin;
use gatehouse_core::{Client, Contract, Hook, Hub, Tenant};
use gatehouse_store::{Audited, StoredAccount};
use gatehouse_vault::name_of_seal;
use serde_json::Value;

use crate::fields::Body;
use crate::fields::account::{self, account_body};
use crate::fields::audit::{ADDRESS_SOURCE, CREDENTIALS_SEAL};
use crate::fields::client::client_body;
use crate::fields::contract::contract_body;
use crate::fields::gateway::hook::recorded_body;
use crate::fields::hub::hub_body;
use crate::fields::tenant::tenant_body;

pub(super) fn of_tenant(origin: &Origin) -> Audited<Tenant> {
    Audited { origin: origin.clone(), record: |it| text(tenant_body(it)) }
}

pub(super) fn of_contract(origin: &Origin) -> Audited<Contract> {
    Audited { origin: origin.clone(), record: |it| text(contract_body(it)) }
}

pub(super) fn of_client(origin: &Origin) -> Audited<Client> {
    Audited { origin: origin.clone(), record: |it| text(client_body(it, None)) }
}

pub(crate) fn of_hub(origin: &Origin) -> Audited<Hub> {
    Audited { origin: origin.clone(), record: |it| text(hub_body(it)) }
}

pub(super) fn of_hook(origin: &Origin) -> Audited<Hook> {
    Audited { origin: origin.clone(), record: |it| text(recorded_body(it)) }
}

pub(super) fn of_account(origin: &Origin) -> Audited<StoredAccount> {
    Audited { origin: origin.clone(), record: account_record }
}

fn account_record(stored: &StoredAccount) -> String {
    // Settings are stored as JSON.
    let settings = serde_json::from_str(&stored.settings).unwrap_or_default();
    let sealed = stored.credentials.as_deref();
    let by_operator = stored.address_source == AddressSource::Operator;
    let body = account_body(&stored.account, &settings)
        .put(ADDRESS_SOURCE, if by_operator { "operator" } else { "tenant" })
        .put(account::HAS_CREDENTIALS, sealed.is_some())
        // Tells new credentials from the ones before, and nothing about them.
        .put_some(CREDENTIALS_SEAL, sealed.and_then(name_of_seal));
    text(body)
}

fn text(body: Body) -> String {
    Value::from(body).to_string()
}
