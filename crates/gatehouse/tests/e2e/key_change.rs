//! Changing the keys while everything goes on: the master key step by step, one server after the other, and the key
//! that signs tokens.

use super::batch::{Wait, text};
use super::process::*;
use reqwest::Method;
use serde_json::{Value, json};

const OLD: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const NEW: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const WRONG: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// Gives these master keys to everything that starts here from now on.
fn give(place: &mut Place, keys: &[&str]) {
    let keys = keys.join("\n");
    if place.database_url.is_none() {
        std::fs::create_dir_all(place.path("gatehouse-data")).unwrap();
        let path = place.path("gatehouse-data/master.key");
        std::fs::write(&path, &keys).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    place.master_key = keys;
}

/// What was made under the old key, and must go on.
struct Things {
    /// Names and passwords: generated, chosen, and those of a batch.
    accesses: Vec<(String, String)>,
    /// One that never connects.
    silent: (String, String),
    /// A Task that shows passwords.
    task: String,
    shown: String,
    /// What was answered to a creation, and to a batch, that come again.
    created: String,
    accepted: Value,
    /// Whether the key is there under which those requests are known, which is for a day.
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

async fn make(place: &Place, server: &Server) -> Things {
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
    let shown = server.until_over("acme", &task).await;
    let (status, created) = once(server, "/acme/access", "k1", &creation()).await;
    assert_eq!(status, 201, "{created}");
    let of_batch = shown["accesses"].as_array().unwrap_or_else(|| panic!("{shown}"));
    for made in of_batch.iter().chain([&created]) {
        accesses.push((text(made, "username").to_owned(), text(made, "password").to_owned()));
    }
    let (status, accepted) = once(server, "/acme/access/batch", "k2", &change()).await;
    assert_eq!(status, 202, "{accepted}");
    server.until_over("acme", text(&accepted, "id")).await;
    let account = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
        "settings": {"baseUrl": "http://127.0.0.1:9700"}, "credentials": {"token": "s3cret"}}"#;
    let path = "/-/admin/tenants/acme/accounts/a";
    assert_eq!(server.json(Method::PUT, path, Some(account)).await.0, 201);
    let words =
        ["client", "create", "--tenant", "acme", "--scope", "access:read", "--output", "json"];
    let output = place.run(&words);
    assert!(output.status.success(), "{}", said(&output));
    let client: Value = serde_json::from_slice(&output.stdout).unwrap();
    let client = (text(&client, "clientId").to_owned(), text(&client, "clientSecret").to_owned());
    let (shown, created) = (everywhere(server, &shown), everywhere(server, &created));
    Things { accesses, silent, task, shown, created, accepted, are_recognised: true, client }
}

/// An answer as any server gives it: without its own address.
fn everywhere(server: &Server, answer: &Value) -> String {
    answer.to_string().replace(server.address(), "")
}

async fn verify(server: &Server, (username, password): &(String, String)) -> u16 {
    let body = json!({"username": username, "password": password}).to_string();
    server.json(Method::POST, "/acme/verify", Some(&body)).await.0
}

/// Everything that was made is as good as on the first day.
async fn check(place: &Place, server: &Server, things: &Things, step: &str) {
    let step = format!("{}: {step}", place.kind);
    for access in &things.accesses {
        assert_eq!(verify(server, access).await, 200, "{step}: {}", access.0);
        let wrong = (access.0.clone(), "wrong".to_owned());
        assert_eq!(verify(server, &wrong).await, 401, "{step}");
    }
    let shown = everywhere(server, &server.until_over("acme", &things.task).await);
    assert_eq!(shown, things.shown, "{step}: passwords are still shown");
    assert!(shown.contains("\"password\""), "{shown}");
    if things.are_recognised {
        let (status, again) = once(server, "/acme/access", "k1", &creation()).await;
        assert_eq!((status, everywhere(server, &again)), (201, things.created.clone()), "{step}");
        let (status, again) = once(server, "/acme/access/batch", "k2", &change()).await;
        assert_eq!((status, &again["id"]), (202, &things.accepted["id"]), "{step}");
    }
    let other = json!({"contractId": "payg-2", "numberOfAccesses": 2});
    assert_eq!(once(server, "/acme/access/batch", "k2", &other).await.0, 409, "{step}");
    let doctor = place.run(&["doctor", "--deep"]);
    assert!(doctor.status.success(), "{step}: {}", said(&doctor));
    assert!(said(&doctor).contains("1 account can be opened"), "{step}: {}", said(&doctor));
    let url = format!("{}/-/oauth2/token", server.url);
    let request = server.client.post(url).basic_auth(&things.client.0, Some(&things.client.1));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = request.body("grant_type=client_credentials").send().await.unwrap();
    assert_eq!(response.status(), 200, "{step}");
}

/// A line of `key status`: what the key is, and its figures.
fn status(place: &Place, n: usize) -> (String, String, Vec<u64>) {
    let output = place.run(&["key", "status"]);
    assert!(output.status.success(), "{}: {}", place.kind, said(&output));
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = shown.lines().nth(n + 1).unwrap_or_else(|| panic!("no line {n} in\n{shown}"));
    let (key, rest) = line.split_at(32);
    let (is, figures) = rest.split_at(10);
    let figures = figures.split_whitespace().map(|it| it.parse().unwrap()).collect();
    (key.to_owned(), is.trim().to_owned(), figures)
}

/// A server that can't start says why.
fn refused(place: &mut Place, keys: &[&str]) -> String {
    let before = place.master_key.clone();
    give(place, keys);
    let output = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success(), "{}: it started with {keys:?}", place.kind);
    give(place, &before.lines().collect::<Vec<_>>());
    said(&output)
}

