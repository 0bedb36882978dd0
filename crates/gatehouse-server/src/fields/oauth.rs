//! The fields of a token request and its responses (RFC 6749).

use http::StatusCode;
use serde_json::{Value, json};

use super::client::{SCOPE, Scopes};
use super::shape::{constant, text};
use super::{Object, Schema, may, must};
use crate::reader::{Direction, Field, Form, OneOf, Shape};

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
.example("shown when the client was created");

pub(crate) const REQUESTED_SCOPE: Field<RequestedScopes> = Field::new(
    SCOPE.name,
    RequestedScopes,
    "Some of the client's scopes; left out or empty: all of them",
)
.example("access:read");

pub(crate) const ACCESS_TOKEN: Field<Shape> = Field::new("access_token", Shape(text), "The token")
    .example("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJkZW1vIn0.c2ln");

pub(crate) const TOKEN_TYPE: Field<Shape> =
    Field::new("token_type", Shape(|| constant("Bearer")), "").example("Bearer");

pub(crate) const EXPIRES_IN: Field<Shape> = Field::new(
    "expires_in",
    Shape(|| json!({"type": "integer", "minimum": 1})),
    "Lifetime of the token in seconds",
)
.example_of(|| 900.into());

pub(crate) const ERROR: Field<OneOf<OAuthError>> = Field::new(
    "error",
    OneOf { all: &OAuthError::ALL, as_str: OAuthError::as_str },
    "The kind of error",
);

pub(crate) const ERROR_DESCRIPTION: Field<Shape> = Field::new(
    "error_description",
    Shape(text),
    "A message for people: what is wrong and what would be right",
);

/// The errors of RFC 6749 that gatehouse returns.
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

    /// The error of a status that has nothing to do with tokens.
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

/// Scopes of a token request; an empty parameter counts as left out (RFC 6749, section 3.2).
#[derive(Clone, Copy)]
pub(crate) struct RequestedScopes;

impl Form for RequestedScopes {
    fn schema(self, direction: Direction) -> Value {
        let mut schema = Scopes.schema(direction);
        schema["pattern"] = format!("^$|^{}$", Scopes::pattern()).into();
        schema["minLength"] = 0.into();
        schema
    }

    fn describe(self, description: &str) -> String {
        Scopes.describe(description)
    }
}

/// The form of a token request.
pub(crate) fn token_request() -> Object {
    Object::request(
        "TokenRequest",
        "RFC 6749, section 4.4.2. The client authenticates here or with HTTP Basic, not both.",
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
    let scope = SCOPE.described("The token's scopes");
    vec![
        token_request().into(),
        Object::response(
            "Token",
            "A token for a client (RFC 6749, section 5.1)",
            [must(ACCESS_TOKEN), must(TOKEN_TYPE), must(EXPIRES_IN), must(scope)],
        )
        .into(),
        Object::response(
            "OAuthError",
            "The error of a token request (RFC 6749, section 5.2)",
            [must(ERROR), must(ERROR_DESCRIPTION)],
        )
        .into(),
    ]
}
