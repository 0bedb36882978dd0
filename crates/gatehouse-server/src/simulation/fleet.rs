//! The simulated servers as clients see them: requests of the shared load, answered by the service without HTTP.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gatehouse_core::credential::Password;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, FILTER_FIELDS};
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::{Access, AccessId, Labels, PageRequest, TaskId, TenantName};
use gatehouse_store::{IdempotentRequest, Operation};
use gatehouse_testing::history::call::{Answer, Call, Items, Request, Wanted};
use gatehouse_testing::history::{Replicas, TENANTS};
use gatehouse_vault::HashCaller;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::server::Server;
use super::world::World;
use crate::app::access::{AccessRequest, AccessUpdate, IssuedAccess, NewPassword};
use crate::app::batch::{
    AccessSelection, BatchChange, BatchOperation, InvalidItem, NamedAccess, NewBatch, NewItem,
    NewItems, ValidItem,
};
use crate::app::requester::Requester;
use crate::app::requester::testing::ORIGIN;
use crate::app::{App, Error};
use crate::reader::Fault;

/// Accesses of a Task that are shown.
const N_SHOWN: u32 = 100;

/// All servers ever, and the history of calls.
pub(super) struct Fleet {
    world: Arc<World>,
    servers: Mutex<Vec<Arc<Server>>>,
    calls: Mutex<Vec<Call>>,
    /// Requests in progress, also those whose clients have given up.
    in_progress: TaskTracker,
}

impl Fleet {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self {
            world: Arc::clone(world),
            servers: Mutex::default(),
            calls: Mutex::default(),
            in_progress: TaskTracker::new(),
        }
    }

    /// Starts a server.
    pub(super) async fn join(&self) {
        let number = self.servers().len();
        let server = Server::start(&self.world, number).await;
        self.servers().push(server);
    }

    /// The server with this number.
    pub(super) fn server(&self, number: usize) -> Arc<Server> {
        Arc::clone(&self.servers()[number])
    }

    pub(super) fn servers(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap()
    }

    /// The history of calls.
    pub(super) fn history(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Waits until no request is in progress.
    pub(super) async fn finish(&self) {
        self.in_progress.close();
        self.in_progress.wait().await;
    }

    /// Calls a server, with a timeout if the request is idempotent: a repeated request must take effect once, even if
    /// the first server continues long after.
    async fn send(&self, server: Arc<Server>, tenant: usize, request: &Request) -> Answer {
        let gives_up = matches!(request, Request::Create { .. } | Request::Batch { .. });
        let timeout = self.world.random_time(200, 20_000);
        let request = request.clone();
        let call = self.in_progress.spawn(async move {
            tokio::select! {
                biased;
                () = server.link.died.cancelled() => Answer::Lost,
                answer = call_service(&server.app, TENANTS[tenant], &request) => {
                    answer.unwrap_or_else(refused)
                }
            }
        });
        let timeout = if gives_up { timeout } else { Duration::MAX };
        tokio::time::timeout(timeout, call).await.map_or(Answer::Lost, Result::unwrap)
    }

    fn elapsed_microseconds(&self) -> u64 {
        self.world.began.elapsed().as_micros() as u64
    }
}

impl Replicas for Fleet {
    /// An hour of simulated time: some plans stop every server for up to 40 s repeatedly.
    const RETRY_TIME_MAX: Duration = Duration::from_secs(3600);

    fn running(&self) -> Vec<usize> {
        self.world.model().running()
    }

    async fn call(&self, replica: usize, tenant: usize, request: &Request) -> Option<Answer> {
        let (server, begin) = (self.server(replica), self.elapsed_microseconds());
        let answer = self.send(server, tenant, request).await;
        // Distinct times order calls that don't overlap.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.world.log(|| format!("server {replica}: {request:?}: {answer:?}"));
        let call = Call {
            replica,
            begin,
            end: self.elapsed_microseconds(),
            tenant,
            request: request.clone(),
            answer: answer.clone(),
        };
        self.calls.lock().unwrap().push(call);
        Some(answer)
    }
}

/// Calls the service.
async fn call_service(app: &App, tenant: &str, request: &Request) -> Result<Answer, Error> {
    let tenant: TenantName = tenant.parse().unwrap();
    let disconnection = CancellationToken::new();
    let caller = Requester::in_test(HashCaller { tenant: &tenant, disconnection: &disconnection });
    let done = match request {
        Request::Create { device, .. } => {
            let new = AccessRequest {
                contract_id: "payg".parse().unwrap(),
                username: None,
                password: None,
                device_name: Some(device.parse().unwrap()),
                labels: Labels::NONE,
            };
            let idempotent = idempotent(app, &tenant, Operation::Create, request);
            issued(&app.create_access(caller, new, idempotent).await?)
        }
        Request::Change { access, wanted } => {
            let update = AccessUpdate {
                status: target(wanted),
                password: wanted.password.clone().map(|it| NewPassword::Chosen(password(it))),
                labels: None,
            };
            issued(&app.update_access(caller, id(access), update, |_| true).await?)
        }
        Request::Check { username, password: tried, .. } => {
            let username = username.parse().unwrap();
            app.verify(caller, &username, &password(tried.clone())).await?;
            json!({})
        }
        Request::Read { access } => {
            let access = app.store.access(&tenant, id(access)).await?.expect("none is deleted");
            shown(&lifecycle::at(&access, app.now()))
        }
        Request::Count => json!({"total": all(app, &tenant, 5).await?.0}),
        Request::Batch { items, .. } => json!({"id": accept(app, &tenant, request, items).await?}),
        Request::Look { task } => read_task(app, &tenant, task.parse().unwrap()).await?,
        Request::Stop { task } => {
            let task = app.stop_task(&tenant, task.parse().unwrap(), &ORIGIN).await?;
            json!({"state": task.state.as_str()})
        }
    };
    Ok(Answer::Done(done))
}

