//! Results of a Task: its accesses as they are now, and its failed items.
//!
//! Items are read in ranges, by ordinal or by position among the succeeded or failed ones, so a Task of any size is
//! shown in little memory. A password is derived or unsealed again. It is shown until it expires, and only while the
//! access still has it: if the access was changed since, it is compared with the stored hash.

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::lifecycle;
use gatehouse_core::task::{FailedItem, NewPasswords, Task, TaskWork};
use gatehouse_core::{ShownAccess, TaskId, TenantName, Timestamp};
use gatehouse_store::{CreatedAccess, PASSWORD_PART, SecretKind, StoreError, StoredTask};
use gatehouse_vault::TaskKey;
use tokio::sync::Mutex;

use super::access::OneTimePassword;
use super::batch::{NamedAccess, NewItem, PART_ITEMS, Stage, read_change, read_creation};
use super::chosen_password::ChosenPassword;
use super::{App, Error};

/// A Task, and access to its items.
pub struct TaskOutcome {
    app: App,
    tenant: TenantName,
    /// The Task.
    pub task: Task,
    password: Option<StoredHash>,
    /// The Task's key, where passwords are shown.
    key: Option<TaskKey>,
    /// The part that was read last: items are mostly read in order.
    part: Mutex<Option<Part>>,
}

/// One part of the client's request.
struct Part {
    number: u32,
    items: PartItems,
}

enum PartItems {
    New(Vec<NewItem>),
    Named(Vec<NamedAccess>),
}

/// An item's result.
pub enum TaskItem<'a> {
    /// The item succeeded.
    Succeeded(SucceededItem<'a>),
    /// The item failed.
    Failed(Box<FailedItem>),
}

/// A succeeded item.
pub struct SucceededItem<'a> {
    /// Position in the request.
    pub index: u32,
    /// The access as it is now.
    pub access: ShownAccess<'a>,
    /// The password that the Task set, while the access has it and it may be shown.
    pub password: Option<OneTimePassword>,
}

/// Selects items by result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFilter {
    /// All items.
    All,
    /// Succeeded items.
    Succeeded,
    /// Failed items.
    Failed,
}

impl App {
    /// Loads a Task to read its items.
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

    /// A Task's key, until it is destroyed.
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
    /// Hides the passwords, for a caller whose token may not write accesses.
    pub fn without_passwords(self) -> Self {
        Self { key: None, ..self }
    }

    /// The Task's tenant.
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Refuses a Task that is not at `stage`; `what` tells the client what it needs.
    pub fn check(&self, stage: Stage, what: &'static str) -> Result<(), Error> {
        let state = self.task.state;
        if stage.is_met(state) { Ok(()) } else { Err(Error::TaskNotReady { state, what }) }
    }

    /// When the shown passwords expire; `None` without passwords, and while the Task runs: the time starts at its end.
    pub fn shows_passwords_until(&self) -> Option<Timestamp> {
        let has_any = self.key.is_some() && self.task.n_succeeded > 0;
        self.task.shows_secrets_until.filter(|_| has_any)
    }

    /// Number of selected items.
    pub fn n_items(&self, filter: ItemFilter) -> u32 {
        match filter {
            ItemFilter::All => self.task.n_processed(),
            ItemFilter::Succeeded => self.task.n_succeeded,
            ItemFilter::Failed => self.task.n_failed,
        }
    }

