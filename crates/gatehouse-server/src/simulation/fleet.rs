//! The simulated servers as clients see them: every request of the shared load, answered by the service without HTTP, in the words of
//! HTTP.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gatehouse_core::credential::Password;
use gatehouse_core::filter::Expression;
use gatehouse_core::filter::access::{AccessFilter, VOCABULARY};
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::{Access, AccessId, PageRequest, TaskId, TenantName};
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
    BatchChange, BatchOperation, InvalidItem, NamedAccess, NewBatch, NewItem, NewItems, ValidItem,
};
use crate::app::{App, Error};
use crate::reader::Fault;

/// Accesses of a Task that a look at it shows.
const N_SHOWN: u32 = 100;

/// All servers that there ever were, and all that was asked of them.
pub(super) struct Fleet {
    world: Arc<World>,
    servers: Mutex<Vec<Arc<Server>>>,
    calls: Mutex<Vec<Call>>,
    /// Requests that servers work on, also those whose clients have given up.
    under_way: TaskTracker,
}

impl Fleet {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self {
            world: Arc::clone(world),
            servers: Mutex::default(),
            calls: Mutex::default(),
            under_way: TaskTracker::new(),
        }
    }

    /// One more server.
    pub(super) async fn join(&self) {
        let number = self.servers().len();
        let server = Server::start(&self.world, number).await;
        self.servers().push(server);
    }

    /// A server that runs.
    pub(super) fn server(&self, number: usize) -> Arc<Server> {
        Arc::clone(&self.servers()[number])
    }

    pub(super) fn servers(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap()
    }

    /// All that was asked.
    pub(super) fn history(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Waits until no server works on a request.
    pub(super) async fn finish(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }

    /// Asks a server, and gives up after a while where the request may still be done later: what a client sends again must be
    /// done once, also if the server that got it first goes on long after.
    async fn ask(&self, server: Arc<Server>, tenant: usize, request: &Request) -> Answer {
        let gives_up = matches!(request, Request::Create { .. } | Request::Batch { .. });
        let patience = self.world.some_time(200, 20_000);
        let request = request.clone();
        let asked = self.under_way.spawn(async move {
            tokio::select! {
                biased;
                () = server.wire.died.cancelled() => Answer::Lost,
                answer = ask(&server.app, TENANTS[tenant], &request) => {
                    answer.unwrap_or_else(refused)
                }
            }
        });
        let patience = if gives_up { patience } else { Duration::MAX };
        tokio::time::timeout(patience, asked).await.map_or(Answer::Lost, Result::unwrap)
    }

    fn moment(&self) -> u64 {
        self.world.began.elapsed().as_micros() as u64
    }
}

impl Replicas for Fleet {
    /// An hour of simulated time: some plans stop every server for up to 40 s again and again.
    const RETRY_TIME_MAX: Duration = Duration::from_secs(3600);

    fn running(&self) -> Vec<usize> {
        self.world.model().running()
    }

    async fn call(&self, replica: usize, tenant: usize, request: &Request) -> Option<Answer> {
        let (server, begin) = (self.server(replica), self.moment());
        let answer = self.ask(server, tenant, request).await;
        // Two moments are never the same: what ends before another begins is told apart from what doesn't.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.world.tell(|| format!("server {replica}: {request:?}: {answer:?}"));
        let call = Call {
            replica,
            begin,
            end: self.moment(),
            tenant,
            request: request.clone(),
            answer: answer.clone(),
        };
        self.calls.lock().unwrap().push(call);
        Some(answer)
    }
}

