//! The world outside: asking the external platforms that tenants have accounts at.
//!
//! A [`Connector`] knows one kind of platform: how a page is asked for, how identifiers are looked up.
//! What every account needs whatever its platform is built around it once: a way out that is guarded,
//! bounded and patient ([`Line`]), and an engine that asks all accounts of a tenant at once and tells
//! what it got from what failed ([`Platforms`]). A failure is a value beside the good part.

mod authorities;
mod catalog;
mod clock;
pub mod conformance;
mod connector;
mod failure;
mod find;
mod flight;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod latency;
mod line;
mod list;
mod live;
mod manifest;
mod manifests;
mod marks;
mod memory;
mod meter;
mod neighbours;
mod one_account;
mod open_accounts;
mod platforms;
pub mod recording;
mod scan;
mod seek;
pub mod simulator;
mod stand_in;
mod window;

#[cfg(test)]
mod tests;

pub use authorities::{
    BadAuthorities, NO_AUTHORITIES, build_client, check_authorities, has_authorities,
};
pub use catalog::{Catalog, Fault, Reached, Settings};
pub use connector::{
    Ask, Asking, By, CallKind, Capabilities, Completed, Connector, Detail, Limits, LookUp, Paging,
    Parts, PlatformPage, Position, Quota, QuotaScope, ResetUnit, Steps, Wait,
};
pub use failure::{Failure, FailureKind, SAID_BYTES_MAX, Said};
pub use latency::LATENCY_ANSWERS;
pub use line::{
    ANSWER_BYTES_MAX, AddressRules, Answer, BadNetwork, BadUrl, BaseUrl, Exchange, Line, Network,
    Outside, Request, Seen, Witness,
};
pub use live::{Health, LiveAccount};
pub use manifest::{Manifest, ManifestFault, ManifestFaults, Summary};
pub use manifests::{BadManifest, BadManifests, MANIFEST_BYTES_MAX, Manifests, OwnManifest};
pub use meter::{AccountMeter, Meter};
pub use platforms::{
    AccountTrouble, Finding, Listing, NoClient, Options, Platforms, Reading, Wanted,
};
pub use stand_in::StandIn;
