//! Accepting batches.
//!
//! While the client waits, the server only stores the request, sealed where it holds passwords. A worker processes it
//! (`work/task.rs`); `outcome` shows the results.

mod part;

pub(crate) use part::{PART_ITEMS, read_change, read_creation};

use std::collections::BTreeSet;

use gatehouse_core::credential::Password;
use gatehouse_core::event::Origin;
use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::task::{NewPasswords, Task, TaskState, TaskWork};
use gatehouse_core::{
    AccessId, ContractId, DeviceName, Labels, TaskId, TenantName, Timestamp, Username,
};
use gatehouse_store::{IdempotentRequest, Matching, NewTask, NotAccepted, PASSWORD_PART};
use gatehouse_vault::{TaskKey, random};

use super::access::NewPassword;
use super::batch_filter::BatchFilter;
use super::chosen_password::ChosenPassword;
use super::{App, Error};
use crate::reader::Fault;

/// A client's batch of new accesses.
#[derive(Debug)]
pub struct NewBatch {
    /// The contract.
    pub contract_id: ContractId,
    /// The accesses to create.
    pub items: NewItems,
}

/// The accesses of a creation.
#[derive(Debug)]
pub enum NewItems {
    /// A number of accesses with generated values, and these labels.
    Count(u32, Labels),
    /// One item per access.
    Explicit(Vec<NewItem>),
}

/// One access to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewItem {
    /// All values are valid.
    Valid(ValidItem),
    /// A value is invalid: the item fails.
    Invalid(InvalidItem),
}

impl NewItem {
    /// The chosen username of a valid item.
    fn username(&self) -> Option<&Username> {
        match self {
            Self::Valid(item) => item.username.as_ref(),
            Self::Invalid(_) => None,
        }
    }

    /// The chosen password of a valid item, where the client gave it in clear text.
    pub fn clear_password(&self) -> Option<&Password> {
        match self {
            Self::Valid(item) => item.password.as_ref().and_then(ChosenPassword::clear),
            Self::Invalid(_) => None,
        }
    }
}

impl NewItems {
    fn are_labelled(&self) -> bool {
        match self {
            Self::Count(_, labels) => !labels.is_empty(),
            Self::Explicit(items) => {
                items.iter().any(|it| matches!(it, NewItem::Valid(item) if !item.labels.is_empty()))
            }
        }
    }

    fn are_hashed(&self) -> bool {
        let is_hashed = |it: &NewItem| match it {
            NewItem::Valid(item) => item.password.as_ref().is_some_and(|it| it.clear().is_none()),
            NewItem::Invalid(_) => false,
        };
        matches!(self, Self::Explicit(items) if items.iter().any(is_hashed))
    }
}

/// A valid item; missing values are generated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidItem {
    /// The chosen username.
    pub username: Option<Username>,
    /// The chosen password.
    pub password: Option<ChosenPassword>,
    /// The device's name.
    pub device_name: Option<DeviceName>,
    /// The labels.
    pub labels: Labels,
}

/// An item with an invalid value. It fails alone, inside the Task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvalidItem {
    /// The requested username, shortened.
    pub username: Option<String>,
    /// The requested device name, shortened.
    pub device_name: Option<String>,
    /// The faults.
    pub faults: Vec<Fault>,
}

/// A client's batch of changes.
#[derive(Debug)]
pub struct BatchChange {
    /// The accesses.
    pub selection: AccessSelection,
    /// The operation on all of them.
    pub operation: BatchOperation,
}

/// The accesses of a change.
#[derive(Debug)]
pub enum AccessSelection {
    /// Accesses by their identifiers, each once.
    Named(Vec<NamedAccess>),
    /// The accesses that match a filter when the Task is accepted, at most `n_max`.
    Matching {
        /// The condition for an access.
        filter: BatchFilter,
        /// Most accesses of a batch.
        n_max: u64,
    },
}

/// An access that a change names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAccess {
    /// First position in the request.
    pub index: u32,
    /// The id; an invalid id as text, shortened.
    pub id: Result<AccessId, String>,
}

