//! Uses every feature at the highest log level, and then searches every output for every secret that was used.

use super::collector::Collector;
use super::process::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::Method;
use serde_json::{Value, json};

/// A wrong password, or a misplaced part of a request, may be a secret, too.
const CHOSEN: &str = "pw-chosen-01";
const ROTATED: &str = "pw-rotated-02";
const WRONG: &str = "pw-wrong-03";
const IN_QUERY: &str = "pw-in-query-04";
const IN_BASIC: [&str; 2] = ["pw-in-basic-05", "YW5uOnB3LWluLWJhc2ljLTA1"];
const MISTYPED: &str = "pw-mistyped-06";
const BROKEN: &str = "pw-in-broken-json-07";
const MISPLACED: &str = "pw-misplaced-08";
const OF_UNKNOWN_USER: &str = "pw-of-nobody-09";
const JUNK_TOKEN: &str = "junk-token-10";
const IN_WRONG_TYPE: &str = "pw-in-a-form-11";
/// A hash of `correct horse` that htpasswd made, without its cost.
const FOREIGN_HASH: &str = "bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
const OF_ACCOUNT: [&str; 3] =
    ["pw-of-account-13", "pw-of-account-in-number-14", "pw-of-account-later-15"];
const OF_DATABASE: &str = "pw-of-database-12";

/// Setups with a password in the database's address; on SQLite there is none.
async fn setups() -> [Setup; 2] {
    let mut setups = Setup::each("secrets").await;
    for url in setups.iter_mut().filter_map(|it| it.database_url.as_mut()) {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, host) = rest.split_once('@').unwrap();
        // The throw-away server accepts any password.
        let user = user.split(':').next().unwrap();
        *url = format!("{scheme}://{user}:{OF_DATABASE}@{host}");
    }
    setups
}

#[tokio::test]
async fn no_output_holds_a_secret() {
    for setup in setups().await {
        let collector = Collector::start();
        let settings = format!(
            "[log]\nlevel = 'trace'\nformat = 'json'\n[traces]\nendpoint = '{}'\n",
            collector.endpoint
        );
        std::fs::write(setup.path("g.toml"), settings).unwrap();
        let server = setup.serve_with(&["--estate", "estate.yaml", "--config", "g.toml"]);
        let mut secrets = use_everything(&server).await;
        let metrics = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
        let tokens = [server.token.clone(), setup.token("acme", "access:read")];
        for token in &tokens {
            secrets.push(token.clone());
            secrets.extend(token.split('.').map(str::to_owned));
        }
        let check_disk = || {
            for secret in &secrets {
                assert!(!holds(setup.dir.path(), secret.as_bytes()), "`{secret}` is on the disk");
            }
        };
        check_disk();
        server.terminate();
        assert!(server.wait().success(), "{}", setup.log());
        check_disk();

        let (log, traces) = (setup.log(), collector.bytes());
        assert!(log.contains("\"tenant\":\"acme\"") && log.contains("\"status\":401"), "{log}");
        assert!(metrics.contains("gatehouse_vault_hash_duration_seconds_count"), "{metrics}");
        assert!(is_in(&traces, "gatehouse.tenant"), "the search finds what is there");
        let keys = ["master.key", "token.key"].map(|it| setup.path("gatehouse-data").join(it));
        let keys = keys.iter().filter_map(|it| std::fs::read_to_string(it).ok());
        let keys: Vec<String> = keys.map(|it| it.trim().to_owned()).collect();
        assert_eq!(keys.len(), if setup.kind == "SQLite" { 2 } else { 0 });
        for secret in
            secrets.iter().chain(&keys).map(String::as_str).chain([MASTER_KEY, OF_DATABASE])
        {
            for (what, printed) in
                [("log", log.as_bytes()), ("metrics", metrics.as_bytes()), ("traces", &traces)]
            {
                assert!(!is_in(printed, secret), "{}: `{secret}` is in the {what}", setup.kind);
            }
        }
    }
}

