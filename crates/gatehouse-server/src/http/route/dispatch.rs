//! From a request to its response: the checks that all operations share, in one order.
//!
//! 401, 403, 404 (the tenant, then the object), 405, 406, 415, 413, 400; after these, a handler may return 412, 422 or
//! 409. Looking up the tenant and the object costs a read of the store, so the dispatcher does it only when a lesser
//! check has failed: a request that succeeds has found them anyway.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use gatehouse_core::event::audit::RefusalReason;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::rights::Scope;
use gatehouse_core::{Dialect, Hook, ProductId, TenantName};
use gatehouse_vault::Disconnection;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::Call;
use super::gateway::{self, GivenKey, RoutedPath};
use super::params::{Params, TENANT, normal_form};
use super::query::{Query, X_IGNORED_PARAMS};
use super::resource::{BodySize, Need, Operation, PathObject, Resource};
use super::route_table::RouteMatch;
use crate::app::Error;
use crate::app::audit_counts::Refusal;
use crate::auth::Caller;
use crate::http::HttpApi;
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
use crate::http::route::outgoing::{self, Outgoing, with_length};
use crate::metrics::{RequestGuard, UNKNOWN_ROUTE};
use crate::rate::RateLimitResult;
use crate::reader::{Fault, shortened};
use crate::trace::{RequestAttributes, Trace};

/// Runs one request to its end, also after its client has disconnected: it is still logged. A panic becomes a 500.
///
/// `busy` is held until the whole response has been produced. `closed` signals that the client has closed the
/// connection: then the request's queued slow hashes are cancelled, and the response is 503.
pub async fn handle<B, Busy>(
    requests: &TaskTracker,
    api: HttpApi,
    connection: ConnectionInfo,
    closed: Arc<dyn Disconnection>,
    busy: Busy,
    request: Request<B>,
) -> Response<AnswerBody>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    Busy: Send + 'static,
{
    let dropped = CancellationToken::new();
    let client = ClientDisconnection::new(dropped.clone(), closed);
    let work = outgoing(api, connection, client, request);
    DetachOnDrop::new(requests, dropped, work).await.send(requests, busy)
}

/// The response to a request, also if the handler panics.
async fn outgoing<B>(
    api: HttpApi,
    connection: ConnectionInfo,
    client: ClientDisconnection,
    request: Request<B>,
) -> Outgoing
where
    B: Body<Data = Bytes> + Unpin,
{
    let correlation = Correlation::of(request.headers(), api.server.app.now());
    let trace = Trace::begin(request.headers());
    let method = request.method().clone();
    let processed = {
        let processed = pin!(process(&api, connection, &client, &correlation, &trace, request));
        AssertUnwindSafe(trace.run(processed)).catch_unwind().await
    };
    let (reply, route) = processed.unwrap_or_else(|panic| {
        let (correlation_id, trace_id) = (&correlation.id, trace.id());
        let panic = panic_message(&*panic);
        tracing::error!(correlation_id, trace_id, panic, "a request panicked");
        trace.record(&RequestAttributes {
            method: &method,
            scheme: connection.scheme(),
            route: UNKNOWN_ROUTE,
            status: StatusCode::INTERNAL_SERVER_ERROR,
            tenant: None,
            correlation_id,
        });
        let mut reply = Problem::internal().into_reply(&correlation.id);
        correlation.put(&mut reply.headers);
        trace.write_header(&mut reply.headers);
        (with_length(reply, &method), UNKNOWN_ROUTE)
    });
    let reply = if connection.encrypted { with_security_headers(reply) } else { reply };
    Outgoing { reply, route, api, correlation, trace }
}

/// Tells browsers to use TLS only, and not to guess content types. For responses over TLS.
fn with_security_headers(reply: Reply) -> Reply {
    reply
        .with(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000")
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
}

fn panic_message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&'static str>().copied())
}

