use super::process::*;
use reqwest::Method;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;

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
async fn a_server_that_is_asked_to_stop_finishes_what_it_began() {
    for place in Place::each("finishes_what_it_began").await {
        let server = place.serve();
        let body = r#"{"contractId": "payg", "username": "ann"}"#;
        let head = format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            server.token,
            body.len()
        );
        let (first, rest) = body.split_at(10);
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(format!("{head}{first}").as_bytes()).unwrap();
        // The server has the request when it has answered one that came after it.
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
        server.terminate();
        until("no new connections", || TcpStream::connect(server.address()).is_err()).await;
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{}: {answer}", place.kind);
        assert!(server.wait().success(), "{}: {}", place.kind, place.log());

        let server = place.serve();
        let (status, _) = server.json(Method::POST, "/acme/access", Some(body)).await;
        assert_eq!(status, 409, "{}: what was answered is there", place.kind);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_stops_nothing_that_was_begun() {
    for place in Place::each("goes_away").await {
        let server = place.serve();
        let body = r#"{"contractId": "payg", "username": "ann", "password": "a slow one"}"#;
        let request = format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\
             x-correlation-id: gone\r\n\r\n{body}",
            server.token,
            body.len()
        );
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        drop(stream);
        // The log tells when it is done, whoever listens.
        let logged = || place.log().contains("\"correlation_id\":\"gone\"");
        until("the request is in the log", logged).await;
        let (status, _) = server.json(Method::POST, "/acme/access", Some(body)).await;
        assert_eq!(status, 409, "{}: it was made", place.kind);
    }
}

/// Somebody else holds the row that a creation needs, and doesn't let go.
#[tokio::test]
async fn stopping_is_bounded_whatever_the_database_does() {
    let place = Place::postgres("stopping_is_bounded").await;
    let server = place.serve();
    let url = place.database_url.as_ref().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; SELECT 1 FROM counter FOR UPDATE").await.unwrap();
    let stuck = server.client.post(format!("{}/acme/access", server.url));
    let stuck = stuck.bearer_auth(&server.token).header("content-type", "application/json");
    let stuck = tokio::spawn(stuck.body(r#"{"contractId": "payg"}"#).send());
    loop {
        let waiting = "SELECT COUNT(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                       JOIN pg_stat_activity a USING (pid) WHERE c.relname = 'counter' AND \
                       a.wait_event_type = 'Lock' AND \
                       c.relnamespace = 'e2e_stopping_is_bounded'::regnamespace";
        let n_waiting: i64 = client.query_one(waiting, &[]).await.unwrap().get(0);
        if n_waiting > 0 {
            break;
        }
    }
    server.terminate();
    let status = tokio::task::spawn_blocking(move || server.wait()).await.unwrap();
    assert!(status.success(), "{}", place.log());
    assert_eq!(stuck.await.unwrap().unwrap().status(), 503, "it is told that nothing was done");
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

    assert!(said.contains(&format!("{}/-/console/", server.url)), "{said}");
    let (status, sign_in) = server.json(Method::GET, "/-/sign-in", None).await;
    assert_eq!((status, sign_in["demo"]["tenant"].as_str()), (200, Some("demo")), "{sign_in}");
    server.token = sign_in["demo"]["token"].as_str().unwrap().to_owned();
    let (status, me) = server.json(Method::GET, "/-/me", None).await;
    assert_eq!((status, &me["tenants"]), (200, &serde_json::json!(["demo"])), "{me}");
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
        shown.contains("page_size_max = 7") && shown.contains("postgres://***@db:5432/fleet"),
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
    let no_text = std::ffi::OsStr::from_bytes(b"postgres://\xff");
    let output = place.command(&["serve"]).env("GATEHOUSE_DATABASE_URL", no_text).output().unwrap();
    assert!(said(&output).contains("GATEHOUSE_DATABASE_URL: must be UTF-8"), "{}", said(&output));
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

/// As in a bare container: the demo's own platforms are asked over plain HTTP, so it works all the same.
#[test]
fn a_machine_without_certificates_of_authorities_runs_the_demo() {
    let place = Place::sqlite();
    std::fs::write(place.path("no-authorities.pem"), "").unwrap();
    let on_bare_machine = |words: &[&str]| {
        let mut command = place.command(words);
        command.env("SSL_CERT_FILE", place.path("no-authorities.pem")).env_remove("SSL_CERT_DIR");
        command
    };
    let log = std::fs::File::create(place.path("log")).unwrap();
    let serve = on_bare_machine(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let server = place.start_as(serve, log);
    let mut list = on_bare_machine(&["product", "list", "--page-size", "4"]);
    list.env("GATEHOUSE_URL", &server.url).env("GATEHOUSE_TENANT", "demo");
    list.env("GATEHOUSE_TOKEN", &server.token).env("XDG_CONFIG_HOME", place.path("config"));
    let listed = list.output().unwrap();
    assert!(said(&listed).contains("ALPHA-"), "{}", said(&listed));
    assert!(place.log().contains("install the package ca-certificates"), "{}", place.log());
    server.terminate();
    assert!(server.wait().success(), "{}", place.log());
}

#[test]
fn a_file_of_authorities_that_is_not_there_is_named_before_anything_is_made() {
    let place = Place::sqlite();
    let mut serve = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("SSL_CERT_FILE", place.path("nowhere.pem")).env_remove("SSL_CERT_DIR");
    let served = serve.output().unwrap();
    assert!(!served.status.success(), "{}", said(&served));
    assert!(said(&served).contains("SSL_CERT_FILE"), "{}", said(&served));
    assert!(said(&served).contains("nowhere.pem"), "{}", said(&served));
    assert!(!place.path("gatehouse-data").exists());
}
