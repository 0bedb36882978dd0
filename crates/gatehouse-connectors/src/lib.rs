//! The world outside: asking the external platforms that tenants have accounts at.
//!
//! A [`Connector`] knows one kind of platform: how a page is asked for, how identifiers are looked up.
//! What every account needs whatever its platform is built around it once: a way out that is guarded,
//! bounded and patient ([`Line`]), and an engine that asks all accounts of a tenant at once and tells
//! what it got from what failed ([`Platforms`]). A failure is a value beside the good part.

mod catalog;
mod connector;
mod failure;
mod line;
mod platforms;

pub use catalog::{Catalog, Fault, Settings};
pub use connector::{
    Ask, Asking, Capabilities, Connector, Limits, LookUp, Paging, PlatformPage, Position,
};
pub use failure::{Failure, FailureKind};
pub use line::{Answer, Line, Outside};
pub use platforms::{
    AccountTrouble, Finding, Health, Listing, LiveAccount, Options, Platforms, Reading, Wanted,
};
