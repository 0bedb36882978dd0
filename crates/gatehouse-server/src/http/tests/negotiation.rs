//! Operations with several media types of responses or bodies.

use super::*;
use crate::http::answer::media::{JSON, MERGE_PATCH};
use crate::http::answer::reply::Reply;
use crate::http::openapi::document;
use crate::http::route::resource::{
    BodyKind, BodySize, Need, Operation, PathObject, Resource, ResponseSpec, Served,
};
use gatehouse_core::rights::Scope;
use http::StatusCode;

const CSV: &str = "text/csv; charset=utf-8";

const READ: Operation = Operation {
    id: "readFigures",
    summary: "Reads figures",
    need: Need::Scope(Scope::AccessRead),
    responses: &[
        ResponseSpec { description: "The figures", schema: Some("State"), ..ResponseSpec::BASE },
        ResponseSpec {
            description: "the same as a table",
            media_type: CSV,
            schema: Some("Text"),
            headers: &["Cache-Control"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| {
        Box::pin(async move {
            let body = format!("as {}", call.media_type).into();
            Ok(Reply::whole(StatusCode::OK, call.media_type, body))
        })
    },
    ..Operation::BASE
};

const CHANGE: Operation = Operation {
    method: "PATCH",
    id: "changeFigures",
    summary: "Changes figures",
    need: Need::Scope(Scope::AccessWrite),
    body: Some(BodyKind {
        media_types: &[JSON, MERGE_PATCH],
        size: BodySize::Batch,
        schema: "AccessUpdate",
        example: || serde_json::json!({"status": "ACTIVE"}),
    }),
    responses: &[ResponseSpec { status: 204, description: "Done", ..ResponseSpec::BASE }],
    run: |call| {
        Box::pin(async move {
            let n_bytes = call.body.len().to_string();
            Ok(Reply::empty(StatusCode::NO_CONTENT).with(http::header::ETAG, &n_bytes))
        })
    },
    ..Operation::BASE
};

fn figures() -> Resource {
    let operations = vec![READ, CHANGE];
    let (path, object, served) = ("/{tenantName}/figures", PathObject::Tenant, Served::Main);
    Resource { path, object, served, operations }
}

#[tokio::test]
async fn the_client_chooses_the_media_type() {
    let gate = Gatehouse::new().await.with_routes(vec![figures()]);
    for (accept, status, chosen) in [
        ("", 200, JSON),
        ("*/*", 200, JSON),
        ("text/csv", 200, CSV),
        ("application/json;q=0.5, text/csv;q=0.6", 200, CSV),
        ("text/html", 406, "application/problem+json"),
    ] {
        let response = gate.call("GET", "/acme/figures", &[("accept", accept)], "").await;
        assert_eq!(response.status_and("content-type"), (status, Some(chosen)), "{accept}");
        if status == 200 {
            assert_eq!(response.body, format!("as {chosen}"));
            assert_eq!(response.header("vary"), Some("Accept"), "{accept}");
        } else {
            assert!(
                response.body.contains("application/json or text/csv, which"),
                "{}",
                response.body
            );
        }
    }
}

#[tokio::test]
async fn an_operation_may_accept_several_media_types() {
    let gate = Gatehouse::new().await.with_routes(vec![figures()]);
    for (kind, status) in [(JSON, 204), (MERGE_PATCH, 204), ("text/csv", 415)] {
        let response = gate.call("PATCH", "/acme/figures", &[("content-type", kind)], "{}").await;
        assert_eq!(response.status, status, "{kind}: {}", response.body);
        if status == 415 {
            let both = "application/json, application/merge-patch+json";
            assert_eq!(response.header("accept-patch"), Some(both));
            let words = "must be application/json or application/merge-patch+json in UTF-8";
            assert!(response.body.contains(words), "{}", response.body);
        }
    }
    let none = gate.call("PATCH", "/acme/figures", &[], "{}").await;
    let words = "`Content-Type: application/json` or `Content-Type: application/merge-patch+json`";
    assert!(none.body.contains(words), "{}", none.body);
    let options = gate.send("OPTIONS", "/acme/figures", &[], b"").await;
    let both = "application/json, application/merge-patch+json";
    assert_eq!(options.header("accept-patch"), Some(both));
}

#[tokio::test]
async fn the_body_of_a_batch_may_be_large() {
    let mut config = Config::default();
    config.limits.body_bytes = 3 << 20;
    let gate = Gatehouse::with(config).await.with_routes(vec![figures()]);
    let kind = [("content-type", JSON)];
    for (n_bytes, status) in [(2 << 20, 204), (3 << 20, 204), ((3 << 20) + 1, 413)] {
        let response = gate.call("PATCH", "/acme/figures", &kind, &" ".repeat(n_bytes)).await;
        assert_eq!(response.status, status, "{n_bytes}");
        if status == 204 {
            assert_eq!(response.header("etag"), Some(n_bytes.to_string().as_str()));
        }
    }
}

#[test]
fn the_document_has_every_media_type() {
    let document = document(&[figures()], &Config::default().limits);
    let path = &document["paths"]["/{tenantName}/figures"];
    let answer = &path["get"]["responses"]["200"];
    assert_eq!(answer["description"], "The figures; or the same as a table");
    assert_eq!(answer["content"][JSON]["schema"]["$ref"], "#/components/schemas/State");
    assert_eq!(answer["content"][CSV]["schema"]["$ref"], "#/components/schemas/Text");
    assert_eq!(answer["headers"]["Vary"]["required"], true);
    assert!(answer["headers"]["Cache-Control"].is_object());
    let content = &path["patch"]["requestBody"]["content"];
    for kind in [JSON, MERGE_PATCH] {
        assert_eq!(content[kind]["schema"]["$ref"], "#/components/schemas/AccessUpdate");
    }
    let refused = &path["patch"]["responses"]["415"];
    assert!(refused["headers"]["Accept-Patch"].is_object(), "{refused}");
}
