//! From a request to its answer: the checks that every operation has in common, in one order.
//!
//! 401, 403, 404 (the tenant, then the thing), 405, 406, 415, 413, 400; after these a handler may say
//! 412, 422 or 409. Whether the tenant and the thing are there costs a look into the store, so it is
//! looked up only when something lesser is wrong: a request that succeeds has found them anyway.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use gatehouse_core::rights::Scope;
use gatehouse_core::{ProductId, TenantName};
use gatehouse_vault::Disconnection;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::Call;
use super::params::{Params, TENANT, normal_form};
use super::query::{Query, X_IGNORED_PARAMS};
use super::resource::{BodySize, Need, Operation, PathObject, Resource};
use super::route_table::Found;
use crate::app::Error;
use crate::auth::Caller;
use crate::http::Gate;
use crate::http::answer::answer_body::AnswerBody;
use crate::http::answer::correlation::Correlation;
use crate::http::answer::media::JSON;
use crate::http::answer::negotiation;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::intake::body::{self, BodyLimits, ReceivedBody};
use crate::http::intake::connection_info::{ConnectionInfo, ListenerKind};
use crate::http::intake::disconnection::ClientDisconnection;
use crate::http::intake::request_headers;
use crate::http::route::address::Address;
use crate::http::route::detach_on_drop::DetachOnDrop;
use crate::http::route::outgoing::{self, Outgoing, measured};
use crate::metrics::{RequestGuard, UNKNOWN_ROUTE};
use crate::rate::Allowance;
use crate::reader::{Fault, shortened};
use crate::trace::{RequestAttributes, Trace};

/// Answers one request, and sees it through whatever the client does: one that goes away stops nothing
/// that was begun, and takes no line from the log. A panic is a problem like others.
///
/// `busy` is held as long as anything of the answer has yet to be made. `connection` tells when the client closes
/// it: slow hashes of the request that are still queued are given up then, and the answer is 503.
pub async fn handle<B, Busy>(
    requests: &TaskTracker,
    gate: Gate,
    connection_info: ConnectionInfo,
    connection: Arc<dyn Disconnection>,
    busy: Busy,
    request: Request<B>,
) -> Response<AnswerBody>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    Busy: Send + 'static,
{
    let dropped = CancellationToken::new();
    let gone = ClientDisconnection::new(dropped.clone(), connection);
    let work = outgoing(gate, connection_info, gone, request);
    let answered = DetachOnDrop::new(requests, dropped, work);
    answered.await.send(requests, busy)
}

/// What goes out for a request, also when that panics.
async fn outgoing<B>(
    gate: Gate,
    connection_info: ConnectionInfo,
    gone: ClientDisconnection,
    request: Request<B>,
) -> Outgoing
where
    B: Body<Data = Bytes> + Unpin,
{
    let correlation = Correlation::of(request.headers(), gate.server.app.now());
    let trace = Trace::begin(request.headers());
    let method = request.method().clone();
    let answered = {
        let answered = pin!(answer(&gate, connection_info, &gone, &correlation, &trace, request));
        AssertUnwindSafe(trace.run(answered)).catch_unwind().await
    };
    let (reply, route) = answered.unwrap_or_else(|panic| {
        let (correlation_id, trace_id) = (&correlation.id, trace.id());
        let panic = panic_message(&*panic);
        tracing::error!(correlation_id, trace_id, panic, "a request panicked");
        trace.record(&RequestAttributes {
            method: &method,
            scheme: connection_info.scheme(),
            route: UNKNOWN_ROUTE,
            status: StatusCode::INTERNAL_SERVER_ERROR,
            tenant: None,
            correlation_id,
        });
        let mut reply = Problem::internal().into_reply(&correlation.id);
        correlation.put(&mut reply.headers);
        trace.write_header(&mut reply.headers);
        (measured(reply, &method), UNKNOWN_ROUTE)
    });
    let reply = if connection_info.encrypted { with_security_headers(reply) } else { reply };
    Outgoing { reply, route, gate, correlation, trace }
}

