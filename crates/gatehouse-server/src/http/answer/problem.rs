//! The body of every error, and the only table from errors to statuses.

use std::time::Duration;

use gatehouse_connectors::{AccountFailure, Failure, FailureKind};
use gatehouse_core::{BatchFailure, BatchFailureKind};
use gatehouse_store::SNAPSHOT_SECONDS_MAX;
use http::{HeaderName, HeaderValue, StatusCode, header};

use super::error_chain::chain;
use super::media::PROBLEM_JSON;
use super::reply::Reply;
use crate::app::Error;
use crate::app::error::seconds;
use crate::auth::AuthError;
use crate::fields::Body;
use crate::fields::batch::ACCESS_FILTER;
use crate::fields::oauth::{self, OAuthError};
use crate::fields::party::problem_party;
use crate::fields::problem::{self, external_body, param_body};
use crate::reader::{Fault, joined};

const RETRY_AFTER_SECONDS: &str = "1";

/// An error response.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// The `type`: a short phrase, by default that of the status.
    kind: &'static str,
    title: &'static str,
    pub(in crate::http) detail: Box<str>,
    pub(in crate::http) invalid: Box<[Fault]>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The error code at the token endpoint, if it isn't the status's default.
    oauth: Option<OAuthError>,
    /// The account that failed, and its platform's response.
    account_failure: Option<Box<AccountFailure>>,
    /// The internal cause: for the log, never for a client.
    pub(crate) cause: Option<Box<str>>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind: status.canonical_reason().unwrap_or("Error"),
            title,
            detail: detail.into().into_boxed_str(),
            invalid: Box::default(),
            headers: Vec::new(),
            oauth: None,
            account_failure: None,
            cause: None,
        }
    }

    /// 400: a body that isn't JSON.
    pub(crate) fn malformed(reason: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Malformed body", reason)
    }

    /// 400: faults of fields or parameters.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let problem = Self::new(StatusCode::BAD_REQUEST, "Invalid request", joined(&faults));
        Self { invalid: faults.into(), ..problem }
    }

    /// 400: faults of a batch's filter.
    fn invalid_filter(reasons: Vec<String>) -> Self {
        let fault = |reason| Fault { name: ACCESS_FILTER.name.to_owned(), reason };
        Self::invalid(reasons.into_iter().map(fault).collect())
    }

    /// 400: a page with fewer items than there are accounts.
    pub(crate) fn small_page(page_size: u64, n_accounts: usize) -> Self {
        let detail = format!(
            "not all items could be retrieved because the requested pageSize ({page_size}) is less than the \
             number of configured accounts ({n_accounts})"
        );
        Self::new(StatusCode::BAD_REQUEST, "Small page size", detail)
    }

    /// 400: too many items in one search.
    pub(crate) fn too_many_items(n_items: usize, items_max: usize) -> Self {
        let detail = format!(
            "the request looks for {n_items} different items, and may look for at most {items_max}; \
             ask for {items_max} items or fewer"
        );
        Self::new(StatusCode::BAD_REQUEST, "Too many items", detail)
    }

    /// 404: a product that no account has.
    pub(crate) fn no_product(detail: String) -> Self {
        let problem = Self::new(StatusCode::NOT_FOUND, "Product not found", detail);
        Self { kind: "Product not found", ..problem }
    }

    /// 404: an unknown path.
    pub(crate) fn unknown_path() -> Self {
        let detail = "nothing is at this path; the document /-/openapi.json lists all paths";
        Self::new(StatusCode::NOT_FOUND, "Unknown path", detail)
    }

    /// 404: a path that the operators' listener doesn't serve.
    pub(crate) fn not_for_operators() -> Self {
        let detail = "nothing is at this path; this address is for operators and serves /-/live, \
                      /-/ready and /-/metrics";
        Self::new(StatusCode::NOT_FOUND, "Unknown path", detail)
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Whether a missing tenant or object takes precedence over this problem.
    pub(crate) fn yields_to_missing(&self) -> bool {
        matches!(self.status.as_u16(), 400 | 404 | 405 | 406 | 408 | 412 | 413 | 415)
    }

    pub(crate) fn with_oauth_error(self, error: OAuthError) -> Self {
        Self { oauth: Some(error), ..self }
    }

    /// The response in a path's error format.
    pub(crate) fn into_reply_of(self, style: ErrorStyle, correlation_id: &str) -> Reply {
        match style {
            ErrorStyle::Problem => self.into_reply(correlation_id),
            ErrorStyle::OAuth => self.into_oauth_reply(),
            ErrorStyle::Dialect(deny) => deny(&self),
        }
    }

    /// Whether a later try may succeed: a limit is reached, or the server can't find out.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status == StatusCode::TOO_MANY_REQUESTS || self.status.is_server_error()
    }

    /// A reply that says when to try again, if the problem does.
    pub(crate) fn with_retry_after(&self, reply: Reply) -> Reply {
        let retry_after = self.headers.iter().find(|(name, _)| name == header::RETRY_AFTER);
        match retry_after.and_then(|(_, value)| value.to_str().ok()) {
            Some(value) => reply.with(header::RETRY_AFTER, value),
            None => reply,
        }
    }

    fn into_oauth_reply(self) -> Reply {
        let error = self.oauth.unwrap_or_else(|| OAuthError::of(self.status)).as_str();
        // RFC 6749 has no 415, and allows no quotation marks, backslashes or non-ASCII characters.
        let status = match self.status {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => StatusCode::BAD_REQUEST,
            status => status,
        };
        let is_allowed = |c: char| (' '..='~').contains(&c) && c != '"' && c != '\\';
        let description: String =
            self.detail.chars().map(|c| if is_allowed(c) { c } else { '\'' }).collect();
        let body =
            Body::default().put(oauth::ERROR, error).put(oauth::ERROR_DESCRIPTION, description);
        let mut reply = Reply::json(status, &body).with(header::CACHE_CONTROL, "no-store");
        reply.headers.extend(self.headers);
        reply
    }

    pub(crate) fn into_reply(self, correlation_id: &str) -> Reply {
        let body = self.body(correlation_id);
        let mut reply = Reply::json(self.status, &body).with(header::CONTENT_TYPE, PROBLEM_JSON);
        reply.headers.extend(self.headers);
        reply
    }

    /// The problem as JSON, alone or in a list.
    pub(crate) fn body(&self, correlation_id: &str) -> Body {
        let failed = self.account_failure.as_deref();
        let response = failed.and_then(|it| it.failure.response.as_deref());
        let params: Vec<Body> = self.invalid.iter().map(param_body).collect();
        Body::default()
            .put(problem::KIND, self.kind)
            .put(problem::STATUS, self.status.as_u16())
            .put(problem::TITLE, self.title)
            .put(problem::DETAIL, &self.detail)
            .put_some(problem::INVALID_PARAMS, (!params.is_empty()).then_some(params))
            .put(problem::EXTERNAL_ERRORS, response.map(external_body).as_slice())
            .put(problem::RELATED_PARTY, failed.map(|it| problem_party(&it.account)).as_slice())
            .put(problem::CORRELATION_ID, correlation_id)
            .put(problem::TYPE, "problem")
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum ErrorStyle {
    #[default]
    Problem,
    /// RFC 6749's `error` and `error_description`.
    OAuth,
    /// The refusal of a gateway's dialect.
    Dialect(fn(&Problem) -> Reply),
}

/// The table from errors to statuses. Without a catch-all arm, a new error doesn't compile until it has a status here.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // Texts about the request are for the client, internal causes are not.
        let detail = error.to_string();
        match error {
            Error::NoTenant(_) => Self::new(StatusCode::NOT_FOUND, "Unknown tenant", detail),
            Error::NotFound(..) => Self::new(StatusCode::NOT_FOUND, "Not found", detail),
            Error::UnknownContract(id) => BatchFailure::unknown_contract(&id).into(),
            Error::UsernameTaken(username) => BatchFailure::username_taken(&username).into(),
            Error::UsernameUnreadable(_) | Error::OlderServer(_) => {
                Self::unavailable("Upgrade under way", detail)
            }
            Error::StateConflict(refusal) => BatchFailure::refused(&refusal).into(),
            Error::EventsDeleted { .. } => Self::new(StatusCode::GONE, "Events deleted", detail),
            Error::EventsAhead { .. } => Self::new(StatusCode::CONFLICT, "No such event", detail),
            Error::NoJournal => Self::unavailable("Upgrade under way", detail),
            Error::TaskFinished(_) => Self::new(StatusCode::CONFLICT, "Task over", detail),
            Error::TaskNotReady { .. } => Self::new(StatusCode::CONFLICT, "Task not ready", detail),
            Error::InvalidAccount(faults) | Error::InvalidHub(faults) => Self::invalid(faults),
            Error::TooManyHooks(_) => Self::new(StatusCode::CONFLICT, "Too many hooks", detail),
            Error::TooManyHubs(_) => Self::new(StatusCode::CONFLICT, "Too many hubs", detail),
            Error::TooManyMatches { .. } => Self::invalid_filter(vec![detail]),
            Error::InvalidFilter(reasons) => Self::invalid_filter(reasons),
            Error::TooManyAccounts => Self::new(StatusCode::CONFLICT, "Too many accounts", detail),
            Error::InUse { .. } => Self::new(StatusCode::CONFLICT, "In use", detail),
            Error::KeyReused(_) => {
                Self::new(StatusCode::CONFLICT, "Idempotency key reused", detail)
            }
            Error::InProgress(_) => Self::new(StatusCode::CONFLICT, "Request under way", detail)
                .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS),
            Error::AccountChanging(_) => {
                Self::new(StatusCode::CONFLICT, "Request under way", detail)
                    .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS)
            }
            Error::Stale(_) => Self::new(StatusCode::PRECONDITION_FAILED, "Changed", detail),
            Error::TooManyGuesses(wait, _) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "Too many failed checks", detail)
                    .with(header::RETRY_AFTER, &seconds(wait).to_string())
            }
            Error::CredentialsRefused(_) => {
                let detail = "the username or the password is wrong, or the access may not connect";
                let problem = Self::new(StatusCode::UNAUTHORIZED, "Credentials refused", detail);
                Self { kind: "Credentials refused", ..problem }
                    .with(header::WWW_AUTHENTICATE, "Basic realm=\"device\"")
                    .with(header::CACHE_CONTROL, "no-store")
            }
            Error::Busy(_) => Self::unavailable("Busy", detail),
            Error::Storage(error) => {
                Self { cause: Some(chain(&error)), ..Self::from_storage(&error) }
            }
            Error::Vault(error) => Self { cause: Some(chain(&error)), ..Self::internal() },
        }
    }
}

