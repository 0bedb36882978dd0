//! What came of a Task: its accesses as they are now, and the items that failed.
//!
//! Nothing is read whole. Items are asked for in stretches, by their ordinals or by their places among
//! those that succeeded or failed, so a Task of any size is shown without holding it. A password is shown
//! while its time lasts and while it is still the access's own: it is derived or unsealed again, and, where
//! the access was changed since, compared with what is stored.

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::lifecycle;
use gatehouse_core::task::{FailedItem, Task, TaskWork};
use gatehouse_core::{ShownAccess, TaskId, TenantName, Timestamp};
use gatehouse_store::{CreatedAccess, PASSWORD_PART, SecretKind, StoreError, StoredTask};
use gatehouse_vault::TaskKey;
use tokio::sync::Mutex;

use super::access::OneTimePassword;
use super::batch::{NamedAccess, NewItem, PART_ITEMS, Stage, read_change, read_creation};
use super::{App, Error};

/// A Task, and the way to its items.
pub struct TaskOutcome {
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
pub enum TaskItem<'a> {
    /// It succeeded.
    Succeeded(SucceededItem<'a>),
    /// It failed.
    Failed(Box<FailedItem>),
}

/// An item that succeeded.
pub struct SucceededItem<'a> {
    /// Its position in the request.
    pub index: u32,
    /// The access as it is now.
    pub access: ShownAccess<'a>,
    /// The password that the Task gave it, while it has that and it may be shown.
    pub password: Option<OneTimePassword>,
}

/// Which items are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFilter {
    /// All of them.
    All,
    /// Those that succeeded.
    Succeeded,
    /// Those that failed.
    Failed,
}

