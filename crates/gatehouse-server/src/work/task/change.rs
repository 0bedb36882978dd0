//! Changing the accesses of a batch, by the rules of single changes.

use std::sync::Arc;

use gatehouse_core::credential::StoredHash;
use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::task::{ItemReference, NewPasswords, Task, TaskWork};
use gatehouse_core::{AccessId, BatchFailure};
use gatehouse_store::{
    ChangeRule, Failpoint, ItemChange, ItemChunk, Lease, PlannedItem, PlannedItems, StepResult,
};
use gatehouse_vault::TaskKey;
use tokio::sync::OwnedSemaphorePermit;

use super::creation::no_key;
use super::{StepError, TaskWorker, ordinals, parts};
use crate::app::access::AccessChange;
use crate::app::batch::{NamedAccess, PART_ITEMS, read_change};
use crate::work::chunk_size::CHUNK_LIMITS;

impl TaskWorker {
    /// Starts a change: hashes the one password that the client chose, or rejects it if none of its accesses exists.
    pub(super) async fn start_change(
        &self,
        lease: &Lease,
        task: &Task,
        permit: OwnedSemaphorePermit,
    ) -> Result<StepResult, StepError> {
        // Others can work meanwhile: the step mostly waits for the hash.
        drop(permit);
        let begin = match self.hold(lease, self.names_any_access(lease, task)).await?? {
            true => Ok(self.hash_password(lease, task).await?),
            false => Err(BatchFailure::no_access_at_all(task.n_items)),
        };
        self.app.store.pass(Failpoint::Hashed)?;
        let _permit = self.permit(lease).await?;
        let store = &self.app.store;
        Ok(store.start_change(lease, task.id, begin, self.lifetimes).await?)
    }

    /// Changes the next accesses.
    pub(super) async fn change(
        &mut self,
        lease: &Lease,
        task: &Task,
        password: Option<StoredHash>,
    ) -> Result<StepResult, StepError> {
        let from = task.n_processed();
        let next = ordinals(task, from, self.chunk_size.n_items());
        let key = match passwords(task) {
            NewPasswords::None | NewPasswords::Chosen => None,
            NewPasswords::Generated => Some(self.key(lease, task).await?),
        };
        let hash = |ordinal| match &key {
            Some(key) => Some(self.app.vault.hash_generated(&key.password(ordinal))),
            None => password.clone(),
        };
        let mut items = PlannedItems::new();
        for part in parts(&next) {
            let named = self.named(lease, task, part).await?.into_iter().zip(part * PART_ITEMS..);
            let selected = named.filter(|(_, ordinal)| next.contains(ordinal));
            items.extend(selected.map(|(it, ordinal)| (it.index, plan(it, || hash(ordinal)))));
            tokio::task::yield_now().await;
        }
        self.app.store.pass(Failpoint::Prepared)?;
        let chunk = ItemChunk { task: task.id, from, items, limits: CHUNK_LIMITS };
        let rule = rule(&task.work);
        let step = self.app.store.run_change(lease, chunk, rule, self.lifetimes).await?;
        let n_changed = step.task.n_processed() - from;
        self.adjust_chunk_size(n_changed, &step);
        Ok(step)
    }

    /// Whether any access of the batch exists.
    async fn names_any_access(&self, lease: &Lease, task: &Task) -> Result<bool, StepError> {
        for part in 0..task.n_items.div_ceil(PART_ITEMS) {
            let named = self.named(lease, task, part).await?;
            let ids: Vec<AccessId> = named.into_iter().filter_map(|it| it.id.ok()).collect();
            let found = self.app.store.accesses_by_id(&lease.key.tenant, &ids).await?;
            if !found.is_empty() {
                return Ok(true);
            }
            // Hundreds of lookups ran on a shared thread.
            tokio::task::yield_now().await;
        }
        Ok(false)
    }

    /// The accesses of one part of the batch.
    async fn named(
        &self,
        lease: &Lease,
        task: &Task,
        part: u32,
    ) -> Result<Vec<NamedAccess>, StepError> {
        Ok(read_change(&self.part(lease, task.id, part).await?)?)
    }

    /// Computes one slow hash for all accesses, which share the client's password.
    async fn hash_password(
        &self,
        lease: &Lease,
        task: &Task,
    ) -> Result<Option<StoredHash>, StepError> {
        if passwords(task) != NewPasswords::Chosen {
            return Ok(None);
        }
        let key = self.key(lease, task).await?;
        let password = self.app.password_of_change(&lease.key.tenant, task.id, &key).await?;
        let password = password.ok_or_else(no_key)?;
        let chosen = vec![(password, key.salt(0))];
        let hashes = self.hold(lease, self.app.vault.hash_batch(chosen)).await?;
        Ok(hashes.into_iter().next())
    }

    async fn key(&self, lease: &Lease, task: &Task) -> Result<TaskKey, StepError> {
        let key = self.app.task_key(&lease.key.tenant, task.id).await?;
        Ok(key.ok_or_else(no_key)?)
    }
}

/// The passwords that a change sets.
fn passwords(task: &Task) -> NewPasswords {
    match task.work {
        TaskWork::Update { passwords, .. } => passwords,
        TaskWork::Creation { .. } | TaskWork::Termination => NewPasswords::None,
    }
}

fn plan(
    named: NamedAccess,
    password: impl FnOnce() -> Option<StoredHash>,
) -> PlannedItem<ItemChange> {
    match named.id {
        Ok(id) => PlannedItem::Do(ItemChange { id, password: password() }),
        Err(text) => {
            let failure = BatchFailure::no_access(&text);
            PlannedItem::Fail(
                ItemReference { access_id: Some(text), ..ItemReference::default() },
                failure,
            )
        }
    }
}

/// The rule for each access.
fn rule(work: &TaskWork) -> ChangeRule {
    let update: Option<(Option<TargetStatus>, bool, LabelPatch)> = match work {
        TaskWork::Update { target, passwords, labels } => {
            Some((*target, *passwords != NewPasswords::None, labels.clone()))
        }
        TaskWork::Creation { .. } | TaskWork::Termination => None,
    };
    Arc::new(move |stored, contract, tenant, now| {
        let refused = |conflict: lifecycle::StateConflict| BatchFailure::refused(&conflict);
        lifecycle::allow_batch(contract).map_err(refused)?;
        let current = lifecycle::at(&stored.access, now);
        Ok(match &update {
            Some((status, rotates, labels)) => {
                let (status, rotates) = (*status, *rotates);
                let change = AccessChange { status, rotates, labels: Some(labels) };
                change.apply(current, contract, now).map_err(refused)?
            }
            None => lifecycle::plan_termination(&current, &tenant.time_zone, now),
        })
    })
}
