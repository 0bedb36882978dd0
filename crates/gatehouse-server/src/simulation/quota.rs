//! A tenant whose contracts have quotas and ends, and its client, which exceeds the quotas.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::{
    Access, AccessId, BillingModel, Contract, Labels, Tenant, TenantName, Timestamp,
};
use gatehouse_store::Store;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::{Replicas, TENANTS};
use gatehouse_vault::HashCaller;
use tokio_util::sync::CancellationToken;

use super::fleet::Fleet;
use super::limits::{LIMITED, N_ACCESSES_MAX, QUOTA_CONTRACT, REQUESTS_PER_SECOND};
use super::world::World;
use crate::app::access::{AccessRequest, AccessUpdate, IssuedAccess};
use crate::app::batch::{
    AccessSelection, BatchChange, BatchOperation, NamedAccess, NewBatch, NewItems,
};
use crate::app::requester::Requester;
use crate::app::requester::testing::ORIGIN;
use crate::app::requester::testing::audited;
use crate::app::{App, Error};

/// The tenant.
pub(super) const QUOTA_TENANT: &str = "few";

/// Contracts whose accesses end: with the contract, and some seconds after their first connection.
const ENDING: &str = "ending";
const PREPAID: &str = "prepaid";

/// An active pay-per-use contract.
pub(super) fn contract(id: &str) -> Contract {
    Contract::active(id.parse().unwrap(), "po".parse().unwrap(), BillingModel::PayPerUse)
}

/// Creates all tenants with their contracts.
pub(super) async fn create_tenants(store: &Store, world: &World) {
    let with_quota = Contract { n_accesses_max: Some(N_ACCESSES_MAX), ..contract(QUOTA_CONTRACT) };
    let end = random_end(world);
    let ending = Contract { end: Some(end), ..contract(ENDING) };
    let prepaid = Contract {
        billing_model: BillingModel::Prepaid,
        validity: "PT7S".parse().ok(),
        ..contract(PREPAID)
    };
    let payg = TENANTS.map(|tenant| (tenant, vec![contract("payg")]));
    let others = [(QUOTA_TENANT, vec![with_quota, ending, prepaid]), (LIMITED, Vec::new())];
    for (name, contracts) in payg.into_iter().chain(others) {
        let tenant = Tenant {
            requests_per_second: (name == LIMITED).then_some(REQUESTS_PER_SECOND),
            ..Tenant::new(name.parse().unwrap(), "Europe/Berlin".parse().unwrap())
        };
        store.put_tenant(&tenant, &audited()).await.unwrap();
        for contract in contracts {
            store.put_contract(&tenant.name, &contract, &audited()).await.unwrap().unwrap();
        }
    }
}

/// An end during the load.
fn random_end(world: &World) -> Timestamp {
    let milliseconds = world.random().roll(world.plan.load_milliseconds).cast_signed();
    world.now().plus_milliseconds(milliseconds)
}

/// A client of the tenant.
pub(super) struct QuotaClient {
    fleet: Arc<Fleet>,
    random: SeededRandom,
    tenant: TenantName,
    known: Vec<(AccessId, String, Option<String>)>,
}

impl QuotaClient {
    pub(super) fn new(fleet: Arc<Fleet>, random: SeededRandom) -> Self {
        Self { fleet, random, tenant: QUOTA_TENANT.parse().unwrap(), known: Vec::new() }
    }

