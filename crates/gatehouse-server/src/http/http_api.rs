//! The API: the routes, and the state that handlers share.

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

/// Optional features of a server.
#[derive(Clone, Debug, Default)]
pub struct OptionalFeatures {
    /// Whether the server has the yardstick: responses that cost nothing, for the bench to compare with.
    pub has_yardsticks: bool,
    /// Whether changes are missing in the journals, for the bench to compare with. Nothing else may rely on such a server.
    pub is_without_journal: bool,
    /// Rights of browsers on this machine, if the server is a demo.
    pub demo: Option<Grant>,
    /// Addresses of platforms that were started together with the server, which accounts may then name.
    pub platforms: Vec<SocketAddr>,
}

/// A server's API: its routes and the state that handlers share. Cheap to clone.
#[derive(Clone)]
pub struct HttpApi {
    pub(super) server: Arc<ServerContext>,
    pub(super) routes: Arc<RouteTable>,
}

impl HttpApi {
    /// Builds the API over `app` and `auth`, with optional features.
    pub fn new(app: App, auth: Auth, config: &crate::Config, features: OptionalFeatures) -> Self {
        let mut resources = routes::table();
        if features.has_yardsticks {
            resources.extend(yardstick::table());
        }
        let routes = RouteTable::of(resources);
        let server = ServerContext {
            document: openapi::document(routes.resources(), &config.limits),
            metrics: Metrics::new(&app, &auth),
            rates: RateLimiter::new(config.limits.requests_per_second, app.share.clone()),
            app,
            auth,
            demo: features.demo,
            token_lifetime_seconds: config.auth.token_lifetime.get().as_secs().cast_signed(),
            permits: RequestPermits::new(&config.limits, config.database_url.is_none()),
            slots: Slots::new(&config.limits, &config.events),
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

    /// The component that checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        &self.server.auth
    }

    /// The server's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.server.metrics
    }

    /// Makes the server unready; it still processes requests.
    pub fn begin_to_stop(&self) {
        self.server.stopping.cancel();
    }
}
