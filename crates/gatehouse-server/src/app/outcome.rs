//! What came of a Task: its accesses as they are now, and the items that failed.
//!
//! Nothing is read whole. Items are asked for in stretches, by their ordinals or by their places among
//! those that succeeded or failed, so a Task of any size is shown without holding it. A password is shown
//! while its time lasts and while it is still the access's own: it is derived or unsealed again, and
//! compared with what is stored.

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::lifecycle;
use gatehouse_core::task::{FailedItem, Task, Work};
use gatehouse_core::{TaskId, TenantName};
use gatehouse_store::{PASSWORD_PART, SecretKind, StoreError, Stored, StoredTask};
use gatehouse_vault::TaskKey;
use tokio::sync::Mutex;

use super::access::{Issued, OneTimePassword};
use super::batch::{NamedAccess, NewItem, PART_ITEMS, Stage, read_change, read_creation};
use super::{App, Error};

/// A Task, and the way to its items.
pub struct Outcome {
    app: App,
    tenant: TenantName,
    /// The Task.
    pub task: Task,
    password: Option<StoredHash>,
    /// Its key, where passwords are shown.
    key: Option<TaskKey>,
    /// The part that was read last: items are mostly asked for in order.
    part: Mutex<Option<Part>>,
}

/// One part of what the client sent.
struct Part {
    number: u32,
    items: PartItems,
}

enum PartItems {
    New(Vec<NewItem>),
    Named(Vec<NamedAccess>),
}

/// An item, and what came of it.
pub enum Item {
    /// It succeeded.
    Succeeded {
        /// Its position in the request.
        index: u32,
        /// The access as it is now, with the password that the Task gave it.
        issued: Box<Issued>,
    },
    /// It failed.
    Failed(Box<FailedItem>),
}

/// Which items are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those that succeeded.
    Succeeded,
    /// Those that failed.
    Failed,
}

impl App {
    /// A Task, and the way to its items.
    pub async fn outcome(&self, tenant: &TenantName, id: TaskId) -> Result<Outcome, Error> {
        let stored = self.store.task(tenant, id).await?;
        let StoredTask { task, password } =
            stored.ok_or_else(|| Error::NotFound("task", id.to_string()))?;
        let key = match task.shows_secrets(self.now()) {
            true => self.task_key(tenant, id).await?,
            false => None,
        };
        let (app, tenant) = (self.clone(), tenant.clone());
        Ok(Outcome { app, tenant, task, password, key, part: Mutex::default() })
    }

    /// The key of a Task, while it has one.
    pub(crate) async fn task_key(
        &self,
        tenant: &TenantName,
        id: TaskId,
    ) -> Result<Option<TaskKey>, Error> {
        let sealed = self.store.secret(tenant, SecretKind::Task, &id.to_string()).await?;
        let key = sealed.map(|sealed| self.vault.open_task_key(tenant, id, &sealed)).transpose();
        Ok(key.map_err(|bad| StoreError::Unexpected(bad.into()))?)
    }
}

impl Outcome {
    /// Whose Task it is.
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Refuses a Task that is not at this stage.
    pub fn check(&self, stage: Stage, what: &'static str) -> Result<(), Error> {
        let state = self.task.state;
        if stage.is_met(state) { Ok(()) } else { Err(Error::TaskNotReady { state, what }) }
    }

    /// How many items there are of these.
    pub fn n_items(&self, which: Which) -> u32 {
        match which {
            Which::All => self.task.n_processed(),
            Which::Succeeded => self.task.n_succeeded,
            Which::Failed => self.task.n_failed,
        }
    }

    /// Items of these, from the one at this place on, in request order.
    pub async fn items(&self, which: Which, from: u32, n: u32) -> Result<Vec<Item>, Error> {
        let to = from.saturating_add(n).min(self.n_items(which));
        if from >= to {
            return Ok(Vec::new());
        }
        match which {
            Which::All => self.within(from, to, true).await,
            Which::Failed => {
                let failed = self.app.store.failed_items(&self.tenant, self.task.id, from, to);
                Ok(failed.await?.into_iter().map(|item| Item::Failed(Box::new(item))).collect())
            }
            Which::Succeeded => {
                let from_ordinal = self.ordinal_of_success(from).await?;
                let to_ordinal = self.ordinal_of_success(to - 1).await? + 1;
                self.within(from_ordinal, to_ordinal, false).await
            }
        }
    }

