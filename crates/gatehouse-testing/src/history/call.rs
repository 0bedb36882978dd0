//! A call, as it is recorded.

use serde_json::{Value, json};

/// Microseconds since the history began.
pub type Moment = u64;

/// What one client asked of one replica, and what it heard.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which replica was asked, by its number.
    pub replica: usize,
    /// When it was asked.
    pub begin: Moment,
    /// When its answer was there.
    pub end: Moment,
    /// For which tenant, by its number.
    pub tenant: usize,
    /// What was asked.
    pub request: Request,
    /// What was heard.
    pub answer: Answer,
}

/// Kinds of requests that there are.
pub const N_KINDS: usize = 13;

/// What can be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// An access, which nobody but its device's name identifies until there is an answer.
    Create {
        /// Its device.
        device: String,
        /// Where it is to be done once.
        key: Option<String>,
    },
    /// A change of an access.
    Change {
        /// Which.
        access: String,
        /// What it is to be.
        wanted: Wanted,
    },
    /// Whether a device with this password may come in.
    Check {
        /// Whose.
        access: String,
        /// Its username.
        username: String,
        /// The password that is tried.
        password: String,
    },
    /// An access as it is.
    Read {
        /// Which.
        access: String,
    },
    /// How many accesses there are.
    Count,
    /// A batch, by a name of our own.
    Batch {
        /// Our name.
        name: String,
        /// Where it is to be done once.
        key: Option<String>,
        /// What it is about.
        items: Items,
    },
    /// What has become of a Task.
    Look {
        /// Which.
        task: String,
    },
    /// The end of a Task.
    Stop {
        /// Which.
        task: String,
    },
}

/// What an access is to be. Nothing stays as it is where this says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether it lets its device in, or is suspended.
    pub lets_in: Option<bool>,
    /// Its password.
    pub password: Option<String>,
}

/// What a batch is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    /// So many accesses.
    Number(u64),
    /// Accesses by device; the one at this place has a password that none can have.
    Listed {
        /// Their devices.
        devices: Vec<String>,
        /// The place.
        failing: Option<usize>,
    },
    /// A change of these, of which the one at this place isn't there.
    Update {
        /// Which.
        accesses: Vec<String>,
        /// What they are to be.
        wanted: Wanted,
        /// The place.
        failing: Option<usize>,
    },
    /// The end of these with the month.
    Terminate {
        /// Which.
        accesses: Vec<String>,
    },
}

/// What was heard.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It was done; what it said.
    Done(Value),
    /// It was not done, and will not be.
    Refused {
        /// The status of the answer.
        status: u16,
        /// The title of its problem.
        title: String,
    },
    /// 503, and after how many seconds to come again. Whether it was done is not known.
    Unavailable {
        /// The seconds.
        retry_after: Option<u64>,
    },
    /// The connection broke. Whether it was done is not known.
    Lost,
    /// There was no answer within the deadline.
    Late,
    /// What no client should ever get.
    Wrong(String),
}

impl Answer {
    /// What it said, if it was done.
    pub fn done(&self) -> Option<&Value> {
        if let Self::Done(body) = self { Some(body) } else { None }
    }

    /// Whether it is surely not done.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl Request {
    /// Its kind, in a word.
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

    /// Its method, and its path below the tenant.
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

    /// Its body, where it has one.
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

    /// Its `Idempotency-Key`, where it has one.
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

    /// How many there are.
    pub fn n(&self) -> usize {
        match self {
            Self::Number(n) => *n as usize,
            Self::Listed { devices, .. } => devices.len(),
            Self::Update { accesses, .. } | Self::Terminate { accesses } => accesses.len(),
        }
    }

    /// The one that can't succeed.
    pub fn failing(&self) -> Option<usize> {
        match self {
            Self::Listed { failing, .. } | Self::Update { failing, .. } => *failing,
            Self::Number(_) | Self::Terminate { .. } => None,
        }
    }

    /// Whether it is about new accesses.
    pub fn makes_accesses(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Listed { .. })
    }
}