/// The servers of a place, which get new keys one after the other. The embedded store has one.
struct Servers(Vec<Option<Server>>);

impl Servers {
    /// Starts each again, and checks everything on all of them whenever one has changed.
    async fn change(&mut self, place: &mut Place, keys: &[&str], things: &Things) {
        give(place, keys);
        for n in 0..self.0.len() {
            if let Some(former) = self.0[n].take() {
                // One that was killed would count as there for a while.
                former.terminate();
                assert!(former.wait().success());
            }
            self.0[n] = Some(place.serve_allowing_guesses());
            for server in self.0.iter().flatten() {
                check(place, server, things, &format!("server {n} has {keys:?}")).await;
            }
        }
    }
}

/// In the middle of a change: one server has the former key first, the other the new one.
#[tokio::test]
async fn a_key_that_a_server_makes_things_with_is_not_let_go_of() {
    let mut place = Place::postgres("makes_things_with").await;
    give(&mut place, &[OLD, NEW]);
    let former = place.serve_allowing_guesses();
    let old = status(&place, 0).0;
    let body = json!({"contractId": "payg"}).to_string();
    let (status_code, made) = former.json(Method::POST, "/acme/access", Some(&body)).await;
    assert_eq!(status_code, 201, "{made}");
    let device = (text(&made, "username").to_owned(), text(&made, "password").to_owned());
    give(&mut place, &[NEW, OLD]);
    let newest = place.serve_allowing_guesses();
    for server in [&newest, &former, &newest, &former] {
        assert_eq!(verify(server, &device).await, 200);
        assert_eq!(status(&place, 1).2[0], 0, "nobody undoes what was renewed");
    }
    let refusal = |arguments: &[&str], why: &str| {
        let refused = place.run(arguments);
        assert!(!refused.status.success() && said(&refused).contains(why), "{}", said(&refused));
    };
    refusal(&["key", "retire", "--force", &old], "the token key is sealed with it");
    assert!(place.run(&["key", "reseal"]).status.success());
    refusal(&["key", "retire", &old], "makes what is new with it");
    former.terminate();
    assert!(former.wait().success());
    let retired = place.run(&["key", "retire", &old]);
    assert!(retired.status.success(), "{}", said(&retired));
    assert_eq!(verify(&newest, &device).await, 200);
}

