//! The one body of every error, and the one table from errors to statuses.

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
use crate::fields::oauth::{self, OAuthError};
use crate::fields::party::problem_party;
use crate::fields::problem::{self, external_body, param_body};
use crate::reader::{Fault, told};

/// Seconds after which a client may try again what we could not do.
const RETRY_AFTER_SECONDS: &str = "1";

/// An answer when something is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// A short phrase; the status's own where there is nothing better.
    kind: &'static str,
    title: &'static str,
    pub(in crate::http) detail: Box<str>,
    pub(in crate::http) invalid: Box<[Fault]>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// What RFC 6749 calls it, where that matters.
    oauth: Option<OAuthError>,
    /// The account that it is about, and what its platform said.
    trouble: Option<Box<AccountFailure>>,
    /// What went wrong inside: for the log, never for a client.
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
            trouble: None,
            cause: None,
        }
    }

    /// A body that is no JSON.
    pub(crate) fn malformed(reason: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Malformed body", reason)
    }

    /// Fields or parameters that are at fault.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let problem = Self::new(StatusCode::BAD_REQUEST, "Invalid request", told(&faults));
        Self { invalid: faults.into(), ..problem }
    }

    /// A page that is too small to hold something of every account.
    pub(crate) fn small_page(page_size: u64, n_accounts: usize) -> Self {
        let detail = format!(
            "not all items could be retrieved because the requested pageSize ({page_size}) is less than the \
             number of configured accounts ({n_accounts})"
        );
        Self::new(StatusCode::BAD_REQUEST, "Small page size", detail)
    }

    /// More things to look for than can be at once.
    pub(crate) fn too_many_items(n_items: usize, items_max: usize) -> Self {
        let detail = format!(
            "the request looks for {n_items} different items, and may look for at most {items_max}; \
             ask for {items_max} items or fewer"
        );
        Self::new(StatusCode::BAD_REQUEST, "Too many items", detail)
    }

    /// A product that no account has.
    pub(crate) fn no_product(detail: String) -> Self {
        let problem = Self::new(StatusCode::NOT_FOUND, "Product not found", detail);
        Self { kind: "Product not found", ..problem }
    }

    /// A path that leads nowhere.
    pub(crate) fn unknown_path() -> Self {
        let detail = "nothing is at this path; the document /-/openapi.json lists what there is";
        Self::new(StatusCode::NOT_FOUND, "AuthError path", detail)
    }

    /// A path that leads nowhere from where operators come in.
    pub(crate) fn not_for_operators() -> Self {
        let detail = "nothing is at this path; this address is for operators, who find /-/live, \
                      /-/ready and /-/metrics here";
        Self::new(StatusCode::NOT_FOUND, "AuthError path", detail)
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Whether a thing that isn't there is the greater fault, which is told first.
    pub(crate) fn yields_to_missing(&self) -> bool {
        matches!(self.status.as_u16(), 400 | 404 | 405 | 406 | 408 | 412 | 413 | 415)
    }

    /// The same with the name that RFC 6749 gives it.
    pub(crate) fn with_oauth_error(self, error: OAuthError) -> Self {
        Self { oauth: Some(error), ..self }
    }

    /// The answer in the words that a path speaks.
    pub(crate) fn into_reply_of(self, style: ErrorStyle, correlation_id: &str) -> Reply {
        match style {
            ErrorStyle::Problem => self.into_reply(correlation_id),
            ErrorStyle::OAuth => self.into_oauth_reply(),
        }
    }

    fn into_oauth_reply(self) -> Reply {
        let error = self.oauth.unwrap_or_else(|| OAuthError::of(self.status)).as_str();
        // That document knows no 415, and allows no quotation marks, backslashes or accents.
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
        let trouble = self.trouble.as_deref();
        let response = trouble.and_then(|trouble| trouble.failure.said.as_deref());
        let params: Vec<Body> = self.invalid.iter().map(param_body).collect();
        Body::default()
            .put(problem::KIND, self.kind)
            .put(problem::STATUS, self.status.as_u16())
            .put(problem::TITLE, self.title)
            .put(problem::DETAIL, &self.detail)
            .put_some(problem::INVALID_PARAMS, (!params.is_empty()).then_some(params))
            .put(problem::EXTERNAL_ERRORS, response.map(external_body).as_slice())
            .put(problem::RELATED_PARTY, trouble.map(|it| problem_party(&it.account)).as_slice())
            .put(problem::CORRELATION_ID, correlation_id)
            .put(problem::TYPE, "problem")
    }
}

