//! What every handler may use: the service itself, and how it is set up.

use serde_json::Value;

use crate::app::App;
use crate::auth::Auth;
use crate::config::{BasePath, Limits, PublicUrl};
use crate::metrics::Metrics;
use crate::rate::Rates;

pub(crate) struct Site {
    pub(crate) app: App,
    pub(crate) auth: Auth,
    /// How fast tenants may send requests.
    pub(crate) rates: Rates,
    pub(crate) limits: Limits,
    /// How long a client's token is good for.
    pub(crate) token_lifetime_seconds: i64,
    pub(crate) base_path: BasePath,
    pub(crate) public_url: Option<PublicUrl>,
    pub(crate) metrics: Metrics,
    /// The OpenAPI document, but for the address of the server.
    pub(crate) document: Value,
}
