//! How the service is reached: the HTTP API.
//!
//! `routes` has every route on one screen. A request walks down through `dispatch`, which checks
//! what every operation has in common in the one order that the contract gives, into the handler of
//! its resource (one file each), which parses, asks and renders. `problem` is the one body of every
//! error and holds the one table from errors to statuses.

mod access;
mod access_body;
mod account;
mod address;
mod answer_body;
mod arrival;
mod asset;
mod batch;
mod batch_body;
mod body;
mod call;
mod caller;
mod client;
mod conditional;
mod console;
mod contract;
mod correlation;
mod csv;
mod demo;
mod disconnection;
mod dispatch;
mod docs;
mod find_body;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod idempotency;
mod intake;
mod json;
mod large_bodies;
mod media;
mod metrics;
mod negotiation;
mod oauth;
mod oauth_error;
mod openapi;
mod outgoing;
mod paging;
mod params;
mod party;
mod problem;
mod product;
mod product_body;
mod public;
mod query;
mod rate;
pub(crate) mod refusal;
mod reply;
mod resource;
mod routes;
mod seen_through;
mod sign_in;
mod site;
mod slots;
mod stream;
mod summary;
mod task;
mod tenant;
mod turns;
mod verify;
mod yardstick;

pub use account::AccountBody;
pub use address::SEGMENT;
pub use answer_body::{AnswerBody, BrokenOff};
pub use arrival::{Arrival, Door};
pub use client::ClientBody;
pub use contract::ContractBody;
pub use csv::{Cell as CsvCell, write_row as write_csv_row};
pub use dispatch::handle;
pub(crate) use intake::HEADER_BYTES_MAX;
pub use tenant::TenantBody;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::auth::{Auth, Grant};
use crate::metrics::Metrics;
use crate::rate::Rates;
use idempotency::UnderWay;
use large_bodies::LargeBodies;
use routes::Routes;
use site::Site;
use slots::Slots;
use turns::RequestTurns;

/// What a server has to offer beside what every server has.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Answers that need no work, to compare others with.
    pub has_yardsticks: bool,
    /// What people at this machine are let in with, where the server is there to be tried.
    pub demo: Option<Grant>,
    /// Where the platforms are that were started beside the server, so that accounts may name them.
    pub platforms: Vec<SocketAddr>,
}

/// Everything that answering a request needs. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    site: Arc<Site>,
    routes: Arc<Routes>,
}

impl Gate {
    /// Puts the API in front of the service, and what else there is to offer.
    pub fn new(app: App, auth: Auth, config: &crate::Config, offer: Offer) -> Self {
        let mut resources = routes::table();
        if offer.has_yardsticks {
            resources.extend(yardstick::table());
        }
        let routes = Routes::of(resources);
        let site = Site {
            document: openapi::document(routes.resources(), &config.limits),
            metrics: Metrics::new(&app, &auth),
            rates: Rates::new(config.limits.requests_per_second, app.slice.clone()),
            app,
            auth,
            demo: offer.demo,
            token_lifetime_seconds: config.auth.token_lifetime.get().as_secs().cast_signed(),
            turns: RequestTurns::new(&config.limits, config.database_url.is_none()),
            slots: Slots::new(&config.limits),
            large_bodies: LargeBodies::new(&config.limits),
            limits: config.limits.clone(),
            platforms: config.platforms.clone(),
            has_operator_door: config.operator_listen.is_some(),
            under_way: UnderWay::default(),
            stopping: CancellationToken::new(),
            base_path: config.base_path.clone(),
            public_url: config.public_url.clone(),
        };
        Self { site: Arc::new(site), routes: Arc::new(routes) }
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        &self.site.auth
    }

    /// What the server measures of itself.
    pub fn metrics(&self) -> &Metrics {
        &self.site.metrics
    }

    /// From now on the server is not ready for more, whatever it still answers.
    pub fn begin_to_stop(&self) {
        self.site.stopping.cancel();
    }
}

#[cfg(test)]
pub(crate) mod tests;