type RoutedReply = (Reply, &'static str);

async fn process<B>(
    api: &HttpApi,
    connection: ConnectionInfo,
    client: &ClientDisconnection,
    correlation: &Correlation,
    trace: &Trace,
    request: Request<B>,
) -> RoutedReply
where
    B: Body<Data = Bytes> + Unpin,
{
    let (parts, mut body) = request.into_parts();
    let parts = Arc::new(parts);
    let watched = api.server.metrics.requests.begin(&parts.method);
    let mut record = RequestRecord::new(watched, client);
    let result = respond(api, connection, correlation, &parts, &mut body, &mut record).await;
    let (correlation_id, trace_id) = (&correlation.id, trace.id());
    let mut reply = result.unwrap_or_else(|problem| {
        if let Some(cause) = &problem.cause {
            tracing::error!(
                cause,
                route = record.watched.route,
                correlation_id,
                trace_id,
                tenant = record.tenant,
                subject = record.subject,
                "a request failed"
            );
        }
        problem.into_reply_of(record.errors, correlation_id)
    });
    let is_error = reply.status.is_client_error() || reply.status.is_server_error();
    if is_error && reply.status != StatusCode::REQUEST_TIMEOUT {
        request_headers::drain_refused_body(&parts.headers, &mut body).await;
    }
    if record.is_check {
        reply = reply.with(header::CACHE_CONTROL, "no-store");
    }
    correlation.put(&mut reply.headers);
    if let Some(rate_limit) = record.rate_limit {
        rate_limit.put(&mut reply.headers);
    }
    trace.write_header(&mut reply.headers);
    // A handler that ignores more parameters has named all of them.
    if let Some(names) = record.ignored
        && !reply.headers.contains_key(X_IGNORED_PARAMS)
    {
        reply = reply.with(X_IGNORED_PARAMS, &names);
    }
    record.watched.status = reply.status;
    trace.record(&RequestAttributes {
        method: &parts.method,
        scheme: connection.scheme(),
        route: record.watched.route,
        status: reply.status,
        tenant: record.tenant.as_deref(),
        correlation_id,
    });
    tracing::info!(
        method = shortened(parts.method.as_str()),
        route = record.watched.route,
        status = reply.status.as_u16(),
        microseconds = record.watched.microseconds(),
        correlation_id,
        trace_id,
        tenant = record.tenant,
        subject = record.subject,
        "request"
    );
    (with_length(reply, &parts.method), record.watched.route)
}

/// Facts about a request that the log and every response need, also the response to a refused request.
pub(super) struct RequestRecord<'m> {
    watched: RequestGuard<'m>,
    client: &'m ClientDisconnection,
    /// The tenant's name if it is a valid one, whether the tenant exists or not.
    pub(super) tenant: Option<String>,
    pub(super) subject: Option<String>,
    ignored: Option<String>,
    errors: ErrorStyle,
    rate_limit: Option<RateLimitResult>,
    /// Whether the response is in the dialect of a gateway, which may keep none.
    is_check: bool,
}

impl<'m> RequestRecord<'m> {
    fn new(watched: RequestGuard<'m>, client: &'m ClientDisconnection) -> Self {
        Self {
            watched,
            client,
            tenant: None,
            subject: None,
            ignored: None,
            errors: ErrorStyle::Problem,
            rate_limit: None,
            is_check: false,
        }
    }
}

