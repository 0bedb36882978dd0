//! `/-/oauth2/token`: tokens for clients, by the client credentials grant of RFC 6749.
//!
//! Its errors are those of the RFC, not problems: OAuth libraries read `error`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use gatehouse_core::event::audit::RefusalReason;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::rights::{Scope, parse_scopes, scopes_to_words};
use gatehouse_core::{Client, ClientId};
use http::{HeaderMap, StatusCode, header};
use percent_encoding::percent_decode_str;
use std::collections::BTreeSet;

use crate::app::Error;
use crate::app::audit_counts::Refusal;
use crate::app::client::WrongClient;
use crate::auth::Grant;
use crate::fields::Body;
use crate::fields::client;
use crate::fields::oauth::{self, OAuthError};
use crate::http::answer::media::FORM;
use crate::http::answer::problem::{ErrorStyle, Problem};
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};

pub(in crate::http) const TOKEN: Operation = Operation {
    method: "POST",
    id: "requestToken",
    summary: "Issues a short-lived token to a client, by the client credentials grant of RFC 6749",
    need: Need::Nothing,
    errors: ErrorStyle::OAuth,
    body: Some(BodyKind {
        media_types: &[FORM],
        schema: "TokenRequest",
        example: || oauth::token_request().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        status: 200,
        description: "A token",
        schema: Some("Token"),
        headers: &["Cache-Control", "Pragma"],
        ..ResponseSpec::BASE
    }],
    problems: &[401, 429, 503],
    run: |call| Box::pin(issue_token(call)),
    ..Operation::BASE
};

async fn issue_token(call: Call) -> Result<Reply, Problem> {
    let form = Form::read(&call.body)?;
    match form.value(oauth::GRANT_TYPE.name)? {
        Some("client_credentials") => {}
        Some(_) => {
            let detail = "grant_type must be client_credentials";
            return Err(refused(OAuthError::UnsupportedGrantType, detail));
        }
        None => return Err(refused(OAuthError::InvalidRequest, "grant_type is missing")),
    }
    let given = credentials(call.headers(), &form);
    let (id, secret) = given.inspect_err(|refused| {
        if refused.status == StatusCode::UNAUTHORIZED {
            count_refusal(&call, "", RefusalReason::Client, false);
        }
    })?;
    let client = call.app().authenticate_client(&call.disconnection, &id, &secret).await;
    let client = client.inspect_err(|error| {
        if matches!(error, Error::TooManyGuesses(..)) {
            log_refusal(&call, &id, "too many failed checks");
            // Only failures of an existing client are counted.
            count_refusal(&call, &id, RefusalReason::Client, true);
        }
    })?;
    let client = client.map_err(|WrongClient { exists }| {
        log_refusal(&call, &id, "refused");
        count_refusal(&call, &id, RefusalReason::Client, exists);
        unknown_client()
    })?;
    let scopes = granted(&client, form.value(oauth::REQUESTED_SCOPE.name)?);
    let scopes = scopes.inspect_err(|_| count_refusal(&call, &id, RefusalReason::Scope, true))?;
    let lifetime_seconds = call.server.token_lifetime_seconds;
    let grant = Grant {
        subject: client.id.to_string(),
        tenants: vec![client.id.tenant().to_string()],
        lifetime_seconds,
        scopes,
    };
    let cause = Cause::Request(grant.subject.clone());
    let token = call.issue(&grant, &Origin { cause, ..call.origin.clone() });
    let token = Body::default()
        .put(oauth::ACCESS_TOKEN, token)
        .put(oauth::TOKEN_TYPE, "Bearer")
        .put(oauth::EXPIRES_IN, lifetime_seconds)
        .put(client::SCOPE, scopes_to_words(&grant.scopes));
    Ok(Reply::json(StatusCode::OK, &token)
        .with(header::CACHE_CONTROL, "no-store")
        .with(header::PRAGMA, "no-cache"))
}

/// Counts a refused client for the audit of its tenant.
fn count_refusal(call: &Call, id: &str, reason: RefusalReason, exists: bool) {
    let client: Option<ClientId> = id.parse().ok();
    let refusal = Refusal {
        tenant: client.map(|it| it.tenant().clone()),
        reason,
        client: exists.then_some(id),
        subject: "",
        correlation_id: &call.origin.correlation_id,
        peer: call.origin.peer.clone(),
    };
    call.app().audit_counts.count_refusal(refusal, call.app().now());
}

