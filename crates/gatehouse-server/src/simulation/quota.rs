//! A tenant whose contracts have quotas and ends: what asks for more than there is room for, and for accesses that end soon.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::{Access, AccessId, BillingModel, Contract, Tenant, TenantName, Timestamp};
use gatehouse_store::Store;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::{Replicas, TENANTS};
use gatehouse_vault::HashCaller;
use tokio_util::sync::CancellationToken;

use super::fleet::Fleet;
use super::limits::{LIMITED, N_ACCESSES_MAX, QUOTA_CONTRACT, REQUESTS_PER_SECOND};
use super::world::World;
use crate::app::access::{AccessRequest, AccessUpdate, IssuedAccess};
use crate::app::batch::{BatchChange, BatchOperation, NamedAccess, NewBatch, NewItems};
use crate::app::{App, Error};

/// The tenant.
pub(super) const QUOTA_TENANT: &str = "few";

/// Contracts whose accesses end: with the contract, and some seconds after their first connection.
const ENDING: &str = "ending";
const PREPAID: &str = "prepaid";

/// An active contract that is paid by use.
pub(super) fn contract(id: &str) -> Contract {
    Contract::active(id.parse().unwrap(), "po".parse().unwrap(), BillingModel::PayPerUse)
}

/// Makes all tenants with their contracts.
pub(super) async fn found(store: &Store, world: &World) {
    let few = Contract { n_accesses_max: Some(N_ACCESSES_MAX), ..contract(QUOTA_CONTRACT) };
    let end = some_end(world);
    let ending = Contract { end: Some(end), ..contract(ENDING) };
    let prepaid = Contract {
        billing_model: BillingModel::Prepaid,
        validity: "PT7S".parse().ok(),
        ..contract(PREPAID)
    };
    let payg = TENANTS.map(|tenant| (tenant, vec![contract("payg")]));
    let others = [(QUOTA_TENANT, vec![few, ending, prepaid]), (LIMITED, Vec::new())];
    for (name, contracts) in payg.into_iter().chain(others) {
        let tenant = Tenant {
            requests_per_second: (name == LIMITED).then_some(REQUESTS_PER_SECOND),
            ..Tenant::new(name.parse().unwrap(), "Europe/Berlin".parse().unwrap())
        };
        store.put_tenant(&tenant).await.unwrap();
        for contract in contracts {
            store.put_contract(&tenant.name, &contract).await.unwrap().unwrap();
        }
    }
}

/// An end that comes while clients ask.
fn some_end(world: &World) -> Timestamp {
    let milliseconds = world.dice().roll(world.plan.load_milliseconds).cast_signed();
    world.now().plus_milliseconds(milliseconds)
}

/// A client of the tenant.
pub(super) struct QuotaClient {
    fleet: Arc<Fleet>,
    dice: SeededRandom,
    tenant: TenantName,
    known: Vec<(AccessId, String, Option<String>)>,
}

impl QuotaClient {
    pub(super) fn new(fleet: Arc<Fleet>, dice: SeededRandom) -> Self {
        Self { fleet, dice, tenant: QUOTA_TENANT.parse().unwrap(), known: Vec::new() }
    }

