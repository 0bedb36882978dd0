//! What gatehouse does, and how it is reached.
//!
//! [`app`] changes state and knows no HTTP; [`http`] speaks HTTP and knows no SQL; [`work`] does what is
//! due; [`config`] is what an operator may set; [`serve`] starts all of it and stops it again;
//! [`transfer`] moves it to PostgreSQL; [`backup`] copies it, and [`restore`] puts a copy in its place.

pub mod app;
pub mod auth;
pub mod backup;
pub mod config;
mod data_dir;
pub mod estate;
pub mod fields;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod http;
pub mod keys;
pub mod metrics;
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
