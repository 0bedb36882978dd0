//! Clients and their tokens.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

const CLIENTS: &str = "/-/admin/tenants/acme/clients";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

struct TestClient {
    id: String,
    secret: String,
}

async fn create_client(gate: &Gatehouse, scope: &str) -> TestClient {
    let response =
        gate.post(CLIENTS, &format!(r#"{{"scope": "{scope}", "name": "broker"}}"#)).await;
    assert_eq!(response.status, 201, "{}", response.body);
    let text = |name: &str| response.json()[name].as_str().unwrap().to_owned();
    TestClient { id: text("clientId"), secret: text("clientSecret") }
}

impl TestClient {
    fn form(&self) -> String {
        let Self { id, secret } = self;
        format!("grant_type=client_credentials&client_id={id}&client_secret={secret}")
    }

    fn basic(&self) -> String {
        format!("Basic {}", BASE64.encode(format!("{}:{}", self.id, self.secret)))
    }
}

async fn request_token(gate: &Gatehouse, headers: Headers<'_>, form: &str) -> TestResponse {
    let mut all = vec![FORM];
    all.extend(headers);
    gate.send("POST", "/-/oauth2/token", &all, form.as_bytes()).await
}

#[tokio::test]
async fn a_client_is_created_read_listed_and_deleted() {
    for gate in Gatehouse::on_each("a_client_is_made").await {
        let response = gate.post(CLIENTS, r#"{"scope": "admin access:read"}"#).await;
        assert_eq!(response.status_and("cache-control"), (201, Some("no-store")));
        let created = response.json();
        let id = created["clientId"].as_str().unwrap();
        let path = format!("{CLIENTS}/{id}");
        assert_eq!(
            response.header("location"),
            Some(format!("http://gate.example{path}").as_str())
        );
        assert!(created["clientSecret"].as_str().unwrap().len() >= 24, "{created}");
        assert_eq!(
            (created["scope"].as_str(), created.get("name")),
            (Some("access:read admin"), None)
        );

        let mut shown = created.clone();
        shown.as_object_mut().unwrap().remove("clientSecret");
        assert_eq!(gate.get(&path).await.json(), shown, "the secret is returned only once");
        let listed = gate.get(CLIENTS).await;
        assert_eq!(listed.json(), Value::Array(vec![shown]));
        assert_eq!(listed.header("x-total-count"), Some("1"));
        let elsewhere = format!("/-/admin/tenants/rival/clients/{id}");
        assert_eq!(gate.get(&elsewhere).await.status, 404);
        assert_eq!(gate.delete(&elsewhere).await.status, 404);

        assert_eq!(gate.delete(&path).await.status, 204);
        assert_eq!((gate.delete(&path).await.status, gate.get(&path).await.status), (404, 404));
        assert_eq!(gate.get("/-/admin/tenants/nobody/clients").await.status, 404);
        let nobody = gate.post("/-/admin/tenants/nobody/clients", r#"{"scope": "admin"}"#).await;
        assert_eq!(nobody.status, 404);
    }
}

#[tokio::test]
async fn an_invalid_client_is_refused_with_its_faults() {
    let gate = Gatehouse::new().await;
    for (body, fields) in [
        ("{}", vec!["scope"]),
        (r#"{"scope": ""}"#, vec!["scope"]),
        (r#"{"scope": "acess:read", "name": "", "tenant": "x"}"#, vec!["name", "scope", "tenant"]),
        (r#"{"scope": ["admin"]}"#, vec!["scope"]),
    ] {
        let response = gate.post(CLIENTS, body).await;
        assert_eq!(response.faults(), (400, fields.join(" ")), "{body}");
    }
}

#[tokio::test]
async fn a_clients_token_has_its_scopes() {
    for gate in Gatehouse::on_each("a_client_gets_a_token").await {
        let client = create_client(&gate, "access:read access:verify").await;
        let encoded = client.form().replace('~', "%7E");
        let grant = "grant_type=client_credentials&x=y";
        for (headers, form) in [
            (vec![], client.form()),
            (vec![], encoded),
            (vec![("authorization", client.basic())], grant.to_owned()),
            (vec![("authorization", client.basic())], format!("{grant}&client_id={}", client.id)),
        ] {
            let headers: Vec<_> = headers.iter().map(|(name, it)| (*name, it.as_str())).collect();
            let response = request_token(&gate, &headers, &form).await;
            assert_eq!(response.status, 200, "{form}: {}", response.body);
            assert_eq!(response.header("cache-control"), Some("no-store"));
            assert_eq!(response.header("pragma"), Some("no-cache"));
            let token = response.json();
            assert_eq!(
                (&token["token_type"], &token["expires_in"]),
                (&"Bearer".into(), &900.into())
            );
            assert_eq!(token["scope"], "access:read access:verify");
        }
        let narrow =
            request_token(&gate, &[], &(client.form() + "&scope=access%3Aread")).await.json();
        assert_eq!(narrow["scope"], "access:read");
        let bearer = format!("Bearer {}", narrow["access_token"].as_str().unwrap());
        let bearer = [("authorization", bearer.as_str())];
        for (path, status) in
            [("/acme/access", 200), ("/rival/access", 403), ("/-/admin/tenants/acme", 403)]
        {
            assert_eq!(gate.send("GET", path, &bearer, b"").await.status, status, "{path}");
        }
        gate.delete(&format!("{CLIENTS}/{}", client.id)).await;
        assert_eq!(request_token(&gate, &[], &client.form()).await.status, 401);
    }
}

#[tokio::test]
async fn the_errors_of_the_token_endpoint_are_those_of_rfc_6749() {
    let gate = Gatehouse::new().await;
    let client = create_client(&gate, "access:read").await;
    let form = client.form();
    let good = client.basic();
    let bad = format!("Basic {}", BASE64.encode(format!("{}:wrong", client.id)));
    let wrong = form.replace(&client.secret, "wrong");
    let other = form.replace("acme~", "rival~");
    let cut = format!("Basic {}", BASE64.encode(format!("{}:{}&x", client.id, client.secret)));
    let basic = |value: &'static str| vec![("authorization", value)];
    let grant = "grant_type=client_credentials";
    #[rustfmt::skip]
    let cases = [
        (vec![], "".to_owned(), 400, "invalid_request"),
        (vec![], "grant_type=".into(), 400, "invalid_request"),
        (vec![], "grant_type=password&username=a&password=b".into(), 400, "unsupported_grant_type"),
        (vec![], grant.into(), 401, "invalid_client"),
        (vec![], format!("{grant}&client_id={}", client.id), 401, "invalid_client"),
        (vec![], wrong, 401, "invalid_client"),
        (vec![], other, 401, "invalid_client"),
        (vec![], format!("{grant}&client_id=x&client_secret={}", "y".repeat(100)), 401, "invalid_client"),
        (vec![("authorization", bad.as_str())], grant.into(), 401, "invalid_client"),
        (basic("Basic !"), grant.into(), 401, "invalid_client"),
        (vec![("authorization", cut.as_str())], grant.into(), 401, "invalid_client"),
        (basic("Bearer a.b.c"), grant.into(), 401, "invalid_client"),
        (vec![("authorization", good.as_str())], form.clone(), 400, "invalid_request"),
        (vec![("authorization", good.as_str())], format!("{grant}&client_id=else"), 400, "invalid_request"),
        (vec![], format!("{form}&scope=access:write"), 400, "invalid_scope"),
        (vec![], format!("{form}&scope=nonsense"), 400, "invalid_scope"),
        (vec![], format!("{form}&scope=access:read&scope=access:read"), 400, "invalid_request"),
        (vec![], format!("{form}&{grant}"), 400, "invalid_request"),
    ];
    for (headers, form, status, error) in cases {
        let response = request_token(&gate, &headers, &form).await;
        let body = response.json();
        assert_eq!(
            (response.status, body["error"].as_str()),
            (status, Some(error)),
            "{form}: {body}"
        );
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert!(response.header("x-correlation-id").is_some());
        let challenge = response.header("www-authenticate");
        assert_eq!(challenge, (status == 401).then_some("Basic realm=\"gatehouse\""), "{form}");
        let fields: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["error", "error_description"]);
        assert!(!response.body.contains(&client.secret), "an error contains no secret");
    }
    let json = [("content-type", "application/json")];
    let response = gate.send("POST", "/-/oauth2/token", &json, b"{}").await;
    assert_eq!(
        (response.status, response.json()["error"].as_str()),
        (400, Some("invalid_request"))
    );
    let response = gate.send("GET", "/-/oauth2/token", &[], b"").await;
    assert_eq!(response.status_and("allow"), (405, Some("OPTIONS, POST")));
    assert_eq!(response.json()["error"], "invalid_request");
    let large = "x".repeat(2 << 20);
    let response = request_token(&gate, &[], &large).await;
    assert_eq!(
        (response.status, response.json()["error"].as_str()),
        (413, Some("invalid_request"))
    );
}

#[tokio::test]
async fn failed_token_requests_of_a_client_are_limited() {
    for gate in Gatehouse::on_each("failed_token_requests").await {
        let (client, other) =
            (create_client(&gate, "access:read").await, create_client(&gate, "access:read").await);
        let wrong = TestClient { id: client.id.clone(), secret: "wrong".into() };
        for n in 0..10 {
            assert_eq!(request_token(&gate, &[], &wrong.form()).await.status, 401, "{n}");
        }
        let refused = request_token(&gate, &[], &wrong.form()).await;
        assert_eq!(refused.status_and("retry-after"), (429, Some("1")));
        assert!(refused.json()["error"].is_string(), "{}", refused.body);
        // Generated secrets can't be guessed, so the correct one is always accepted. Limits are per client.
        assert_eq!(request_token(&gate, &[], &client.form()).await.status, 200, "{}", gate.kind);
        let wrong = TestClient { id: other.id.clone(), secret: "wrong".into() };
        assert_eq!(request_token(&gate, &[], &wrong.form()).await.status, 401, "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_deleted_clients_token_is_refused_at_once() {
    for gate in Gatehouse::on_each("a_deleted_clients_token").await {
        let client = create_client(&gate, "admin access:read").await;
        let token = request_token(&gate, &[], &client.form()).await.json()["access_token"].clone();
        let bearer = format!("Bearer {}", token.as_str().unwrap());
        let contracts = async || {
            gate.send("GET", "/acme/contract", &[("authorization", &bearer)], b"").await.status
        };
        assert_eq!(contracts().await, 200, "{}", gate.kind);
        let id = client.id.replace('~', "%7E");
        assert_eq!(gate.delete(&format!("{CLIENTS}/{id}")).await.status, 204, "{}", gate.kind);
        assert_eq!(contracts().await, 401, "{}", gate.kind);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let body = br#"{"scope": "admin"}"#;
        assert_eq!(gate.send("POST", CLIENTS, &headers, body).await.status, 401, "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_recreated_tenant_does_not_accept_old_tokens() {
    for gate in Gatehouse::on_each("a_tenant_made_anew").await {
        let (tenant, token) = ("/-/admin/tenants/short", gate.token_for("short", "access:read"));
        let bearer = format!("Bearer {token}");
        let several =
            format!("Bearer {}", gate.token_for_several(&["short", "acme"], "access:read"));
        let status = async |bearer: &str, path: &str| {
            gate.send("GET", path, &[("authorization", bearer)], b"").await.status
        };
        assert_eq!(gate.put(tenant, "{}").await.status, 201, "{}", gate.kind);
        assert_eq!(status(&bearer, "/short/contract").await, 200, "{}", gate.kind);
        assert_eq!(gate.delete(tenant).await.status, 204, "{}", gate.kind);
        assert_eq!(status(&bearer, "/short/contract").await, 401, "{}", gate.kind);
        gate.clock.set(gate.clock.now().plus_milliseconds(5));
        assert_eq!(gate.put(tenant, "{}").await.status, 201, "{}", gate.kind);
        assert_eq!(status(&bearer, "/short/contract").await, 401, "{}", gate.kind);
        assert_eq!(status(&several, "/short/contract").await, 403, "{}", gate.kind);
        assert_eq!(status(&several, "/acme/contract").await, 200, "{}", gate.kind);
        let new = format!("Bearer {}", gate.token_for("short", "access:read"));
        assert_eq!(status(&new, "/short/contract").await, 200, "{}", gate.kind);
    }
}
