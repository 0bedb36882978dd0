//! The fields of a token request and its answers (RFC 6749).

use http::StatusCode;
use serde_json::{Value, json};

use super::client::{SCOPE, Scopes};
use super::shape::{constant, text};
use super::{Object, Schema, may, must};
use crate::reader::{Direction, Field, Form, Shape, Word};

pub(crate) const GRANT_TYPE: Field<Shape> =
    Field::new("grant_type", Shape(|| constant("client_credentials")), "")
        .example("client_credentials");

pub(crate) const CLIENT_ID: Field<Shape> =
    Field::new("client_id", Shape(text), "The client's `clientId`")
        .example("demo~abcdefghijklmnop");

pub(crate) const CLIENT_SECRET: Field<Shape> = Field::new(
    "client_secret",
    Shape(|| json!({"type": "string", "format": "password"})),
    "The client's `clientSecret`",
)
.example("shown when the client was made");

pub(crate) const REQUESTED_SCOPE: Field<RequestedScopes> = Field::new(
    SCOPE.name,
    RequestedScopes,
    "A part of what the client may have; left out or empty: all of it",
)
.example("access:read");

pub(crate) const ACCESS_TOKEN: Field<Shape> = Field::new("access_token", Shape(text), "The token")
    .example("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJkZW1vIn0.c2ln");

pub(crate) const TOKEN_TYPE: Field<Shape> =
    Field::new("token_type", Shape(|| constant("Bearer")), "").example("Bearer");

pub(crate) const EXPIRES_IN: Field<Shape> = Field::new(
    "expires_in",
    Shape(|| json!({"type": "integer", "minimum": 1})),
    "Seconds that it is good for",
)
.example_of(|| 900.into());

pub(crate) const ERROR: Field<Word<OAuthError>> = Field::new(
    "error",
    Word { all: &OAuthError::ALL, as_str: OAuthError::as_str },
    "What kind of error it is",
);

pub(crate) const ERROR_DESCRIPTION: Field<Shape> = Field::new(
    "error_description",
    Shape(text),
    "What was wrong, and what would be right, for people",
);

/// The errors of RFC 6749 that gatehouse answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OAuthError {
    InvalidRequest,
    InvalidClient,
    UnsupportedGrantType,
    InvalidScope,
    TemporarilyUnavailable,
    ServerError,
}

impl OAuthError {
    const ALL: [Self; 6] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::UnsupportedGrantType,
        Self::InvalidScope,
        Self::TemporarilyUnavailable,
        Self::ServerError,
    ];

    /// The error for a status, where the cause has nothing to do with tokens.
    pub(crate) fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Self::TemporarilyUnavailable
            }
            status if status.is_server_error() => Self::ServerError,
            _ => Self::InvalidRequest,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
        }
    }
}

/// Scopes of a token request: a parameter without a value is one that is left out (RFC 6749, section 3.2).
#[derive(Clone, Copy)]
pub(crate) struct RequestedScopes;

impl Form for RequestedScopes {
    fn schema(self, direction: Direction) -> Value {
        let mut schema = Scopes.schema(direction);
        schema["pattern"] = format!("^$|^{}$", Scopes::pattern()).into();
        schema["minLength"] = 0.into();
        schema
    }

    fn describe(self, what: &str) -> String {
        Scopes.describe(what)
    }
}

/// The form of a token request.
pub(crate) fn token_request() -> Object {
    Object::request(
        "TokenRequest",
        "RFC 6749, section 4.4.2. The client proves itself here or by HTTP Basic, not both.",
        [
            must(GRANT_TYPE),
            may(CLIENT_ID).in_example(),
            may(CLIENT_SECRET).in_example(),
            may(REQUESTED_SCOPE).in_example(),
        ],
    )
    .open()
}

/// The schemas of tokens.
pub(crate) fn schemas() -> Vec<Schema> {
    let scope = SCOPE.described("What it allows");
    vec![
        token_request().into(),
        Object::answer(
            "Token",
            "A token for a client (RFC 6749, section 5.1)",
            [must(ACCESS_TOKEN), must(TOKEN_TYPE), must(EXPIRES_IN), must(scope)],
        )
        .into(),
        Object::answer(
            "OAuthError",
            "Why there is no token (RFC 6749, section 5.2)",
            [must(ERROR), must(ERROR_DESCRIPTION)],
        )
        .into(),
    ]
}
