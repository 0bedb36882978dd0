//! Accesses whose password another program has hashed.

use gatehouse_core::TenantName;
use serde_json::json;

use super::*;

/// `correct horse`, as htpasswd hashes it.
const BCRYPT: &str = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";

const RIGHT: &str = "correct horse";

impl Gatehouse {
    async fn create_with_hash(&self, contract: &str, username: &str) -> (String, Value) {
        let body = json!({"contractId": contract, "username": username, "passwordHash": BCRYPT});
        self.create(&body.to_string()).await
    }

    /// The scheme of a stored hash.
    async fn scheme_of(&self, username: &str) -> String {
        let tenant: TenantName = "acme".parse().unwrap();
        let store = &self.gate.server.app.store;
        let stored = store.access_by_username(&tenant, &username.parse().unwrap()).await;
        let stored = stored.unwrap().unwrap().password;
        assert!(!stored.as_str().contains(&BCRYPT[7..]), "another program's hash is sealed");
        stored.as_str().split('$').next().unwrap().to_owned()
    }

    fn n_slow_hashes(&self) -> u64 {
        self.gate.server.app.vault.meter().n_hashes()
    }
}

#[tokio::test]
async fn the_first_right_password_replaces_the_hash_by_our_own() {
    for gate in Gatehouse::on_each("hash_replaced").await {
        let response = gate
            .post(
                "/acme/access",
                &json!({"contractId": "payg", "username": "ann", "passwordHash": BCRYPT})
                    .to_string(),
            )
            .await;
        assert_eq!(response.status, 201, "{}: {}", gate.kind, response.body);
        assert_eq!(response.header("cache-control"), None);
        let created = response.json();
        assert_eq!((created.get("password"), created.get("passwordHash")), (None, None));
        let path = format!("/acme/access/{}", created["id"].as_str().unwrap());

        for wrong in ["wrong", BCRYPT] {
            assert_eq!(gate.verify("ann", wrong).await.status, 401, "{}", gate.kind);
        }
        assert_eq!(gate.scheme_of("ann").await, "foreign", "a wrong password replaces nothing");
        assert_eq!(gate.verify("ann", RIGHT).await.status, 200, "{}", gate.kind);
        assert_eq!(gate.scheme_of("ann").await, "argon2id", "{}", gate.kind);
        let n_before = gate.n_slow_hashes();
        assert_eq!(gate.verify("ann", RIGHT).await.status, 200);
        assert_eq!(gate.n_slow_hashes(), n_before, "the next check is fast");
        assert_eq!(gate.verify("ann", "wrong").await.status, 401);
        let read = gate.get(&path).await;
        assert_eq!(read.header("etag"), response.header("etag"), "the access is the same");
        assert_eq!(read.json(), created);
    }
}

#[tokio::test]
async fn the_first_connection_of_a_prepaid_access_replaces_the_hash_too() {
    for gate in Gatehouse::on_each("hash_prepaid").await {
        gate.create_with_hash("pre", "ann").await;
        let verified = gate.verify("ann", RIGHT).await;
        assert_eq!(verified.json()["status"], "ACTIVE", "{}", gate.kind);
        assert_eq!(gate.scheme_of("ann").await, "argon2id", "{}", gate.kind);
        assert_eq!(gate.verify("ann", RIGHT).await.status, 200);
    }
}

#[tokio::test]
async fn a_refused_access_keeps_its_hash() {
    for gate in Gatehouse::on_each("hash_refused").await {
        for status in ["SUSPENDED", "TERMINATED"] {
            let (path, _) = gate.create_with_hash("payg", status).await;
            let changed = gate.patch(&path, &json!({ "status": status }).to_string()).await;
            assert_eq!(changed.status, 200);
            for password in [RIGHT, "wrong"] {
                assert_eq!(gate.verify(status, password).await.status, 401, "{}", gate.kind);
            }
            assert_eq!(gate.scheme_of(status).await, "foreign", "{} {status}", gate.kind);
        }
    }
}

#[tokio::test]
async fn concurrent_first_checks_all_pass() {
    for gate in Gatehouse::on_each("hash_concurrent").await {
        for contract in ["payg", "pre"] {
            gate.create_with_hash(contract, contract).await;
            // As many guesses of a name as may be under way.
            let checks = (0..10).map(|_| gate.verify(contract, RIGHT));
            for checked in futures_util::future::join_all(checks).await {
                assert_eq!(checked.status, 200, "{}: {}", gate.kind, checked.body);
            }
            assert_eq!(gate.scheme_of(contract).await, "argon2id", "{}", gate.kind);
            assert_eq!(gate.verify(contract, RIGHT).await.status, 200);
        }
    }
}

