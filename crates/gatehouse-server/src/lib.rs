//! The gatehouse server.
//!
//! [`app`] holds the operations and knows no HTTP; [`http`] is the API and knows no SQL; [`work`] runs in the
//! background; [`config`] reads the settings; [`serve`] starts and stops the server; [`transfer`] moves a store to
//! PostgreSQL; [`backup`] and [`restore`] copy it and put a copy in place.

pub mod app;
pub mod auth;
pub mod backup;
pub mod config;
mod data_dir;
mod delivery;
pub mod estate;
pub mod fields;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
pub mod keys;
pub mod metrics;
mod nats;
mod rate;
pub mod reader;
pub mod restore;
pub mod serve;
#[cfg(test)]
mod simulation;
pub mod trace;
pub mod transfer;
pub mod work;

pub use app::App;
pub use config::Config;
