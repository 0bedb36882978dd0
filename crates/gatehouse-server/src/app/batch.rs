//! Batches: what a client may ask for at once, and accepting it.
//!
//! Accepting is all that happens while the client waits: what was asked for is written down, sealed
//! where it holds passwords, and a worker goes on from there (`work/task.rs`). What comes of it is in
//! `outcome`.

mod part;

pub(crate) use part::{PART_ITEMS, read_change, read_creation};

use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::task::{Task, TaskState, TaskWork};
use gatehouse_core::{AccessId, ContractId, DeviceName, TaskId, TenantName, Timestamp, Username};
use gatehouse_store::{IdempotentRequest, NewTask, NotAccepted, PASSWORD_PART};
use gatehouse_vault::{TaskKey, random};

use super::{App, Error};
use crate::reader::Fault;

/// A batch of new accesses, as a client asked for it.
#[derive(Debug)]
pub struct NewBatch {
    /// Under which contract.
    pub contract_id: ContractId,
    /// Which.
    pub items: NewItems,
}

/// Which accesses a client wants.
#[derive(Debug)]
pub enum NewItems {
    /// So many, with everything generated.
    Count(u32),
    /// These.
    Explicit(Vec<NewItem>),
}

/// One access that a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewItem {
    /// It can be tried.
    Valid(ValidItem),
    /// It can't.
    Invalid(InvalidItem),
}

impl NewItem {
    /// The username that the client chose, if it did and it can be one.
    fn username(&self) -> Option<&Username> {
        match self {
            Self::Valid(item) => item.username.as_ref(),
            Self::Invalid(_) => None,
        }
    }

    /// The password that the client chose, if it did.
    pub fn password(&self) -> Option<&Password> {
        match self {
            Self::Valid(item) => item.password.as_ref(),
            Self::Invalid(_) => None,
        }
    }
}

/// What a client says about one access; what it left out is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidItem {
    /// A username of the client's choice.
    pub username: Option<Username>,
    /// A password of the client's choice.
    pub password: Option<Password>,
    /// The device's name.
    pub device_name: Option<DeviceName>,
}

/// An item with a value out of bounds: it fails alone, inside the Task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvalidItem {
    /// The username that was asked for, shortened.
    pub username: Option<String>,
    /// The device's name that was asked for, shortened.
    pub device_name: Option<String>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// A batch of changes, as a client asked for it.
#[derive(Debug)]
pub struct BatchChange {
    /// Of which accesses, each named once.
    pub ids: Vec<NamedAccess>,
    /// What is to happen to them.
    pub operation: BatchOperation,
}

/// An access that a batch names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAccess {
    /// Its first position in the request.
    pub index: u32,
    /// Its identifier, or a text that can't be one, shortened.
    pub id: Result<AccessId, String>,
}

/// What is to happen to all accesses of a batch.
#[derive(Debug)]
pub enum BatchOperation {
    /// Another status, another password, or both.
    Update {
        /// The status that they are to have.
        status: Option<TargetStatus>,
        /// The password that all of them are to have.
        password: Option<Password>,
    },
    /// They end with the month.
    Terminate,
}

impl App {
    /// Accepts a batch of new accesses. One that is to be accepted `once`, and was already, is the Task that
    /// it became then.
    pub async fn accept_batch(
        &self,
        tenant: &TenantName,
        batch: NewBatch,
        once: Option<IdempotentRequest>,
        correlation_id: &str,
    ) -> Result<(TaskId, TaskWork), Error> {
        let NewBatch { contract_id, items } = batch;
        let is_explicit = matches!(items, NewItems::Explicit(_));
        let work = TaskWork::Creation { contract_id, is_explicit };
        if let Some(id) = self.accepted_already(tenant, once.as_ref()).await? {
            return Ok((id, work));
        }
        if let NewItems::Explicit(items) = &items {
            // Here, because a Task could only wait.
            let mut usernames = items.iter().filter_map(NewItem::username);
            usernames.try_for_each(|it| self.refuse_unreadable(Some(it)))?;
        }
        let (id, key) = (self.draw_task_id(), TaskKey::draw());
        let sealed_key = self.vault.seal_task_key(tenant, id, &key);
        let (n_items, parts) = match items {
            NewItems::Count(n) => (n, Vec::new()),
            NewItems::Explicit(items) => {
                let sealed = move || (count(&items), part::write_creation(&items, &key));
                away(sealed).await
            }
        };
        let new = NewTask {
            id,
            work,
            n_items,
            parts,
            sealed_key: Some(sealed_key),
            correlation_id: correlation_id.to_owned(),
            once,
        };
        self.accept(tenant, new).await
    }

