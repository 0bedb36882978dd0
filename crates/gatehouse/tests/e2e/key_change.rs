//! Changing the keys without an outage: the master key step by step, one server after the other, and the key that signs
//! tokens.

use super::batch::{Wait, text};
use super::process::*;
use reqwest::Method;
use serde_json::{Value, json};

const OLD: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const WRONG: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// Sets the master keys of every process that starts here from now on.
fn give(setup: &mut Setup, keys: &[&str]) {
    let keys = keys.join("\n");
    if setup.database_url.is_none() {
        std::fs::create_dir_all(setup.path("gatehouse-data")).unwrap();
        let path = setup.path("gatehouse-data/master.key");
        std::fs::write(&path, &keys).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    setup.master_key = keys;
}

/// Objects made under the old key, which must stay usable.
struct Objects {
    /// Usernames and passwords: generated, chosen, and a batch's.
    accesses: Vec<(String, String)>,
    /// An access that never connects.
    silent: (String, String),
    /// A Task that shows passwords.
    task: String,
    shown: String,
    /// Responses to a creation and to a batch that are repeated.
    created: String,
    accepted: Value,
    /// Whether the key for recognising those requests still exists, which it does for a day.
    are_recognised: bool,
    client: (String, String),
}

async fn once(server: &Server, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let url = format!("{}{path}", server.url);
    let request = server.client.post(url).bearer_auth(&server.token).json(body);
    let response = request.header("Idempotency-Key", key).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn creation() -> Value {
    json!({"contractId": "payg", "username": "once", "password": "chosen, once"})
}

fn change() -> Value {
    json!({"contractId": "payg-2", "numberOfAccesses": 1})
}

async fn make(setup: &Setup, server: &Server) -> Objects {
    let create = async |body: Value| {
        let body = body.to_string();
        let (status, made) = server.json(Method::POST, "/acme/access", Some(&body)).await;
        assert_eq!(status, 201, "{made}");
        (text(&made, "username").to_owned(), text(&made, "password").to_owned())
    };
    let mut accesses = vec![
        create(json!({"contractId": "payg"})).await,
        create(json!({"contractId": "pre"})).await,
        create(json!({"contractId": "payg", "password": "chosen by somebody"})).await,
    ];
    let silent = create(json!({"contractId": "payg"})).await;
    let task =
        server.batch("acme", "batch", &json!({"contractId": "payg", "numberOfAccesses": 2})).await;
    let shown = server.until_ended("acme", &task).await;
    let (status, created) = once(server, "/acme/access", "k1", &creation()).await;
    assert_eq!(status, 201, "{created}");
    let of_batch = shown["accesses"].as_array().unwrap_or_else(|| panic!("{shown}"));
    for made in of_batch.iter().chain([&created]) {
        accesses.push((text(made, "username").to_owned(), text(made, "password").to_owned()));
    }
    let (status, accepted) = once(server, "/acme/access/batch", "k2", &change()).await;
    assert_eq!(status, 202, "{accepted}");
    server.until_ended("acme", text(&accepted, "id")).await;
    let account = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
        "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": {"token": "s3cret"}}"#;
    let path = "/-/admin/tenants/acme/accounts/a";
    assert_eq!(server.json(Method::PUT, path, Some(account)).await.0, 201);
    let words =
        ["client", "create", "--tenant", "acme", "--scope", "access:read", "--output", "json"];
    let output = setup.run(&words);
    assert!(output.status.success(), "{}", printed(&output));
    let client: Value = serde_json::from_slice(&output.stdout).unwrap();
    let client = (text(&client, "clientId").to_owned(), text(&client, "clientSecret").to_owned());
    let (shown, created) = (without_address(server, &shown), without_address(server, &created));
    Objects { accesses, silent, task, shown, created, accepted, are_recognised: true, client }
}

/// A response without the server's own address.
fn without_address(server: &Server, answer: &Value) -> String {
    answer.to_string().replace(server.address(), "")
}

async fn verify(server: &Server, (username, password): &(String, String)) -> u16 {
    let body = json!({"username": username, "password": password}).to_string();
    server.json(Method::POST, "/acme/verify", Some(&body)).await.0
}

/// Asserts that every object is still usable.
async fn check(setup: &Setup, server: &Server, objects: &Objects, step: &str) {
    let step = format!("{}: {step}", setup.kind);
    for access in &objects.accesses {
        assert_eq!(verify(server, access).await, 200, "{step}: {}", access.0);
        let wrong = (access.0.clone(), "wrong".to_owned());
        assert_eq!(verify(server, &wrong).await, 401, "{step}");
    }
    let shown = without_address(server, &server.until_ended("acme", &objects.task).await);
    assert_eq!(shown, objects.shown, "{step}: passwords are still shown");
    assert!(shown.contains("\"password\""), "{shown}");
    if objects.are_recognised {
        let (status, again) = once(server, "/acme/access", "k1", &creation()).await;
        assert_eq!(
            (status, without_address(server, &again)),
            (201, objects.created.clone()),
            "{step}"
        );
        let (status, again) = once(server, "/acme/access/batch", "k2", &change()).await;
        assert_eq!((status, &again["id"]), (202, &objects.accepted["id"]), "{step}");
    }
    let other = json!({"contractId": "payg-2", "numberOfAccesses": 2});
    assert_eq!(once(server, "/acme/access/batch", "k2", &other).await.0, 409, "{step}");
    let doctor = setup.run(&["doctor", "--deep"]);
    assert!(doctor.status.success(), "{step}: {}", printed(&doctor));
    assert!(printed(&doctor).contains("1 account can be opened"), "{step}: {}", printed(&doctor));
    let url = format!("{}/-/oauth2/token", server.url);
    let request = server.client.post(url).basic_auth(&objects.client.0, Some(&objects.client.1));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = request.body("grant_type=client_credentials").send().await.unwrap();
    assert_eq!(response.status(), 200, "{step}");
}

/// A line of `key status`: the key, its state, and its counts.
fn status(setup: &Setup, n: usize) -> (String, String, Vec<u64>) {
    let output = setup.run(&["key", "status"]);
    assert!(output.status.success(), "{}: {}", setup.kind, printed(&output));
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = shown.lines().nth(n + 1).unwrap_or_else(|| panic!("no line {n} in\n{shown}"));
    let (key, rest) = line.split_at(32);
    let (is, figures) = rest.split_at(10);
    let figures = figures.split_whitespace().map(|it| it.parse().unwrap()).collect();
    (key.to_owned(), is.trim().to_owned(), figures)
}

/// The error of a server that can't start.
fn refused(setup: &mut Setup, keys: &[&str]) -> String {
    let before = setup.master_key.clone();
    give(setup, keys);
    let output = setup.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success(), "{}: it started with {keys:?}", setup.kind);
    give(setup, &before.lines().collect::<Vec<_>>());
    printed(&output)
}

