//! From a request to its answer: the checks that every operation has in common, in one order.
//!
//! 401, 403, 404 (the tenant, then the thing), 405, 406, 415, 413, 400; after these a handler may say
//! 412, 422 or 409. Whether the tenant and the thing are there costs a look into the store, so it is
//! looked up only when something lesser is wrong: a request that succeeds has found them anyway.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gatehouse_core::TenantName;
use gatehouse_core::rights::Scope;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::Full;
use tokio_util::task::TaskTracker;

use super::Gate;
use super::address::Address;
use super::call::Call;
use super::correlation::Correlation;
use super::intake;
use super::params::{Params, TENANT, normal_form};
use super::problem::Problem;
use super::query::{Query, X_IGNORED_PARAMS};
use super::reply::Reply;
use super::resource::{Need, Operation, Resource, Thing};
use super::routes::Found;
use crate::app::Error;
use crate::auth::Caller;
use crate::reader::{Fault, shortened};

/// Answers one request on a task of its own, and sees it through whatever the client does: one that goes
/// away stops nothing that was begun, and takes no line from the log. A panic is a problem like others.
pub async fn handle<B>(
    requests: &TaskTracker,
    gate: Gate,
    request: Request<B>,
) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
{
    let clock = gate.site.app.clock.clone();
    let answered = requests.spawn(async move { answer(&gate, request).await });
    answered.await.unwrap_or_else(|panic| {
        let correlation = Correlation::of(&HeaderMap::new(), clock.now());
        tracing::error!(correlation_id = correlation.id, %panic, "a request panicked");
        let mut reply = Problem::internal().into_reply(&correlation.id);
        correlation.put(&mut reply.headers);
        render(reply, &Method::GET)
    })
}

async fn answer<B>(gate: &Gate, request: Request<B>) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let began = Instant::now();
    let (parts, mut body) = request.into_parts();
    let correlation = Correlation::of(&parts.headers, gate.site.app.now());
    let mut seen = Seen::default();
    let result = respond(gate, &parts, &mut body, &mut seen).await;
    let mut reply = result.unwrap_or_else(|problem| {
        if let Some(cause) = &problem.cause {
            tracing::error!(correlation_id = correlation.id, cause, "a request failed");
        }
        problem.into_reply(&correlation.id)
    });
    let is_error = reply.status.is_client_error() || reply.status.is_server_error();
    if is_error && reply.status != StatusCode::REQUEST_TIMEOUT {
        intake::let_finish(&parts.headers, &mut body).await;
    }
    correlation.put(&mut reply.headers);
    if let Some(names) = seen.ignored {
        reply = reply.with(X_IGNORED_PARAMS, &names);
    }
    tracing::info!(
        method = %parts.method,
        route = seen.route,
        status = reply.status.as_u16(),
        microseconds = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        correlation_id = correlation.id,
        tenant = seen.tenant,
        subject = seen.subject,
        "request"
    );
    render(reply, &parts.method)
}

/// What has been learned about a request, for the log and for every kind of answer.
#[derive(Default)]
struct Seen {
    route: &'static str,
    tenant: Option<String>,
    subject: Option<String>,
    ignored: Option<String>,
}