/// In which words a path tells what is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ErrorStyle {
    /// The problem body, as everywhere.
    #[default]
    Problem,
    /// RFC 6749's `error` and `error_description`.
    OAuth,
}

/// The table. It has no catch-all arm: a new error does not compile until someone decides its status.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // A client may read our words about its request, never about our insides.
        let detail = error.to_string();
        match error {
            Error::NoTenant(_) => Self::new(StatusCode::NOT_FOUND, "AuthError tenant", detail),
            Error::NotFound(..) => Self::new(StatusCode::NOT_FOUND, "Not found", detail),
            Error::UnknownContract(id) => BatchFailure::unknown_contract(&id).into(),
            Error::UsernameTaken(username) => BatchFailure::username_taken(&username).into(),
            Error::UsernameUnreadable(_) => Self::unavailable("Upgrade under way", detail),
            Error::StateConflict(refusal) => BatchFailure::refused(&refusal).into(),
            Error::TaskFinished(_) => Self::new(StatusCode::CONFLICT, "Task over", detail),
            Error::TaskNotReady { .. } => Self::new(StatusCode::CONFLICT, "Task not ready", detail),
            Error::InvalidAccount(faults) => Self::invalid(faults),
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
            }
            Error::Busy(_) => Self::unavailable("Busy", detail),
            Error::Storage(error) => {
                Self { cause: Some(chain(&error)), ..Self::from_storage(&error) }
            }
            // No request does what only a worker in a test does.
            Error::Interrupted => Self::internal(),
            Error::Vault(error) => Self { cause: Some(chain(&error)), ..Self::internal() },
        }
    }
}

/// What fails alone inside a Task has the status and the words that it would have alone.
impl From<BatchFailure> for Problem {
    fn from(trouble: BatchFailure) -> Self {
        let (status, title) = match trouble.kind {
            BatchFailureKind::UnknownContract => {
                (StatusCode::UNPROCESSABLE_ENTITY, "AuthError contract")
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
        };
        let fields = trouble.fields.into_iter();
        let invalid = fields.map(|it| Fault { name: it.name, reason: it.reason }).collect();
        Self { invalid, ..Self::new(status, title, trouble.detail) }
    }
}

/// What fails at one account. It stands beside what the others gave, and alone only where nothing else is
/// there to answer with.
impl From<AccountFailure> for Problem {
    fn from(trouble: AccountFailure) -> Self {
        let AccountFailure { account, failure } = &trouble;
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
        Self { trouble: Some(Box::new(trouble)), ..problem }
    }
}

/// After how many seconds an account may be asked again, where that is known or has to be told.
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
            Address, Busy, Disk, Locked, NewerSchema, NotReady, Refused, Taken, TooSlow,
            Unavailable, Unexpected, Unfinished, Unsure,
        };
        match cause {
            NotReady(trouble) => Self::unavailable("Store unavailable", trouble.to_string()),
            Unavailable(_) | Locked(_) | Disk(_) => Self::unavailable(
                "Store unavailable",
                "the store can't be reached, try again later",
            ),
            Unsure(_) => Self::unavailable(
                "Outcome unknown",
                "the store was lost while it was writing this down: it may have happened or not; look before \
                 you send it again, or send it with an Idempotency-Key",
            ),
            TooSlow => Self::unavailable(
                "Too slow",
                format!(
                    "this looks at accesses one by one, and took longer than {SNAPSHOT_SECONDS_MAX} s; \
                     narrow a filter by contractId, createdBy or createdAt"
                ),
            ),
            Busy => Self::unavailable(
                "Busy",
                "too many requests that look at accesses one by one are waiting, try again later",
            ),
            Unexpected(_)
            | Taken(_)
            | NewerSchema { .. }
            | Address(_)
            | Unfinished
            | Refused(_) => Self::internal(),
        }
    }

    /// What can't be done now, and may be tried again.
    pub(crate) fn unavailable(title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, title, detail)
            .with(header::RETRY_AFTER, RETRY_AFTER_SECONDS)
    }

    /// Our own fault.
    pub(crate) fn internal() -> Self {
        let detail = "something went wrong here; the log has it under the correlation ID";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", detail)
    }

    /// Nobody whom we know.
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

    /// Somebody whom we know, but who may not.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Not allowed", detail)
    }
}

impl From<gatehouse_store::StoreError> for Problem {
    fn from(error: gatehouse_store::StoreError) -> Self {
        Error::Storage(error).into()
    }
}
