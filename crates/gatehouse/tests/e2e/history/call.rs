//! A call, as it is recorded.

use reqwest::Method;
use serde_json::{Value, json};

/// Microseconds since the history began.
pub(crate) type Moment = u64;

/// What one client asked of one replica, and what it heard.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) replica: usize,
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
    pub(crate) tenant: usize,
    pub(crate) request: Request,
    pub(crate) answer: Answer,
}

/// Kinds of requests that there are.
pub(crate) const N_KINDS: usize = 13;

/// What can be asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// An access, which nobody but its device's name identifies until there is an answer.
    Create { device: String, key: Option<String> },
    /// A change of an access.
    Change { access: String, wanted: Wanted },
    /// Whether a device with this password may come in.
    Check { access: String, username: String, password: String },
    /// An access as it is.
    Read { access: String },
    /// How many accesses there are.
    Count,
    /// A batch, by a name of our own.
    Batch { name: String, key: Option<String>, items: Items },
    /// What has become of a Task.
    Look { task: String },
    /// The end of a Task.
    Stop { task: String },
}

/// What an access is to be. Nothing stays as it is where this says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) lets_in: Option<bool>,
    pub(crate) password: Option<String>,
}

/// What a batch is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Items {
    /// So many accesses.
    Number(u64),
    /// Accesses by device; the one at this place has a password that none can have.
    Listed { devices: Vec<String>, failing: Option<usize> },
    /// A change of these, of which the one at this place isn't there.
    Update { accesses: Vec<String>, wanted: Wanted, failing: Option<usize> },
    /// The end of these with the month.
    Terminate { accesses: Vec<String> },
}

/// What was heard.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// It was done; what it said.
    Done(Value),
    /// It was not done, and will not be.
    Refused { status: u16, title: String },
    /// 503, and after how many seconds to come again. Whether it was done is not known.
    Unavailable { retry_after: Option<u64> },
    /// The connection broke. Whether it was done is not known.
    Lost,
    /// There was no answer within the deadline.
    Late,
    /// What no client should ever get.
    Wrong(String),
}

impl Answer {
    pub(crate) fn done(&self) -> Option<&Value> {
        if let Self::Done(body) = self { Some(body) } else { None }
    }

    /// Whether it is surely not done.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl Request {
    /// Its kind, in a word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Create { key: None, .. } => "creation",
            Self::Create { key: Some(_), .. } => "creation with a key",
            Self::Change { wanted, .. } if wanted.password.is_some() => "rotation",
            Self::Change { .. } => "change of status",
            Self::Check { .. } => "check",
            Self::Read { .. } => "read",
            Self::Count => "count",
            Self::Batch { items: Items::Number(_), .. } => "batch by number",
            Self::Batch { items: Items::Listed { .. }, .. } => "batch by list",
            Self::Batch { items: Items::Update { .. }, .. } => "batch of changes",
            Self::Batch { items: Items::Terminate { .. }, .. } => "batch of ends",
            Self::Look { .. } => "look at a Task",
            Self::Stop { .. } => "stop of a Task",
        }
    }

    /// Its method, and its path below the tenant.
    pub(super) fn line(&self) -> (Method, String) {
        match self {
            Self::Create { .. } => (Method::POST, "access".into()),
            Self::Change { access, .. } => (Method::PATCH, format!("access/{access}")),
            Self::Check { .. } => (Method::POST, "verify".into()),
            Self::Read { access } => (Method::GET, format!("access/{access}")),
            Self::Count => (Method::GET, "access?pageSize=5".into()),
            Self::Batch { items, .. } => (Method::POST, items.path().into()),
            Self::Look { task } => (Method::GET, format!("access/batch/{task}")),
            Self::Stop { task } => (Method::DELETE, format!("access/batch/{task}")),
        }
    }

    pub(super) fn body(&self) -> Option<Value> {
        match self {
            Self::Create { device, .. } => {
                Some(json!({"contractId": "payg", "deviceName": device}))
            }
            Self::Change { wanted, .. } => Some(wanted.body()),
            Self::Check { username, password, .. } => {
                Some(json!({"username": username, "password": password}))
            }
            Self::Batch { items, .. } => Some(items.body()),
            Self::Read { .. } | Self::Count | Self::Look { .. } | Self::Stop { .. } => None,
        }
    }

    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Create { key, .. } | Self::Batch { key, .. } => key.as_deref(),
            _ => None,
        }
    }
}

impl Wanted {
    fn body(&self) -> Value {
        let mut body = json!({});
        if let Some(lets_in) = self.lets_in {
            body["status"] = if lets_in { "ACTIVE" } else { "SUSPENDED" }.into();
        }
        if let Some(password) = &self.password {
            body["password"] = password.as_str().into();
        }
        body
    }
}

impl Items {
    fn path(&self) -> &'static str {
        match self {
            Self::Number(_) | Self::Listed { .. } => "access/batch",
            Self::Update { .. } | Self::Terminate { .. } => "access/batchUpdate",
        }
    }

    fn body(&self) -> Value {
        match self {
            Self::Number(n) => json!({"contractId": "payg", "numberOfAccesses": n}),
            Self::Listed { devices, failing } => {
                let item = |(n, device): (usize, &String)| match *failing == Some(n) {
                    true => json!({"deviceName": device, "password": "x".repeat(73)}),
                    false => json!({"deviceName": device}),
                };
                let accesses: Vec<Value> = devices.iter().enumerate().map(item).collect();
                json!({"contractId": "payg", "accesses": accesses})
            }
            Self::Update { accesses, wanted, .. } => json!({
                "operationType": "update", "operationBody": wanted.body(), "accessesIdList": accesses,
            }),
            Self::Terminate { accesses } => json!({
                "operationType": "terminate", "operationBody": {}, "accessesIdList": accesses,
            }),
        }
    }

    pub(super) fn n(&self) -> usize {
        match self {
            Self::Number(n) => *n as usize,
            Self::Listed { devices, .. } => devices.len(),
            Self::Update { accesses, .. } | Self::Terminate { accesses } => accesses.len(),
        }
    }

    /// The one that can't succeed.
    pub(super) fn failing(&self) -> Option<usize> {
        match self {
            Self::Listed { failing, .. } | Self::Update { failing, .. } => *failing,
            Self::Number(_) | Self::Terminate { .. } => None,
        }
    }

    pub(super) fn makes_accesses(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Listed { .. })
    }
}