/// Asks the service.
async fn ask(app: &App, tenant: &str, request: &Request) -> Result<Answer, Error> {
    let tenant: TenantName = tenant.parse().unwrap();
    let gone = CancellationToken::new();
    let asker = HashCaller { tenant: &tenant, gone: &gone };
    let done = match request {
        Request::Create { device, .. } => {
            let wanted = AccessRequest {
                contract_id: "payg".parse().unwrap(),
                username: None,
                password: None,
                device_name: Some(device.parse().unwrap()),
            };
            let once = once(app, &tenant, Operation::Create, request);
            issued(&app.create_access(asker, wanted, once).await?)
        }
        Request::Change { access, wanted } => {
            let update = AccessUpdate {
                status: target(wanted),
                password: wanted.password.clone().map(|it| NewPassword::Chosen(password(it))),
            };
            issued(&app.update_access(asker, id(access), update, |_| true).await?)
        }
        Request::Check { username, password: tried, .. } => {
            let username = username.parse().unwrap();
            app.verify(asker, &username, &password(tried.clone())).await?;
            json!({})
        }
        Request::Read { access } => {
            let access = app.store.access(&tenant, id(access)).await?.expect("none is deleted");
            shown(&lifecycle::at(&access, app.now()))
        }
        Request::Count => json!({"total": all(app, &tenant, 5).await?.0}),
        Request::Batch { items, .. } => json!({"id": accept(app, &tenant, request, items).await?}),
        Request::Look { task } => look(app, &tenant, task.parse().unwrap()).await?,
        Request::Stop { task } => {
            let task = app.stop_task(&tenant, task.parse().unwrap()).await?;
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
    let once = |operation| once(app, tenant, operation, request);
    let items = match items {
        Items::Number(n) => NewItems::Count((*n).try_into().unwrap()),
        Items::Listed { devices, failing } => {
            let item = |(n, device): (usize, &String)| match *failing == Some(n) {
                true => NewItem::Invalid(unfit(device)),
                false => NewItem::Valid(ValidItem {
                    device_name: Some(device.parse().unwrap()),
                    ..ValidItem::default()
                }),
            };
            NewItems::Explicit(devices.iter().enumerate().map(item).collect())
        }
        Items::Update { accesses, wanted, .. } => {
            let (status, password) = (target(wanted), wanted.password.clone().map(password));
            let operation = BatchOperation::Update { status, password };
            return accept_change(app, tenant, accesses, operation, once(Operation::Change)).await;
        }
        Items::Terminate { accesses } => {
            let operation = BatchOperation::Terminate;
            return accept_change(app, tenant, accesses, operation, once(Operation::Change)).await;
        }
    };
    let batch = NewBatch { contract_id: "payg".parse().unwrap(), items };
    let (task, _) = app.accept_batch(tenant, batch, once(Operation::Batch), "simulated").await?;
    Ok(task.to_string())
}

async fn accept_change(
    app: &App,
    tenant: &TenantName,
    accesses: &[String],
    operation: BatchOperation,
    once: Option<IdempotentRequest>,
) -> Result<String, Error> {
    let named = |(text, index): (&String, u32)| NamedAccess { index, id: Ok(id(text)) };
    let change = BatchChange { ids: accesses.iter().zip(0..).map(named).collect(), operation };
    Ok(app.accept_change(tenant, change, once, "simulated").await?.0.to_string())
}

async fn look(app: &App, tenant: &TenantName, id: TaskId) -> Result<Value, Error> {
    let found = app.store.task(tenant, id).await?;
    let task = found.ok_or_else(|| Error::NotFound("task", id.to_string()))?.task;
    let mut look =
        json!({"id": id.to_string(), "@type": task.work.as_str(), "state": task.state.as_str()});
    if task.state.is_terminal() {
        let made =
            |made: gatehouse_store::CreatedAccess<'_>| json!({"id": made.access.id.to_string()});
        look["accesses"] = app.store.accesses_of_task(tenant, id, 0, N_SHOWN, made).await?.into();
    }
    Ok(look)
}

/// How many accesses there are, and those of the first pages.
pub(super) async fn all(
    app: &App,
    tenant: &TenantName,
    n_max: u64,
) -> Result<(u64, Vec<Value>), Error> {
    let filter = AccessFilter::read(&Expression::parse("", &VOCABULARY)).unwrap();
    let (mut total, mut accesses) = (0, Vec::new());
    for number in 1.. {
        let request = PageRequest { number, size: n_max.min(1000) };
        let listed = app.store.accesses(tenant, &filter, request).await?;
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

fn once(
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

fn unfit(device: &str) -> InvalidItem {
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