/// What browsers are told where TLS is spoken: to come back by TLS alone, and to take nothing for what it isn't.
fn with_security_headers(reply: Reply) -> Reply {
    reply
        .with(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000")
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
}

/// What a panic said, if it was a text.
fn panic_message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&'static str>().copied())
}

/// A reply that is ready to go out, and the route that it comes from.
type Answered = (Reply, &'static str);

async fn answer<B>(
    gate: &Gate,
    connection_info: ConnectionInfo,
    gone: &ClientDisconnection,
    correlation: &Correlation,
    trace: &Trace,
    request: Request<B>,
) -> Answered
where
    B: Body<Data = Bytes> + Unpin,
{
    let (parts, mut body) = request.into_parts();
    let parts = Arc::new(parts);
    let watched = gate.server.metrics.requests.begin(&parts.method);
    let mut seen = Seen::new(watched, gone);
    let result = respond(gate, connection_info, correlation, &parts, &mut body, &mut seen).await;
    let (correlation_id, trace_id) = (&correlation.id, trace.id());
    let mut reply = result.unwrap_or_else(|problem| {
        if let Some(cause) = &problem.cause {
            tracing::error!(
                cause,
                route = seen.watched.route,
                correlation_id,
                trace_id,
                tenant = seen.tenant,
                subject = seen.subject,
                "a request failed"
            );
        }
        problem.into_reply_of(seen.errors, correlation_id)
    });
    let is_error = reply.status.is_client_error() || reply.status.is_server_error();
    if is_error && reply.status != StatusCode::REQUEST_TIMEOUT {
        request_headers::let_finish(&parts.headers, &mut body).await;
    }
    correlation.put(&mut reply.headers);
    if let Some(allowance) = seen.allowance {
        allowance.put(&mut reply.headers);
    }
    trace.write_header(&mut reply.headers);
    if let Some(names) = seen.ignored {
        reply = reply.with(X_IGNORED_PARAMS, &names);
    }
    seen.watched.status = reply.status;
    trace.record(&RequestAttributes {
        method: &parts.method,
        scheme: connection_info.scheme(),
        route: seen.watched.route,
        status: reply.status,
        tenant: seen.tenant.as_deref(),
        correlation_id,
    });
    tracing::info!(
        method = shortened(parts.method.as_str()),
        route = seen.watched.route,
        status = reply.status.as_u16(),
        microseconds = seen.watched.microseconds(),
        correlation_id,
        trace_id,
        tenant = seen.tenant,
        subject = seen.subject,
        "request"
    );
    (measured(reply, &parts.method), seen.watched.route)
}

/// What has been learned about a request, for the log and for every kind of answer.
struct Seen<'m> {
    watched: RequestGuard<'m>,
    /// Tells when the client disconnects.
    gone: &'m ClientDisconnection,
    /// A tenant's name, whether there is one of that name or not. What can't be a name is nobody's, and
    /// might be anything.
    tenant: Option<String>,
    subject: Option<String>,
    ignored: Option<String>,
    errors: ErrorStyle,
    allowance: Option<Allowance>,
}

impl<'m> Seen<'m> {
    fn new(watched: RequestGuard<'m>, gone: &'m ClientDisconnection) -> Self {
        Self {
            watched,
            gone,
            tenant: None,
            subject: None,
            ignored: None,
            errors: ErrorStyle::Problem,
            allowance: None,
        }
    }
}

