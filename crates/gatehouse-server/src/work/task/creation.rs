//! Making the accesses of a batch: what they are made of is derived, unsealed and hashed before their
//! transaction, so that this takes nobody's time but the worker's.

use std::ops::Range;

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::task::{ItemName, Task};
use gatehouse_core::trouble::Field;
use gatehouse_core::{ContractId, TaskId, TenantName, Trouble};
use gatehouse_store::{
    Items, Lease, NewAccess, NotRun, Planned, Point, Stepped, StoreError, Stretch,
};
use gatehouse_vault::{Salt, TaskKey};
use tokio::sync::OwnedSemaphorePermit;

use super::{Stopped, TaskWorker};
use crate::app::batch::{FitItem, NewItem, PART_ITEMS, UnfitItem, read_creation};
use crate::reader::Fault;
use crate::work::pace::PATIENCE;

/// Slow hashes before a transaction: about as long as a stretch may take.
const HASHES_MAX: usize = 64;

/// Items that are made ready in one go, on a thread that others wait for.
const ITEMS_AT_ONCE: u32 = 64;

/// What has been made ready of a Task: kept from step to step, since hashes are dear.
pub(super) struct Prepared {
    task: TaskId,
    key: TaskKey,
    from: u32,
    items: Items<NewAccess>,
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
    ) -> Result<Stepped, Stopped> {
        let from = task.n_processed();
        let is_ready =
            |it: &Prepared| it.task == task.id && it.from == from && !it.items.is_empty();
        let prepared = match self.prepared.take() {
            Some(ready) if is_ready(&ready) => ready,
            other => {
                let key = other.filter(|it| it.task == task.id).map(|it| it.key);
                // Others may work meanwhile: what takes long here is waiting for hashes.
                drop(place);
                let prepared = self.prepare(lease, task, contract_id, is_explicit, key).await?;
                place = self.place(lease).await?;
                prepared
            }
        };
        let Prepared { key, items, .. } = prepared;
        let until = from + u32::try_from(items.len()).unwrap_or(u32::MAX);
        let stretch = Stretch { task: task.id, from, items, patience: PATIENCE };
        let made = async {
            let store = &self.app.store;
            let made = store.run_creation(lease, stretch, self.terms, self.probe.clone()).await;
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
                false => Ok(Items::new()),
            }
        };
        let (made, ahead) = tokio::join!(made, ahead);
        if let Err(NotRun::Store(StoreError::Taken(cause))) = &made
            && self.doubtful != Some(task.id)
        {
            // Somebody has a username that the Task has drawn. It fails by itself once they are looked up.
            tracing::warn!(task = %task.id, %cause, "a drawn username is taken");
            self.doubtful = Some(task.id);
            return Err(Stopped::Moved);
        }
        let (stepped, mut items) = made?;
        let mut ahead = match ahead {
            Err(Stopped::Interrupted) => return Err(Stopped::Interrupted),
            // What could not be made ready is tried again when its turn comes.
            other => other.unwrap_or_default(),
        };
        let from = stepped.task.n_processed();
        items.append(&mut ahead);
        self.learn(from - task.n_processed(), &stepped);
        let is_over = stepped.task.state.is_terminal();
        self.prepared = Some(Prepared { task: task.id, key, from, items }).filter(|_| !is_over);
        Ok(stepped)
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
        self.probe.pass(Point::Hashed)?;
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
        Range { start: from, end: until }: Range<u32>,
    ) -> Result<Items<NewAccess>, Stopped> {
        let wanted = match is_explicit {
            true => self.read_items(&lease.key.tenant, task.id, key, from, until).await?,
            false => generated_items(task.id, from, until),
        };
        self.probe.pass(Point::Prepared)?;
        let is_doubtful = self.doubtful == Some(task.id);
        let draft = Draft { task: task.id, key, contract_id, is_doubtful };
        self.hash(lease, draft, from, wanted).await
    }

    /// What the client sent of these items.
    async fn read_items(
        &self,
        tenant: &TenantName,
        task: TaskId,
        key: &TaskKey,
        from: u32,
        until: u32,
    ) -> Result<Vec<NewItem>, Stopped> {
        let mut items = Vec::new();
        let mut n_chosen = 0;
        for part in from / PART_ITEMS..=(until - 1) / PART_ITEMS {
            let bytes = self.app.store.task_part(tenant, task, part).await?;
            let bytes = bytes.ok_or_else(|| StoreError::Unexpected("a part is missing".into()))?;
            let first = part * PART_ITEMS;
            for (item, ordinal) in read_creation(part, &bytes, key)?.into_iter().zip(first..) {
                if !(from..until).contains(&ordinal) {
                    continue;
                }
                n_chosen += usize::from(item.password().is_some());
                if n_chosen > HASHES_MAX {
                    return Ok(items);
                }
                items.push(item);
            }
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
    ) -> Result<Items<NewAccess>, Stopped> {
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
            false => self.alive(lease, self.app.vault.hash_quietly(chosen)).await?,
        };
        let mut hashes = hashes.into_iter();
        let mut items = Items::with_capacity(wanted.len());
        for (item, ordinal) in wanted.into_iter().zip(from..) {
            let planned = match item {
                NewItem::Fit(item) => {
                    let hash = item.password.as_ref().and_then(|_| hashes.next());
                    let hash = hash.unwrap_or_else(|| {
                        self.app.vault.hash_generated(&draft.key.password(ordinal))
                    });
                    Planned::Do(draft.access(ordinal, item, hash))
                }
                NewItem::Unfit(item) => fail(item),
            };
            items.push_back((ordinal, planned));
            if ordinal % ITEMS_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(items)
    }
}

/// So many ordinals of a Task from this one on, as far as there are any.
fn span(task: &Task, from: u32, n_items: u32) -> Range<u32> {
    from..from.saturating_add(n_items).min(task.n_items)
}

/// What the accesses of a creation have in common.
struct Draft<'a> {
    task: TaskId,
    key: &'a TaskKey,
    contract_id: &'a ContractId,
    is_doubtful: bool,
}

impl Draft<'_> {
    fn access(&self, ordinal: u32, item: FitItem, password: StoredHash) -> NewAccess {
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
fn generated_items(task: TaskId, from: u32, until: u32) -> Vec<NewItem> {
    let job = task.to_string();
    let ending = &job[job.len() - 6..];
    let item = |ordinal: u32| {
        let device_name = format!("device-{:06}-{ending}", ordinal + 1).parse().ok();
        NewItem::Fit(FitItem { device_name, ..FitItem::default() })
    };
    (from..until).map(item).collect()
}

fn fail<T>(item: UnfitItem) -> Planned<T> {
    let UnfitItem { username, device_name, faults } = item;
    let fields = faults.into_iter().map(|Fault { name, reason }| Field { name, reason });
    let name = ItemName { access_id: None, username, device_name };
    Planned::Fail(name, Trouble::out_of_bounds(fields.collect()))
}

pub(super) fn no_key() -> StoreError {
    StoreError::Unexpected("a Task under way has no key".into())
}