/// An item of a Task fails with the same status and text as a request for that item alone.
impl From<BatchFailure> for Problem {
    fn from(failure: BatchFailure) -> Self {
        let (status, title) = match failure.kind {
            BatchFailureKind::UnknownContract => {
                (StatusCode::UNPROCESSABLE_ENTITY, "Unknown contract")
            }
            BatchFailureKind::NotFound => (StatusCode::NOT_FOUND, "Not found"),
            BatchFailureKind::UsernameTaken => (StatusCode::CONFLICT, "Username taken"),
            BatchFailureKind::OutOfBounds => (StatusCode::BAD_REQUEST, "Invalid request"),
            BatchFailureKind::AccessTerminated => (StatusCode::CONFLICT, "Access terminated"),
            BatchFailureKind::ContractSuspended => (StatusCode::CONFLICT, "Contract suspended"),
            BatchFailureKind::ContractEnded => (StatusCode::CONFLICT, "Contract ended"),
            BatchFailureKind::ContractNotStarted => (StatusCode::CONFLICT, "Contract not started"),
            BatchFailureKind::QuotaReached => (StatusCode::CONFLICT, "Quota reached"),
            BatchFailureKind::NotPayPerUse => (StatusCode::CONFLICT, "Not pay per use"),
            BatchFailureKind::TooManyLabels => (StatusCode::CONFLICT, "Too many labels"),
        };
        let fields = failure.fields.into_iter();
        let invalid = fields.map(|it| Fault { name: it.name, reason: it.reason }).collect();
        Self { invalid, ..Self::new(status, title, failure.detail) }
    }
}

