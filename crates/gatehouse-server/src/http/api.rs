//! The resources of the API, one file each, with the files of their bodies.

pub(super) mod access;
pub(super) mod access_body;
pub(super) mod account;
pub(super) mod audit;
pub(super) mod audit_body;
pub(super) mod batch;
pub(super) mod batch_body;
pub(super) mod caller;
pub(super) mod client;
pub(super) mod contract;
pub(super) mod event;
pub(super) mod event_body;
pub(super) mod event_stream;
pub(super) mod find_body;
pub(super) mod hook;
pub(super) mod hub;
pub(super) mod oauth;
pub(super) mod product;
pub(super) mod product_body;
pub(super) mod search;
pub(super) mod summary;
pub(super) mod task;
pub(super) mod tenant;
pub(super) mod verify;
pub(super) mod yardstick;
