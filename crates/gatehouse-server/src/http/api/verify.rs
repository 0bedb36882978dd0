//! `/{tenantName}/verify`: checks a device's credentials. Each dialect of gateways has a file.

pub(in crate::http) mod basic;
pub(in crate::http) mod emqx;
pub(in crate::http) mod mosquitto;
pub(in crate::http) mod rabbitmq;
pub(in crate::http) mod radius;
pub(in crate::http) mod vernemq;

use gatehouse_core::credential::Password;
use gatehouse_core::{Dialect, Username};
use http::{StatusCode, header};
use serde_json::Value;

use crate::app::Error;
use crate::fields::access::{self, verified_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Json, Reader};

pub(in crate::http) const CHECK: Operation = Operation {
    method: "POST",
    id: "verifyCredentials",
    summary: "Checks a device's credentials; the first success of a prepaid access activates it",
    need: Need::Check(Dialect::Json),
    body: Some(BodyKind {
        schema: "Credentials",
        example: || access::credentials().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "The device may connect",
        schema: Some("Verified"),
        headers: &["Cache-Control"],
        ..ResponseSpec::BASE
    }],
    // 401 is for a refused token and for refused credentials.
    problems: &[401, 429],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn check(call: Call) -> Result<Reply, Problem> {
    let credentials = call.object(read_credentials)?;
    let (username, password) = credentials();
    let checked = call.app().verify(call.requester(), &username, &password).await;
    let access = checked.inspect_err(|error| log_refusal(&call, error))?;
    let reply = Reply::json(StatusCode::OK, &verified_body(&access));
    Ok(reply.with(header::CACHE_CONTROL, "no-store"))
}

/// Logs a refused check, without the credentials.
fn log_refusal(call: &Call, error: &Error) {
    let (reason, access) = match error {
        Error::CredentialsRefused(access) => ("refused", *access),
        Error::TooManyGuesses(_, access) => ("too many failed checks", *access),
        _ => return,
    };
    tracing::info!(
        hook = call.hook.as_ref().map(|hook| tracing::field::display(hook.id)),
        tenant = %call.tenant(),
        access = access.map(tracing::field::display),
        peer = %call.connection.peer,
        correlation_id = call.origin.correlation_id,
        reason,
        "a check was refused"
    );
}

pub(in crate::http) fn read_credentials(
    mut body: Reader<'_>,
) -> impl FnOnce() -> (Username, Password) + use<> {
    let username = body.required(access::USERNAME);
    let password = body.required(access::PASSWORD);
    body.finish();
    move || (username.value(), password.value())
}

/// A request of a gateway that can't be allowed: it is malformed, or the policy denies it.
#[derive(Clone, Copy, Debug)]
struct Refused;

impl From<Refused> for Problem {
    fn from(_: Refused) -> Self {
        Error::CredentialsRefused(None).into()
    }
}

/// A device's credentials.
struct Credentials {
    username: Username,
    password: Password,
}

/// The credentials that a gateway sent. A name or password that no access can have is refused like a wrong one.
fn credentials_of(username: Option<&str>, password: Option<&str>) -> Result<Credentials, Refused> {
    let username = username_of(username)?;
    let password = Password::new(password.unwrap_or_default().to_owned()).map_err(|_| Refused)?;
    Ok(Credentials { username, password })
}

fn username_of(username: Option<&str>) -> Result<Username, Refused> {
    username.unwrap_or_default().parse().map_err(|_| Refused)
}

/// The JSON object that a gateway sent; one that has a name twice is ambiguous.
fn json_object(call: &Call) -> Result<Value, Refused> {
    match Json::parse(&call.body) {
        Ok(json @ Json::Object(_)) => json.into_unique().ok_or(Refused),
        _ => Err(Refused),
    }
}
