//! Error codes of the token endpoint (RFC 6749).

use http::StatusCode;

/// An error code of RFC 6749.
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
    pub(crate) const ALL: [Self; 6] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::UnsupportedGrantType,
        Self::InvalidScope,
        Self::TemporarilyUnavailable,
        Self::ServerError,
    ];

    /// The code of a problem that has none.
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
