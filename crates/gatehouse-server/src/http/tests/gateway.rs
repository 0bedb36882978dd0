//! Dialects of gateways: what each one sends and gets.

use super::hook::{basic, create_hook};
use super::*;
use serde_json::json;

const POLICY: &str = r#"{"productOfferingId": "po-use", "billingModel": "PAY_PER_USE", "policy": {
    "topics": [
        {"topic": "devices/{username}/#", "publish": true, "subscribe": true},
        {"topic": "up/{username}", "publish": true},
        {"topic": "news/+", "subscribe": true}
    ],
    "tags": ["monitoring"]}}"#;

/// A server whose tenant has devices with and without a policy.
struct Estate {
    gate: Gatehouse,
    keys: Vec<(&'static str, String)>,
}

const DIALECTS: [&str; 6] = ["basic", "rabbitmq", "emqx", "mosquitto", "vernemq", "radius"];

impl Estate {
    async fn on(gate: Gatehouse) -> Self {
        let path = "/-/admin/tenants/acme/contracts/mqtt";
        let made = gate.put(path, POLICY).await;
        assert_eq!(made.status, 201, "{}", made.body);
        for (contract, username) in
            [("mqtt", "ann"), ("mqtt", "b.b"), ("payg", "none"), ("pre", "pre")]
        {
            let body = json!({"contractId": contract, "username": username, "password": "s3cret"});
            gate.create(&body.to_string()).await;
        }
        let mut keys = Vec::new();
        for dialect in DIALECTS {
            keys.push((dialect, create_hook(&gate, dialect).await.key));
        }
        Self { gate, keys }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: Headers<'_>,
        body: &str,
    ) -> TestResponse {
        let dialect = path.split(['/', '?']).next().unwrap();
        let key = self.keys.iter().find(|(it, _)| *it == dialect).map(|(_, key)| key.as_str());
        let path = format!("/acme/verify/~{}/{path}", key.unwrap_or("wrong"));
        self.gate.send(method, &path, headers, body.as_bytes()).await
    }

