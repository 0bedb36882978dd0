//! What every handler may use: the service itself, and how it is set up.

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
    /// What people at this machine are let in with, where the server is there to be tried.
    pub(crate) demo: Option<Grant>,
    /// How fast tenants may send requests.
    pub(crate) rates: RateLimiter,
    pub(crate) limits: Limits,
    /// How external platforms are asked.
    pub(crate) platforms: Platforms,
    /// How long a client's token is good for.
    pub(crate) token_lifetime_seconds: i64,
    /// Turns of tenants with the server's work.
    pub(crate) permits: RequestPermits,
    /// BodyMemory for the requests that are worked on.
    pub(crate) slots: Slots,
    /// BodyMemory for the bodies of batches.
    pub(crate) large_bodies: LargeBodies,
    /// The requests with a key that are worked on.
    pub(crate) in_flight: InFlightRequests,
    /// Whether operators have a listener of their own.
    pub(crate) has_operator_listener: bool,
    /// Set when the server has been asked to end.
    pub(crate) stopping: CancellationToken,
    pub(crate) base_path: BasePath,
    pub(crate) public_url: Option<PublicUrl>,
    pub(crate) metrics: Metrics,
    /// The OpenAPI document, but for the address of the server.
    pub(crate) document: Value,
}