async fn respond<B>(
    gate: &Gate,
    connection_info: ConnectionInfo,
    correlation: &Correlation,
    parts: &Arc<Parts>,
    body: &mut B,
    seen: &mut Seen<'_>,
) -> Result<Reply, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    request_headers::check_headers(&parts.headers)?;
    request_headers::check_host(parts)?;
    let path = normal_form(parts.uri.path());
    let path = path.strip_prefix(gate.server.base_path.as_str());
    let path = path.filter(|path| path.starts_with('/')).ok_or_else(Problem::unknown_path)?;
    let found = gate.routes.find(path);
    let is_here = |it: &Found<'_>| {
        it.resource.served.at(connection_info.listener, gate.server.has_operator_listener)
    };
    let Some(Found { resource, params }) = found.filter(is_here) else {
        return Err(match connection_info.listener {
            ListenerKind::Main => Box::pin(refuse_unknown_path(gate, parts, path, seen)).await,
            ListenerKind::Operator => Problem::not_for_operators(),
        });
    };
    seen.watched.route = resource.path;
    seen.errors = resource.errors();
    if parts.method == Method::OPTIONS {
        return Ok(show_options(resource));
    }
    let operation = resource.operation(&parts.method);
    let tenant = params.get(TENANT);
    seen.tenant = tenant.filter(|name| name.parse::<TenantName>().is_ok()).map(str::to_owned);
    let mut caller = None;
    if !resource.is_public() && connection_info.listener == ListenerKind::Main {
        let caller = caller.insert(authenticate(gate, parts, seen).await?);
        authorize(caller, resource, operation, tenant)?;
        if resource.is_of_tenants() {
            count(gate, tenant, seen).await?;
        }
    }
    let params = Arc::new(params);
    let entrance = AuthorizedRequest {
        gate,
        connection_info,
        caller,
        correlation,
        parts,
        path,
        resource,
        params,
    };
    let result = match operation {
        Some(operation) => entrance.enter(operation, body, seen).await,
        None => Err(refuse_method(&parts.method, resource)),
    };
    match result {
        Err(problem) if problem.yields_to_missing() => {
            let creates = operation.is_some_and(|operation| operation.creates);
            // What happens seldom is boxed, here and elsewhere: every request would have to carry the room for it.
            Err(Box::pin(entrance.missing(creates)).await?.unwrap_or(problem))
        }
        result => result,
    }
}

/// What can be done at a path, for whoever asks.
fn show_options(resource: &Resource) -> Reply {
    let reply = Reply::empty(StatusCode::NO_CONTENT).with(header::ALLOW, &resource.allow());
    match resource.operation(&Method::PATCH).and_then(|patch| patch.body.as_ref()) {
        Some(body) => reply.with(request_headers::ACCEPT_PATCH, &body.media_types.join(", ")),
        None => reply,
    }
}

/// A path that leads nowhere. In a tenant's part of the house, only those who may be there learn that.
async fn refuse_unknown_path(
    gate: &Gate,
    parts: &Parts,
    path: &str,
    seen: &mut Seen<'_>,
) -> Problem {
    let mut segments = path.split('/').skip(1);
    let first = segments.next().unwrap_or_default();
    if first == "-" || segments.next().is_none() {
        return Problem::unknown_path();
    }
    let tenant = percent_encoding::percent_decode_str(first).decode_utf8_lossy();
    seen.tenant = tenant.parse::<TenantName>().ok().map(|name| name.to_string());
    let caller = authenticate(gate, parts, seen).await;
    if let Err(refused) = caller.and_then(|caller| covers(&caller, &tenant)) {
        return refused;
    }
    count(gate, Some(&tenant), seen).await.err().unwrap_or_else(Problem::unknown_path)
}

fn refuse_method(method: &Method, resource: &Resource) -> Problem {
    let allow = resource.allow();
    let method = shortened(method.as_str());
    let detail = format!("this path does not know {method}; its methods are {allow}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", detail).with(header::ALLOW, &allow)
}

async fn authenticate(
    gate: &Gate,
    parts: &Parts,
    seen: &mut Seen<'_>,
) -> Result<Arc<Caller>, Problem> {
    let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
    // Of two tokens, nobody can say which is meant.
    let header = given.next().filter(|_| given.next().is_none());
    let header = header.and_then(|value| value.to_str().ok());
    let caller = gate.server.auth.authenticate(header, gate.server.app.now()).await;
    let caller = caller.map_err(Problem::unauthorized)?;
    seen.subject = Some(shortened(&caller.subject));
    Ok(caller)
}