    async fn json(&self, path: &str, body: Value) -> TestResponse {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    async fn rabbitmq(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let form = form.extend_pairs(parameters).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let posted = self.send("POST", &format!("rabbitmq/{path}"), &headers, &form).await;
        let got = self.send("GET", &format!("rabbitmq/{path}?{form}"), &[], "").await;
        assert_eq!((posted.status, got.status), (200, 200));
        assert_eq!(posted.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(posted.body, got.body);
        posted.body
    }

    async fn vernemq(&self, hook: &str, body: Value) -> Value {
        let headers = [("content-type", "application/json"), ("vernemq-hook", hook)];
        let response = self.send("POST", "vernemq", &headers, &body.to_string()).await;
        assert_eq!(response.status_and("cache-control"), (200, Some("no-store")));
        response.json()
    }
}

/// The rights of devices in each dialect of MQTT, by the same policy.
#[tokio::test]
async fn a_policy_has_the_same_outcome_in_every_dialect() {
    for gate in Gatehouse::on_each("gateway_policy").await {
        let estate = Estate::on(gate).await;
        #[rustfmt::skip]
        let cases = [
            // device  action       topic              allowed
            ("ann",    "publish",   "devices/ann/up",  true),
            ("ann",    "publish",   "devices/ann",     true),
            ("ann",    "publish",   "devices/bob/up",  false),
            ("ann",    "publish",   "up/ann",          true),
            ("ann",    "subscribe", "up/ann",          false),
            ("ann",    "subscribe", "news/today",      true),
            ("ann",    "publish",   "news/today",      false),
            ("ann",    "subscribe", "news/+",          true),
            ("ann",    "subscribe", "news/#",          false),
            ("ann",    "subscribe", "devices/ann/#",   true),
            ("ann",    "subscribe", "devices/+/#",     false),
            ("ann",    "subscribe", "#",               false),
            ("ann",    "publish",   "devices/+/up",    false),
            ("ann",    "publish",   "$SYS/x",          false),
            ("b.b",    "publish",   "devices/b.b/up",  false),
            ("b.b",    "subscribe", "news/today",      true),
            ("none",   "publish",   "devices/none/up", false),
            ("pre",    "publish",   "up/pre",          false),
            ("unknown", "publish",   "up/unknown",       false),
        ];
        for (username, action, topic, allowed) in cases {
            let what = format!("{}: {username} {action} {topic}", estate.gate.kind);
            let key: String = topic
                .chars()
                .map(|c| match c {
                    '/' => '.',
                    '.' => '/',
                    '+' => '*',
                    other => other,
                })
                .collect();
            let permission = if action == "publish" { "write" } else { "read" };
            let parameters = [
                ("username", username),
                ("vhost", "/"),
                ("resource", "topic"),
                ("name", "amq.topic"),
                ("permission", permission),
                ("routing_key", &key),
                ("variable_map.client_id", "x"),
            ];
            let decision = estate.rabbitmq("topic", &parameters).await;
            assert_eq!(decision == "allow", allowed, "RabbitMQ: {what}: {decision}");

            let body = json!({"username": username, "topic": topic, "action": action});
            let emqx = estate.json("emqx/authorize", body).await;
            assert_eq!(emqx.json()["result"] == "allow", allowed, "EMQX: {what}");

            let acc = if action == "publish" { 2 } else { 4 };
            let body = json!({"username": username, "clientid": "x", "topic": topic, "acc": acc});
            let mosquitto = estate.json("mosquitto/acl", body).await;
            let expected = if allowed { 200 } else { 403 };
            assert_eq!(mosquitto.status, expected, "Mosquitto: {what}");
            assert_eq!(mosquitto.json()["ok"], allowed);

            for m5 in ["", "_m5"] {
                let body = match action {
                    "publish" => json!({"username": username, "topic": topic, "qos": 1}),
                    _ => json!({"username": username, "topics": [{"topic": topic, "qos": 1}]}),
                };
                let result = estate.vernemq(&format!("auth_on_{action}{m5}"), body).await;
                assert_eq!(result["result"] == "ok", allowed, "VerneMQ: {what}: {result}");
            }
        }
    }
}

#[tokio::test]
async fn the_credentials_decide_in_every_dialect() {
    for gate in Gatehouse::on_each("gateway_credentials").await {
        let estate = Estate::on(gate).await;
        for (username, password, allowed) in [
            ("ann", "s3cret", true),
            ("pre", "s3cret", true),
            ("ann", "wrong", false),
            ("ann", "", false),
            ("unknown", "s3cret", false),
            ("", "s3cret", false),
            (&*"x".repeat(200), "s3cret", false),
        ] {
            let what = format!("{}: {username} {password}", estate.gate.kind);
            let authorization = basic(username, password);
            let headers = [("authorization", authorization.as_str())];
            let answer = estate.send("GET", "basic", &headers, "").await;
            assert_eq!(answer.status, if allowed { 200 } else { 401 }, "{what}");
            assert_eq!(answer.body, "", "{what}");

            let parameters = [("username", username), ("password", password), ("vhost", "/")];
            let decision = estate.rabbitmq("user", &parameters).await;
            let expected = match (allowed, username) {
                (false, _) => "deny",
                (true, "ann") => "allow monitoring",
                (true, _) => "allow",
            };
            assert_eq!(decision, expected, "{what}");
            let vhost = estate.rabbitmq("vhost", &[("username", username), ("vhost", "/")]).await;
            let is_there = ["ann", "pre"].contains(&username);
            assert_eq!(vhost, if is_there { "allow" } else { "deny" }, "{what}");

            let body = json!({"username": username, "password": password, "clientid": "x"});
            let emqx = estate.json("emqx", body.clone()).await;
            assert_eq!((emqx.status, emqx.json()["result"] == "allow"), (200, allowed), "{what}");
            let mosquitto = estate.json("mosquitto/user", body.clone()).await;
            assert_eq!(mosquitto.status, if allowed { 200 } else { 403 }, "{what}");
            assert_eq!(estate.json("mosquitto/superuser", body.clone()).await.status, 403);
            let registered = estate.vernemq("auth_on_register_m5", body.clone()).await;
            assert_eq!(registered["result"] == "ok", allowed, "{what}");
            for path in ["radius/authorize", "radius/authenticate"] {
                let radius = estate.json(path, body.clone()).await;
                assert_eq!(radius.status, if allowed { 200 } else { 401 }, "{what}");
                assert_eq!(radius.header("cache-control"), Some("no-store"), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn whatever_is_wrong_is_a_denial_in_every_dialect() {
    let estate = Estate::on(Gatehouse::new().await).await;
    let large = format!(r#"{{"username": "{}"}}"#, "x".repeat(2 << 20));
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"username": 1}"#,
        r#"{"username": "ann", "username": "ann", "password": "s3cret"}"#,
        r#"{"username": "ann", "password": null}"#,
        &large,
    ] {
        for (path, status) in [
            ("emqx", 200),
            ("emqx/authorize", 200),
            ("mosquitto/user", 403),
            ("mosquitto/superuser", 403),
            ("mosquitto/acl", 403),
            ("vernemq", 200),
            ("radius/authorize", 401),
            ("radius/authenticate", 401),
            ("rabbitmq/user", 200),
            ("rabbitmq/vhost", 200),
            ("rabbitmq/resource", 200),
            ("rabbitmq/topic", 200),
        ] {
            let answer = estate.send("POST", path, &[], body).await;
            assert_eq!(answer.status, status, "{path}: {:.80}", body);
            let is_denial = match path.split('/').next().unwrap() {
                "emqx" => answer.json() == json!({"result": "deny"}),
                "mosquitto" => answer.json() == json!({"ok": false, "error": "denied"}),
                "vernemq" => answer.json() == json!({"result": {"error": "not_allowed"}}),
                "rabbitmq" => answer.body == "deny",
                _ => answer.json()["reply:Reply-Message"] == "The device may not connect",
            };
            assert!(is_denial, "{path}: {}", answer.body);
        }
    }
    // Another method, and a key of another dialect.
    let wrong = estate.send("PUT", "emqx", &[], "{}").await;
    assert_eq!((wrong.status, wrong.json()), (200, json!({"result": "deny"})));
    let (_, key) = &estate.keys[0];
    let path = format!("/acme/verify/~{key}/emqx");
    let body = br#"{"username": "ann", "password": "s3cret"}"#;
    let other =
        estate.gate.send("POST", &path, &[("content-type", "application/json")], body).await;
    assert_eq!((other.status, other.json()), (200, json!({"result": "deny"})));
}

#[tokio::test]
async fn in_http_basic_everything_else_is_of_the_devices_request() {
    let estate = Estate::on(Gatehouse::new().await).await;
    let right = basic("ann", "s3cret");
    let headers = [
        ("authorization", right.as_str()),
        ("accept", "image/png"),
        ("prefer", "handling=strict"),
        ("if-none-match", "\"1\""),
        ("content-type", "application/x-unknown"),
        ("content-encoding", "br"),
    ];
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"] {
        for path in ["basic", "basic/", "basic/a/%FF//b?x=1&x=2&pageSize=no", "basic/~k/verify"] {
            let answer = estate.send(method, path, &headers, "not a body of ours").await;
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
            assert_eq!(answer.header("x-ignored-params"), None);
            let refused = estate.send(method, path, &[], "").await;
            assert_eq!(refused.status, 401, "{method} {path}");
        }
    }
    let twice = [("authorization", right.as_str()), ("authorization", right.as_str())];
    assert_eq!(estate.send("GET", "basic", &twice, "").await.status, 401);
    for bad in ["Basic", "Basic !", "Basic YW5u", "Bearer x", "Basic /w=="] {
        let answer = estate.send("GET", "basic", &[("authorization", bad)], "").await;
        assert_eq!(answer.status, 401, "{bad}");
    }
    estate.gate.create(r#"{"contractId": "payg", "username": "c:d", "password": "x"}"#).await;
    let colon = basic("c:d", "x");
    let answer = estate.send("GET", "basic", &[("authorization", &colon)], "").await;
    assert_eq!(answer.status, 401, "HTTP Basic ends a username at its first colon");
    let body = json!({"contractId": "payg", "username": "cäd", "password": "a:b", "deviceName": "100 % Öl"});
    let (_, access) = estate.gate.create(&body.to_string()).await;
    let authorization = basic("cäd", "a:b");
    let answer = estate.send("GET", "basic", &[("authorization", &authorization)], "").await;
    assert_eq!(answer.header("x-access-id"), access["id"].as_str());
    assert_eq!(answer.status_and("x-access-name"), (200, Some("100 %25 %C3%96l")));
    assert_eq!(answer.header("x-contract-id"), Some("payg"));
}

#[tokio::test]
async fn rabbitmq_gives_devices_only_what_its_mqtt_plugin_needs() {
    let estate = Estate::on(Gatehouse::new().await).await;
    for (username, resource, name, permission, allowed) in [
        ("ann", "exchange", "amq.topic", "write", true),
        ("ann", "exchange", "amq.topic", "read", true),
        ("ann", "exchange", "amq.topic", "configure", false),
        ("ann", "exchange", "amq.direct", "write", false),
        ("ann", "exchange", "", "write", false),
        ("ann", "queue", "mqtt-subscription-annqos1", "configure", true),
        ("ann", "queue", "mqtt-subscription-annqos1", "read", true),
        ("ann", "queue", "orders", "read", false),
        ("none", "exchange", "amq.topic", "write", false),
        ("none", "queue", "mqtt-subscription-annqos1", "read", false),
        ("b.b", "exchange", "amq.topic", "read", true),
        ("b.b", "exchange", "amq.topic", "write", false),
    ] {
        let parameters = [
            ("username", username),
            ("vhost", "/"),
            ("resource", resource),
            ("name", name),
            ("permission", permission),
            ("tags", "administrator"),
        ];
        let decision = estate.rabbitmq("resource", &parameters).await;
        assert_eq!(decision == "allow", allowed, "{username} {resource} {name} {permission}");
    }
    let twice = [("username", "none"), ("username", "ann"), ("password", "s3cret")];
    assert_eq!(estate.rabbitmq("user", &twice).await, "deny");
    assert_eq!(estate.rabbitmq("user", &[("username", "ann")]).await, "deny", "a certificate");
}

#[tokio::test]
async fn emqx_gets_the_rights_and_the_end_of_a_device() {
    let estate = Estate::on(Gatehouse::new().await).await;
    let of = |username: &str| json!({"username": username, "password": "s3cret"});
    let ann = estate.json("emqx", of("ann")).await;
    assert_eq!(ann.header("content-type"), Some("application/json"));
    let allow = |action, topic| json!({"permission": "allow", "action": action, "topic": topic});
    let others = json!({"permission": "deny", "action": "all", "topic": "#"});
    assert_eq!(
        ann.json(),
        json!({"result": "allow", "acl": [
            allow("all", "devices/ann/#"), allow("publish", "up/ann"), allow("subscribe", "news/+"),
            others,
        ]})
    );
    let dotted = estate.json("emqx", of("b.b")).await.json();
    assert_eq!(dotted["acl"], json!([allow("subscribe", "news/+"), others]));
    let pre = estate.json("emqx", of("pre")).await.json();
    let end = at("2027-03-31T12:00:00Z").as_millisecond() / 1000;
    assert_eq!(pre, json!({"result": "allow", "acl": [others], "expire_at": end}));
}

#[tokio::test]
async fn vernemq_gets_all_topics_back_where_some_are_refused() {
    let estate = Estate::on(Gatehouse::new().await).await;
    let (good, bad) = (json!({"topic": "news/a", "qos": 1}), json!({"topic": "#", "qos": 2}));
    let body = json!({"username": "ann", "client_id": "x", "topics": [good, bad]});
    let refused = |qos: u64| json!([good, {"topic": "#", "qos": qos}]);
    let result = estate.vernemq("auth_on_subscribe", body.clone()).await;
    assert_eq!(result, json!({"result": "ok", "topics": refused(128)}));
    let result = estate.vernemq("auth_on_subscribe_m5", body).await;
    assert_eq!(result, json!({"result": "ok", "modifiers": {"topics": refused(135)}}));
    for hook in ["", "auth_on_unsubscribe", "on_register"] {
        let body = json!({"username": "ann", "password": "s3cret"});
        let result = estate.vernemq(hook, body).await;
        assert_eq!(result, json!({"result": {"error": "not_allowed"}}), "{hook}");
    }
}

#[tokio::test]
async fn freeradius_gets_the_rest_of_the_validity() {
    let estate = Estate::on(Gatehouse::new().await).await;
    let of = |username: &str| json!({"username": username, "password": "s3cret"});
    let pre = estate.json("radius/authorize", of("pre")).await.json();
    assert_eq!(pre["control:Auth-Type"], "Accept");
    assert_eq!(pre["reply:Session-Timeout"], 30 * 86_400);
    let ann = estate.json("radius/authorize", of("ann")).await.json();
    assert_eq!(ann.get("reply:Session-Timeout"), None);
    assert_eq!(ann["reply:Class"].as_str().unwrap().len(), 36);
    for path in ["radius/post-auth", "radius/accounting"] {
        assert_eq!(estate.json(path, json!({"any": "thing"})).await.status, 204);
    }
    let stranger = estate.gate.send("POST", "/acme/verify/~x/radius/accounting", &[], b"{}").await;
    assert_eq!(stranger.status, 401);
}
