//! `/{tenantName}/verify`: checks a device's credentials.

use gatehouse_core::Username;
use gatehouse_core::credential::Password;
use gatehouse_core::rights::Scope;
use http::StatusCode;

use crate::app::Error;
use crate::fields::access::{self, verified_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::Reader;

pub(in crate::http) const CHECK: Operation = Operation {
    method: "POST",
    id: "verifyCredentials",
    summary: "Checks a device's credentials; the first success of a prepaid access activates it",
    need: Need::Scope(Scope::AccessVerify),
    body: Some(BodyKind {
        schema: "Credentials",
        example: || access::credentials().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "The device may connect",
        schema: Some("Verified"),
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
    Ok(Reply::json(StatusCode::OK, &verified_body(&access)))
}

/// Logs a refused check, without the credentials.
fn log_refusal(call: &Call, error: &Error) {
    let (reason, access) = match error {
        Error::CredentialsRefused(access) => ("refused", *access),
        Error::TooManyGuesses(_, access) => ("too many failed checks", *access),
        _ => return,
    };
    tracing::info!(
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