async fn respond<B>(
    api: &HttpApi,
    connection: ConnectionInfo,
    correlation: &Correlation,
    parts: &Arc<Parts>,
    body: &mut B,
    record: &mut RequestRecord<'_>,
) -> Result<Reply, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    request_headers::check_headers(&parts.headers)?;
    request_headers::check_host(parts)?;
    let path = normal_form(parts.uri.path());
    let path = path.strip_prefix(api.server.base_path.as_str());
    let path = path.filter(|path| path.starts_with('/')).ok_or_else(Problem::unknown_path)?;
    let routed = RoutedPath::of(path);
    let path = &*routed.path;
    let found = api.routes.find(path);
    let is_served = |it: &RouteMatch<'_>| {
        it.resource.served.at(connection.listener, api.server.has_operator_listener)
    };
    let Some(RouteMatch { resource, params }) = found.filter(is_served) else {
        return Err(match connection.listener {
            ListenerKind::Main => {
                Box::pin(refuse_unknown_path(api, connection, correlation, parts, path, record))
                    .await
            }
            ListenerKind::Operator => Problem::not_for_operators(),
        });
    };
    record.watched.route = resource.path;
    record.errors = resource.errors();
    record.is_check = resource.operations.iter().any(Operation::is_foreign);
    if parts.method == Method::OPTIONS && !resource.takes_any_method() {
        return Ok(show_options(resource));
    }
    let operation = resource.operation(&parts.method);
    let tenant = params.get(TENANT);
    record.tenant = tenant.filter(|name| name.parse::<TenantName>().is_ok()).map(str::to_owned);
    let (mut caller, mut hook) = (None, None);
    let key = routed.key(&parts.headers);
    let dialect = resource.dialect();
    if let Some(dialect) = dialect.filter(|it| key != GivenKey::None || *it == Dialect::Basic) {
        hook =
            Some(gateway::authenticate(api, connection, correlation, record, dialect, key).await?);
        count(api, tenant, record).await?;
    } else if !resource.is_public() && connection.listener == ListenerKind::Main {
        let authenticated = authenticate(api, parts, record).await;
        let caller = caller.insert(authenticated.inspect_err(|refused| {
            count_bad_token(api, connection, correlation, record, refused);
        })?);
        authorize(caller, resource, operation, tenant).map_err(|refused| {
            count_refusal(api, connection, correlation, record, refused.reason());
            refused.problem(tenant.unwrap_or_default())
        })?;
        if resource.is_of_tenants() {
            count(api, tenant, record).await?;
        }
    }
    let params = Arc::new(params);
    let authorized = AuthorizedRequest {
        api,
        connection,
        caller,
        hook,
        correlation,
        parts,
        path,
        resource,
        params,
    };
    let result = match operation {
        Some(operation) => authorized.run(operation, body, record).await,
        None => Err(refuse_method(&parts.method, resource)),
    };
    match result {
        Err(problem) if problem.yields_to_missing() => {
            let creates = operation.is_some_and(|operation| operation.creates);
            // Rare futures are boxed, here and elsewhere, to keep the future of every request small.
            Err(Box::pin(authorized.missing(creates)).await?.unwrap_or(problem))
        }
        result => result,
    }
}

/// Response to `OPTIONS`: the methods of a path, for every client.
fn show_options(resource: &Resource) -> Reply {
    let reply = Reply::empty(StatusCode::NO_CONTENT).with(header::ALLOW, &resource.allow());
    match resource.operation(&Method::PATCH).and_then(|patch| patch.body.as_ref()) {
        Some(body) => reply.with(request_headers::ACCEPT_PATCH, &body.media_types.join(", ")),
        None => reply,
    }
}

/// Refusal of an unknown path. Under a tenant's name, only callers with rights for the tenant learn that it is unknown.
async fn refuse_unknown_path(
    api: &HttpApi,
    connection: ConnectionInfo,
    correlation: &Correlation,
    parts: &Parts,
    path: &str,
    record: &mut RequestRecord<'_>,
) -> Problem {
    let mut segments = path.split('/').skip(1);
    let first = segments.next().unwrap_or_default();
    if first == "-" || segments.next().is_none() {
        return Problem::unknown_path();
    }
    let tenant = percent_encoding::percent_decode_str(first).decode_utf8_lossy();
    record.tenant = tenant.parse::<TenantName>().ok().map(|name| name.to_string());
    let caller = match authenticate(api, parts, record).await {
        Ok(caller) => caller,
        Err(refused) => {
            count_bad_token(api, connection, correlation, record, &refused);
            return refused;
        }
    };
    if !covers(&caller, &tenant) {
        let refused = RefusedCaller::OtherTenant;
        count_refusal(api, connection, correlation, record, refused.reason());
        return refused.problem(&tenant);
    }
    count(api, Some(&tenant), record).await.err().unwrap_or_else(Problem::unknown_path)
}

