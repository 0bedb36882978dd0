//! Creating the accesses of a batch. Values are derived, unsealed and hashed before the transaction, to keep it short.

use std::ops::Range;

use gatehouse_core::batch_failure::FieldFault;
use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::event::Origin;
use gatehouse_core::task::{ItemReference, Task, TaskWork};
use gatehouse_core::{BatchFailure, ContractId, Labels, TaskId};
use gatehouse_store::{
    Failpoint, ItemChunk, Lease, NewAccess, PlannedItem, PlannedItems, StepResult, StoreError,
    WorkError,
};
use gatehouse_vault::{Salt, TaskKey, Vault};
use tokio::sync::OwnedSemaphorePermit;

use super::{StepError, TaskWorker, ordinals, parts};
use crate::app::batch::{InvalidItem, NewItem, PART_ITEMS, ValidItem, read_creation};
use crate::app::chosen_password::ChosenPassword;
use crate::reader::Fault;
use crate::work::chunk_size::CHUNK_LIMITS;

/// Slow hashes per transaction: about as long as a chunk may take.
const HASHES_MAX: usize = 64;

/// Items that are prepared before other tasks on the thread run.
const ITEMS_PER_YIELD: u32 = 64;

/// Tasks with prepared items.
const PREPARED_MAX: usize = 4;

/// Prepared items of a Task, kept from step to step because hashes are expensive.
pub(super) struct Prepared {
    task: TaskId,
    key: TaskKey,
    from: u32,
    items: PlannedItems<NewAccess>,
}

impl TaskWorker {
    /// Creates the next accesses.
    pub(super) async fn create(
        &mut self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        mut permit: OwnedSemaphorePermit,
    ) -> Result<StepResult, StepError> {
        let from = task.n_processed();
        let before = self.prepared.iter().position(|it| it.task == task.id);
        let before = before.map(|position| self.prepared.remove(position));
        let prepared = match before {
            Some(ready) if ready.from == from && !ready.items.is_empty() => ready,
            other => {
                let key = other.map(|it| it.key);
                // Others can work meanwhile: the step mostly waits for hashes.
                drop(permit);
                let prepared = self.prepare(lease, task, contract_id, is_explicit, key).await?;
                permit = self.permit(lease).await?;
                prepared
            }
        };
        let Prepared { key, items, .. } = prepared;
        let until = from + u32::try_from(items.len()).unwrap_or(u32::MAX);
        let chunk = ItemChunk { task: task.id, from, items, limits: CHUNK_LIMITS };
        let made = async {
            let store = &self.app.store;
            let made = store.run_creation(lease, chunk, self.lifetimes).await;
            drop(permit);
            made
        };
        // Prepares the next items while the database works, unless there are enough.
        let next_items = async {
            match until < task.n_items && until - from <= self.chunk_size.n_items() {
                true => {
                    let next = ordinals(task, until, self.chunk_size.n_items_ahead());
                    self.items(lease, task, contract_id, is_explicit, &key, next).await
                }
                false => Ok(PlannedItems::new()),
            }
        };
        let (made, next_items) = tokio::join!(made, next_items);
        if let Err(WorkError::Store(StoreError::Taken(cause))) = &made
            && self.looked_up != Some(task.id)
        {
            // The item fails by itself once usernames are looked up.
            tracing::warn!(task = %task.id, %cause, "a drawn username is taken");
            return Err(StepError::UsernameTaken(task.id));
        }
        let (step, mut items) = made?;
        let mut next_items = match next_items {
            Err(StepError::Interrupted) => return Err(StepError::Interrupted),
            // A failed preparation is repeated in the next step.
            other => other.unwrap_or_default(),
        };
        let from = step.task.n_processed();
        items.append(&mut next_items);
        self.adjust_chunk_size(from - task.n_processed(), &step);
        if !step.task.state.is_terminal() {
            self.keep(Prepared { task: task.id, key, from, items });
        }
        Ok(step)
    }

    /// Keeps prepared items for the Task's next step, but only slow hashes of other Tasks: the rest is cheap to derive.
    fn keep(&mut self, prepared: Prepared) {
        self.prepared.retain(|other| other.items.len() <= 2 * HASHES_MAX);
        if self.prepared.len() == PREPARED_MAX {
            self.prepared.remove(0);
        }
        self.prepared.push(prepared);
    }

    /// Derives, unseals and hashes the values of the next accesses.
    async fn prepare(
        &self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        key: Option<TaskKey>,
    ) -> Result<Prepared, StepError> {
        let tenant = &lease.key.tenant;
        let key = match key {
            Some(key) => key,
            None => self.app.task_key(tenant, task.id).await?.ok_or_else(no_key)?,
        };
        let from = task.n_processed();
        let next = ordinals(task, from, self.chunk_size.n_items());
        let items = self.items(lease, task, contract_id, is_explicit, &key, next).await?;
        self.app.store.pass(Failpoint::Hashed)?;
        Ok(Prepared { task: task.id, key, from, items })
    }