impl App {
    /// A Task, and the way to its items.
    pub async fn outcome(&self, tenant: &TenantName, id: TaskId) -> Result<TaskOutcome, Error> {
        let stored = self.store.task(tenant, id).await?;
        let StoredTask { task, password } =
            stored.ok_or_else(|| Error::NotFound("task", id.to_string()))?;
        let key = match task.shows_secrets(self.now()) {
            true => self.task_key(tenant, id).await?,
            false => None,
        };
        let (app, tenant) = (self.clone(), tenant.clone());
        Ok(TaskOutcome { app, tenant, task, password, key, part: Mutex::default() })
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

impl TaskOutcome {
    /// Hides the passwords of the Task, from a caller whose token may not write accesses.
    pub fn without_passwords(self) -> Self {
        Self { key: None, ..self }
    }

    /// Whose Task it is.
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Refuses a Task that is not at this stage.
    pub fn check(&self, stage: Stage, what: &'static str) -> Result<(), Error> {
        let state = self.task.state;
        if stage.is_met(state) { Ok(()) } else { Err(Error::TaskNotReady { state, what }) }
    }

    /// Until when the passwords that it gave can be read here; `None` where it gave none, or their time is over. While it is
    /// under way nobody knows: their time begins with its end.
    pub fn shows_passwords_until(&self) -> Option<Timestamp> {
        let has_any = self.key.is_some() && self.task.n_succeeded > 0;
        self.task.shows_secrets_until.filter(|_| has_any)
    }

    /// How many items there are of these.
    pub fn n_items(&self, which: ItemFilter) -> u32 {
        match which {
            ItemFilter::All => self.task.n_processed(),
            ItemFilter::Succeeded => self.task.n_succeeded,
            ItemFilter::Failed => self.task.n_failed,
        }
    }

    /// Shows items of these, from the one at this place on, in request order. Some may have been shown when an error comes.
    pub async fn show(
        &self,
        which: ItemFilter,
        from: u32,
        n: u32,
        show: &mut (impl FnMut(TaskItem<'_>) + Send),
    ) -> Result<(), Error> {
        let to = from.saturating_add(n).min(self.n_items(which));
        if from >= to {
            return Ok(());
        }
        let (store, id) = (&self.app.store, self.task.id);
        match which {
            ItemFilter::All => {
                let (n_before, failed) = self.failed_within(from, to).await?;
                let ordinals = without(&failed, from, to);
                let mut failed = failed.into_iter().peekable();
                let mut ordinal = from;
                self.succeeded(from - n_before, &ordinals, &mut |success| {
                    while let Some(item) = failed.next_if(|item| item.ordinal == ordinal) {
                        show(TaskItem::Failed(Box::new(item)));
                        ordinal += 1;
                    }
                    show(TaskItem::Succeeded(success));
                    ordinal += 1;
                })
                .await?;
                failed.for_each(|item| show(TaskItem::Failed(Box::new(item))));
            }
            ItemFilter::Failed => {
                let failed = store.failed_items(&self.tenant, id, from, to).await?;
                failed.into_iter().for_each(|item| show(TaskItem::Failed(Box::new(item))));
            }
            ItemFilter::Succeeded => {
                let from = self.ordinal_of_success(from).await?;
                let until = self.ordinal_of_success(to - 1).await? + 1;
                let show = &mut |success: SucceededItem<'_>| show(TaskItem::Succeeded(success));
                self.show_succeeded_within(from, until, show).await?;
            }
        }
        Ok(())
    }

    /// Why a Task was rejected.
    pub async fn rejection(&self) -> Result<Option<FailedItem>, Error> {
        let why = self.app.store.failed_items(&self.tenant, self.task.id, 0, 1).await?;
        Ok(why.into_iter().next())
    }

    /// Shows those of the items with these ordinals that succeeded.
    pub async fn show_succeeded_within(
        &self,
        from: u32,
        until: u32,
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
        let (n_before, failed) = self.failed_within(from, until).await?;
        self.succeeded(from - n_before, &without(&failed, from, until), show).await
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

    /// Shows the items with these ordinals, which succeeded, as did so many before them.
    async fn succeeded(
        &self,
        after: u32,
        ordinals: &[u32],
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
        match self.task.work {
            TaskWork::Creation { .. } => self.made(after, ordinals, show).await,
            TaskWork::Update { .. } | TaskWork::Termination => self.changed(ordinals, show).await,
        }
    }

    /// Those of the items with these ordinals that failed, and how many did before them.
    async fn failed_within(&self, from: u32, until: u32) -> Result<(u32, Vec<FailedItem>), Error> {
        if self.task.n_failed == 0 {
            return Ok((0, Vec::new()));
        }
        let (store, id) = (&self.app.store, self.task.id);
        let n_before = store.n_failed_before(&self.tenant, id, from).await?;
        Ok((n_before, store.failed_items_within(&self.tenant, id, from, until).await?))
    }

    /// Accesses that the Task made: those behind so many others, which have these ordinals.
    async fn made(
        &self,
        after: u32,
        ordinals: &[u32],
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
        let (n, now) = (u32::try_from(ordinals.len()).unwrap_or(u32::MAX), self.app.now());
        let key = self.key(now);
        let chosen = match key {
            Some(key) => self.chosen_passwords(key, ordinals).await?,
            None => None,
        };
        // Without those that were chosen, nobody knows which ones were not.
        let key = key.filter(|_| chosen.is_some());
        let chosen = chosen.unwrap_or_default().into_iter().chain(std::iter::repeat(None));
        let mut next = ordinals.iter().zip(chosen);
        let take = |made: CreatedAccess<'_>| {
            let Some((ordinal, chosen)) = next.next() else { return };
            let CreatedAccess { access, password: kept } = made;
            let given = |key| self.given_password(key, kept.as_ref(), *ordinal, chosen);
            show(success(*ordinal, access, key.and_then(given), now));
        };
        let store = &self.app.store;
        let shown = store.accesses_of_task(&self.tenant, self.task.id, after, after + n, take);
        match shown.await?.len() == ordinals.len() {
            true => Ok(()),
            false => Err(missing().into()),
        }
    }

    /// The key, as long as passwords are shown: also an answer that takes long to read shows none after that.
    fn key(&self, now: Timestamp) -> Option<&TaskKey> {
        self.key.as_ref().filter(|_| self.task.shows_secrets(now))
    }

    /// The password that the Task gave to an access, while it still has it: surely when nothing was changed, and
    /// else when what is kept by now was made of it.
    fn given_password(
        &self,
        key: &TaskKey,
        kept: Option<&StoredHash>,
        ordinal: u32,
        chosen: Option<Password>,
    ) -> Option<Password> {
        let vault = &self.app.vault;
        match chosen {
            Some(chosen) => {
                let is_its = kept.is_none_or(|kept| vault.has_salt(kept, &key.salt(ordinal)));
                is_its.then_some(chosen)
            }
            None => {
                let generated = key.password(ordinal);
                let is_its = kept.is_none_or(|kept| vault.is_hash_of_generated(kept, &generated));
                is_its.then_some(generated)
            }
        }
    }

    /// The passwords that the client chose for the items with these ordinals, in their order; `None` where they are
    /// gone, since the time of passwords has run out after the key was read.
    async fn chosen_passwords(
        &self,
        key: &TaskKey,
        ordinals: &[u32],
    ) -> Result<Option<Vec<Option<Password>>>, Error> {
        if !matches!(self.task.work, TaskWork::Creation { is_explicit: true, .. }) {
            return Ok(Some(Vec::new()));
        }
        let mut last = self.part.lock().await;
        let mut chosen = Vec::with_capacity(ordinals.len());
        for ordinal in ordinals {
            let part = self.part(&mut last, ordinal / PART_ITEMS, Some(key)).await?;
            let Some(part) = part else { return Ok(None) };
            let PartItems::New(items) = &part.items else { return Err(missing().into()) };
            chosen.push(match items.get((ordinal % PART_ITEMS) as usize) {
                Some(NewItem::Valid(item)) => item.password.clone(),
                Some(NewItem::Invalid(_)) | None => None,
            });
        }
        Ok(Some(chosen))
    }

    /// Accesses that the Task changed.
    async fn changed(
        &self,
        ordinals: &[u32],
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
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
        let now = self.app.now();
        let password = self.set_password(now).await?;
        for (stored, (index, _)) in rows.iter().zip(named) {
            let is_its = self.password.as_ref() == Some(&stored.password);
            let password = password.clone().filter(|_| is_its);
            show(success(index, stored.access.shown(), password, now));
        }
        Ok(())
    }

    /// The password that the Task sets, while it may be shown.
    async fn set_password(&self, now: Timestamp) -> Result<Option<Password>, Error> {
        let Some(key) = self.key(now) else { return Ok(None) };
        self.app.password_of_change(&self.tenant, self.task.id, key).await
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

/// The ordinals of the items that didn't fail.
fn without(failed: &[FailedItem], from: u32, until: u32) -> Vec<u32> {
    let mut failed = failed.iter().map(|item| item.ordinal).peekable();
    (from..until).filter(|ordinal| failed.next_if_eq(ordinal).is_none()).collect()
}

fn success(
    index: u32,
    mut access: ShownAccess<'_>,
    password: Option<Password>,
    now: Timestamp,
) -> SucceededItem<'_> {
    lifecycle::settle_shown(&mut access, now);
    SucceededItem { index, access, password: password.map(OneTimePassword::new) }
}

/// Something that a Task has written down is not there.
fn missing() -> StoreError {
    StoreError::Unexpected("a piece of a Task is missing".into())
}
