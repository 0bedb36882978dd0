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
mod docs;
mod intake;
mod media;
mod openapi;
mod paging;
mod params;
mod problem;
mod public;
mod query;
mod refusal;
mod reply;
mod resource;
mod routes;
mod site;
mod summary;
mod tenant;
mod verify;

pub use address::SEGMENT;
pub use contract::ContractBody;
pub use dispatch::handle;
pub use refusal::Explained;
pub use tenant::TenantBody;

use std::sync::Arc;

use crate::app::App;
use crate::auth::Auth;
use routes::Routes;
use site::Site;

/// Everything that answering a request needs. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    site: Arc<Site>,
    routes: Arc<Routes>,
}

impl Gate {
    /// Puts the API in front of the service.
    pub fn new(app: App, auth: Auth, config: &crate::Config) -> Self {
        let routes = Routes::new();
        let site = Site {
            document: openapi::document(routes.resources(), &config.limits),
            app,
            auth,
            limits: config.limits.clone(),
            base_path: config.base_path.clone(),
            public_url: config.public_url.clone(),
        };
        Self { site: Arc::new(site), routes: Arc::new(routes) }
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        &self.site.auth
    }
}

#[cfg(test)]
mod tests;