/// The operation of a batch of changes.
#[derive(Debug)]
pub enum BatchOperation {
    /// Set a status, a password or labels, or several of them.
    Update {
        /// The new status.
        status: Option<TargetStatus>,
        /// The new password of all accesses, or a generated one for each.
        password: Option<NewPassword>,
        /// The changed labels of all accesses.
        labels: Option<LabelPatch>,
    },
    /// Terminate at the end of the month.
    Terminate,
}

impl App {
    /// Accepts a batch of new accesses. An idempotent request (`once`) that was accepted before gets its first Task.
    pub async fn accept_batch(
        &self,
        tenant: &TenantName,
        batch: NewBatch,
        idempotent: Option<IdempotentRequest>,
        origin: &Origin,
    ) -> Result<(TaskId, TaskWork), Error> {
        let NewBatch { contract_id, items } = batch;
        let (is_explicit, labels) = match &items {
            NewItems::Count(_, labels) => (false, labels.clone()),
            NewItems::Explicit(_) => (true, Labels::NONE),
        };
        let work = TaskWork::Creation { contract_id, is_explicit, labels };
        if let Some(id) = self.find_accepted(tenant, idempotent.as_ref()).await? {
            return Ok((id, work));
        }
        if items.are_labelled() {
            self.refuse_beside_older_server("labels").await?;
        }
        if items.are_hashed() {
            self.refuse_beside_older_server("password hashes").await?;
        }
        if let NewItems::Explicit(items) = &items {
            // A worker could only postpone the item, so it is refused here.
            let mut usernames = items.iter().filter_map(NewItem::username);
            usernames.try_for_each(|it| self.refuse_unreadable(Some(it)))?;
        }
        let (id, key) = (self.draw_task_id(), TaskKey::draw());
        let sealed_key = self.vault.seal_task_key(tenant, id, &key);
        let (n_items, parts) = match items {
            NewItems::Count(n, _) => (n, Vec::new()),
            NewItems::Explicit(items) => {
                let sealed = move || (count(&items), part::write_creation(&items, &key));
                run_blocking(sealed).await
            }
        };
        let new = NewTask {
            id,
            work,
            n_items,
            parts,
            sealed_key: Some(sealed_key),
            origin: origin.clone(),
            idempotent,
        };
        self.accept(tenant, new).await
    }

    /// Accepts a batch of changes, idempotent like [`Self::accept_batch`].
    pub async fn accept_change(
        &self,
        tenant: &TenantName,
        change: BatchChange,
        idempotent: Option<IdempotentRequest>,
        origin: &Origin,
    ) -> Result<(TaskId, TaskWork), Error> {
        let (work, password) = match change.operation {
            BatchOperation::Update { status, password, labels } => {
                let passwords = match password {
                    None => NewPasswords::None,
                    Some(NewPassword::Chosen(_)) => NewPasswords::Chosen,
                    Some(NewPassword::Generated) => NewPasswords::Generated,
                };
                let labels = labels.unwrap_or_default();
                (TaskWork::Update { target: status, passwords, labels }, password)
            }
            BatchOperation::Terminate => (TaskWork::Termination, None),
        };
        if let Some(id) = self.find_accepted(tenant, idempotent.as_ref()).await? {
            return Ok((id, work));
        }
        if let TaskWork::Update { passwords, labels, .. } = &work {
            if !labels.0.is_empty() {
                self.refuse_beside_older_server("labels").await?;
            }
            if *passwords == NewPasswords::Generated {
                self.refuse_beside_older_server("generated passwords").await?;
            }
        }
        let named = match change.selection {
            AccessSelection::Named(named) => named,
            AccessSelection::Matching { filter, n_max } => {
                self.name_matching(tenant, filter, n_max).await?
            }
        };
        let id = self.draw_task_id();
        let mut parts = part::write_change(&named);
        let key = password.is_some().then(TaskKey::draw);
        if let (Some(key), Some(NewPassword::Chosen(chosen))) = (&key, password) {
            let sealed = key.seal_part(PASSWORD_PART, chosen.reveal().as_bytes());
            parts.push((PASSWORD_PART, sealed));
        }
        let sealed_key = key.map(|key| self.vault.seal_task_key(tenant, id, &key));
        let new = NewTask {
            id,
            work,
            n_items: count(&named),
            parts,
            sealed_key,
            origin: origin.clone(),
            idempotent,
        };
        self.accept(tenant, new).await
    }

