//! The yardstick: only on servers started for it, and with the common checks.

use super::super::routes;
use super::*;
use crate::http::api::yardstick;

const CREDENTIALS: &str = r#"{"username": "u-a", "password": "p"}"#;

async fn with_yardsticks() -> Gatehouse {
    let resources = routes::table().into_iter().chain(yardstick::table());
    Gatehouse::new().await.with_routes(resources.collect())
}

#[tokio::test]
async fn a_server_has_no_yardstick_by_default() {
    let gate = Gatehouse::new().await;
    assert_eq!(gate.get("/acme/yardstick?bytes=1").await.status, 404);
    assert_eq!(gate.post("/acme/yardstick?bytes=1", CREDENTIALS).await.status, 404);
}

#[tokio::test]
async fn the_requested_bytes_are_sent_whole_or_streamed() {
    let gate = with_yardsticks().await;
    for n_bytes in [1, 430, 32 << 10, (32 << 10) + 1, 1_000_000] {
        let response = gate.get(&format!("/acme/yardstick?bytes={n_bytes}")).await;
        assert_eq!((response.status, response.body.len()), (200, n_bytes));
        let is_streamed = response.header("content-length").is_none();
        assert_eq!(is_streamed, n_bytes > 32 << 10, "{n_bytes}");
    }
}

#[tokio::test]
async fn credentials_are_parsed_but_not_checked() {
    let gate = with_yardsticks().await;
    let response = gate.post("/acme/yardstick?bytes=143", CREDENTIALS).await;
    assert_eq!((response.status, response.body.len()), (200, 143));
    let response = gate.post("/acme/yardstick?bytes=143", r#"{"username": 7}"#).await;
    assert_eq!(response.status, 400);
    assert_eq!(response.invalid(), ["username", "password"]);
}

#[tokio::test]
async fn the_common_checks_apply() {
    let gate = with_yardsticks().await;
    let path = "/acme/yardstick?bytes=1";
    assert_eq!(gate.send("GET", path, &[], b"").await.status, 401);
    let others = format!("Bearer {}", gate.token_for("rival", ALL_SCOPES));
    assert_eq!(gate.send("GET", path, &[("authorization", &others)], b"").await.status, 403);
    for bytes in ["", "0", "-1", "many", "99999999999"] {
        let response = gate.get(&format!("/acme/yardstick?bytes={bytes}")).await;
        assert_eq!(response.faults(), (400, "bytes".into()), "{bytes}");
    }
}
