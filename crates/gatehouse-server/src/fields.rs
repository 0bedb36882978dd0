//! The JSON fields of every resource, in requests, responses and estate files.
//!
//! Each field is one constant. The reader reads it, [`Body`] writes it, and an `Object` lists it for the OpenAPI schema
//! and the example.

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod audit;
pub(crate) mod batch;
mod body;
pub(crate) mod caller;
pub(crate) mod client;
pub(crate) mod contract;
pub(crate) mod event;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod label;
pub(crate) mod oauth;
mod object;
pub(crate) mod party;
pub(crate) mod password_hash;
pub(crate) mod problem;
pub(crate) mod product;
pub(crate) mod server;
pub(crate) mod shape;
pub(crate) mod sign_in;
pub(crate) mod summary;
pub(crate) mod task;
pub(crate) mod tenant;

pub use account::account_body;
pub use body::Body;
pub use client::client_body;
pub use contract::contract_body;
pub use gateway::hook::hook_body;
pub(crate) use object::{Object, Schema, may, must};
pub use tenant::tenant_body;

use crate::config::Limits;

/// Every schema of the OpenAPI document.
pub(crate) fn schemas(limits: &Limits) -> Vec<Schema> {
    [
        access::schemas(),
        batch::schemas(limits.batch_items),
        task::schemas(),
        event::schemas(),
        audit::schemas(),
        gateway::schemas(),
        hub::schemas(),
        product::schemas(),
        contract::schemas(),
        account::schemas(),
        tenant::schemas(),
        client::schemas(),
        oauth::schemas(),
        summary::schemas(),
        caller::schemas(),
        sign_in::schemas(),
        server::schemas(),
        party::schemas(),
        problem::schemas(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