fn authorize(
    caller: &Caller,
    resource: &Resource,
    operation: Option<&Operation>,
    tenant: Option<&str>,
) -> Result<(), Problem> {
    match operation {
        Some(operation) => permit(caller, operation.need, tenant),
        // Who may use none of a path's operations learns nothing about it by asking for another.
        None => {
            let mut permitted =
                resource.operations.iter().map(|it| permit(caller, it.need, tenant));
            let first = permitted.next().unwrap_or(Ok(()));
            first.or_else(|refused| permitted.find(Result::is_ok).unwrap_or(Err(refused)))
        }
    }
}

fn permit(caller: &Caller, need: Need, tenant: Option<&str>) -> Result<(), Problem> {
    let allowed = |scope: Scope| {
        if caller.rights.allow(scope) {
            return Ok(());
        }
        let word = scope.as_str();
        Err(Problem::forbidden(format!("the token lacks the scope `{word}`")).with(
            header::WWW_AUTHENTICATE,
            &format!("Bearer error=\"insufficient_scope\", scope=\"{word}\""),
        ))
    };
    let tenant = tenant.unwrap_or_default();
    match need {
        Need::Nothing | Need::Token => Ok(()),
        Need::Scope(scope) => covers(caller, tenant).and_then(|()| allowed(scope)),
        Need::Admin => allowed(Scope::Admin).and_then(|()| covers(caller, tenant)),
        Need::AdminOfAll if caller.rights.cover_all() => allowed(Scope::Admin),
        Need::AdminOfAll => {
            Err(Problem::forbidden("only a token for all tenants (`*`) may do this"))
        }
    }
}

/// Counts what tenants do. What operators do about them is not counted.
async fn count(gate: &Gate, tenant: Option<&str>, seen: &mut Seen<'_>) -> Result<(), Problem> {
    let Some(Ok(tenant)) = tenant.map(str::parse::<TenantName>) else { return Ok(()) };
    seen.allowance = gate.server.rates.count(&gate.server.app.store, &tenant).await?;
    seen.allowance.map_or(Ok(()), Allowance::check)
}

/// The same answer for a tenant that isn't covered, whether it exists or not.
fn covers(caller: &Caller, tenant: &str) -> Result<(), Problem> {
    let covered = match tenant.parse::<TenantName>() {
        Ok(name) => caller.rights.cover(&name),
        Err(_) => caller.rights.cover_all(),
    };
    let refused = || Problem::forbidden(format!("the token does not cover tenant `{tenant}`"));
    if covered { Ok(()) } else { Err(refused()) }
}

/// A request of somebody who may, on its way to the handler.
struct AuthorizedRequest<'a> {
    gate: &'a Gate,
    connection_info: ConnectionInfo,
    caller: Option<Arc<Caller>>,
    correlation: &'a Correlation,
    parts: &'a Arc<Parts>,
    path: &'a str,
    resource: &'a Resource,
    params: Arc<Params>,
}