/// A setup's servers, which get new keys one after the other. The embedded store has one.
struct Servers(Vec<Option<Server>>);

impl Servers {
    /// Restarts each server, and checks every object on all of them after each restart.
    async fn change(&mut self, setup: &mut Setup, keys: &[&str], objects: &Objects) {
        give(setup, keys);
        for n in 0..self.0.len() {
            if let Some(former) = self.0[n].take() {
                // A killed server would count as running for a while.
                former.terminate();
                assert!(former.wait().success());
            }
            self.0[n] = Some(setup.serve_allowing_guesses());
            for server in self.0.iter().flatten() {
                check(setup, server, objects, &format!("server {n} has {keys:?}")).await;
            }
        }
    }
}

/// Amid a change: one server has the former key first, the other the new one.
#[tokio::test]
async fn a_key_in_use_by_a_server_is_not_retired() {
    let mut setup = Setup::postgres("makes_things_with").await;
    give(&mut setup, &[OLD, NEW]);
    let former = setup.serve_allowing_guesses();
    let old = status(&setup, 0).0;
    let body = json!({"contractId": "payg"}).to_string();
    let (status_code, made) = former.json(Method::POST, "/acme/access", Some(&body)).await;
    assert_eq!(status_code, 201, "{made}");
    let device = (text(&made, "username").to_owned(), text(&made, "password").to_owned());
    give(&mut setup, &[NEW, OLD]);
    let newest = setup.serve_allowing_guesses();
    for server in [&newest, &former, &newest, &former] {
        assert_eq!(verify(server, &device).await, 200);
        assert_eq!(status(&setup, 1).2[0], 0, "renewed hashes stay");
    }
    let refusal = |arguments: &[&str], why: &str| {
        let refused = setup.run(arguments);
        assert!(
            !refused.status.success() && printed(&refused).contains(why),
            "{}",
            printed(&refused)
        );
    };
    refusal(&["key", "retire", "--force", &old], "the token key is sealed with it");
    assert!(setup.run(&["key", "reseal"]).status.success());
    refusal(&["key", "retire", &old], "seals new data with it");
    former.terminate();
    assert!(former.wait().success());
    let retired = setup.run(&["key", "retire", &old]);
    assert!(retired.status.success(), "{}", printed(&retired));
    assert_eq!(verify(&newest, &device).await, 200);
}