/// The failure of one account. It accompanies the results of the other accounts, or is the response if there are none.
impl From<AccountFailure> for Problem {
    fn from(account_failure: AccountFailure) -> Self {
        let AccountFailure { account, failure } = &account_failure;
        let (status, kind, title) = match failure.kind {
            FailureKind::Error => (StatusCode::BAD_GATEWAY, None, "Platform error"),
            FailureKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, None, "Platform too slow"),
            FailureKind::Open => (StatusCode::SERVICE_UNAVAILABLE, None, "Platform left alone"),
            FailureKind::Throttled => (StatusCode::TOO_MANY_REQUESTS, None, "Platform throttled"),
            FailureKind::PageOutOfReach => {
                (StatusCode::BAD_REQUEST, Some("Page out of reach"), "Page out of reach")
            }
            FailureKind::LookupNotSupported => {
                (StatusCode::NOT_IMPLEMENTED, Some("Lookup not supported"), "Lookup not supported")
            }
        };
        let (name, platform) = (&account.name, &account.platform);
        let detail = format!("account `{name}` at {platform}: {}", failure.detail);
        let mut problem = Self::new(status, title, detail);
        problem.kind = kind.unwrap_or(problem.kind);
        if let Some(seconds) = retry_after_seconds(failure) {
            problem = problem.with(header::RETRY_AFTER, &seconds);
        }
        Self { account_failure: Some(Box::new(account_failure)), ..problem }
    }
}