    /// Why a Task was rejected.
    pub async fn rejection(&self) -> Result<Option<FailedItem>, Error> {
        let why = self.app.store.failed_items(&self.tenant, self.task.id, 0, 1).await?;
        Ok(why.into_iter().next())
    }

    /// The accesses of the items with these ordinals that succeeded.
    pub async fn accesses_within(&self, from: u32, until: u32) -> Result<Vec<Issued>, Error> {
        let items = self.within(from, until, false).await?;
        let accesses = items.into_iter().filter_map(|item| match item {
            Item::Succeeded { issued, .. } => Some(*issued),
            Item::Failed(_) => None,
        });
        Ok(accesses.collect())
    }

    /// The ordinal of the item that succeeded at this place among those that did, from 0.
    ///
    /// It stands behind as many items as succeeded before it, and those that failed before it: how many
    /// these are is found by halving, since they are numbered in order.
    async fn ordinal_of_success(&self, place: u32) -> Result<u32, Error> {
        let (mut known, mut most) = (0, self.task.n_failed);
        while known < most {
            let number = known + (most - known).div_ceil(2);
            let failed =
                self.app.store.failed_items(&self.tenant, self.task.id, number - 1, number);
            let failed = failed.await?.into_iter().next().ok_or_else(missing)?;
            if failed.ordinal - (number - 1) <= place {
                known = number;
            } else {
                most = number - 1;
            }
        }
        Ok(place + known)
    }

    /// The items with these ordinals; those that failed only where they are wanted.
    async fn within(&self, from: u32, until: u32, with_failed: bool) -> Result<Vec<Item>, Error> {
        let (store, id) = (&self.app.store, self.task.id);
        let n_before = store.n_failed_before(&self.tenant, id, from).await?;
        let failed = store.failed_items_within(&self.tenant, id, from, until).await?;
        let mut failed = failed.into_iter().peekable();
        let mut succeeded = Vec::new();
        let mut items = Vec::new();
        for ordinal in from..until {
            match failed.next_if(|item| item.ordinal == ordinal) {
                Some(item) if with_failed => items.push((ordinal, Item::Failed(Box::new(item)))),
                Some(_) => {}
                None => succeeded.push(ordinal),
            }
        }
        let shown = match self.task.work {
            Work::Creation { .. } => self.made(from - n_before, &succeeded).await?,
            Work::Update { .. } | Work::Termination => self.changed(&succeeded).await?,
        };
        items.extend(succeeded.into_iter().zip(shown));
        items.sort_by_key(|(ordinal, _)| *ordinal);
        Ok(items.into_iter().map(|(_, item)| item).collect())
    }

    /// Accesses that the Task made: those behind so many others, which have these ordinals.
    async fn made(&self, after: u32, ordinals: &[u32]) -> Result<Vec<Item>, Error> {
        let n = u32::try_from(ordinals.len()).unwrap_or(u32::MAX);
        let rows = self.app.store.accesses_of_task(&self.tenant, self.task.id, after, after + n);
        let rows = rows.await?;
        if rows.len() != ordinals.len() {
            return Err(missing().into());
        }
        let mut items = Vec::with_capacity(rows.len());
        for (stored, ordinal) in rows.into_iter().zip(ordinals) {
            let password = self.given_password(&stored, *ordinal).await?;
            items.push(self.item(*ordinal, stored, password));
        }
        Ok(items)
    }

    /// The key, as long as passwords are shown: also an answer that takes long to read shows none after that.
    fn key(&self) -> Option<&TaskKey> {
        self.key.as_ref().filter(|_| self.task.shows_secrets(self.app.now()))
    }

    /// The password that the Task gave to an access, while it still has it.
    async fn given_password(
        &self,
        stored: &Stored,
        ordinal: u32,
    ) -> Result<Option<Password>, Error> {
        let Some(key) = self.key() else { return Ok(None) };
        let vault = &self.app.vault;
        if let Some(chosen) = self.chosen_password(key, ordinal).await? {
            let is_its = vault.has_salt(&stored.password, &key.salt(ordinal));
            return Ok(is_its.then_some(chosen));
        }
        let generated = key.password(ordinal);
        let is_its = vault.is_hash_of_generated(&stored.password, &generated);
        Ok(is_its.then_some(generated))
    }

