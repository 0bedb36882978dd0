//! The world outside: asking the external platforms that tenants have accounts at.
//!
//! A [`Connector`] knows one kind of platform: how a page is asked for, how identifiers are looked up.
//! What every account needs whatever its platform is built around it once: a way out that is guarded,
//! bounded and patient ([`PlatformClient`]), and an engine that asks all accounts of a tenant at once and tells
//! what it got from what failed ([`Platforms`]). A failure is a value beside the good part.

mod account_settings;
mod catalog;
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
pub mod simulator;
pub mod testing;

#[cfg(test)]
mod tests;

pub use account_settings::{Fault, Reached, Settings};
pub use catalog::Catalog;
pub use client::authorities::{
    BadAuthorities, NO_AUTHORITIES, build_client, check_authorities, has_authorities,
};
pub use client::{
    ANSWER_BYTES_MAX, AddressRules, Answer, BadNetwork, BadUrl, BaseUrl, Exchange, Network,
    Outside, PlatformClient, Request, Seen, Witness,
};
pub use connector::{
    Ask, Asking, By, CallKind, Capabilities, Completed, Connector, Detail, Limits, LookUp, Paging,
    Parts, PlatformPage, Position, Quota, QuotaScope, ResetUnit, Steps, Wait,
};
pub use engine::latency::LATENCY_ANSWERS;
pub use engine::live::{Health, LiveAccount};
pub use engine::platforms::{
    AccountTrouble, Finding, Listing, NoClient, Options, Platforms, Reading, Wanted,
};
pub use failure::{Failure, FailureKind, SAID_BYTES_MAX, Said};
pub use manifest::{Manifest, ManifestFault, ManifestFaults};
pub use manifests::summary::Summary;
pub use manifests::{BadManifest, BadManifests, MANIFEST_BYTES_MAX, Manifests, OwnManifest};
pub use meter::{AccountMeter, Meter};
pub use testing::replay_platform::ReplayPlatform;
