//! The API as a server holds it: the routes, and everything that answering a request needs.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::api::yardstick;
use super::intake::large_bodies::LargeBodies;
use super::intake::request_permits::RequestPermits;
use super::intake::slots::Slots;
use super::openapi;
use super::route::in_flight::InFlightRequests;
use super::route::route_table::RouteTable;
use super::route::server_context::ServerContext;
use super::routes;
use crate::app::App;
use crate::auth::{Auth, Grant};
use crate::metrics::Metrics;
use crate::rate::RateLimiter;

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
    pub(super) server: Arc<ServerContext>,
    pub(super) routes: Arc<RouteTable>,
}

impl Gate {
    /// Puts the API in front of the service, and what else there is to offer.
    pub fn new(app: App, auth: Auth, config: &crate::Config, offer: Offer) -> Self {
        let mut resources = routes::table();
        if offer.has_yardsticks {
            resources.extend(yardstick::table());
        }
        let routes = RouteTable::of(resources);
        let server = ServerContext {
            document: openapi::document(routes.resources(), &config.limits),
            metrics: Metrics::new(&app, &auth),
            rates: RateLimiter::new(config.limits.requests_per_second, app.share.clone()),
            app,
            auth,
            demo: offer.demo,
            token_lifetime_seconds: config.auth.token_lifetime.get().as_secs().cast_signed(),
            permits: RequestPermits::new(&config.limits, config.database_url.is_none()),
            slots: Slots::new(&config.limits),
            large_bodies: LargeBodies::new(&config.limits),
            limits: config.limits.clone(),
            platforms: config.platforms.clone(),
            has_operator_listener: config.operator_listen.is_some(),
            in_flight: InFlightRequests::default(),
            stopping: CancellationToken::new(),
            base_path: config.base_path.clone(),
            public_url: config.public_url.clone(),
        };
        Self { server: Arc::new(server), routes: Arc::new(routes) }
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        &self.server.auth
    }

    /// What the server measures of itself.
    pub fn metrics(&self) -> &Metrics {
        &self.server.metrics
    }

    /// From now on the server is not ready for more, whatever it still answers.
    pub fn begin_to_stop(&self) {
        self.server.stopping.cancel();
    }
}
