//! Clients from the command line, next to a running server.

use super::process::*;
use reqwest::Method;
use serde_json::Value;

async fn token(server: &Server, id: &str, secret: &str) -> (u16, Value) {
    let url = format!("{}/-/oauth2/token", server.url);
    let form = "grant_type=client_credentials";
    let request = server.client.post(url).basic_auth(id, Some(secret)).body(form);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_client_made_at_the_command_line_gets_tokens_until_it_is_deleted() {
    for setup in Setup::each("client_made_at_the_command_line").await {
        let mut server = setup.serve();
        let output = setup.run(&[
            "client",
            "create",
            "--tenant",
            "acme",
            "--scope",
            "access:read",
            "--name",
            "Bo",
            "--output",
            "json",
        ]);
        assert!(output.status.success(), "{}: {}", setup.kind, printed(&output));
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        let (id, secret) = (text("clientId"), text("clientSecret"));

        let (status, body) = token(&server, &id, &secret).await;
        assert_eq!((status, &body["scope"]), (200, &"access:read".into()), "{body}");
        server.token = body["access_token"].as_str().unwrap().to_owned();
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
        assert_eq!(server.json(Method::GET, "/other/contract", None).await.0, 403);

        let table = printed(&setup.run(&["client", "list", "--tenant", "acme"]));
        assert!(table.contains(&id) && table.contains("Bo") && !table.contains(&secret), "{table}");
        let output = setup.run(&["client", "list", "--tenant", "acme", "--output", "json"]);
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&listed[0]["clientId"], listed[0].get("clientSecret")),
            (&made["clientId"], None)
        );

        let delete = ["client", "delete", "--tenant", "acme", &id];
        assert!(setup.run(&delete).status.success());
        assert!(printed(&setup.run(&delete)).contains("there is no client"));
        assert_eq!(token(&server, &id, &secret).await.0, 401);
        assert!(!setup.log().contains(&secret), "{}", setup.kind);
        assert!(!holds(setup.dir.path(), secret.as_bytes()), "{}: kept in the clear", setup.kind);
    }
}

#[test]
fn errors_about_clients_name_the_fault() {
    let setup = Setup::sqlite();
    let make = |tenant: &'static str, scope: &'static str| {
        vec!["client", "create", "--tenant", tenant, "--scope", scope]
    };
    let nowhere = printed(&setup.run(&make("acme", "admin")));
    assert!(nowhere.contains("start `gatehouse serve` there once"), "{nowhere}");
    assert!(!setup.path("gatehouse-data").exists(), "looking makes nothing");
    drop(setup.serve());
    for (arguments, expected) in [
        (make("nobody", "admin"), "no tenant `nobody`"),
        (make("*", "admin"), "--tenant"),
        (make("acme", "acess:read"), "`acess:read` is none"),
        (make("acme", " "), "one scope or more"),
        (vec!["client", "list", "--tenant", "nobody"], "no tenant `nobody`"),
        (vec!["client", "delete", "--tenant", "acme", "x"], "CLIENT_ID must be"),
        (vec!["client", "delete", "--tenant", "acme", "acme~abc"], "no client `acme~abc`"),
        (vec!["client", "create", "--scope", "admin"], "--tenant"),
    ] {
        let output = setup.run(&arguments);
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains(expected), "{arguments:?}: {shown}");
    }
}
