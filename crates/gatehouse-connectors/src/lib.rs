//! Calls to the external platforms at which tenants have accounts.
//!
//! A [`Connector`] knows one kind of platform: how to read a page, how to look up identifiers. The rest is shared by
//! all connectors: an HTTP client with address rules, limits and retries ([`PlatformClient`]), and an engine that calls
//! all accounts of a tenant at once and keeps results apart from failures ([`Platforms`]).

mod account_settings;
mod catalog;
mod check_digit;
mod client;
mod clock;
mod connector;
mod engine;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod manifest;
mod manifests;
mod meter;
mod platform_server;
pub mod simulator;
pub mod testing;

#[cfg(test)]
mod tests;

pub use account_settings::{AccountSetup, SettingFault, Settings};
pub use catalog::Catalog;
pub use client::authorities::{
    BadAuthorities, NO_AUTHORITIES, build_client, check_authorities, has_authorities,
};
pub use client::{
    AddressRules, AddressUse, BadCallback, BadNetwork, BadUrl, BaseUrl, CallbackClient,
    CallbackResponse, ClientPool, Exchange, Network, NotDelivered, Observer, PlatformClient,
    PlatformRequest, PlatformResponse, RESPONSE_BYTES_MAX, ShownResponse,
};
pub use connector::{
    CallContext, CallKind, Capabilities, Connector, Detail, DetailedConnections, LookUp, LookUpKey,
    Paging, PagingMethod, PlatformFuture, PlatformLimits, PlatformPage, Position, ProductParts,
    Quota, QuotaScope, ResetUnit, WaitRule,
};
pub use engine::latency::LATENCY_ANSWERS;
pub use engine::live::{Health, LiveAccount};
pub use engine::platforms::{
    AccountFailure, ClientBuildError, FindRequest, FindResult, Listing, PlatformOptions, Platforms,
    ReadResult,
};
pub use failure::{Failure, FailureKind, SHOWN_BYTES_MAX, UnexpectedResponse};
pub use manifest::{Manifest, ManifestFault, ManifestFaults};
pub use manifests::summary::ConnectorSummary;
pub use manifests::{BadManifest, BadManifests, CustomManifest, MANIFEST_BYTES_MAX, Manifests};
pub use meter::{AccountMeter, PlatformMeter};
pub use testing::replay_platform::ReplayPlatform;
