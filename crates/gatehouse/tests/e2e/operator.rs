//! The operators' listener.

use super::hostile::assert_problem;
use super::locked_rows::LockedRows;
use super::process::*;
use super::socket::Socket;
use reqwest::Method;

const OPERATOR: (&str, &str) = ("OPERATOR_LISTEN", "127.0.0.1:0");

#[tokio::test]
async fn operators_see_live_and_ready_without_a_token_and_nothing_else() {
    let setup = Setup::sqlite();
    let mut server = setup.serve_set(&[OPERATOR, ("BASE_PATH", "/g")]);
    let operator = server.operator_url();
    assert!(operator.starts_with("http://127.0.0.1:") && operator != server.url, "{operator}");
    for (path, status) in [
        ("/g/-/live", 200),
        ("/g/-/ready", 200),
        ("/-/live", 404),
        ("/g/-/openapi.json", 404),
        ("/g/-/jwks.json", 404),
        ("/g/-/admin/tenants", 404),
        ("/g/acme/contract", 404),
        ("/g/acme/nothing", 404),
        ("/", 404),
    ] {
        for request in [
            server.client.get(format!("{operator}{path}")),
            server.client.get(format!("{operator}{path}")).bearer_auth(&server.token),
        ] {
            let response = request.send().await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{path}");
            let body: serde_json::Value = response.json().await.unwrap();
            assert!(status == 200 || body["@type"] == "problem", "{path}: {body}");
        }
    }
    for path in ["/g/-/live", "/g/-/ready", "/g/acme/contract"] {
        assert_eq!(server.json(Method::GET, path, None).await.0, 200, "the API has {path} too");
    }
    let response = server.client.post(format!("{operator}/g/-/live")).send().await.unwrap();
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn operators_are_answered_when_the_api_is_full() {
    let setup = Setup::postgres("answered_when_the_api_is_full").await;
    let mut server = setup.serve_set(&[OPERATOR, ("LIMITS__CONNECTIONS", "1")]);
    let operator = server.operator_url();
    let held = LockedRows::rows_of(&setup).await;
    let mut only = Socket::open(server.address());
    only.create(&server);
    held.until_awaited().await;
    assert_problem(&Socket::open(server.address()).rest(), 503);
    for path in ["/-/live", "/-/ready"] {
        let response = server.client.get(format!("{operator}{path}")).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn operators_can_watch_the_server_end() {
    let setup = Setup::sqlite();
    let mut server = setup.serve_set(&[OPERATOR]);
    let operator = server.operator_url();
    let mut last = Socket::open(server.address());
    let rest = last.begin(&server);
    server.terminate();
    let address = server.address().to_owned();
    until("no new connections", || std::net::TcpStream::connect(&address).is_err()).await;
    let live = server.client.get(format!("{operator}/-/live")).send().await.unwrap();
    assert_eq!(live.status(), 200);
    let ready = server.client.get(format!("{operator}/-/ready")).send().await.unwrap();
    assert_eq!(
        (ready.status().as_u16(), &ready.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    let body: serde_json::Value = ready.json().await.unwrap();
    assert_eq!(body["title"], "Stopping");
    last.send(rest);
    assert!(last.rest().starts_with("HTTP/1.1 201 "));
    assert!(server.wait().success(), "{}", setup.log());
}

#[test]
fn an_occupied_operator_address_is_reported_with_its_setting() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let mut command = setup.command(&["serve", "--data-dir", "other", "--listen", "127.0.0.1:0"]);
    let output = command.env("GATEHOUSE_OPERATOR_LISTEN", server.address()).output().unwrap();
    let shown = printed(&output);
    assert!(!output.status.success() && shown.contains("operator_listen"), "{shown}");
    assert!(!setup.path("other").exists(), "a start that fails leaves no trace");
}