impl AuthorizedRequest<'_> {
    async fn enter<B>(
        &self,
        operation: &Operation,
        content: &mut B,
        seen: &mut Seen<'_>,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let headers = &self.parts.headers;
        let media_types = operation.media_types();
        let media_type = match media_types.clone().next() {
            Some(_) => negotiation::media_type(headers, media_types)?,
            // Nobody minds what an answer without a body would be.
            None => JSON,
        };
        let limits = &self.gate.server.limits;
        let arrived = match &operation.body {
            None => ReceivedBody { bytes: Bytes::new(), room: None },
            Some(kind) => {
                request_headers::check_content_type(headers, kind.media_types)?;
                let max = match (operation.need, kind.size) {
                    (Need::Nothing, _) => body::UNAUTHENTICATED_BYTES_MAX,
                    (_, BodySize::Object) => limits.body_bytes.min(body::OBJECT_BYTES_MAX),
                    (_, BodySize::Batch) => limits.body_bytes,
                };
                let limits = BodyLimits {
                    max,
                    timeout: limits.body_timeout,
                    large_bodies: &self.gate.server.large_bodies,
                    tenant: self.params.get(TENANT).unwrap_or_default(),
                    stopping: &self.gate.server.stopping,
                };
                body::read(headers, content, limits).await?
            }
        };
        let query = self.parts.uri.query().unwrap_or_default();
        let mut query = Query::parse(query, operation.query, operation.filter, headers);
        query.check_fields(operation.fields);
        seen.ignored = query.ignored();
        if operation.query.is_empty() {
            query.check()?;
        }
        let call = Call {
            server: Arc::clone(&self.gate.server),
            caller: self.caller.clone(),
            connection_info: self.connection_info,
            tenant: self.tenant()?,
            params: Arc::clone(&self.params),
            query,
            parts: Arc::clone(self.parts),
            media_type,
            body: arrived.bytes,
            _room: arrived.room,
            address: Address::of(&self.gate.server, self.connection_info, self.parts, self.path),
            correlation_id: self.correlation.id.clone(),
            gone: seen.gone.clone(),
        };
        let turns = &self.gate.server.permits;
        let turn = turns
            .take(call.tenant.as_ref(), operation.request_kind(self.is_operator()), seen.gone)
            .await?;
        // Only now, so that a body that arrives slowly takes no room from others.
        let _slot = match operation.need {
            Need::Nothing if operation.body.is_none() => None,
            _ => Some(self.gate.server.slots.take(self.connection_info.listener)?),
        };
        let reply = turn.run((operation.run)(call)).await?;
        let tenant = self.params.get(TENANT).unwrap_or_default();
        outgoing::agree(reply, operation, self.parts, tenant, &self.gate.server.slots)
    }

    /// Whether the caller administers all tenants, not one of them.
    fn is_operator(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.rights.cover_all())
    }

    /// The tenant that the path names; a name that none can have is a fault of who would make one.
    fn tenant(&self) -> Result<Option<TenantName>, Problem> {
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        name.parse().map(Some).map_err(|bad: gatehouse_core::ids::BadName| {
            Problem::invalid(vec![Fault { name: TENANT.into(), reason: bad.to_string() }])
        })
    }

    /// What is missing of tenant and thing, the tenant first.
    async fn missing(&self, creates: bool) -> Result<Option<Problem>, Problem> {
        let store = &self.gate.server.app.store;
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        let _slot = self.gate.server.slots.take(self.connection_info.listener)?;
        if creates && self.resource.object == PathObject::Tenant {
            return Ok(None);
        }
        let no_tenant = Problem::from(Error::NoTenant(shortened(name)));
        let Ok(tenant) = name.parse::<TenantName>() else { return Ok(Some(no_tenant)) };
        if store.tenant(&tenant).await?.is_none() {
            return Ok(Some(no_tenant));
        }
        let param = |name| self.params.get(name).unwrap_or_default();
        let absent = |thing, id| Some(Error::NotFound(thing, shortened(id)).into());
        Ok(match self.resource.object {
            _ if creates => None,
            PathObject::None | PathObject::Tenant => None,
            PathObject::Access => match param("accessId").parse() {
                Ok(id) if store.access(&tenant, id).await?.is_some() => None,
                _ => absent("access", param("accessId")),
            },
            PathObject::Task => match param("taskId").parse() {
                Ok(id) if store.task(&tenant, id).await?.is_some() => None,
                _ => absent("task", param("taskId")),
            },
            PathObject::Account => match param("accountName").parse() {
                Ok(name) if store.account(&tenant, &name).await?.is_some() => None,
                _ => absent("account", param("accountName")),
            },
            // No platform is asked about a request that is wrong anyway.
            PathObject::Product => match param("productId").parse::<ProductId>() {
                Ok(_) => None,
                Err(_) => absent("product", param("productId")),
            },
            PathObject::Client => match param("clientId").parse() {
                Ok(id) if store.client(&tenant, &id).await?.is_some() => None,
                _ => absent("client", param("clientId")),
            },
            PathObject::Contract => match param("contractId").parse() {
                Ok(id)
                    if store
                        .contract(&tenant, &id, self.gate.server.app.now())
                        .await?
                        .is_some() =>
                {
                    None
                }
                _ => absent("contract", param("contractId")),
            },
        })
    }
}