/// Logs a refused client: with its identifier if that is a valid one, never with the secret.
fn log_refusal(call: &Call, id: &str, reason: &str) {
    let client: Option<ClientId> = id.parse().ok();
    tracing::info!(
        tenant = client.as_ref().map(|it| tracing::field::display(it.tenant())),
        client = client.as_ref().map(tracing::field::display),
        peer = %call.connection.peer,
        correlation_id = call.origin.correlation_id,
        reason,
        "a client was refused"
    );
}

/// The requested scopes, which must be among the client's; by default all of the client's.
fn granted(client: &Client, requested: Option<&str>) -> Result<BTreeSet<Scope>, Problem> {
    let Some(requested) = requested.filter(|requested| !requested.trim().is_empty()) else {
        return Ok(client.scopes.clone());
    };
    let scopes = parse_scopes(requested)
        .map_err(|bad| refused(OAuthError::InvalidScope, &format!("scope {bad}")))?;
    if scopes.is_subset(&client.scopes) {
        return Ok(scopes);
    }
    let allowed = scopes_to_words(&client.scopes);
    Err(refused(
        OAuthError::InvalidScope,
        &format!("scope may hold only the scopes of this client: {allowed}"),
    ))
}

/// The client's identifier and secret, from HTTP Basic or the form, but not both.
pub(in crate::http) fn credentials(
    headers: &HeaderMap,
    form: &Form,
) -> Result<(String, String), Problem> {
    let (id, secret) = (form.value(oauth::CLIENT_ID.name)?, form.value(oauth::CLIENT_SECRET.name)?);
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(basic) = given.next() else {
        return match (id, secret) {
            (Some(id), Some(secret)) => Ok((id.to_owned(), secret.to_owned())),
            _ => Err(unknown_client()),
        };
    };
    if secret.is_some() || given.next().is_some() {
        let detail = "send the client's credentials either by HTTP Basic or in the form";
        return Err(refused(OAuthError::InvalidRequest, detail));
    }
    let (name, secret) = basic.to_str().ok().and_then(read_basic).ok_or_else(unknown_client)?;
    if id.is_some_and(|id| id != name) {
        let detail = "client_id is not the one that HTTP Basic names";
        return Err(refused(OAuthError::InvalidRequest, detail));
    }
    Ok((name, secret))
}

/// Identifier and secret from HTTP Basic; both are form-encoded (RFC 6749, section 2.3.1).
pub(in crate::http) fn read_basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = decoded.split_once(':')?;
    let plain = |text: &str| {
        let spaced = text.replace('+', " ");
        percent_decode_str(&spaced).decode_utf8().ok().map(|it| it.into_owned())
    };
    Some((plain(name)?, plain(secret)?))
}

pub(in crate::http) struct Form(Vec<(String, String)>);

impl Form {
    pub(in crate::http) fn read(body: &[u8]) -> Result<Self, Problem> {
        if std::str::from_utf8(body).is_err() {
            return Err(refused(OAuthError::InvalidRequest, "the form must be UTF-8"));
        }
        Ok(Self(form_urlencoded::parse(body).into_owned().collect()))
    }

    /// A field, which may occur once. An empty one counts as missing.
    fn value(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values =
            self.0.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str());
        let value = values.next();
        if values.next().is_some() {
            return Err(refused(
                OAuthError::InvalidRequest,
                &format!("{name} may be given only once"),
            ));
        }
        Ok(value.filter(|value| !value.is_empty()))
    }
}

fn refused(error: OAuthError, detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "Token refused", detail).with_oauth_error(error)
}

/// One response for an unknown client and a wrong secret.
fn unknown_client() -> Problem {
    let detail = "client_id and client_secret are needed, by HTTP Basic or in the form, and must be \
                  those of a client that exists";
    Problem::new(StatusCode::UNAUTHORIZED, "Token refused", detail)
        .with_oauth_error(OAuthError::InvalidClient)
        .with(header::WWW_AUTHENTICATE, "Basic realm=\"gatehouse\"")
}