#[tokio::test]
async fn a_rotation_replaces_the_hash() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create_with_hash("payg", "ann").await;
    let rotated = gate.patch(&path, r#"{"rotatePassword": true}"#).await.json();
    assert_eq!(gate.verify("ann", RIGHT).await.status, 401);
    assert_eq!(gate.verify("ann", rotated["password"].as_str().unwrap()).await.status, 200);
    assert_eq!(gate.patch(&path, &json!({"passwordHash": BCRYPT}).to_string()).await.status, 400);
}

#[tokio::test]
async fn a_bad_hash_is_a_fault_that_never_shows_it() {
    let gate = Gatehouse::new().await;
    let at = |body: Value| {
        let mut body = body;
        body["contractId"] = "payg".into();
        body.to_string()
    };
    let costly = BCRYPT.replace("$05$", "$15$");
    for (hash, expected) in [
        (json!("hunter2hunter2"), "is no hash but looks like clear text"),
        (
            json!("$apr1$Ls6NHcgU$u1Gx1sWOQ2nyEMMBB0ACc0"),
            "is Apache's MD5-crypt, which is too weak",
        ),
        (json!("8846f7eaee8fb117ad06bdd830b7586c"), "is an unsalted MD5 or an NT hash"),
        (json!("$y$j9T$abcdefghijkl$mnopqrstuvwxyz"), "is in no known format: it must be bcrypt"),
        (json!(costly), "has 15 as its cost of bcrypt, which must be 4 to 14"),
        (json!(BCRYPT[..59]), "begins like bcrypt, but isn't `$2y$`"),
        (json!(""), "must have 1 to 255 bytes, not 0"),
        (json!(7), "must be a string, not a number"),
    ] {
        let response = gate.post("/acme/access", &at(json!({ "passwordHash": hash }))).await;
        assert_eq!(response.faults(), (400, "passwordHash".into()), "{}", response.body);
        let reason = response.json()["invalidParams"][0]["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with(expected), "{reason}");
        let secret = hash.as_str().filter(|it| it.len() > 10).map(|it| &it[it.len() - 8..]);
        assert!(!secret.is_some_and(|it| response.body.contains(it)), "{}", response.body);
    }
    let both = at(json!({"password": "x", "passwordHash": BCRYPT}));
    let response = gate.post("/acme/access", &both).await;
    assert_eq!(response.faults(), (400, "passwordHash".into()));
    let item = json!({"password": "x", "passwordHash": BCRYPT});
    let response = gate.post("/acme/access/batch", &at(json!({"accesses": [{}, item]}))).await;
    assert_eq!(response.faults(), (400, "accesses[1].passwordHash".into()), "{}", response.body);
    let number = at(json!({"accesses": [{"passwordHash": 7}]}));
    let response = gate.post("/acme/access/batch", &number).await;
    assert_eq!(response.faults(), (400, "accesses[0].passwordHash".into()));
    // An absent one is none.
    for absent in [json!({"password": null, "passwordHash": BCRYPT}), json!({"passwordHash": null})]
    {
        assert_eq!(gate.post("/acme/access", &at(absent)).await.status, 201);
    }
}

#[tokio::test]
async fn a_repeated_creation_has_no_password_either() {
    for gate in Gatehouse::on_each("hash_repeated").await {
        let body = json!({"contractId": "payg", "username": "ann", "passwordHash": BCRYPT});
        let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
        let first = gate.call("POST", "/acme/access", &headers, &body.to_string()).await;
        assert_eq!(gate.verify("ann", RIGHT).await.status, 200);
        let again = gate.call("POST", "/acme/access", &headers, &body.to_string()).await;
        assert_eq!((first.status, again.status), (201, 201), "{}: {}", gate.kind, again.body);
        assert_eq!((first.json(), first.json().get("password")), (again.json(), None));
        let other = body.to_string().replace("$05$", "$06$");
        let other = gate.call("POST", "/acme/access", &headers, &other).await;
        assert_eq!(other.status, 409, "{}", gate.kind);
    }
}