    /// Accepts a batch of changes, `once` as above.
    pub async fn accept_change(
        &self,
        tenant: &TenantName,
        change: BatchChange,
        once: Option<IdempotentRequest>,
        correlation_id: &str,
    ) -> Result<(TaskId, TaskWork), Error> {
        let (work, password) = match change.operation {
            BatchOperation::Update { status, password } => {
                let sets_password = password.is_some();
                (TaskWork::Update { target: status, sets_password }, password)
            }
            BatchOperation::Terminate => (TaskWork::Termination, None),
        };
        if let Some(id) = self.accepted_already(tenant, once.as_ref()).await? {
            return Ok((id, work));
        }
        let id = self.draw_task_id();
        let mut parts = part::write_change(&change.ids);
        let mut sealed_key = None;
        if let Some(password) = password {
            let key = TaskKey::draw();
            let sealed = key.seal_part(PASSWORD_PART, password.reveal().as_bytes());
            parts.push((PASSWORD_PART, sealed));
            sealed_key = Some(self.vault.seal_task_key(tenant, id, &key));
        }
        let new = NewTask {
            id,
            work,
            n_items: count(&change.ids),
            parts,
            sealed_key,
            correlation_id: correlation_id.to_owned(),
            once,
        };
        self.accept(tenant, new).await
    }

    async fn accept(&self, tenant: &TenantName, new: NewTask) -> Result<(TaskId, TaskWork), Error> {
        let (id, work, once) = (new.id, new.work.clone(), new.once.clone());
        match self.store.accept_task(tenant, new).await {
            Ok(()) => {
                self.wake.notify_one();
                Ok((id, work))
            }
            Err(NotAccepted::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(NotAccepted::Repeated) => {
                // Another server was quicker. By its clock the answer is kept, whatever ours says.
                let once = once.expect("only a request with a key is one that was made before");
                let id = self.accepted_before(tenant, &once, Timestamp::EPOCH).await?;
                id.map(|id| (id, work)).ok_or(Error::InProgress(once.key))
            }
            Err(NotAccepted::Store(error)) => Err(error.into()),
        }
    }

    async fn accepted_already(
        &self,
        tenant: &TenantName,
        once: Option<&IdempotentRequest>,
    ) -> Result<Option<TaskId>, Error> {
        match once {
            Some(once) => self.accepted_before(tenant, once, self.now()).await,
            None => Ok(None),
        }
    }

    /// Stops a Task that is not over. What it has done stays.
    pub async fn stop_task(&self, tenant: &TenantName, id: TaskId) -> Result<Task, Error> {
        match self.store.stop_task(tenant, id, self.tasks.lifetimes()).await? {
            None => Err(Error::NotFound("task", id.to_string())),
            Some(Ok(task)) => {
                self.tell_end(tenant, &task);
                Ok(task)
            }
            Some(Err(state)) => Err(Error::TaskFinished(state)),
        }
    }

    /// Counts a Task that is over, and writes it into the log.
    pub(crate) fn tell_end(&self, tenant: &TenantName, task: &Task) {
        self.meter.count_end(task);
        tracing::info!(
            task = %task.id,
            kind = task.work.as_str(),
            state = task.state.as_str(),
            succeeded = task.n_succeeded,
            failed = task.n_failed,
            %tenant,
            correlation_id = task.correlation_id,
            "a Task is over"
        );
    }

    fn draw_task_id(&self) -> TaskId {
        TaskId::new(self.now().unix_milliseconds(), &random::bytes())
    }
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("a batch is bounded far below that")
}

/// Does what takes a while where nobody waits for it.
async fn away<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    #[cfg(test)]
    if gatehouse_vault::simulation::is_on() {
        // All of a simulation happens on one thread.
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// How far a Task has to be for something to be asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Over.
    Terminal,
    /// Over, with accesses to show.
    HasResults,
}

impl Stage {
    /// Whether a Task in this state will do.
    pub fn is_met(self, state: TaskState) -> bool {
        match self {
            Self::Terminal => state.is_terminal(),
            Self::HasResults => matches!(state, TaskState::Done | TaskState::Failed),
        }
    }
}
