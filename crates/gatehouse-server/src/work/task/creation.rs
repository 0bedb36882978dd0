//! Making the accesses of a batch: what they are made of is derived, unsealed and hashed before their
//! transaction, so that this takes nobody's time but the worker's.

use std::ops::Range;

use gatehouse_core::batch_failure::FieldFault;
use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::task::{ItemReference, Task};
use gatehouse_core::{BatchFailure, ContractId, TaskId};
use gatehouse_store::{
    Failpoint, ItemChunk, Lease, NewAccess, PlannedItem, PlannedItems, StepResult, StoreError,
    WorkError,
};
use gatehouse_vault::{Salt, TaskKey};
use tokio::sync::OwnedSemaphorePermit;

use super::{Stopped, TaskWorker, parts, span};
use crate::app::batch::{InvalidItem, NewItem, PART_ITEMS, ValidItem, read_creation};
use crate::reader::Fault;
use crate::work::pace::CHUNK_LIMITS;

/// Slow hashes before a transaction: about as long as a chunk may take.
const HASHES_MAX: usize = 64;

/// Items that are made ready in one go, on a thread that others wait for.
const ITEMS_AT_ONCE: u32 = 64;

/// Tasks of which something is kept ready.
const PREPARED_MAX: usize = 4;

/// What has been made ready of a Task: kept from step to step, since hashes are dear.
pub(super) struct Prepared {
    task: TaskId,
    key: TaskKey,
    from: u32,
    items: PlannedItems<NewAccess>,
}

impl TaskWorker {
    /// Makes the next accesses of a creation.
    pub(super) async fn create(
        &mut self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        mut place: OwnedSemaphorePermit,
    ) -> Result<StepResult, Stopped> {
        let from = task.n_processed();
        let before = self.prepared.iter().position(|it| it.task == task.id);
        let before = before.map(|position| self.prepared.remove(position));
        let prepared = match before {
            Some(ready) if ready.from == from && !ready.items.is_empty() => ready,
            other => {
                let key = other.map(|it| it.key);
                // Others may work meanwhile: what takes long here is waiting for hashes.
                drop(place);
                let prepared = self.prepare(lease, task, contract_id, is_explicit, key).await?;
                place = self.place(lease).await?;
                prepared
            }
        };
        let Prepared { key, items, .. } = prepared;
        let until = from + u32::try_from(items.len()).unwrap_or(u32::MAX);
        let chunk = ItemChunk { task: task.id, from, items, limits: CHUNK_LIMITS };
        let made = async {
            let store = &self.app.store;
            let made =
                store.run_creation(lease, chunk, self.lifetimes, self.failpoints.clone()).await;
            drop(place);
            made
        };
        // What follows is made ready while the database works, unless there is enough of it already.
        let ahead = async {
            match until < task.n_items && until - from <= self.pace.n_items() {
                true => {
                    let next = span(task, until, self.pace.n_items_ahead());
                    self.items(lease, task, contract_id, is_explicit, &key, next).await
                }
                false => Ok(PlannedItems::new()),
            }
        };
        let (made, ahead) = tokio::join!(made, ahead);
        if let Err(WorkError::Store(StoreError::Taken(cause))) = &made
            && self.doubtful != Some(task.id)
        {
            // The item fails by itself once usernames are looked up.
            tracing::warn!(task = %task.id, %cause, "a drawn username is taken");
            return Err(Stopped::Doubtful(task.id));
        }
        let (step, mut items) = made?;
        let mut ahead = match ahead {
            Err(Stopped::Interrupted) => return Err(Stopped::Interrupted),
            // What could not be made ready is tried again when its turn comes.
            other => other.unwrap_or_default(),
        };
        let from = step.task.n_processed();
        items.append(&mut ahead);
        self.learn(from - task.n_processed(), &step);
        if !step.task.state.is_terminal() {
            self.keep(Prepared { task: task.id, key, from, items });
        }
        Ok(step)
    }

    /// Keeps what is ready for a Task's next turn. Of other Tasks, which take turns with it, what was hashed
    /// slowly: the rest is derived again in less time than it takes room.
    fn keep(&mut self, prepared: Prepared) {
        self.prepared.retain(|other| other.items.len() <= 2 * HASHES_MAX);
        if self.prepared.len() == PREPARED_MAX {
            self.prepared.remove(0);
        }
        self.prepared.push(prepared);
    }

    /// Derives, unseals and hashes what the next accesses of a creation are made of.
    async fn prepare(
        &self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        key: Option<TaskKey>,
    ) -> Result<Prepared, Stopped> {
        let tenant = &lease.key.tenant;
        let key = match key {
            Some(key) => key,
            None => self.app.task_key(tenant, task.id).await?.ok_or_else(no_key)?,
        };
        let from = task.n_processed();
        let next = span(task, from, self.pace.n_items());
        let items = self.items(lease, task, contract_id, is_explicit, &key, next).await?;
        self.failpoints.pass(Failpoint::Hashed)?;
        Ok(Prepared { task: task.id, key, from, items })
    }