    /// Asks for one thing after the other, for so long.
    pub(super) async fn ask_for(mut self, world: Arc<World>, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20 + self.dice.roll(300))).await;
            let replica = self.fleet.anyone(&mut self.dice).await;
            let server = self.fleet.server(replica);
            let asked = tokio::select! {
                biased;
                () = server.wire.died.cancelled() => continue,
                asked = self.ask(&server.app) => asked,
            };
            if let Err(error) = asked {
                match error {
                    // There is no room, or what it is about is over.
                    Error::StateConflict(_) | Error::Storage(_) | Error::CredentialsRefused(_) => {}
                    other => world.model().fault(format!("nobody should hear {other:?}")),
                }
            }
        }
    }

    async fn ask(&mut self, app: &App) -> Result<(), Error> {
        match self.dice.roll(8) {
            0..=2 => {
                let contract = *self.dice.pick(&[QUOTA_CONTRACT, ENDING, PREPAID]);
                self.create(app, contract).await
            }
            3 => self.create_many(app).await,
            4..=5 => self.terminate(app).await,
            6 => self.terminate_many(app).await,
            _ => self.connect(app).await,
        }
    }

    async fn create(&mut self, app: &App, contract: &str) -> Result<(), Error> {
        let wanted = AccessRequest {
            contract_id: contract.parse().unwrap(),
            username: None,
            password: None,
            device_name: None,
        };
        let tenant = self.tenant.clone();
        let gone = CancellationToken::new();
        let asker = HashCaller { tenant: &tenant, gone: &gone };
        let IssuedAccess { access, password } = app.create_access(asker, wanted, None).await?;
        let Access { id, username, .. } = access;
        let password = password.map(|it| it.reveal().to_owned());
        self.known.push((id, username.as_str().to_owned(), password));
        Ok(())
    }

    /// A batch for which there may be no room.
    async fn create_many(&mut self, app: &App) -> Result<(), Error> {
        let contract_id = self.dice.pick(&[QUOTA_CONTRACT, ENDING]).parse().unwrap();
        let n = 1 + self.dice.roll(N_ACCESSES_MAX + 1);
        let batch = NewBatch { contract_id, items: NewItems::Count(n.try_into().unwrap()) };
        let (task, _) = app.accept_batch(&self.tenant, batch, None, "simulated").await?;
        if self.dice.roll(3) == 0 {
            // Over already is fine, too.
            let stopped = app.stop_task(&self.tenant, task).await;
            return stopped.map(drop).or_else(|error| match error {
                Error::TaskFinished(_) => Ok(()),
                other => Err(other),
            });
        }
        let made = |made: gatehouse_store::CreatedAccess<'_>| {
            (made.access.id, made.access.username.to_owned(), None)
        };
        let made = app.store.accesses_of_task(&self.tenant, task, 0, u32::MAX, made).await?;
        self.known.extend(made);
        Ok(())
    }

    /// The end of an access, at once.
    async fn terminate(&mut self, app: &App) -> Result<(), Error> {
        let Some((id, ..)) = self.some_access() else { return Ok(()) };
        let (tenant, gone) = (self.tenant.clone(), CancellationToken::new());
        let asker = HashCaller { tenant: &tenant, gone: &gone };
        let status = *self.dice.pick(&[
            TargetStatus::Terminated,
            TargetStatus::Suspended,
            TargetStatus::Active,
        ]);
        let update = AccessUpdate { status: Some(status), password: None };
        app.update_access(asker, id, update, |_| true).await.map(drop)
    }

    /// The end of accesses with the month, or their suspension.
    async fn terminate_many(&mut self, app: &App) -> Result<(), Error> {
        let operation = match self.dice.roll(2) {
            0 => BatchOperation::Terminate,
            _ => BatchOperation::Update { status: Some(TargetStatus::Suspended), password: None },
        };
        let named = self.known.iter().rev().take(12).zip(0..);
        let ids = named.map(|((id, ..), index)| NamedAccess { index, id: Ok(*id) }).collect();
        app.accept_change(&self.tenant, BatchChange { ids, operation }, None, "simulated")
            .await
            .map(drop)
    }

    /// The connection of a device, which begins the life of a prepaid access.
    async fn connect(&mut self, app: &App) -> Result<(), Error> {
        let Some((_, username, Some(password))) = self.some_access() else { return Ok(()) };
        let (tenant, gone) = (self.tenant.clone(), CancellationToken::new());
        let asker = HashCaller { tenant: &tenant, gone: &gone };
        let password = gatehouse_core::credential::Password::new(password).unwrap();
        app.verify(asker, &username.parse().unwrap(), &password).await.map(drop)
    }

    fn some_access(&mut self) -> Option<(AccessId, String, Option<String>)> {
        (!self.known.is_empty()).then(|| self.dice.pick(&self.known).clone())
    }
}
