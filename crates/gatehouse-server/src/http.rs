//! How the service is reached: the HTTP API.
//!
//! `routes` has every route on one screen. A request walks down through `dispatch`, which checks
//! what every operation has in common in the one order that the contract gives, into the handler of
//! its resource (one file each), which parses, asks and renders. `problem` is the one body of every
//! error and holds the one table from errors to statuses.

mod access;
mod address;
mod call;
mod conditional;
mod contract;
mod correlation;
mod dispatch;
mod intake;
mod openapi;
mod operator;
mod paging;
mod problem;
mod query;
mod refusal;
mod reply;
mod resource;
mod routes;
mod tenant;
mod verify;

pub use contract::ContractBody;
pub use dispatch::handle;
pub use refusal::Explained;
pub use tenant::TenantBody;

use std::sync::Arc;

use crate::app::App;
use crate::auth::Auth;
use crate::config::{BasePath, Limits, PublicUrl};

/// Everything that answering a request needs. Cheap to clone.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    app: App,
    auth: Auth,
    limits: Limits,
    base_path: BasePath,
    public_url: Option<PublicUrl>,
    routes: routes::Routes,
}

impl Gate {
    /// Puts the API in front of the service.
    pub fn new(app: App, auth: Auth, config: &crate::Config) -> Self {
        Self(Arc::new(Inner {
            app,
            auth,
            limits: config.limits.clone(),
            base_path: config.base_path.clone(),
            public_url: config.public_url.clone(),
            routes: routes::Routes::new(),
        }))
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        &self.0.auth
    }
}

#[cfg(test)]
mod tests;
