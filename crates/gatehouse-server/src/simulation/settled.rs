//! The final state after clients and workers are done, read from every running server.

use gatehouse_core::task::Task;
use gatehouse_core::{Status, TenantName};
use gatehouse_testing::history::{Replicas, Settled, SettledTask, TENANTS};
use serde_json::{Value, json};

use super::fleet::{Fleet, all};
use crate::app::App;
use crate::app::outcome::{ItemFilter, TaskItem};

/// Days of the summaries: all that a simulation lasts.
const DAYS: u32 = 3;

pub(super) async fn read_settled(fleet: &Fleet) -> Vec<Settled> {
    let mut tenants = Vec::new();
    for tenant in TENANTS {
        let tenant: TenantName = tenant.parse().unwrap();
        let mut settled = Settled { is_month_over: true, ..Settled::default() };
        for replica in fleet.running() {
            let app = &fleet.server(replica).app;
            let (total, accesses) = all(app, &tenant, u64::MAX).await.unwrap();
            settled.totals.push(total);
            settled.summaries.push(summary(app, &tenant).await);
            settled.accesses = accesses;
        }
        let app = fleet.server(fleet.running()[0]).app.clone();
        let request = gatehouse_core::PageRequest { number: 1, size: 1000 };
        let tasks = app.store.tasks(&tenant, request).await.unwrap().unwrap();
        for task in tasks.items {
            settled.tasks.push(read_task(&app, &tenant, &task).await);
        }
        tenants.push(settled);
    }
    tenants
}

async fn summary(app: &App, tenant: &TenantName) -> Value {
    let summary = app.store.summary(tenant, app.now(), DAYS).await.unwrap().unwrap();
    let tally = summary.tally();
    let by_status =
        Status::ALL.map(|status| (status.as_str().to_owned(), tally.get(status).into()));
    let per_day: Vec<Value> =
        summary.days.iter().map(|day| json!({"created": day.n_created})).collect();
    json!({
        "total": tally.total(),
        "byStatus": Value::Object(by_status.into_iter().collect()),
        "perDay": per_day,
    })
}

async fn read_task(app: &App, tenant: &TenantName, task: &Task) -> SettledTask {
    let outcome = app.outcome(tenant, task.id).await.unwrap();
    let mut items = Vec::new();
    let mut show = |item: TaskItem<'_>| {
        items.push(match item {
            TaskItem::Succeeded(it) => json!({
                "index": it.index,
                "state": "succeeded",
                "access": {"id": it.access.id.to_string(), "deviceName": it.access.device_name},
            }),
            TaskItem::Failed(it) => json!({
                "index": it.index,
                "state": "failed",
                "error": {
                    "status": 400,
                    "title": it.failure.kind.as_str(),
                    "deviceName": it.name.device_name,
                },
            }),
        });
    };
    outcome.show(ItemFilter::All, 0, u32::MAX, &mut show).await.unwrap();
    let progress = json!({
        "total": task.n_items, "succeeded": task.n_succeeded, "failed": task.n_failed,
    });
    SettledTask { id: task.id.to_string(), state: task.state.as_str().to_owned(), progress, items }
}