    /// Refuses a batch that a server of an older version would process wrongly, while there may be one.
    async fn refuse_beside_older_server(&self, what: &'static str) -> Result<(), Error> {
        match self.store.has_server_without_labels().await? {
            true => Err(Error::OlderServer(what)),
            false => Ok(()),
        }
    }

    /// The accesses that match at this moment, oldest first.
    async fn name_matching(
        &self,
        tenant: &TenantName,
        filter: BatchFilter,
        n_max: u64,
    ) -> Result<Vec<NamedAccess>, Error> {
        let label_keys = match filter.names_labels() {
            true => self.label_keys(tenant).await?,
            false => BTreeSet::new(),
        };
        let filter = filter.with_labels(&label_keys).map_err(Error::InvalidFilter)?;
        match self.store.matching(tenant, &filter, n_max).await? {
            None => Err(Error::NoTenant(tenant.to_string())),
            Some(Matching::TooMany { total }) => Err(Error::TooManyMatches { total, n_max }),
            Some(Matching::Accesses(ids)) => {
                let named = ids.into_iter().zip(0..);
                Ok(named.map(|(id, index)| NamedAccess { index, id: Ok(id) }).collect())
            }
        }
    }

    async fn accept(&self, tenant: &TenantName, new: NewTask) -> Result<(TaskId, TaskWork), Error> {
        let (id, work, idempotent) = (new.id, new.work.clone(), new.idempotent.clone());
        match self.store.accept_task(tenant, new).await {
            Ok(()) => {
                self.wake.notify_one();
                Ok((id, work))
            }
            Err(NotAccepted::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(NotAccepted::Repeated) => {
                // Another server has accepted the request. Its clock decides how long the response is kept, not ours.
                let idempotent =
                    idempotent.expect("only a request with an idempotency key is repeated");
                let id = self.stored_batch(tenant, &idempotent, Timestamp::EPOCH).await?;
                id.map(|id| (id, work)).ok_or(Error::InProgress(idempotent.key))
            }
            Err(NotAccepted::Store(error)) => Err(error.into()),
        }
    }

    async fn find_accepted(
        &self,
        tenant: &TenantName,
        idempotent: Option<&IdempotentRequest>,
    ) -> Result<Option<TaskId>, Error> {
        match idempotent {
            Some(idempotent) => self.stored_batch(tenant, idempotent, self.now()).await,
            None => Ok(None),
        }
    }

    /// Stops an unfinished Task; processed items stay as they are.
    pub async fn stop_task(
        &self,
        tenant: &TenantName,
        id: TaskId,
        origin: &Origin,
    ) -> Result<Task, Error> {
        let lifetimes = self.tasks.lifetimes();
        match self.store.stop_task(tenant, id, origin.clone(), lifetimes).await? {
            None => Err(Error::NotFound("task", id.to_string())),
            Some(Ok(task)) => {
                self.report_task_end(tenant, &task);
                Ok(task)
            }
            Some(Err(state)) => Err(Error::TaskFinished(state)),
        }
    }

    /// Counts and logs a finished Task.
    pub(crate) fn report_task_end(&self, tenant: &TenantName, task: &Task) {
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

/// Runs blocking work on a thread of its own.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    #[cfg(test)]
    if gatehouse_vault::simulation::is_on() {
        // A simulation has one thread.
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// The progress that a Task needs for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The Task has ended.
    Terminal,
    /// The Task has ended with results: DONE or FAILED.
    HasResults,
}

impl Stage {
    /// Whether `state` satisfies it.
    pub fn is_met(self, state: TaskState) -> bool {
        match self {
            Self::Terminal => state.is_terminal(),
            Self::HasResults => matches!(state, TaskState::Done | TaskState::Failed),
        }
    }
}