fn refuse_method(method: &Method, resource: &Resource) -> Problem {
    let allow = resource.allow();
    let method = shortened(method.as_str());
    let detail = format!("this path does not support {method}; its methods are {allow}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", detail).with(header::ALLOW, &allow)
}

/// Counts a request without a valid token for the audit.
fn count_bad_token(
    api: &HttpApi,
    connection: ConnectionInfo,
    correlation: &Correlation,
    record: &RequestRecord<'_>,
    refused: &Problem,
) {
    // An issuer that can't be reached has refused no token.
    if refused.status == StatusCode::UNAUTHORIZED {
        count_refusal(api, connection, correlation, record, RefusalReason::Token);
    }
}

/// Counts a refused request for the audit of its tenant.
pub(super) fn count_refusal(
    api: &HttpApi,
    connection: ConnectionInfo,
    correlation: &Correlation,
    record: &RequestRecord<'_>,
    reason: RefusalReason,
) {
    let app = &api.server.app;
    let refusal = Refusal {
        tenant: record.tenant.as_ref().and_then(|name| name.parse().ok()),
        reason,
        client: None,
        subject: record.subject.as_deref().unwrap_or_default(),
        correlation_id: &correlation.id,
        peer: connection.peer.to_string(),
    };
    app.audit_counts.count_refusal(refusal, app.now());
}

async fn authenticate(
    api: &HttpApi,
    parts: &Parts,
    record: &mut RequestRecord<'_>,
) -> Result<Arc<Caller>, Problem> {
    let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
    // Two tokens are ambiguous.
    let header = given.next().filter(|_| given.next().is_none());
    let header = header.and_then(|value| value.to_str().ok());
    let caller = api.server.auth.authenticate(header, api.server.app.now()).await;
    let caller = caller.map_err(Problem::unauthorized)?;
    record.subject = Some(shortened(&caller.subject));
    Ok(caller)
}

fn authorize(
    caller: &Caller,
    resource: &Resource,
    operation: Option<&Operation>,
    tenant: Option<&str>,
) -> Result<(), RefusedCaller> {
    match operation {
        Some(operation) => check_need(caller, operation.need, tenant),
        // A caller without rights for any operation of the path doesn't learn which methods it has.
        None => {
            let mut checks =
                resource.operations.iter().map(|it| check_need(caller, it.need, tenant));
            let first = checks.next().unwrap_or(Ok(()));
            first.or_else(|refused| checks.find(Result::is_ok).unwrap_or(Err(refused)))
        }
    }
}

/// Why a caller is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefusedCaller {
    /// The token isn't for this tenant.
    OtherTenant,
    /// The token isn't for all tenants.
    NotForAll,
    /// The token lacks this scope.
    Scope(Scope),
}

impl RefusedCaller {
    fn reason(self) -> RefusalReason {
        match self {
            Self::OtherTenant | Self::NotForAll => RefusalReason::Tenant,
            Self::Scope(_) => RefusalReason::Scope,
        }
    }

    /// The response, equally whether the tenant exists or not.
    fn problem(self, tenant: &str) -> Problem {
        match self {
            Self::OtherTenant => {
                Problem::forbidden(format!("the token does not cover tenant `{tenant}`"))
            }
            Self::NotForAll => Problem::forbidden("only a token for all tenants (`*`) may do this"),
            Self::Scope(scope) => {
                let scope = scope.as_str();
                Problem::forbidden(format!("the token lacks the scope `{scope}`")).with(
                    header::WWW_AUTHENTICATE,
                    &format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""),
                )
            }
        }
    }
}