    async fn chosen_password(
        &self,
        key: &TaskKey,
        ordinal: u32,
    ) -> Result<Option<Password>, Error> {
        if !matches!(self.task.work, Work::Creation { is_explicit: true, .. }) {
            return Ok(None);
        }
        let mut last = self.part.lock().await;
        let Some(part) = self.part(&mut last, ordinal / PART_ITEMS, Some(key)).await? else {
            // The time of passwords has run out since the key was read.
            return Ok(None);
        };
        let PartItems::New(items) = &part.items else { return Err(missing().into()) };
        Ok(match items.get((ordinal % PART_ITEMS) as usize) {
            Some(NewItem::Fit(item)) => item.password.clone(),
            Some(NewItem::Unfit(_)) | None => None,
        })
    }

    /// Accesses that the Task changed.
    async fn changed(&self, ordinals: &[u32]) -> Result<Vec<Item>, Error> {
        let mut named = Vec::with_capacity(ordinals.len());
        let mut last = self.part.lock().await;
        for ordinal in ordinals {
            let part = self.part(&mut last, ordinal / PART_ITEMS, None).await?;
            let part = part.ok_or_else(missing)?;
            let PartItems::Named(items) = &part.items else { return Err(missing().into()) };
            let one = items.get((ordinal % PART_ITEMS) as usize).ok_or_else(missing)?;
            named.push((one.index, one.id.clone().map_err(|_| missing())?));
        }
        drop(last);
        let ids: Vec<_> = named.iter().map(|(_, id)| *id).collect();
        let rows = self.app.store.accesses_by_id(&self.tenant, &ids).await?;
        if rows.len() != ids.len() {
            return Err(missing().into());
        }
        let password = self.set_password().await?;
        let shown = rows.into_iter().zip(named).map(|(stored, (index, _))| {
            let is_its = self.password.as_ref() == Some(&stored.password);
            let password = password.clone().filter(|_| is_its);
            self.item(index, stored, password)
        });
        Ok(shown.collect())
    }

    /// The password that the Task sets, while it may be shown.
    async fn set_password(&self) -> Result<Option<Password>, Error> {
        let Some(key) = self.key() else { return Ok(None) };
        self.app.password_of_change(&self.tenant, self.task.id, key).await
    }

    fn item(&self, index: u32, stored: Stored, password: Option<Password>) -> Item {
        let mut access = stored.access;
        lifecycle::settle(&mut access, self.app.now());
        let password = password.map(OneTimePassword::new);
        Item::Succeeded { index, issued: Box::new(Issued { access, password }) }
    }

    /// A part of what the client sent, as long as that is kept; the last one is remembered.
    async fn part<'l>(
        &self,
        last: &'l mut Option<Part>,
        number: u32,
        key: Option<&TaskKey>,
    ) -> Result<Option<&'l Part>, Error> {
        let kept = last.take().filter(|part| part.number == number);
        let part = match kept {
            Some(part) => part,
            None => {
                let bytes = self.app.store.task_part(&self.tenant, self.task.id, number).await?;
                let Some(bytes) = bytes else { return Ok(None) };
                let items = match key {
                    Some(key) => PartItems::New(read_creation(number, &bytes, key)?),
                    None => PartItems::Named(read_change(&bytes)?),
                };
                Part { number, items }
            }
        };
        Ok(Some(last.insert(part)))
    }
}

impl App {
    /// The password that a change sets.
    pub(crate) async fn password_of_change(
        &self,
        tenant: &TenantName,
        id: TaskId,
        key: &TaskKey,
    ) -> Result<Option<Password>, Error> {
        let Some(sealed) = self.store.task_part(tenant, id, PASSWORD_PART).await? else {
            return Ok(None);
        };
        let plain = key.open_part(PASSWORD_PART, &sealed);
        let plain = plain.map_err(|bad| StoreError::Unexpected(bad.into()))?;
        let text = String::from_utf8(plain).map_err(|_| missing())?;
        Ok(Some(Password::new(text).map_err(|_| missing())?))
    }
}

/// Something that a Task has written down is not there.
fn missing() -> StoreError {
    StoreError::Unexpected("a piece of a Task is missing".into())
}
