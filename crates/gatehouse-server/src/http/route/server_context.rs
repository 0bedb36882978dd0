//! State that all handlers share: the service and its settings.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlightRequests;
use crate::app::App;
use crate::auth::{Auth, Grant};
use crate::config::{BasePath, Limits, Platforms, PublicUrl};
use crate::http::intake::large_bodies::LargeBodies;
use crate::http::intake::request_permits::RequestPermits;
use crate::http::intake::slots::Slots;
use crate::metrics::Metrics;
use crate::rate::RateLimiter;

pub(crate) struct ServerContext {
    pub(crate) app: App,
    pub(crate) auth: Auth,
    /// Rights of browsers on this machine, if the server is a demo.
    pub(crate) demo: Option<Grant>,
    pub(crate) rates: RateLimiter,
    pub(crate) limits: Limits,
    /// Settings for calls of external platforms.
    pub(crate) platforms: Platforms,
    pub(crate) token_lifetime_seconds: i64,
    pub(crate) permits: RequestPermits,
    pub(crate) slots: Slots,
    /// Memory for the bodies of batches.
    pub(crate) large_bodies: LargeBodies,
    /// Requests with an idempotency key that are in flight.
    pub(crate) in_flight: InFlightRequests,
    pub(crate) has_operator_listener: bool,
    /// Cancelled when the server is stopping.
    pub(crate) stopping: CancellationToken,
    pub(crate) base_path: BasePath,
    pub(crate) public_url: Option<PublicUrl>,
    pub(crate) metrics: Metrics,
    /// The OpenAPI document without the server's URL.
    pub(crate) document: Value,
}