    /// Sends requests one by one, for this time.
    pub(super) async fn run_for(mut self, world: Arc<World>, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20 + self.random.roll(300))).await;
            let replica = self.fleet.anyone(&mut self.random).await;
            let server = self.fleet.server(replica);
            let result = tokio::select! {
                biased;
                () = server.link.died.cancelled() => continue,
                result = self.act(&server.app) => result,
            };
            if let Err(error) = result {
                match error {
                    // The quota is exhausted, or the access has ended.
                    Error::StateConflict(_) | Error::Storage(_) | Error::CredentialsRefused(_) => {}
                    other => world.model().fault(format!("unexpected error: {other:?}")),
                }
            }
        }
    }

    async fn act(&mut self, app: &App) -> Result<(), Error> {
        match self.random.roll(8) {
            0..=2 => {
                let contract = *self.random.pick(&[QUOTA_CONTRACT, ENDING, PREPAID]);
                self.create(app, contract).await
            }
            3 => self.create_many(app).await,
            4..=5 => self.terminate(app).await,
            6 => self.terminate_many(app).await,
            _ => self.connect(app).await,
        }
    }

    async fn create(&mut self, app: &App, contract: &str) -> Result<(), Error> {
        let request = AccessRequest {
            contract_id: contract.parse().unwrap(),
            username: None,
            password: None,
            device_name: None,
            labels: Labels::NONE,
        };
        let tenant = self.tenant.clone();
        let disconnection = CancellationToken::new();
        let caller =
            Requester::in_test(HashCaller { tenant: &tenant, disconnection: &disconnection });
        let IssuedAccess { access, password } = app.create_access(caller, request, None).await?;
        let Access { id, username, .. } = access;
        let password = password.map(|it| it.reveal().to_owned());
        self.known.push((id, username.as_str().to_owned(), password));
        Ok(())
    }

    /// A batch that may exceed the quota.
    async fn create_many(&mut self, app: &App) -> Result<(), Error> {
        let contract_id = self.random.pick(&[QUOTA_CONTRACT, ENDING]).parse().unwrap();
        let n = 1 + self.random.roll(N_ACCESSES_MAX + 1);
        let batch =
            NewBatch { contract_id, items: NewItems::Count(n.try_into().unwrap(), Labels::NONE) };
        let (task, _) = app.accept_batch(&self.tenant, batch, None, &ORIGIN).await?;
        if self.random.roll(3) == 0 {
            // It may have ended already.
            let stopped = app.stop_task(&self.tenant, task, &ORIGIN).await;
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

    /// Changes the status of an access, or terminates it.
    async fn terminate(&mut self, app: &App) -> Result<(), Error> {
        let Some((id, ..)) = self.random_access() else { return Ok(()) };
        let (tenant, disconnection) = (self.tenant.clone(), CancellationToken::new());
        let caller =
            Requester::in_test(HashCaller { tenant: &tenant, disconnection: &disconnection });
        let status = *self.random.pick(&[
            TargetStatus::Terminated,
            TargetStatus::Suspended,
            TargetStatus::Active,
        ]);
        let update = AccessUpdate { status: Some(status), password: None, labels: None };
        app.update_access(caller, id, update, |_| true).await.map(drop)
    }

    /// Terminates accesses at the end of the month, or suspends them.
    async fn terminate_many(&mut self, app: &App) -> Result<(), Error> {
        let operation = match self.random.roll(2) {
            0 => BatchOperation::Terminate,
            _ => BatchOperation::Update {
                status: Some(TargetStatus::Suspended),
                password: None,
                labels: None,
            },
        };
        let named = self.known.iter().rev().take(12).zip(0..);
        let ids = named.map(|((id, ..), index)| NamedAccess { index, id: Ok(*id) }).collect();
        let selection = AccessSelection::Named(ids);
        app.accept_change(&self.tenant, BatchChange { selection, operation }, None, &ORIGIN)
            .await
            .map(drop)
    }

    /// Connects a device, which activates a prepaid access.
    async fn connect(&mut self, app: &App) -> Result<(), Error> {
        let Some((_, username, Some(password))) = self.random_access() else { return Ok(()) };
        let (tenant, disconnection) = (self.tenant.clone(), CancellationToken::new());
        let caller =
            Requester::in_test(HashCaller { tenant: &tenant, disconnection: &disconnection });
        let password = gatehouse_core::credential::Password::new(password).unwrap();
        app.verify(caller, &username.parse().unwrap(), &password).await.map(drop)
    }

    fn random_access(&mut self) -> Option<(AccessId, String, Option<String>)> {
        (!self.known.is_empty()).then(|| self.random.pick(&self.known).clone())
    }
}