    /// Shows `n` selected items in request order, from number `from` on. An error may come after some were shown.
    pub async fn show(
        &self,
        filter: ItemFilter,
        from: u32,
        n: u32,
        show: &mut (impl FnMut(TaskItem<'_>) + Send),
    ) -> Result<(), Error> {
        let to = from.saturating_add(n).min(self.n_items(filter));
        if from >= to {
            return Ok(());
        }
        let (store, id) = (&self.app.store, self.task.id);
        match filter {
            ItemFilter::All => {
                let (n_before, failed) = self.failed_within(from, to).await?;
                let ordinals = without_failed(&failed, from, to);
                let mut failed = failed.into_iter().peekable();
                let mut ordinal = from;
                self.show_succeeded(from - n_before, &ordinals, &mut |success| {
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

    /// Why the Task was rejected.
    pub async fn rejection(&self) -> Result<Option<FailedItem>, Error> {
        let why = self.app.store.failed_items(&self.tenant, self.task.id, 0, 1).await?;
        Ok(why.into_iter().next())
    }

    /// Shows the succeeded items among these ordinals.
    pub async fn show_succeeded_within(
        &self,
        from: u32,
        until: u32,
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
        let (n_before, failed) = self.failed_within(from, until).await?;
        self.show_succeeded(from - n_before, &without_failed(&failed, from, until), show).await
    }

    /// The ordinal of the succeeded item number `position`, from 0.
    ///
    /// The ordinal is the position plus the number of failed items before it, found by binary search.
    async fn ordinal_of_success(&self, position: u32) -> Result<u32, Error> {
        let (mut low, mut high) = (0, self.task.n_failed);
        while low < high {
            let number = low + (high - low).div_ceil(2);
            let failed =
                self.app.store.failed_items(&self.tenant, self.task.id, number - 1, number);
            let failed = failed.await?.into_iter().next().ok_or_else(missing)?;
            if failed.ordinal - (number - 1) <= position {
                low = number;
            } else {
                high = number - 1;
            }
        }
        Ok(position + low)
    }

    /// Shows the succeeded items with these ordinals, which come after `after` other succeeded items.
    async fn show_succeeded(
        &self,
        after: u32,
        ordinals: &[u32],
        show: &mut (impl FnMut(SucceededItem<'_>) + Send),
    ) -> Result<(), Error> {
        match self.task.work {
            TaskWork::Creation { .. } => self.show_created(after, ordinals, show).await,
            TaskWork::Update { .. } | TaskWork::Termination => {
                self.show_changed(ordinals, show).await
            }
        }
    }

    /// The number of failed items before this range, and the failed items in it.
    async fn failed_within(&self, from: u32, until: u32) -> Result<(u32, Vec<FailedItem>), Error> {
        if self.task.n_failed == 0 {
            return Ok((0, Vec::new()));
        }
        let (store, id) = (&self.app.store, self.task.id);
        let n_before = store.n_failed_before(&self.tenant, id, from).await?;
        Ok((n_before, store.failed_items_within(&self.tenant, id, from, until).await?))
    }

    /// Shows created accesses with these ordinals, which come after `after` others.
    async fn show_created(
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
        // Without the chosen passwords, the generated ones can't be told apart.
        let key = key.filter(|_| chosen.is_some());
        let chosen = chosen.unwrap_or_default().into_iter().chain(std::iter::repeat(None));
        let mut next = ordinals.iter().zip(chosen);
        let take = |made: CreatedAccess<'_>| {
            let Some((ordinal, chosen)) = next.next() else { return };
            let CreatedAccess { access, password: stored } = made;
            let given = |key| self.given_password(key, stored.as_ref(), *ordinal, chosen);
            show(success(*ordinal, access, key.and_then(given), now));
        };
        let store = &self.app.store;
        let shown = store.accesses_of_task(&self.tenant, self.task.id, after, after + n, take);
        match shown.await?.len() == ordinals.len() {
            true => Ok(()),
            false => Err(missing().into()),
        }
    }

    /// The key until the passwords expire: a long response shows none after that.
    fn key(&self, now: Timestamp) -> Option<&TaskKey> {
        self.key.as_ref().filter(|_| self.task.shows_secrets(now))
    }

    /// The password that the Task set, if the access is unchanged or its stored hash still matches; none where the client
    /// gave a hash.
    fn given_password(
        &self,
        key: &TaskKey,
        stored: Option<&StoredHash>,
        ordinal: u32,
        chosen: Option<ChosenPassword>,
    ) -> Option<Password> {
        let vault = &self.app.vault;
        match chosen {
            Some(ChosenPassword::Hash(_)) => None,
            Some(ChosenPassword::Clear(chosen)) => {
                let is_current = stored.is_none_or(|it| vault.has_salt(it, &key.salt(ordinal)));
                is_current.then_some(chosen)
            }
            None => {
                let generated = key.password(ordinal);
                let is_current = stored.is_none_or(|it| vault.is_hash_of_generated(it, &generated));
                is_current.then_some(generated)
            }
        }
    }

    /// The chosen passwords of these items, in order; `None` if they were destroyed after the key was read.
    async fn chosen_passwords(
        &self,
        key: &TaskKey,
        ordinals: &[u32],
    ) -> Result<Option<Vec<Option<ChosenPassword>>>, Error> {
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

    /// Shows changed accesses.
    async fn show_changed(
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
            named.push((*ordinal, one.index, one.id.clone().map_err(|_| missing())?));
        }
        drop(last);
        let ids: Vec<_> = named.iter().map(|(_, _, id)| *id).collect();
        let rows = self.app.store.accesses_by_id(&self.tenant, &ids).await?;
        if rows.len() != ids.len() {
            return Err(missing().into());
        }
        let now = self.app.now();
        let chosen = self.chosen_password(now).await?;
        for (stored, (ordinal, index, _)) in rows.iter().zip(named) {
            let password = match self.generating_key(now) {
                Some(key) => self.given_password(key, Some(&stored.password), ordinal, None),
                None => {
                    let is_current = self.password.as_ref() == Some(&stored.password);
                    chosen.clone().filter(|_| is_current)
                }
            };
            show(success(index, stored.access.shown(), password, now));
        }
        Ok(())
    }

    /// The one password that a change sets, until it expires.
    async fn chosen_password(&self, now: Timestamp) -> Result<Option<Password>, Error> {
        match (self.key(now), self.generating_key(now)) {
            (Some(key), None) => self.app.password_of_change(&self.tenant, self.task.id, key).await,
            _ => Ok(None),
        }
    }

    /// The key of a change that generates passwords, until they expire.
    fn generating_key(&self, now: Timestamp) -> Option<&TaskKey> {
        let passwords = match self.task.work {
            TaskWork::Update { passwords, .. } => passwords,
            TaskWork::Creation { .. } | TaskWork::Termination => NewPasswords::None,
        };
        self.key(now).filter(|_| passwords == NewPasswords::Generated)
    }

    /// A part of the client's request, while it is stored. Caches the last one.
    async fn part<'l>(
        &self,
        last: &'l mut Option<Part>,
        number: u32,
        key: Option<&TaskKey>,
    ) -> Result<Option<&'l Part>, Error> {
        let cached = last.take().filter(|part| part.number == number);
        let part = match cached {
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
fn without_failed(failed: &[FailedItem], from: u32, until: u32) -> Vec<u32> {
    let mut failed = failed.iter().map(|item| item.ordinal).peekable();
    (from..until).filter(|ordinal| failed.next_if_eq(ordinal).is_none()).collect()
}

fn success(
    index: u32,
    mut access: ShownAccess<'_>,
    password: Option<Password>,
    now: Timestamp,
) -> SucceededItem<'_> {
    lifecycle::advance_shown_to(&mut access, now);
    SucceededItem { index, access, password: password.map(OneTimePassword::new) }
}

/// Stored data of a Task is missing.
fn missing() -> StoreError {
    StoreError::Unexpected("data of a Task is missing".into())
}
