//! `/{tenantName}/verify`: whether a device's credentials let it in.

use gatehouse_core::Username;
use gatehouse_core::credential::Password;
use gatehouse_core::rights::Scope;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;

use crate::app::Error;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, BodyKind, Need, Operation};
use crate::reader::{Reader, parsed, password};

pub(in crate::http) const CHECK: Operation = Operation {
    method: "POST",
    id: "verifyCredentials",
    summary: "Checks a device's credentials; the first success of a prepaid access activates it",
    need: Need::Scope(Scope::AccessVerify),
    body: Some(BodyKind {
        schema: "Credentials",
        example: || json!({"username": "u-abcdefghijklmnop", "password": "the device's password"}),
        ..BodyKind::BASE
    }),
    answers: &[Answer { what: "The device may connect", schema: Some("Verified"), ..Answer::BASE }],
    // Beside the token, the credentials themselves may be refused.
    problems: &[401, 429],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn check(call: Call) -> Result<Reply, Problem> {
    let credentials = call.object(read_credentials)?;
    let (username, password) = credentials();
    let checked = call.app().verify(call.asker(), &username, &password).await;
    let access = checked.inspect_err(|why| tell_of_refusal(&call, why))?;
    let verified = Verified {
        access_id: access.id.to_string(),
        status: access.status.as_str(),
        name: access.name(),
        contract_id: access.contract_id.as_str(),
        product_offering_id: access.offering_id.as_str(),
        end_date_time: access.end.map(|at| at.to_string()),
    };
    Ok(Reply::json(StatusCode::OK, &verified))
}

/// Has the log tell of a check that was refused: never what was tried.
fn tell_of_refusal(call: &Call, why: &Error) {
    let (reason, access) = match why {
        Error::CredentialsRefused(access) => ("refused", *access),
        Error::TooManyGuesses(_, access) => ("too many failed checks", *access),
        _ => return,
    };
    tracing::info!(
        tenant = %call.tenant(),
        access = access.map(tracing::field::display),
        peer = %call.arrival.peer,
        correlation_id = call.correlation_id,
        reason,
        "a check was refused"
    );
}

pub(in crate::http) fn read_credentials(
    mut body: Reader<'_>,
) -> impl FnOnce() -> (Username, Password) + use<> {
    let username = body.required("username", parsed);
    let password = body.required("password", password);
    body.finish();
    move || (username.value(), password.value())
}

/// What a broker or a gateway needs to know of the device that it lets in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified<'a> {
    access_id: String,
    status: &'static str,
    name: &'a str,
    contract_id: &'a str,
    product_offering_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_date_time: Option<String>,
}
