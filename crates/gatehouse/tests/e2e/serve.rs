use super::process::*;
use reqwest::Method;
use std::io::BufRead;

#[tokio::test]
async fn a_device_is_issued_an_access_and_connects() {
    for place in Place::each("issued_and_connects").await {
        let server = place.serve();
        let (status, access) =
            server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "pre"}"#)).await;
        assert_eq!(status, 201, "{access}");
        let credentials = serde_json::json!({
            "username": access["username"], "password": access["password"],
        });
        let checks = (0..50).map(|_| {
            let body = credentials.to_string();
            let server = &server;
            async move { server.json(Method::POST, "/acme/verify", Some(&body)).await }
        });
        for (status, verified) in futures_util::future::join_all(checks).await {
            assert_eq!((status, &verified["status"]), (200, &"ACTIVE".into()), "{}", place.kind);
        }
        let path = format!("/acme/access/{}", access["id"].as_str().unwrap());
        let read = server.ask(Method::GET, &path, None).await;
        assert_eq!(read.headers()["etag"], "\"2\"", "{}: one activation", place.kind);
    }
}

#[tokio::test]
async fn secrets_reach_neither_the_data_nor_the_log() {
    let place = Place::sqlite();
    let server = place.serve();
    let chosen = "a chosen passphrase 77";
    let body = format!(r#"{{"contractId": "payg", "username": "ann", "password": "{chosen}"}}"#);
    let (_, first) = server.json(Method::POST, "/acme/access", Some(&body)).await;
    let (_, second) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    let generated = second["password"].as_str().unwrap().to_owned();
    for (name, password) in [(&first["username"], chosen), (&second["username"], &generated)] {
        let body = serde_json::json!({"username": name, "password": password}).to_string();
        assert_eq!(server.json(Method::POST, "/acme/verify", Some(&body)).await.0, 200);
    }
    let path = format!("/acme/access/{}", first["id"].as_str().unwrap());
    let rotated = "another passphrase 88";
    let body = format!(r#"{{"password": "{rotated}"}}"#);
    assert_eq!(server.json(Method::PATCH, &path, Some(&body)).await.0, 200);
    let token = server.token.clone();
    assert!(holds(place.dir.path(), b"ann"), "the search finds what is there");
    assert!(place.log().contains("\"tenant\":\"acme\""), "{}", place.log());
    for secret in [chosen, &generated, rotated, &token] {
        assert!(
            !holds(place.dir.path(), secret.as_bytes()),
            "found a secret of {} bytes",
            secret.len()
        );
    }
    server.terminate();
    assert!(server.wait().success());
    assert!(!holds(place.dir.path(), generated.as_bytes()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_asked_to_stop_finishes_what_it_began() {
    for place in Place::each("finishes_what_it_began").await {
        let server = place.serve();
        let requests: Vec<_> = (0..200)
            .map(|n| {
                let (client, url) = (server.client.clone(), format!("{}/acme/access", server.url));
                let token = server.token.clone();
                tokio::spawn(async move {
                    let body = format!(r#"{{"contractId": "payg", "username": "u{n}"}}"#);
                    let request = client.post(url).bearer_auth(token);
                    let request = request.header("content-type", "application/json").body(body);
                    let response = request.send().await.ok()?;
                    (response.status() == 201).then_some(n)
                })
            })
            .collect();
        // In the middle of it: some have been answered, others have not been sent.
        let mut answered = Vec::new();
        let mut stopping = false;
        for request in requests {
            answered.extend(request.await.unwrap());
            if !stopping && answered.len() >= 5 {
                server.terminate();
                stopping = true;
            }
        }
        assert!(server.wait().success(), "{}: {}", place.kind, place.log());
        let server = place.serve();
        for n in answered {
            let body = format!(r#"{{"contractId": "payg", "username": "u{n}"}}"#);
            let (status, _) = server.json(Method::POST, "/acme/access", Some(&body)).await;
            assert_eq!(status, 409, "{}: u{n} was answered, so it is there", place.kind);
        }
    }
}

#[tokio::test]
async fn the_demo_says_what_to_do_next() {
    let place = Place::sqlite();
    let mut server = place.serve_with(&["--demo"]);
    let mut said = String::new();
    while !said.contains("/-/ready") {
        assert_ne!(server.stdout.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    let token = said.split("GATEHOUSE_TOKEN=").nth(1).unwrap().split_whitespace().next().unwrap();
    server.token = token.to_owned();
    let (status, contracts) = server.json(Method::GET, "/demo/contract", None).await;
    assert_eq!((status, contracts.as_array().unwrap().len()), (200, 2));
    assert!(said.contains(&format!("GATEHOUSE_URL={}", server.url)), "{said}");
    let (status, _) =
        server.json(Method::POST, "/demo/access", Some(r#"{"contractId": "C-PAYG"}"#)).await;
    assert_eq!(status, 201, "the token can do what the text says");
}

#[test]
fn print_config_shows_what_would_be_used() {
    let place = Place::sqlite();
    std::fs::write(place.path("g.toml"), "database_url = 'postgres://ann:s3cret@db/fleet'\n")
        .unwrap();
    let mut command = place.command(&["serve", "--print-config", "--config", "g.toml"]);
    let output = command.env("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "7").output().unwrap();
    let shown = said(&output);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("page_size_max = 7") && shown.contains("postgres://***@db/fleet"),
        "{shown}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(!place.path("gatehouse-data").exists(), "nothing was made");
}

#[test]
fn what_is_wrong_with_the_settings_is_said_before_anything_is_made() {
    let place = Place::sqlite();
    std::fs::write(place.path("bad.toml"), "lisen = 'x'").unwrap();
    std::fs::write(place.path("bad.yaml"), "tenants:\n  - name: -x\n").unwrap();
    for (arguments, expected) in [
        (vec!["serve", "--config", "missing.toml"], "missing.toml"),
        (vec!["serve", "--config", "bad.toml"], "lisen"),
        (vec!["serve", "--listen", "nowhere"], "--listen"),
        (vec!["serve", "--database-url", "mysql://x"], "postgres://"),
        (vec!["serve", "--estate", "missing.yaml"], "missing.yaml"),
        (vec!["serve", "--estate", "bad.yaml"], "tenants[0].name"),
        (vec!["serve", "--nonsense"], "--nonsense"),
        (vec!["nonsense"], "nonsense"),
    ] {
        let output = place.run(&arguments);
        let shown = said(&output);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
        assert!(!place.path("gatehouse-data").exists(), "{arguments:?} made something");
    }
    let output = place.command(&["serve"]).env("GATEHOUSE_LISEN", "x").output().unwrap();
    assert!(said(&output).contains("GATEHOUSE_LISEN"), "{}", said(&output));
}

#[test]
fn two_servers_do_not_share_a_data_directory_or_a_port() {
    let place = Place::sqlite();
    let server = place.serve();
    let shown = said(&place.run(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(shown.contains("another gatehouse uses"), "{shown}");
    let shown = said(&place.run(&["serve", "--data-dir", "other", "--listen", server.address()]));
    assert!(shown.contains("can't listen on") && shown.contains("--listen"), "{shown}");
    assert!(!place.path("other").exists(), "a start that fails leaves no trace");
}