fn render(reply: Reply, method: &Method) -> Response<Full<Bytes>> {
    let length = reply.body.len();
    // The length of what a GET would have got.
    let body = if method == Method::HEAD { Bytes::new() } else { reply.body };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    if length > 0 {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response
}

async fn respond<B>(
    gate: &Gate,
    parts: &Parts,
    body: &mut B,
    seen: &mut Seen,
) -> Result<Reply, Problem>
where
    B: Body<Data = Bytes> + Unpin,
{
    intake::check_headers(&parts.headers)?;
    intake::check_host(parts)?;
    let path = normal_form(parts.uri.path());
    let path = path.strip_prefix(gate.site.base_path.as_str());
    let path = path.filter(|path| path.starts_with('/')).ok_or_else(Problem::unknown_path)?;
    let Some(Found { resource, params }) = gate.routes.find(path) else {
        return Err(refuse_unknown_path(gate, parts, path, seen));
    };
    seen.route = resource.path;
    if parts.method == Method::OPTIONS {
        return Ok(show_options(resource));
    }
    let operation = resource.operation(&parts.method);
    let tenant = params.get(TENANT).map(str::to_owned);
    seen.tenant.clone_from(&tenant);
    if !resource.is_public() {
        let caller = authenticate(gate, parts, seen)?;
        authorize(&caller, resource, operation, tenant.as_deref())?;
    }
    let entrance = Entrance { gate, parts, path, resource, params };
    let result = match operation {
        Some(operation) => entrance.enter(operation, body, seen).await,
        None => Err(refuse_method(&parts.method, resource)),
    };
    match result {
        Err(problem) if problem.yields_to_missing() => {
            let makes = operation.is_some_and(|operation| operation.makes);
            Err(entrance.missing(makes).await?.unwrap_or(problem))
        }
        result => result,
    }
}

/// What can be done at a path, for whoever asks.
fn show_options(resource: &Resource) -> Reply {
    let reply = Reply::empty(StatusCode::NO_CONTENT).with(header::ALLOW, &resource.allow());
    match resource.operation(&Method::PATCH).and_then(|patch| patch.body.as_ref()) {
        Some(body) => reply.with(intake::ACCEPT_PATCH, body.media_type),
        None => reply,
    }
}

/// A path that leads nowhere. In a tenant's part of the house, only those who may be there learn that.
fn refuse_unknown_path(gate: &Gate, parts: &Parts, path: &str, seen: &mut Seen) -> Problem {
    let mut segments = path.split('/').skip(1);
    let first = segments.next().unwrap_or_default();
    if first == "-" || segments.next().is_none() {
        return Problem::unknown_path();
    }
    let tenant = percent_encoding::percent_decode_str(first).decode_utf8_lossy();
    let allowed = authenticate(gate, parts, seen).and_then(|caller| covers(&caller, &tenant));
    allowed.err().unwrap_or_else(Problem::unknown_path)
}

fn refuse_method(method: &Method, resource: &Resource) -> Problem {
    let allow = resource.allow();
    let method = shortened(method.as_str());
    let detail = format!("this path does not know {method}; its methods are {allow}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", detail).with(header::ALLOW, &allow)
}

fn authenticate(gate: &Gate, parts: &Parts, seen: &mut Seen) -> Result<Caller, Problem> {
    let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
    // Of two tokens, nobody can say which is meant.
    let header = given.next().filter(|_| given.next().is_none());
    let header = header.and_then(|value| value.to_str().ok());
    let caller = gate.site.auth.authenticate(header, gate.site.app.now());
    let caller = caller.map_err(Problem::unauthorized)?;
    seen.subject = Some(caller.subject.clone());
    Ok(caller)
}

fn authorize(
    caller: &Caller,
    resource: &Resource,
    operation: Option<&Operation>,
    tenant: Option<&str>,
) -> Result<(), Problem> {
    // What no operation asks for is asked for by the path's other operations.
    let need = operation.or(resource.operations.first()).map_or(Need::Nothing, |it| it.need);
    let allowed = |scope: Scope| {
        if caller.rights.allow(scope) || operation.is_none() && scope != Scope::Admin {
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
        Need::Nothing => Ok(()),
        Need::Scope(scope) => covers(caller, tenant).and_then(|()| allowed(scope)),
        Need::Admin => allowed(Scope::Admin).and_then(|()| covers(caller, tenant)),
        Need::AdminOfAll if caller.rights.cover_all() => allowed(Scope::Admin),
        Need::AdminOfAll => {
            Err(Problem::forbidden("only a token for all tenants (`*`) may do this"))
        }
    }
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
struct Entrance<'a> {
    gate: &'a Gate,
    parts: &'a Parts,
    path: &'a str,
    resource: &'a Resource,
    params: Params,
}

impl Entrance<'_> {
    async fn enter<B>(
        &self,
        operation: &Operation,
        body: &mut B,
        seen: &mut Seen,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let headers = &self.parts.headers;
        if let Some(media_type) = operation.answers_with() {
            intake::check_accept(headers, media_type)?;
        }
        let body = match &operation.body {
            None => Bytes::new(),
            Some(kind) => {
                intake::check_content_type(headers, kind.media_type)?;
                let max = self.gate.site.limits.body_bytes.min(intake::OBJECT_BYTES_MAX);
                intake::read(headers, body, max).await?
            }
        };
        let query = self.parts.uri.query().unwrap_or_default();
        let query = Query::parse(query, operation.query, operation.filter, headers);
        seen.ignored = query.ignored();
        if operation.query.is_empty() {
            query.check()?;
        }
        let call = Call {
            site: Arc::clone(&self.gate.site),
            tenant: self.tenant()?,
            params: self.params.clone(),
            query,
            headers: headers.clone(),
            body,
            address: Address::of(&self.gate.site, self.parts, self.path),
        };
        (operation.run)(call).await
    }

    /// The tenant that the path names; a name that none can have is a fault of who would make one.
    fn tenant(&self) -> Result<Option<TenantName>, Problem> {
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        name.parse().map(Some).map_err(|bad: gatehouse_core::ids::BadName| {
            Problem::invalid(vec![Fault { name: TENANT.into(), reason: bad.to_string() }])
        })
    }

    /// What is missing of tenant and thing, the tenant first.
    async fn missing(&self, makes: bool) -> Result<Option<Problem>, Problem> {
        let store = &self.gate.site.app.store;
        let Some(name) = self.params.get(TENANT) else { return Ok(None) };
        if makes && self.resource.thing == Thing::Tenant {
            return Ok(None);
        }
        let no_tenant = Problem::from(Error::NoTenant(shortened(name)));
        let Ok(tenant) = name.parse::<TenantName>() else { return Ok(Some(no_tenant)) };
        if store.tenant(&tenant).await?.is_none() {
            return Ok(Some(no_tenant));
        }
        let param = |name| self.params.get(name).unwrap_or_default();
        let absent = |thing, id| Some(Error::NotFound(thing, shortened(id)).into());
        Ok(match self.resource.thing {
            _ if makes => None,
            Thing::Nothing | Thing::Tenant => None,
            Thing::Access => match param("accessId").parse() {
                Ok(id) if store.access(&tenant, id).await?.is_some() => None,
                _ => absent("access", param("accessId")),
            },
            Thing::Contract => match param("contractId").parse() {
                Ok(id)
                    if store.contract(&tenant, &id, self.gate.site.app.now()).await?.is_some() =>
                {
                    None
                }
                _ => absent("contract", param("contractId")),
            },
        })
    }
}