    /// The items of these ordinals, or the first of them.
    async fn items(
        &self,
        lease: &Lease,
        task: &Task,
        contract_id: &ContractId,
        is_explicit: bool,
        key: &TaskKey,
        next: Range<u32>,
    ) -> Result<PlannedItems<NewAccess>, Stopped> {
        let from = next.start;
        let wanted = match is_explicit {
            true => self.read_items(lease, task.id, key, &next).await?,
            false => generated_items(task.id, next).await,
        };
        self.failpoints.pass(Failpoint::Prepared)?;
        let is_doubtful = self.doubtful == Some(task.id);
        let draft = Draft { task: task.id, key, contract_id, is_doubtful };
        self.hash(lease, draft, from, wanted).await
    }

    /// What the client sent of these items.
    async fn read_items(
        &self,
        lease: &Lease,
        task: TaskId,
        key: &TaskKey,
        next: &Range<u32>,
    ) -> Result<Vec<NewItem>, Stopped> {
        let mut items = Vec::new();
        let mut n_chosen = 0;
        for part in parts(next) {
            let bytes = self.part(lease, task, part).await?;
            let first = part * PART_ITEMS;
            for (item, ordinal) in read_creation(part, &bytes, key)?.into_iter().zip(first..) {
                if !next.contains(&ordinal) {
                    continue;
                }
                n_chosen += usize::from(item.password().is_some());
                if n_chosen > HASHES_MAX {
                    return Ok(items);
                }
                items.push(item);
            }
            tokio::task::yield_now().await;
        }
        Ok(items)
    }

    /// Makes accesses of what is wanted; chosen passwords are hashed in their lane.
    async fn hash(
        &self,
        lease: &Lease,
        draft: Draft<'_>,
        from: u32,
        wanted: Vec<NewItem>,
    ) -> Result<PlannedItems<NewAccess>, Stopped> {
        let chosen: Vec<(Password, Salt)> = wanted
            .iter()
            .zip(from..)
            .filter_map(|(item, ordinal)| {
                let password = item.password()?.clone();
                Some((password, draft.key.salt(ordinal)))
            })
            .collect();
        let hashes = match chosen.is_empty() {
            true => Vec::new(),
            false => self.alive(lease, self.app.vault.hash_batch(chosen)).await?,
        };
        let mut hashes = hashes.into_iter();
        let mut items = PlannedItems::with_capacity(wanted.len());
        for (item, ordinal) in wanted.into_iter().zip(from..) {
            let planned = match item {
                NewItem::Valid(item) => {
                    let hash = item.password.as_ref().and_then(|_| hashes.next());
                    let hash = hash.unwrap_or_else(|| {
                        self.app.vault.hash_generated(&draft.key.password(ordinal))
                    });
                    PlannedItem::Do(draft.access(ordinal, item, hash))
                }
                NewItem::Invalid(item) => fail(item),
            };
            items.push_back((ordinal, planned));
            give_way(ordinal).await;
        }
        Ok(items)
    }
}

/// What the accesses of a creation have in common.
struct Draft<'a> {
    task: TaskId,
    key: &'a TaskKey,
    contract_id: &'a ContractId,
    is_doubtful: bool,
}

impl Draft<'_> {
    fn access(&self, ordinal: u32, item: ValidItem, password: StoredHash) -> NewAccess {
        NewAccess {
            id: self.key.access_id(self.task.unix_milliseconds(), ordinal),
            contract_id: self.contract_id.clone(),
            is_drawn: item.username.is_none() && !self.is_doubtful,
            username: item.username.unwrap_or_else(|| self.key.username(ordinal)),
            password,
            device_name: item.device_name,
            created_by: Some(self.task),
            once: None,
        }
    }
}

/// Items of which the client said nothing: a device is named after its number and its job.
async fn generated_items(task: TaskId, next: Range<u32>) -> Vec<NewItem> {
    let job = task.to_string();
    let ending = &job[job.len() - 6..];
    let mut items = Vec::with_capacity(next.len());
    for ordinal in next {
        let device_name = format!("device-{:06}-{ending}", ordinal + 1).parse().ok();
        items.push(NewItem::Valid(ValidItem { device_name, ..ValidItem::default() }));
        give_way(ordinal).await;
    }
    items
}

/// Lets others on this thread go first, now and then.
async fn give_way(ordinal: u32) {
    if ordinal.is_multiple_of(ITEMS_AT_ONCE) {
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
