//! HTTP Basic: nginx `auth_request`, Caddy `forward_auth`, Traefik ForwardAuth, Envoy `ext_authz`, NTRIP casters.
//!
//! Such a gateway passes on a request of the device, often with its method, path and headers. Of all that, only
//! `Authorization` is read. nginx takes any status but 2xx, 401 and 403 for an error, and Envoy lets in on exactly 200.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use gatehouse_core::credential::Password;
use gatehouse_core::{Dialect, Username};
use http::{HeaderMap, HeaderName, StatusCode, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::log_refusal;
use crate::app::Error;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{ANY_METHOD, Need, Operation, ResponseSpec};

const X_ACCESS_ID: HeaderName = HeaderName::from_static("x-access-id");
const X_ACCESS_NAME: HeaderName = HeaderName::from_static("x-access-name");
const X_CONTRACT_ID: HeaderName = HeaderName::from_static("x-contract-id");

/// Characters of a header's value that are escaped: those that no header may have, those that are not ASCII, and `%`.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

pub(in crate::http) const CHECK: Operation = Operation {
    method: ANY_METHOD,
    id: "verifyBasic",
    summary: "Checks a device's credentials in `Authorization: Basic`, for gateways that ask with the device's own request",
    need: Need::Check(Dialect::Basic),
    errors: ErrorStyle::Dialect(deny),
    responses: &[
        ResponseSpec {
            description: "The device may connect",
            headers: &["Cache-Control", "X-Access-Id", "X-Access-Name", "X-Contract-Id"],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 401,
            description: "The device may not connect, or the hook key is wrong",
            headers: &["Cache-Control", "WWW-Authenticate"],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 503,
            description: "The credentials can't be checked now",
            headers: &["Cache-Control", "Retry-After?"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn check(call: Call) -> Result<Reply, Problem> {
    let credentials = credentials(call.headers());
    let (username, password) = credentials.ok_or(Error::CredentialsRefused(None))?;
    let checked = call.app().verify(call.requester(), &username, &password).await;
    let access = checked.inspect_err(|error| log_refusal(&call, error))?;
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    Ok(Reply::empty(StatusCode::OK)
        .with(X_ACCESS_ID, &access.id.to_string())
        .with(X_ACCESS_NAME, &escaped(access.name()))
        .with(X_CONTRACT_ID, &escaped(access.contract_id.as_str())))
}

/// The device's credentials, from the one header that has them.
fn credentials(headers: &HeaderMap) -> Option<(Username, Password)> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let value = given.next().filter(|_| given.next().is_none())?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64.decode(encoded.trim()).ok()?).ok()?;
    let (username, password) = decoded.split_once(':')?;
    Some((username.parse().ok()?, Password::new(password.to_owned()).ok()?))
}

/// A problem, as gateways read it: the device isn't let in, or nothing could be found out.
fn deny(problem: &Problem) -> Reply {
    if problem.is_temporary() {
        return problem.with_retry_after(Reply::empty(StatusCode::SERVICE_UNAVAILABLE));
    }
    Reply::empty(StatusCode::UNAUTHORIZED)
        .with(header::WWW_AUTHENTICATE, "Basic realm=\"device\", charset=\"UTF-8\"")
}