#[tokio::test]
async fn the_master_key_is_changed_one_server_after_the_other() {
    for mut setup in Setup::each("master_key_is_changed").await {
        let kind = setup.kind;
        give(&mut setup, &[OLD]);
        let first = setup.serve_allowing_guesses();
        let mut objects = make(&setup, &first).await;
        let mut servers = Servers(vec![Some(first)]);
        if setup.database_url.is_some() {
            servers.0.push(Some(setup.serve_allowing_guesses()));
        }
        let old = status(&setup, 0);
        // 4 + 2 + 1 + 1 accesses, a client, no change, an account, a Task of each batch, a stored response; and the
        // server's own.
        let of_token = u64::from(setup.database_url.is_some());
        assert_eq!(
            (old.1.as_str(), &old.2[..]),
            ("first", &[8, 1, 0, 1, 2, 1, 0, of_token, 1][..]),
            "{kind}"
        );

        servers.change(&mut setup, &[OLD, NEW], &objects).await;
        let new = status(&setup, 1);
        assert_eq!((new.1.as_str(), new.2.iter().sum::<u64>()), ("not used", 0), "{kind}");
        assert!(setup.run(&["key", "reseal"]).status.success());
        assert_eq!(status(&setup, 0).2, old.2, "{kind}: there was nothing to seal anew");

        servers.change(&mut setup, &[NEW, OLD], &objects).await;
        assert_eq!(status(&setup, 0).0, new.0, "{kind}");
        let former = status(&setup, 1);
        // Accesses that connected have a new hash.
        assert_eq!((&former.0, former.1.as_str()), (&old.0, "in use"));
        assert_eq!(former.2, [2, 0, 0, 1, 2, 1, 0, of_token, 1], "{kind}");
        servers.0.iter_mut().for_each(|it| drop(it.take()));
        for (keys, why) in [
            (&[WRONG][..], "not the one that this database"),
            (&[OLD], "was also written with the master key"),
            (&[NEW], "was also written with the master key"),
            (&[NEW, NEW], "are the same"),
        ] {
            let shown = refused(&mut setup, keys);
            assert!(shown.contains(why), "{kind}: {shown}");
            assert!(!shown.contains(NEW) && !shown.contains(OLD), "{shown}");
        }

        servers.change(&mut setup, &[NEW, OLD], &objects).await;
        let resealed = setup.run(&["key", "reseal"]);
        let n_seals = 5 + of_token;
        let expected = format!("{n_seals} resealed");
        assert!(printed(&resealed).contains(&expected), "{kind}: {}", printed(&resealed));
        let again = printed(&setup.run(&["key", "reseal"]));
        assert!(again.contains("0 resealed"), "{kind}: {again}");
        for server in servers.0.iter().flatten() {
            check(&setup, server, &objects, "resealed").await;
        }
        assert_eq!(status(&setup, 1).2, [2, 0, 0, 0, 0, 0, 0, 0, 0], "{kind}: the silent ones");

        let early = setup.run(&["key", "retire", &old.0]);
        let why = printed(&early);
        assert!(
            !early.status.success() && why.contains("2 objects still depend on it"),
            "{kind}: {why}"
        );
        let own = setup.run(&["key", "retire", &new.0]);
        let why = printed(&own);
        assert!(
            !own.status.success() && why.contains("first of the configured keys"),
            "{kind}: {why}"
        );
        let retired = setup.run(&["key", "retire", "--force", &old.0[..8]]);
        assert!(retired.status.success(), "{kind}: {}", printed(&retired));
        for server in servers.0.iter().flatten() {
            check(&setup, server, &objects, "retired").await;
        }
        objects.are_recognised = false;
        servers.change(&mut setup, &[NEW], &objects).await;
        for server in servers.0.iter().flatten() {
            assert_eq!(verify(server, &objects.silent).await, 401, "{kind}: its key is gone");
            let (status, again) = once(server, "/acme/access", "k1", &creation()).await;
            assert_eq!(status, 409, "{kind}: the request can't be recognised: {again}");
        }
        assert_eq!(status(&setup, 1).1, "missing", "{kind}");
        drop(servers);
        let shown = refused(&mut setup, &[OLD]);
        assert!(shown.contains("give the original key"), "{kind}: {shown}");
    }
}