fn check_need(caller: &Caller, need: Need, tenant: Option<&str>) -> Result<(), RefusedCaller> {
    let allowed = |scope: Scope| match caller.rights.allow(scope) {
        true => Ok(()),
        false => Err(RefusedCaller::Scope(scope)),
    };
    let covered = || match covers(caller, tenant.unwrap_or_default()) {
        true => Ok(()),
        false => Err(RefusedCaller::OtherTenant),
    };
    match need {
        Need::Nothing | Need::Token => Ok(()),
        Need::Scope(scope) => covered().and_then(|()| allowed(scope)),
        Need::Check(_) => covered().and_then(|()| allowed(Scope::AccessVerify)),
        Need::Admin => allowed(Scope::Admin).and_then(|()| covered()),
        Need::AdminOfAll if caller.rights.cover_all() => allowed(Scope::Admin),
        Need::AdminOfAll => Err(RefusedCaller::NotForAll),
    }
}

/// Counts a request against the tenant's rate limit. Requests of operators about a tenant don't count.
async fn count(
    api: &HttpApi,
    tenant: Option<&str>,
    record: &mut RequestRecord<'_>,
) -> Result<(), Problem> {
    let Some(Ok(tenant)) = tenant.map(str::parse::<TenantName>) else { return Ok(()) };
    record.rate_limit = api.server.rates.count(&api.server.app.store, &tenant).await?;
    record.rate_limit.map_or(Ok(()), RateLimitResult::check)
}

/// Whether the token covers a tenant, which may not exist.
fn covers(caller: &Caller, tenant: &str) -> bool {
    match tenant.parse::<TenantName>() {
        Ok(name) => caller.rights.cover(&name),
        Err(_) => caller.rights.cover_all(),
    }
}

/// A request whose caller has the needed rights, before the remaining checks.
struct AuthorizedRequest<'a> {
    api: &'a HttpApi,
    connection: ConnectionInfo,
    caller: Option<Arc<Caller>>,
    hook: Option<Arc<Hook>>,
    correlation: &'a Correlation,
    parts: &'a Arc<Parts>,
    path: &'a str,
    resource: &'a Resource,
    params: Arc<Params>,
}

