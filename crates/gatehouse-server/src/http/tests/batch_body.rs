//! Bodies of batches.

use super::*;
use crate::app::batch::{AccessSelection, NewItems};
use crate::http::answer::reply::Reply;
use crate::http::api::batch_body;
use crate::http::route::resource::{BodyKind, BodySize, Need, Operation, PathObject, Served};
use gatehouse_core::rights::Scope;
use http::StatusCode;

const CREATE: Operation = Operation {
    method: "POST",
    need: Need::Scope(Scope::AccessWrite),
    body: Some(BodyKind { size: BodySize::Batch, ..BodyKind::BASE }),
    run: |mut call| {
        Box::pin(async move {
            let batch = batch_body::new_batch(&mut call).await?;
            let n_items = match batch.items {
                NewItems::Count(count, _) => count as usize,
                NewItems::Explicit(items) => items.len(),
            };
            Ok(Reply::json(StatusCode::OK, &n_items))
        })
    },
    ..Operation::BASE
};

const CHANGE: Operation = Operation {
    method: "PATCH",
    run: |mut call| {
        Box::pin(async move {
            let batch = batch_body::batch_change(&mut call).await?;
            let AccessSelection::Named(named) = batch.selection else {
                unreachable!("none is sent")
            };
            Ok(Reply::json(StatusCode::OK, &named.len()))
        })
    },
    ..CREATE
};

async fn gatehouse() -> Gatehouse {
    let operations = vec![CREATE, CHANGE];
    let (path, object, served) = ("/{tenantName}/batch", PathObject::Tenant, Served::Main);
    Gatehouse::new().await.with_routes(vec![Resource { path, object, served, operations }])
}

#[tokio::test]
async fn a_batch_has_at_most_the_configured_number_of_items() {
    let gate = gatehouse().await;
    let item = r#"{"username":"device-","password":"secret","deviceName":"pump"}"#;
    for (n, status) in [(1, 200), (100_000, 200), (100_001, 400)] {
        let items: Vec<String> =
            (0..n).map(|k| item.replace("device-", &format!("device-{k}"))).collect();
        let body = format!(r#"{{"contractId": "payg", "accesses": [{}]}}"#, items.join(","));
        let response = gate.post("/acme/batch", &body).await;
        assert_eq!(response.status, status, "{n}: {}", response.body);
        if status == 200 {
            assert_eq!(response.body, n.to_string());
        } else {
            let reason = "must have 1 to 100000 elements, not 100001";
            assert_eq!(response.json()["invalidParams"][0]["reason"], reason);
        }
        let body = format!(r#"{{"contractId": "payg", "numberOfAccesses": {n}}}"#);
        assert_eq!(gate.post("/acme/batch", &body).await.status, status, "{n}");
    }
}

#[tokio::test]
async fn a_batch_of_changes_may_have_as_many_items() {
    let gate = gatehouse().await;
    let ids: Vec<String> = (0..100_000).map(|n| format!("\"{n}\"")).collect();
    let body = format!(
        r#"{{"operationType": "terminate", "operationBody": {{}}, "accessesIdList": [{}]}}"#,
        ids.join(",")
    );
    let kind = [("content-type", "application/json")];
    assert_eq!(gate.call("PATCH", "/acme/batch", &kind, &body).await.body, "100000");
    let wrong = body.replace("terminate", "end");
    assert_eq!(gate.call("PATCH", "/acme/batch", &kind, &wrong).await.invalid(), ["operationType"]);
}