    /// Prepares the items of these ordinals, or the first of them.
    async fn items(
        &self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        key: &TaskKey,
        next: Range<u32>,
    ) -> Result<PlannedItems<NewAccess>, StepError> {
        let from = next.start;
        let new_items = match is_explicit {
            true => self.read_items(lease, task.id, key, &next).await?,
            false => generated_items(task, next).await,
        };
        self.app.store.pass(Failpoint::Prepared)?;
        let looks_up_usernames = self.looked_up == Some(task.id);
        let origin = &Origin::of_task(task);
        let template =
            AccessTemplate { task: task.id, origin, key, contract_id, looks_up_usernames };
        self.hash(lease, template, from, new_items).await
    }

    /// Reads the client's items with these ordinals.
    async fn read_items(
        &self,
        lease: &Lease,
        task: TaskId,
        key: &TaskKey,
        next: &Range<u32>,
    ) -> Result<Vec<NewItem>, StepError> {
        let mut items = Vec::new();
        let mut n_chosen = 0;
        for part in parts(next) {
            let bytes = self.part(lease, task, part).await?;
            let first = part * PART_ITEMS;
            for (item, ordinal) in read_creation(part, &bytes, key)?.into_iter().zip(first..) {
                if !next.contains(&ordinal) {
                    continue;
                }
                n_chosen += usize::from(item.clear_password().is_some());
                if n_chosen > HASHES_MAX {
                    return Ok(items);
                }
                items.push(item);
            }
            tokio::task::yield_now().await;
        }
        Ok(items)
    }

    /// Turns items into accesses; the batch hasher hashes the chosen passwords that came in clear text.
    async fn hash(
        &self,
        lease: &Lease,
        template: AccessTemplate<'_>,
        from: u32,
        new_items: Vec<NewItem>,
    ) -> Result<PlannedItems<NewAccess>, StepError> {
        let chosen: Vec<(Password, Salt)> = new_items
            .iter()
            .zip(from..)
            .filter_map(|(item, ordinal)| {
                let password = item.clear_password()?.clone();
                Some((password, template.key.salt(ordinal)))
            })
            .collect();
        let hashes = match chosen.is_empty() {
            true => Vec::new(),
            false => self.hold(lease, self.app.vault.hash_batch(chosen)).await?,
        };
        let vault: &Vault = &self.app.vault;
        let mut hashes = hashes.into_iter();
        let mut items = PlannedItems::with_capacity(new_items.len());
        for (item, ordinal) in new_items.into_iter().zip(from..) {
            let planned = match item {
                NewItem::Valid(item) => {
                    let hash = match &item.password {
                        Some(ChosenPassword::Clear(_)) => hashes.next(),
                        Some(ChosenPassword::Hash(hash)) => Some(vault.store_foreign(hash)),
                        None => Some(vault.hash_generated(&template.key.password(ordinal))),
                    };
                    let hash = hash.expect("each chosen password has been hashed");
                    PlannedItem::Do(template.access(ordinal, item, hash))
                }
                NewItem::Invalid(item) => fail(item),
            };
            items.push_back((ordinal, planned));
            yield_now_and_then(ordinal).await;
        }
        Ok(items)
    }
}

/// Common values of a creation's accesses.
struct AccessTemplate<'a> {
    task: TaskId,
    origin: &'a Origin,
    key: &'a TaskKey,
    contract_id: &'a ContractId,
    looks_up_usernames: bool,
}

impl AccessTemplate<'_> {
    fn access(&self, ordinal: u32, item: ValidItem, password: StoredHash) -> NewAccess {
        NewAccess {
            id: self.key.access_id(self.task.unix_milliseconds(), ordinal),
            contract_id: self.contract_id.clone(),
            is_drawn: item.username.is_none() && !self.looks_up_usernames,
            username: item.username.unwrap_or_else(|| self.key.username(ordinal)),
            password,
            device_name: item.device_name,
            labels: item.labels,
            created_by: Some(self.task),
            idempotent: None,
            origin: self.origin.clone(),
        }
    }
}

/// Generated items: a device is named after its number and its Task.
async fn generated_items(task: &Task, next: Range<u32>) -> Vec<NewItem> {
    let labels = match &task.work {
        TaskWork::Creation { labels, .. } => labels,
        TaskWork::Update { .. } | TaskWork::Termination => &Labels::NONE,
    };
    let job = task.id.to_string();
    let ending = &job[job.len() - 6..];
    let mut items = Vec::with_capacity(next.len());
    for ordinal in next {
        let device_name = format!("device-{:06}-{ending}", ordinal + 1).parse().ok();
        let labels = labels.clone();
        items.push(NewItem::Valid(ValidItem { device_name, labels, ..ValidItem::default() }));
        yield_now_and_then(ordinal).await;
    }
    items
}

/// Yields to other tasks on the thread now and then.
async fn yield_now_and_then(ordinal: u32) {
    if ordinal.is_multiple_of(ITEMS_PER_YIELD) {
        tokio::task::yield_now().await;
    }
}

fn fail<T>(item: InvalidItem) -> PlannedItem<T> {
    let InvalidItem { username, device_name, faults } = item;
    let fields = faults.into_iter().map(|Fault { name, reason }| FieldFault { name, reason });
    let name = ItemReference { access_id: None, username, device_name };
    PlannedItem::Fail(name, BatchFailure::out_of_bounds(fields.collect()))
}

pub(super) fn no_key() -> StoreError {
    StoreError::Unexpected("a Task under way has no key".into())
}