#[tokio::test]
async fn the_token_key_is_changed_while_servers_run() {
    for setup in Setup::each("token_key_is_changed").await {
        let kind = setup.kind;
        let mut servers = vec![setup.serve_allowing_guesses()];
        if setup.database_url.is_some() {
            servers.push(setup.serve_allowing_guesses());
        }
        let former = servers[0].token.clone();
        let rotated = setup.run(&["key", "rotate-token"]);
        assert!(rotated.status.success(), "{kind}: {}", printed(&rotated));
        let token = setup.token("*", "admin");
        for server in &servers {
            let ask = async |token: &str| {
                let url = format!("{}/acme/contract", server.url);
                server.client.get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
            };
            assert_eq!(ask(&former).await, 200, "{kind}: it may live on");
            assert_eq!(ask(&token).await, 403, "{kind}: known at once, and for admins alone");
            assert_eq!(ask(&former).await, 200, "{kind}");
            let (_, jwks) = server.json(Method::GET, "/-/jwks.json", None).await;
            assert_eq!(jwks["keys"].as_array().unwrap().len(), 2, "{kind}: {jwks}");
            assert!(!jwks.to_string().contains("\"d\""), "{kind}: nothing private");
            let id = jwks["keys"][0]["kid"].as_str().unwrap();
            assert!(printed(&rotated).contains(id), "{kind}: {jwks}");
        }

        let revoked = setup.run(&["key", "rotate-token", "--former-for", "0s"]);
        assert!(printed(&revoked).contains("are refused"), "{kind}: {}", printed(&revoked));
        for server in &mut servers {
            // The server reloads because of an unknown key, but not all the time.
            server.token = setup.token("*", "access:read");
            let wait = Wait::new("the second change is noticed");
            while server.json(Method::GET, "/acme/contract", None).await.0 != 200 {
                wait.check_limit();
            }
            for gone in [&former, &token] {
                server.token.clone_from(gone);
                assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 401, "{kind}");
            }
        }
        drop(servers);
        assert_eq!(
            setup.serve_allowing_guesses().json(Method::GET, "/acme/contract", None).await.0,
            200,
            "{kind}"
        );
        let bad = setup.run(&["key", "rotate-token", "--former-for", "soon"]);
        assert!(
            !bad.status.success() && printed(&bad).contains("--former-for"),
            "{}",
            printed(&bad)
        );
    }
}
