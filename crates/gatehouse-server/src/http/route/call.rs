//! A request that has passed every common check: the argument of a handler.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_core::event::Origin;
use gatehouse_core::{Hook, LabelKey, TenantName};
use gatehouse_store::Put;
use gatehouse_vault::HashCaller;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use serde::Serialize;

use super::params::Params;
use super::query::{Query, X_IGNORED_PARAMS};
use super::server_context::ServerContext;
use crate::app::requester::Requester;
use crate::app::{App, Error};
use crate::auth::{Caller, Grant};
use crate::config::Limits;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::intake::connection_info::ConnectionInfo;
use crate::http::intake::disconnection::ClientDisconnection;
use crate::http::intake::large_bodies::BodyMemory;
use crate::http::route::address::Address;
use crate::reader::{Faults, Json, Reader, shortened};

pub(crate) struct Call {
    pub(crate) server: Arc<ServerContext>,
    /// Owner of the token, if the operation needs one.
    pub(crate) caller: Option<Arc<Caller>>,
    /// The hook of the gateway that asks, if it has shown a key.
    pub(crate) hook: Option<Arc<Hook>>,
    pub(crate) connection: ConnectionInfo,
    pub(crate) tenant: Option<TenantName>,
    pub(crate) params: Arc<Params>,
    pub(crate) query: Query,
    pub(in crate::http) parts: Arc<Parts>,
    /// The media type of the response, as negotiated.
    pub(crate) media_type: &'static str,
    pub(crate) body: Bytes,
    /// Memory reserved for a large body, kept while the handler holds data parsed from it.
    pub(crate) _body_memory: Option<BodyMemory>,
    pub(crate) address: Address,
    pub(crate) origin: Origin,
    pub(crate) disconnection: ClientDisconnection,
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

    pub(crate) fn caller(&self) -> &Caller {
        self.caller.as_deref().expect("the dispatcher has authenticated the caller")
    }

    pub(crate) fn tenant(&self) -> &TenantName {
        self.tenant.as_ref().expect("the route has a tenant in its path")
    }

    /// The keys of labels that the tenant filters by.
    pub(crate) async fn label_keys(&self) -> Result<BTreeSet<LabelKey>, Error> {
        self.app().label_keys(self.tenant()).await
    }

    /// The caller of slow hashes: the tenant, and the client's disconnection.
    pub(crate) fn hash_caller(&self) -> HashCaller<'_> {
        HashCaller { tenant: self.tenant(), disconnection: &self.disconnection }
    }

    /// Issues a token, and counts it for the audit.
    pub(crate) fn issue(&self, grant: &Grant, origin: &Origin) -> String {
        let (app, now) = (self.app(), self.app().now());
        let token = self.server.auth.issue(grant, now);
        app.audit_counts.count_token(grant, &token, origin, now);
        token.text
    }

    /// Who asks for a change.
    pub(crate) fn requester(&self) -> Requester<'_> {
        Requester { hash_caller: self.hash_caller(), origin: &self.origin }
    }

    /// The response, with the names of parameters that were ignored after the dispatcher had looked.
    pub(crate) fn naming_ignored(&self, reply: Reply) -> Reply {
        match self.query.ignored() {
            Some(names) => reply.with(X_IGNORED_PARAMS, &names),
            None => reply,
        }
    }

    /// Another parameter of the path; an invalid one is a missing object of this kind.
    pub(crate) fn param<T: FromStr>(&self, name: &str, object: &'static str) -> Result<T, Error> {
        let text = self.params.get(name).unwrap_or_default();
        text.parse().map_err(|_| Error::NotFound(object, shortened(text)))
    }

    /// Response to a PUT: 201 if it created the object, 200 if it replaced one.
    pub(crate) fn reply_to_put(&self, put: Put, body: &impl Serialize) -> Reply {
        match put {
            Put::Replaced => Reply::json(StatusCode::OK, body),
            Put::Created => Reply::json(StatusCode::CREATED, body)
                .with(header::LOCATION, &self.address.request_url()),
        }
    }

    /// Parses the body as a JSON object; reports every fault at once.
    pub(crate) fn object<T>(&self, read: impl FnOnce(Reader<'_>) -> T) -> Result<T, Problem> {
        let json = Json::parse(&self.body).map_err(Problem::malformed)?;
        let mut faults = Faults::default();
        let value = read(Reader::new(json, "", &mut faults));
        faults.check().map_err(Problem::invalid)?;
        Ok(value)
    }
}
