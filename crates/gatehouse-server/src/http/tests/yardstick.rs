//! Answers that others are compared with: only where they were asked for, and through the same checks.

use super::super::routes;
use super::*;
use crate::http::api::yardstick;

const CREDENTIALS: &str = r#"{"username": "u-a", "password": "p"}"#;

async fn with_yardsticks() -> Gatehouse {
    let resources = routes::table().into_iter().chain(yardstick::table());
    Gatehouse::new().await.with_routes(resources.collect())
}

#[tokio::test]
async fn a_server_that_was_not_asked_for_them_has_none() {
    let gate = Gatehouse::new().await;
    assert_eq!(gate.get("/acme/yardstick?bytes=1").await.status, 404);
    assert_eq!(gate.post("/acme/yardstick?bytes=1", CREDENTIALS).await.status, 404);
}

#[tokio::test]
async fn as_many_bytes_come_as_are_asked_for_whole_or_streamed() {
    let gate = with_yardsticks().await;
    for n_bytes in [1, 430, 32 << 10, (32 << 10) + 1, 1_000_000] {
        let seen = gate.get(&format!("/acme/yardstick?bytes={n_bytes}")).await;
        assert_eq!((seen.status, seen.body.len()), (200, n_bytes));
        let is_streamed = seen.header("content-length").is_none();
        assert_eq!(is_streamed, n_bytes > 32 << 10, "{n_bytes}");
    }
}

#[tokio::test]
async fn credentials_are_read_as_closely_as_elsewhere_and_looked_up_nowhere() {
    let gate = with_yardsticks().await;
    let seen = gate.post("/acme/yardstick?bytes=143", CREDENTIALS).await;
    assert_eq!((seen.status, seen.body.len()), (200, 143));
    let seen = gate.post("/acme/yardstick?bytes=143", r#"{"username": 7}"#).await;
    assert_eq!(seen.status, 400);
    assert_eq!(seen.invalid(), ["username", "password"]);
}

#[tokio::test]
async fn the_checks_of_every_operation_are_theirs_too() {
    let gate = with_yardsticks().await;
    let path = "/acme/yardstick?bytes=1";
    assert_eq!(gate.send("GET", path, &[], b"").await.status, 401);
    let others = format!("Bearer {}", gate.token_for("rival", EVERYTHING));
    assert_eq!(gate.send("GET", path, &[("authorization", &others)], b"").await.status, 403);
    for bytes in ["", "0", "-1", "many", "99999999999"] {
        let seen = gate.get(&format!("/acme/yardstick?bytes={bytes}")).await;
        assert_eq!((seen.status, seen.invalid()), (400, vec!["bytes".to_owned()]), "{bytes}");
    }
}
