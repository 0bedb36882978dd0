//! A recorded call.

use serde_json::{Value, json};

/// Microseconds since the start of the history.
pub type Moment = u64;

/// A client's request to a replica, with the response.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the replica.
    pub replica: usize,
    /// Time of the request.
    pub begin: Moment,
    /// Time of the response.
    pub end: Moment,
    /// Number of the tenant.
    pub tenant: usize,
    /// The request.
    pub request: Request,
    /// The response.
    pub answer: Answer,
}

/// Number of request kinds.
pub const N_KINDS: usize = 13;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Create an access, which only its device name identifies until the response arrives.
    Create {
        /// The device's name.
        device: String,
        /// The idempotency key.
        key: Option<String>,
    },
    /// Change an access.
    Change {
        /// The access's identifier.
        access: String,
        /// The new values.
        wanted: Wanted,
    },
    /// Check a device's password.
    Check {
        /// The access's identifier.
        access: String,
        /// The access's username.
        username: String,
        /// The password.
        password: String,
    },
    /// Read an access.
    Read {
        /// The access's identifier.
        access: String,
    },
    /// Count a tenant's accesses.
    Count,
    /// Start a batch.
    Batch {
        /// The client's name for the batch.
        name: String,
        /// The idempotency key.
        key: Option<String>,
        /// The batch's items.
        items: Items,
    },
    /// Read a Task.
    Look {
        /// The Task's identifier.
        task: String,
    },
    /// Stop a Task.
    Stop {
        /// The Task's identifier.
        task: String,
    },
}

/// New values of an access; `None` leaves a value unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Active (`true`) or suspended.
    pub lets_in: Option<bool>,
    /// The password.
    pub password: Option<String>,
}

/// Items of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    /// A number of new accesses.
    Number(u64),
    /// New accesses by device; the one at `failing` has an invalid password.
    Listed {
        /// The devices' names.
        devices: Vec<String>,
        /// Position of the failing item.
        failing: Option<usize>,
    },
    /// Changes of accesses; the one at `failing` doesn't exist.
    Update {
        /// The accesses' identifiers.
        accesses: Vec<String>,
        /// The new values.
        wanted: Wanted,
        /// Position of the failing item.
        failing: Option<usize>,
    },
    /// Termination of accesses at the end of the month.
    Terminate {
        /// The accesses' identifiers.
        accesses: Vec<String>,
    },
}

/// A response, as the client sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Success, with the body.
    Done(Value),
    /// The request was not processed, and never will be.
    Refused {
        /// The response's status.
        status: u16,
        /// The problem's title.
        title: String,
    },
    /// 503 with `Retry-After`. The outcome is unknown.
    Unavailable {
        /// The seconds of `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The connection broke. The outcome is unknown.
    Lost,
    /// No response arrived before the deadline.
    Late,
    /// A response that no client should ever get.
    Wrong(String),
}

impl Answer {
    /// The body, if the request succeeded.
    pub fn done(&self) -> Option<&Value> {
        if let Self::Done(body) = self { Some(body) } else { None }
    }

    /// Whether the request was certainly not processed.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl Request {
    /// The request's kind, in a word.
    pub fn kind(&self) -> &'static str {
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

    /// The method, and the path below the tenant.
    pub fn line(&self) -> (&'static str, String) {
        match self {
            Self::Create { .. } => ("POST", "access".into()),
            Self::Change { access, .. } => ("PATCH", format!("access/{access}")),
            Self::Check { .. } => ("POST", "verify".into()),
            Self::Read { access } => ("GET", format!("access/{access}")),
            Self::Count => ("GET", "access?pageSize=5".into()),
            Self::Batch { items, .. } => ("POST", items.path().into()),
            Self::Look { task } => ("GET", format!("access/batch/{task}")),
            Self::Stop { task } => ("DELETE", format!("access/batch/{task}")),
        }
    }

    /// The body, if any.
    pub fn body(&self) -> Option<Value> {
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

    /// The `Idempotency-Key`, if any.
    pub fn key(&self) -> Option<&str> {
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

    /// Number of items.
    pub fn n(&self) -> usize {
        match self {
            Self::Number(n) => *n as usize,
            Self::Listed { devices, .. } => devices.len(),
            Self::Update { accesses, .. } | Self::Terminate { accesses } => accesses.len(),
        }
    }

    /// Position of the failing item.
    pub fn failing(&self) -> Option<usize> {
        match self {
            Self::Listed { failing, .. } | Self::Update { failing, .. } => *failing,
            Self::Number(_) | Self::Terminate { .. } => None,
        }
    }

    /// Whether the batch creates accesses.
    pub fn makes_accesses(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Listed { .. })
    }
}