/// Seconds until the account may be called again, if known or if the status needs `Retry-After`.
fn retry_after_seconds(failure: &Failure) -> Option<String> {
    let whole = |wait: Duration| wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let known = failure.retry_after.map(|wait| whole(wait).max(1).to_string());
    match failure.kind {
        FailureKind::Open | FailureKind::Throttled => {
            known.or_else(|| Some(RETRY_AFTER_SECONDS.to_owned()))
        }
        FailureKind::Error
        | FailureKind::Timeout
        | FailureKind::PageOutOfReach
        | FailureKind::LookupNotSupported => known,
    }
}

impl Problem {
    fn from_storage(cause: &gatehouse_store::StoreError) -> Self {
        use gatehouse_store::StoreError::{
            Address, Busy, Disk, Locked, NewerSchema, NotReady, OutcomeUnknown, Refused, Taken,
            TooSlow, Unavailable, Unexpected, Unfinished,
        };
        match cause {
            NotReady(failure) => Self::unavailable("Store unavailable", failure.to_string()),
            Unavailable(_) | Locked(_) | Disk(_) => Self::unavailable(
                "Store unavailable",
                "the store can't be reached, try again later",
            ),
            OutcomeUnknown(_) => Self::unavailable(
                "Outcome unknown",
                "the store was lost during the write, which may have happened or not; check before you send the \
                 request again, or send it with an Idempotency-Key",
            ),
            TooSlow => Self::unavailable(
                "Too slow",
                format!(
                    "the query looks at accesses one by one, and took longer than {SNAPSHOT_SECONDS_MAX} s; \
                     narrow a filter by contractId, createdBy or createdAt"
                ),
            ),
            Busy => Self::unavailable(
                "Busy",
                "too many queries that look at accesses one by one are waiting, try again later",
            ),
            Unexpected(_)
            | Taken(_)
            | NewerSchema { .. }
            | Address(_)
            | Unfinished
            | Refused(_) => Self::internal(),
        }
    }

    /// 503: a client may retry.
    pub(crate) fn unavailable(title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, title, detail)
            .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS)
    }

    /// 500: a fault of the server.
    pub(crate) fn internal() -> Self {
        let detail = "the server failed; its log has the cause under the correlation ID";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", detail)
    }

    /// 401: no valid token.
    pub(crate) fn unauthorized(error: AuthError) -> Self {
        let challenge = match error {
            AuthError::IssuerDown => {
                return Self::unavailable("Issuer unavailable", error.to_string());
            }
            AuthError::NoToken => "Bearer".to_owned(),
            _ => format!("Bearer error=\"invalid_token\", error_description=\"{error}\""),
        };
        Self::new(StatusCode::UNAUTHORIZED, "Not authenticated", error.to_string())
            .with(header::WWW_AUTHENTICATE, &challenge)
    }

    /// 403: a caller without the needed rights.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Not allowed", detail)
    }
}

impl From<gatehouse_store::StoreError> for Problem {
    fn from(error: gatehouse_store::StoreError) -> Self {
        Error::Storage(error).into()
    }
}