/// Uses every feature, with valid and invalid requests; returns the secrets in them.
async fn use_everything(server: &Server) -> Vec<String> {
    let status = async |method: Method, path: &str, body: Option<Value>| {
        let body = body.map(|it| it.to_string());
        server.json(method, path, body.as_deref()).await
    };
    let verify = async |username: &Value, password: &str| {
        let body = json!({"username": username, "password": password});
        status(Method::POST, "/acme/verify", Some(body)).await.0
    };
    let new =
        json!({"contractId": "payg", "username": "ann", "password": CHOSEN, "deviceName": "d"});
    let (made, ann) = status(Method::POST, "/acme/access", Some(new.clone())).await;
    assert_eq!(made, 201, "{ann}");
    assert_eq!(status(Method::POST, "/acme/access", Some(new)).await.0, 409);
    let (_, other) = status(Method::POST, "/acme/access", Some(json!({"contractId": "pre"}))).await;
    let generated = other["password"].as_str().unwrap();
    assert_eq!(verify(&ann["username"], CHOSEN).await, 200);
    assert_eq!(verify(&ann["username"], CHOSEN).await, 200);
    assert_eq!(verify(&other["username"], generated).await, 200);
    assert_eq!(verify(&ann["username"], WRONG).await, 401);
    assert_eq!(verify(&"nobody".into(), OF_UNKNOWN_USER).await, 401);
    for (username, cost, expected) in [("eve", "05", 201), ("fay", "05", 201), ("gus", "15", 400)] {
        let hash = format!("$2y${cost}${FOREIGN_HASH}");
        let new = json!({"contractId": "payg", "username": username, "passwordHash": hash});
        let (made, body) = status(Method::POST, "/acme/access", Some(new)).await;
        assert_eq!(made, expected, "{body}");
        assert!(!body.to_string().contains(FOREIGN_HASH), "{body}");
    }
    // The hash of the other stays.
    assert_eq!(verify(&"eve".into(), "correct horse").await, 200);
    assert_eq!(verify(&"fay".into(), WRONG).await, 401);
    let path = format!("/acme/access/{}", ann["id"].as_str().unwrap());
    assert_eq!(status(Method::PATCH, &path, Some(json!({"password": ROTATED}))).await.0, 200);
    assert_eq!(status(Method::PATCH, &path, Some(json!({"status": "SUSPENDED"}))).await.0, 200);
    assert_eq!(verify(&ann["username"], ROTATED).await, 401);

    for query in [
        "",
        "?contractId=payg&createdAt%3E=2026-01-01;username=ann",
        "?name=d&pageSize=1",
        &format!("?password={IN_QUERY}&access_token={}", server.token),
        &format!("?filter=name={IN_QUERY}"),
        &format!("?createdAt={IN_QUERY}"),
        &format!("?pageSize={IN_QUERY}"),
    ] {
        server.ask(Method::GET, &format!("/acme/access{query}"), None).await;
    }
    let long = format!("{MISTYPED}{}", "x".repeat(80));
    for body in [
        json!({"contractId": "payg", "password": {"x": MISTYPED}}),
        json!({"contractId": "payg", "password": long}),
        json!({"contractId": "payg", "passwort": MISTYPED}),
        json!({"contractId": "payg", MISTYPED: 1}),
        json!([MISTYPED]),
    ] {
        let (refused, _) = status(Method::POST, "/acme/access", Some(body.clone())).await;
        assert_eq!(refused, 400, "{body}");
        assert_eq!(status(Method::PATCH, &path, Some(body.clone())).await.0, 400, "{body}");
        assert_eq!(status(Method::POST, "/acme/verify", Some(body)).await.0, 400);
    }
    let broken = format!(r#"{{"contractId": "payg", "password": "{BROKEN}"#);
    for path in ["/acme/access", "/acme/verify"] {
        assert_eq!(server.json(Method::POST, path, Some(&broken)).await.0, 400);
    }
    let form = server.client.post(format!("{}/acme/verify", server.url)).bearer_auth(&server.token);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.body(format!("password={IN_WRONG_TYPE}")).send().await.unwrap();
    assert_eq!(form.status(), 415);

    let forged = format!("{}x", server.token);
    for authorization in [
        format!("Bearer {JUNK_TOKEN}"),
        format!("Bearer {forged}"),
        format!("Bearer {JUNK_TOKEN}.{JUNK_TOKEN}.{JUNK_TOKEN}"),
        format!("Basic {}", IN_BASIC[1]),
        server.token.clone(),
    ] {
        let asked = server.client.get(format!("{}{path}", server.url));
        let asked = asked.header("authorization", authorization).send().await.unwrap();
        assert_eq!(asked.status(), 401);
    }
    for path in [
        format!("/{}/access", server.token),
        format!("/acme/{MISPLACED}"),
        format!("/acme/access/{MISPLACED}"),
        format!("/acme/contract/{MISPLACED}"),
        format!("/-/{MISPLACED}"),
        format!("/acme%20{MISPLACED}/access"),
    ] {
        assert_eq!(server.json(Method::GET, &path, None).await.0, 404, "{path}");
    }

    let tenant = "/-/admin/tenants/other";
    assert_eq!(status(Method::PUT, tenant, Some(json!({"timeZone": MISTYPED}))).await.0, 400);
    assert_eq!(status(Method::PUT, tenant, Some(json!({}))).await.0, 201);
    let contract = json!({"productOfferingId": "po", "billingModel": "PAY_PER_USE"});
    let (put, _) = status(Method::PUT, &format!("{tenant}/contracts/c"), Some(contract)).await;
    assert_eq!(put, 201);
    let [first, mistyped, later] = OF_ACCOUNT;
    let account = |credentials: Value| {
        json!({
            "platform": "ALPHA", "connector": "simulator", "platformAccount": "100234",
            "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": credentials,
        })
    };
    for (credentials, expected) in [
        (json!({"token": first}), 201),
        (json!({"token": [mistyped]}), 400),
        (json!({"token": "", mistyped.repeat(3): "x"}), 400),
        (json!(mistyped), 400),
        (json!({"token": later}), 200),
    ] {
        let path = format!("{tenant}/accounts/a");
        let (put, body) = status(Method::PUT, &path, Some(account(credentials))).await;
        assert_eq!(put, expected, "{body}");
        assert!(OF_ACCOUNT.iter().all(|it| !body.to_string().contains(it)), "{body}");
    }
    for path in [
        "/-/admin/tenants",
        &format!("{tenant}/contracts"),
        &format!("{tenant}/accounts"),
        "/acme/contract",
        "/acme/account",
        "/acme/summary",
    ] {
        assert_eq!(server.json(Method::GET, path, None).await.0, 200, "{path}");
    }
    assert_eq!(server.ask(Method::DELETE, tenant, None).await.status(), 204);
    for path in ["/-/live", "/-/ready", "/-/openapi.json", "/-/jwks.json"] {
        assert_eq!(server.ask(Method::GET, path, None).await.status(), 200);
    }

    let mut of_clients = use_clients(server).await;
    let used = [
        CHOSEN,
        ROTATED,
        WRONG,
        IN_QUERY,
        MISTYPED,
        BROKEN,
        MISPLACED,
        OF_UNKNOWN_USER,
        JUNK_TOKEN,
        IN_WRONG_TYPE,
        FOREIGN_HASH,
        generated,
        &forged,
    ];
    of_clients.extend(used.into_iter().chain(IN_BASIC).chain(OF_ACCOUNT).map(str::to_owned));
    of_clients
}

/// Gets tokens for a client, with valid and invalid requests.
async fn use_clients(server: &Server) -> Vec<String> {
    let clients = "/-/admin/tenants/acme/clients";
    let (made, client) =
        server.json(Method::POST, clients, Some(r#"{"scope": "access:read"}"#)).await;
    assert_eq!(made, 201, "{client}");
    let text = |name: &str| client[name].as_str().unwrap().to_owned();
    let (id, secret) = (text("clientId"), text("clientSecret"));
    let url = format!("{}/-/oauth2/token", server.url);
    let ask = async |basic: Option<&str>, form: String| {
        let request = server.client.post(&url).body(form);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = match basic {
            Some(secret) => request.basic_auth(&id, Some(secret)),
            None => request,
        };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let grant = "grant_type=client_credentials";
    let (status, token) = ask(Some(&secret), grant.to_owned()).await;
    assert_eq!(status, 200, "{token}");
    for (basic, form, expected) in [
        (Some(WRONG), grant.to_owned(), 401),
        (None, format!("{grant}&client_id={id}&client_secret={secret}"), 200),
        (None, format!("{grant}&client_id={id}&client_secret={WRONG}"), 401),
        (None, format!("{grant}&client_id={secret}&client_secret={id}"), 401),
        (Some(&secret), format!("{grant}&client_secret={secret}"), 400),
        (Some(&secret), format!("{grant}&scope={MISTYPED}"), 400),
        (Some(&secret), format!("grant_type={MISTYPED}"), 400),
    ] {
        assert_eq!(ask(basic, form.clone()).await.0, expected, "{form}");
    }
    let asked = server.client.post(format!("{url}?client_secret={secret}")).send().await.unwrap();
    assert_eq!(asked.status(), 400);
    server.ask(Method::GET, clients, None).await;
    let token = token["access_token"].as_str().unwrap();
    let parts = token.split('.').map(str::to_owned);
    parts.chain([secret.clone(), BASE64.encode(format!("{id}:{secret}"))]).collect()
}

fn is_in(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn a_start_that_fails_does_not_repeat_the_password() {
    let setup = Setup::sqlite();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://ann:{OF_DATABASE}@{closed}/fleet?options=-c%20x%3D{OF_DATABASE}");
    let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
    command.env("GATEHOUSE_LOG__LEVEL", "trace").env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let shown = printed(&output);
    assert!(shown.contains("database"), "{shown}");
    assert!(!shown.contains(OF_DATABASE) && !shown.contains(MASTER_KEY), "{shown}");
}

#[tokio::test]
async fn a_secret_for_a_flag_may_be_in_a_file() {
    let setup = Setup::postgres("secret_in_a_file").await;
    let server = setup.serve();
    std::fs::write(setup.path("token"), format!("{}\n", server.token)).unwrap();
    let list = |token: &str| {
        setup.run(&["contract", "list", "--url", &server.url, "--tenant", "acme", "--token", token])
    };
    assert!(printed(&list("@token")).contains("payg"));
    let missing = list("@nowhere");
    let why = String::from_utf8(missing.stderr).unwrap();
    assert!(!missing.status.success() && why.contains("nowhere can't be read"), "{why}");

    std::fs::write(setup.path("url"), setup.database_url.as_ref().unwrap()).unwrap();
    let mut doctor = setup.command(&["doctor", "--database-url", "@url"]);
    let checked = doctor.env_remove("GATEHOUSE_DATABASE_URL").output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