impl AuthorizedRequest<'_> {
    /// Where the request's changes come from.
    fn origin(&self) -> Origin {
        let cause = match (&self.caller, &self.hook) {
            (Some(caller), _) => Cause::Request(caller.subject.clone()),
            (None, Some(hook)) => Cause::Request(hook.id.to_string()),
            (None, None) => Cause::Server,
        };
        let peer = self.connection.peer.to_string();
        Origin { cause, correlation_id: self.correlation.id.clone(), peer }
    }

    async fn run<B>(
        &self,
        operation: &Operation,
        content: &mut B,
        record: &mut RequestRecord<'_>,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let headers = &self.parts.headers;
        let media_types = operation.media_types();
        let media_type = match media_types.clone().next() {
            Some(_) if !operation.is_foreign() => negotiation::media_type(headers, media_types)?,
            // A response without a body has no media type to negotiate.
            _ => JSON,
        };
        let limits = &self.api.server.limits;
        let received = match &operation.body {
            None => ReceivedBody { bytes: Bytes::new(), memory: None },
            Some(kind) => {
                if !operation.is_foreign() {
                    request_headers::check_content_type(headers, kind.media_types)?;
                }
                let max = match (operation.need, kind.size) {
                    (Need::Nothing, _) => body::UNAUTHENTICATED_BYTES_MAX,
                    (_, BodySize::Object) => limits.body_bytes.min(body::OBJECT_BYTES_MAX),
                    (_, BodySize::Batch) => limits.body_bytes,
                };
                let limits = BodyLimits {
                    max,
                    timeout: limits.body_timeout,
                    large_bodies: &self.api.server.large_bodies,
                    tenant: self.params.get(TENANT).unwrap_or_default(),
                    stopping: &self.api.server.stopping,
                };
                body::read(headers, content, limits).await?
            }
        };
        let query = match operation.is_foreign() {
            true => "",
            false => self.parts.uri.query().unwrap_or_default(),
        };
        let mut query = Query::parse(query, operation.query, operation.filter, headers);
        query.check_fields(operation.fields);
        record.ignored = query.ignored();
        if operation.query.is_empty() {
            query.check()?;
        }
        let call = Call {
            server: Arc::clone(&self.api.server),
            caller: self.caller.clone(),
            hook: self.hook.clone(),
            connection: self.connection,
            tenant: self.tenant()?,
            params: Arc::clone(&self.params),
            query,
            parts: Arc::clone(self.parts),
            media_type,
            body: received.bytes,
            _body_memory: received.memory,
            address: Address::of(&self.api.server, self.connection, self.parts, self.path),
            origin: self.origin(),
            disconnection: record.client.clone(),
        };
        let permits = &self.api.server.permits;
        let permit = permits
            .take(call.tenant.as_ref(), operation.request_kind(self.is_operator()), record.client)
            .await?;
        // Taken only now, so that a slowly arriving body holds no slot.
        let _slot = match operation.need {
            Need::Nothing if operation.body.is_none() => None,
            _ => Some(self.api.server.slots.take(self.connection.listener)?),
        };
        let reply = permit.run((operation.run)(call)).await?;
        let tenant = self.params.get(TENANT).unwrap_or_default();
        outgoing::negotiate(reply, operation, self.parts, tenant, &self.api.server.slots)
    }

    fn is_operator(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.rights.cover_all())
    }

    /// The tenant that the path names; an invalid name is a fault of the request.
    fn tenant(&self) -> Result<Option<TenantName>, Problem> {
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        name.parse().map(Some).map_err(|bad: gatehouse_core::ids::BadName| {
            Problem::invalid(vec![Fault { name: TENANT.into(), reason: bad.to_string() }])
        })
    }

    /// The 404 for a missing tenant, or else for a missing object; `None` if both exist.
    async fn missing(&self, creates: bool) -> Result<Option<Problem>, Problem> {
        let store = &self.api.server.app.store;
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        let _slot = self.api.server.slots.take(self.connection.listener)?;
        if creates && self.resource.object == PathObject::Tenant {
            return Ok(None);
        }
        let no_tenant = Problem::from(Error::NoTenant(shortened(name)));
        let Ok(tenant) = name.parse::<TenantName>() else { return Ok(Some(no_tenant)) };
        if store.tenant(&tenant).await?.is_none() {
            return Ok(Some(no_tenant));
        }
        let param = |name| self.params.get(name).unwrap_or_default();
        let absent = |object, id| Some(Error::NotFound(object, shortened(id)).into());
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
            // The server doesn't call a platform for a request that fails anyway.
            PathObject::Product => match param("productId").parse::<ProductId>() {
                Ok(_) => None,
                Err(_) => absent("product", param("productId")),
            },
            PathObject::Hub => match param("hubId").parse() {
                Ok(id) if store.hub(&tenant, id).await?.is_some_and(|it| it.is_there()) => None,
                _ => absent("hub", param("hubId")),
            },
            PathObject::Hook => match param("hookId").parse() {
                Ok(id) if store.hook(&tenant, id).await?.is_some() => None,
                _ => absent("hook", param("hookId")),
            },
            PathObject::Client => match param("clientId").parse() {
                Ok(id) if store.client(&tenant, &id).await?.is_some() => None,
                _ => absent("client", param("clientId")),
            },
            PathObject::Contract => match param("contractId").parse() {
                Ok(id)
                    if store.contract(&tenant, &id, self.api.server.app.now()).await?.is_some() =>
                {
                    None
                }
                _ => absent("contract", param("contractId")),
            },
        })
    }
}