#[tokio::test]
async fn the_master_key_is_changed_one_server_after_the_other() {
    for mut place in Place::each("master_key_is_changed").await {
        let kind = place.kind;
        give(&mut place, &[OLD]);
        let first = place.serve_allowing_guesses();
        let mut things = make(&place, &first).await;
        let mut servers = Servers(vec![Some(first)]);
        if place.database_url.is_some() {
            servers.0.push(Some(place.serve_allowing_guesses()));
        }
        let old = status(&place, 0);
        // 4 + 2 + 1 + 1 accesses, a client, no change, an account, a Task of each batch, an answer.
        let of_token = u64::from(place.database_url.is_some());
        assert_eq!(
            (old.1.as_str(), &old.2[..]),
            ("first", &[8, 1, 0, 1, 2, 1, of_token][..]),
            "{kind}"
        );

        servers.change(&mut place, &[OLD, NEW], &things).await;
        let new = status(&place, 1);
        assert_eq!((new.1.as_str(), new.2.iter().sum::<u64>()), ("not used", 0), "{kind}");
        assert!(place.run(&["key", "reseal"]).status.success());
        assert_eq!(status(&place, 0).2, old.2, "{kind}: there was nothing to seal anew");

        servers.change(&mut place, &[NEW, OLD], &things).await;
        assert_eq!(status(&place, 0).0, new.0, "{kind}");
        let former = status(&place, 1);
        // Those that connected were hashed anew.
        assert_eq!((&former.0, former.1.as_str()), (&old.0, "in use"));
        assert_eq!(former.2, [2, 0, 0, 1, 2, 1, of_token], "{kind}");
        servers.0.iter_mut().for_each(|it| drop(it.take()));
        for (keys, why) in [
            (&[WRONG][..], "not the one that this database"),
            (&[OLD], "was also written with the master key"),
            (&[NEW], "was also written with the master key"),
            (&[NEW, NEW], "are the same"),
        ] {
            let shown = refused(&mut place, keys);
            assert!(shown.contains(why), "{kind}: {shown}");
            assert!(!shown.contains(NEW) && !shown.contains(OLD), "{shown}");
        }

        servers.change(&mut place, &[NEW, OLD], &things).await;
        let resealed = place.run(&["key", "reseal"]);
        let n_seals = 4 + of_token;
        let expected = format!("{n_seals} sealed anew");
        assert!(said(&resealed).contains(&expected), "{kind}: {}", said(&resealed));
        let again = said(&place.run(&["key", "reseal"]));
        assert!(again.contains("0 sealed anew"), "{kind}: {again}");
        for server in servers.0.iter().flatten() {
            check(&place, server, &things, "sealed anew").await;
        }
        assert_eq!(status(&place, 1).2, [2, 0, 0, 0, 0, 0, 0], "{kind}: the silent ones");

        let early = place.run(&["key", "retire", &old.0]);
        let why = said(&early);
        assert!(!early.status.success() && why.contains("2 things are left"), "{kind}: {why}");
        let own = place.run(&["key", "retire", &new.0]);
        let why = said(&own);
        assert!(!own.status.success() && why.contains("first of the keys"), "{kind}: {why}");
        let retired = place.run(&["key", "retire", "--force", &old.0[..8]]);
        assert!(retired.status.success(), "{kind}: {}", said(&retired));
        for server in servers.0.iter().flatten() {
            check(&place, server, &things, "let go of").await;
        }
        things.are_recognised = false;
        servers.change(&mut place, &[NEW], &things).await;
        for server in servers.0.iter().flatten() {
            assert_eq!(verify(server, &things.silent).await, 401, "{kind}: its key is gone");
            let (status, again) = once(server, "/acme/access", "k1", &creation()).await;
            assert_eq!(status, 409, "{kind}: nobody can tell if it is the same: {again}");
        }
        assert_eq!(status(&place, 1).1, "missing", "{kind}");
        drop(servers);
        let shown = refused(&mut place, &[OLD]);
        assert!(shown.contains("give the original key"), "{kind}: {shown}");
    }
}

#[tokio::test]
async fn the_token_key_is_changed_while_servers_run() {
    for place in Place::each("token_key_is_changed").await {
        let kind = place.kind;
        let mut servers = vec![place.serve_allowing_guesses()];
        if place.database_url.is_some() {
            servers.push(place.serve_allowing_guesses());
        }
        let former = servers[0].token.clone();
        let rotated = place.run(&["key", "rotate-token"]);
        assert!(rotated.status.success(), "{kind}: {}", said(&rotated));
        let token = place.token("*", "admin");
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
            assert!(said(&rotated).contains(id), "{kind}: {jwks}");
        }

        let revoked = place.run(&["key", "rotate-token", "--former-for", "0s"]);
        assert!(said(&revoked).contains("are refused"), "{kind}: {}", said(&revoked));
        for server in &mut servers {
            // It looks again because it is shown what it doesn't know, but not all the time.
            server.token = place.token("*", "access:read");
            let wait = Wait::new("the second change is noticed");
            while server.json(Method::GET, "/acme/contract", None).await.0 != 200 {
                wait.goes_on();
            }
            for gone in [&former, &token] {
                server.token.clone_from(gone);
                assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 401, "{kind}");
            }
        }
        drop(servers);
        assert_eq!(
            place.serve_allowing_guesses().json(Method::GET, "/acme/contract", None).await.0,
            200,
            "{kind}"
        );
        let bad = place.run(&["key", "rotate-token", "--former-for", "soon"]);
        assert!(!bad.status.success() && said(&bad).contains("--former-for"), "{}", said(&bad));
    }
}
