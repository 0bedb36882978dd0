//! A request that has passed every common check, on its way into a handler.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_core::TenantName;
use gatehouse_store::Put;
use gatehouse_vault::HashCaller;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use serde::Serialize;

use super::params::Params;
use super::query::Query;
use super::server_context::ServerContext;
use crate::app::{App, Error};
use crate::auth::Caller;
use crate::config::Limits;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::intake::connection_info::ConnectionInfo;
use crate::http::intake::disconnection::ClientDisconnection;
use crate::http::intake::large_bodies::BodyMemory;
use crate::http::route::address::Address;
use crate::reader::{Faults, Json, Reader, shortened};

/// A request that has passed every common check.
pub(crate) struct Call {
    pub(crate) server: Arc<ServerContext>,
    /// Whose token it came with, where one was needed.
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) connection_info: ConnectionInfo,
    pub(crate) tenant: Option<TenantName>,
    pub(crate) params: Arc<Params>,
    pub(crate) query: Query,
    pub(in crate::http) parts: Arc<Parts>,
    /// What the client likes best of what the operation answers with.
    pub(crate) media_type: &'static str,
    pub(crate) body: Bytes,
    /// What the body takes, if it is large: also what was made of it may be.
    pub(crate) _room: Option<BodyMemory>,
    pub(crate) address: Address,
    /// What this request is called wherever it leaves a trace.
    pub(crate) correlation_id: String,
    /// Tells when the client disconnects.
    pub(crate) gone: ClientDisconnection,
}

impl Call {
    pub(crate) fn app(&self) -> &App {
        &self.server.app
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.server.limits
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Whose token the request came with.
    pub(crate) fn caller(&self) -> &Caller {
        self.caller.as_deref().expect("every path that asks has needed a token")
    }

    /// The tenant that the path names.
    pub(crate) fn tenant(&self) -> &TenantName {
        self.tenant.as_ref().expect("every path that comes here has a tenant in it")
    }

    /// For whom slow hashes are made.
    pub(crate) fn hash_caller(&self) -> HashCaller<'_> {
        HashCaller { tenant: self.tenant(), gone: &self.gone }
    }

    /// Another parameter of the path. What can't be one doesn't exist.
    pub(crate) fn param<T: FromStr>(&self, name: &str, thing: &'static str) -> Result<T, Error> {
        let text = self.params.get(name).unwrap_or_default();
        text.parse().map_err(|_| Error::NotFound(thing, shortened(text)))
    }

    /// Answers a PUT: 201 when it made the thing at this address, 200 when that was there.
    pub(crate) fn reply_to_put(&self, put: Put, body: &impl Serialize) -> Reply {
        match put {
            Put::Replaced => Reply::json(StatusCode::OK, body),
            Put::Created => {
                Reply::json(StatusCode::CREATED, body).with(header::LOCATION, &self.address.here())
            }
        }
    }

    /// Reads the body as an object; what `read` makes of it counts when it has no faults.
    pub(crate) fn object<T>(&self, read: impl FnOnce(Reader<'_>) -> T) -> Result<T, Problem> {
        let json = Json::parse(&self.body).map_err(Problem::malformed)?;
        let mut faults = Faults::default();
        let value = read(Reader::new(json, "", &mut faults));
        faults.check().map_err(Problem::invalid)?;
        Ok(value)
    }
}
