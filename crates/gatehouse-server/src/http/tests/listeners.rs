//! Listeners: the paths that each serves, and the URLs in responses.

use super::*;
use crate::http::route::resource::Served;

const OPERATOR: ConnectionInfo = ConnectionInfo { listener: ListenerKind::Operator, ..PLAIN };

impl Gatehouse {
    async fn get_on(&self, connection: ConnectionInfo, path: &str) -> (u16, String) {
        let request = Request::get(path).header("host", "gate.example");
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let request = request.body(Full::<Bytes>::default()).unwrap();
        let response =
            handle(&TaskTracker::new(), self.gate.clone(), connection, connected(), (), request)
                .await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

#[test]
fn a_path_is_served_at_its_listeners() {
    use ListenerKind::{Main, Operator};
    #[rustfmt::skip]
    let cases = [
        // served           // listener, has an operator listener, expected
        (Served::Main,      Main,     false, true),
        (Served::Main,      Main,     true,  true),
        (Served::Main,      Operator, true,  false),
        (Served::Both,      Main,     false, true),
        (Served::Both,      Main,     true,  true),
        (Served::Both,      Operator, true,  true),
        (Served::Operator,  Main,     false, true),
        (Served::Operator,  Main,     true,  false),
        (Served::Operator,  Operator, true,  true),
    ];
    for (served, listener, has_operator_listener, expected) in cases {
        let found = served.at(listener, has_operator_listener);
        assert_eq!(found, expected, "{served:?} {listener:?} {has_operator_listener}");
    }
}

#[tokio::test]
async fn the_operator_listener_serves_only_its_paths() {
    let gate = Gatehouse::new().await;
    for (path, status) in [("/-/live", 200), ("/-/ready", 200), ("/-/jwks.json", 404), ("/", 404)] {
        assert_eq!(gate.get_on(OPERATOR, path).await.0, status, "{path}");
    }
    let (status, body) = gate.get_on(OPERATOR, "/acme/contract").await;
    assert!(status == 404 && body.contains("for operators"), "{body}");
}

#[tokio::test]
async fn a_stopping_server_is_live_but_not_ready() {
    let gate = Gatehouse::new().await;
    gate.gate.begin_to_stop();
    for connection in [PLAIN, OPERATOR] {
        assert_eq!(gate.get_on(connection, "/-/live").await.0, 200);
        let (status, body) = gate.get_on(connection, "/-/ready").await;
        assert!(status == 503 && body.contains("Stopping"), "{body}");
    }
    assert_eq!(gate.get_on(PLAIN, "/acme/contract").await.0, 200, "requests are still processed");
}

#[tokio::test]
async fn urls_have_the_scheme_of_the_connection() {
    let gate = Gatehouse::new().await;
    for (encrypted, begin) in [(false, "http://gate.example/"), (true, "https://gate.example/")] {
        let connection = ConnectionInfo { encrypted, ..PLAIN };
        let (_, contracts) = gate.get_on(connection, "/acme/contract").await;
        let contracts: Value = serde_json::from_str(&contracts).unwrap();
        let href = contracts[0]["href"].as_str().unwrap();
        assert!(href.starts_with(begin), "{href}");
    }
}