async fn accept(
    app: &App,
    tenant: &TenantName,
    request: &Request,
    items: &Items,
) -> Result<String, Error> {
    let idempotent = |operation| idempotent(app, tenant, operation, request);
    let items = match items {
        Items::Number(n) => NewItems::Count((*n).try_into().unwrap(), Labels::NONE),
        Items::Listed { devices, failing } => {
            let item = |(n, device): (usize, &String)| match *failing == Some(n) {
                true => NewItem::Invalid(invalid(device)),
                false => NewItem::Valid(ValidItem {
                    device_name: Some(device.parse().unwrap()),
                    ..ValidItem::default()
                }),
            };
            NewItems::Explicit(devices.iter().enumerate().map(item).collect())
        }
        Items::Update { accesses, wanted, .. } => {
            let status = target(wanted);
            let password = wanted.password.clone().map(|it| NewPassword::Chosen(password(it)));
            let operation = BatchOperation::Update { status, password, labels: None };
            return accept_change(app, tenant, accesses, operation, idempotent(Operation::Change))
                .await;
        }
        Items::Terminate { accesses } => {
            let operation = BatchOperation::Terminate;
            return accept_change(app, tenant, accesses, operation, idempotent(Operation::Change))
                .await;
        }
    };
    let batch = NewBatch { contract_id: "payg".parse().unwrap(), items };
    let (task, _) = app.accept_batch(tenant, batch, idempotent(Operation::Batch), &ORIGIN).await?;
    Ok(task.to_string())
}

async fn accept_change(
    app: &App,
    tenant: &TenantName,
    accesses: &[String],
    operation: BatchOperation,
    idempotent: Option<IdempotentRequest>,
) -> Result<String, Error> {
    let named = |(text, index): (&String, u32)| NamedAccess { index, id: Ok(id(text)) };
    let selection = AccessSelection::Named(accesses.iter().zip(0..).map(named).collect());
    let change = BatchChange { selection, operation };
    Ok(app.accept_change(tenant, change, idempotent, &ORIGIN).await?.0.to_string())
}

async fn read_task(app: &App, tenant: &TenantName, id: TaskId) -> Result<Value, Error> {
    let found = app.store.task(tenant, id).await?;
    let task = found.ok_or_else(|| Error::NotFound("task", id.to_string()))?.task;
    let mut shown =
        json!({"id": id.to_string(), "@type": task.work.as_str(), "state": task.state.as_str()});
    if task.state.is_terminal() {
        let made =
            |made: gatehouse_store::CreatedAccess<'_>| json!({"id": made.access.id.to_string()});
        shown["accesses"] = app.store.accesses_of_task(tenant, id, 0, N_SHOWN, made).await?.into();
    }
    Ok(shown)
}

/// The number of accesses, and those of the first pages.
pub(super) async fn all(
    app: &App,
    tenant: &TenantName,
    n_max: u64,
) -> Result<(u64, Vec<Value>), Error> {
    let filter = AccessFilter::read(&Expression::parse("", &FILTER_FIELDS)).unwrap();
    let (mut total, mut accesses) = (0, Vec::new());
    for number in 1.. {
        let request = PageRequest { number, size: n_max.min(1000) };
        let listed = app.store.accesses(tenant, &filter, request.into()).await?;
        let page = listed.expect("the tenant is there").page;
        accesses.extend(page.items.iter().map(|it| shown(&lifecycle::at(it, app.now()))));
        total = page.total;
        if page.items.is_empty() || accesses.len() as u64 >= total.min(n_max) {
            break;
        }
    }
    Ok((total, accesses))
}

fn issued(issued: &IssuedAccess) -> Value {
    let mut shown = shown(&issued.access);
    shown["password"] = issued.password.as_ref().map(|it| it.reveal()).into();
    shown
}

fn shown(access: &Access) -> Value {
    json!({
        "id": access.id.to_string(),
        "username": access.username.as_str(),
        "deviceName": access.device_name.as_ref().map(|it| it.as_str()),
        "status": access.status.as_str(),
        "createdBy": access.created_by.map(|it| it.to_string()),
    })
}

fn idempotent(
    app: &App,
    tenant: &TenantName,
    operation: Operation,
    request: &Request,
) -> Option<IdempotentRequest> {
    let key = request.key()?.parse().unwrap();
    let body = request.body().unwrap_or_default().to_string();
    let digest = app.vault.digest_request(tenant, operation.as_str(), body.as_bytes())[0];
    Some(IdempotentRequest { operation, key, digest, former_digests: Vec::new(), sealed: None })
}

fn refused(error: Error) -> Answer {
    let refused = |status, title: &str| Answer::Refused { status, title: title.into() };
    match error {
        Error::Storage(_) => Answer::Unavailable { retry_after: Some(1) },
        Error::InProgress(_) => refused(409, "Request under way"),
        Error::TaskFinished(_) => refused(409, "Task over"),
        Error::CredentialsRefused(_) => refused(401, "Credentials refused"),
        other => Answer::Wrong(format!("{other:?}")),
    }
}

fn invalid(device: &str) -> InvalidItem {
    let fault = Fault { name: "password".into(), reason: "must be shorter".into() };
    InvalidItem { username: None, device_name: Some(device.to_owned()), faults: vec![fault] }
}

fn target(wanted: &Wanted) -> Option<TargetStatus> {
    wanted
        .lets_in
        .map(|lets_in| if lets_in { TargetStatus::Active } else { TargetStatus::Suspended })
}

fn password(text: String) -> Password {
    Password::new(text).unwrap()
}

fn id(text: &str) -> AccessId {
    text.parse().unwrap()
}
