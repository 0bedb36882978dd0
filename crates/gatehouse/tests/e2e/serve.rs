use super::process::*;
use reqwest::Method;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;

#[tokio::test]
async fn a_device_is_issued_an_access_and_connects() {
    for setup in Setup::each("issued_and_connects").await {
        let server = setup.serve();
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
            assert_eq!((status, &verified["status"]), (200, &"ACTIVE".into()), "{}", setup.kind);
        }
        let path = format!("/acme/access/{}", access["id"].as_str().unwrap());
        let read = server.ask(Method::GET, &path, None).await;
        assert_eq!(read.headers()["etag"], "\"2\"", "{}: one activation", setup.kind);
    }
}

#[tokio::test]
async fn a_stopping_server_finishes_its_requests() {
    for setup in Setup::each("finishes_what_it_began").await {
        let server = setup.serve();
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
        // The server has the request when it has answered a later one.
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
        server.terminate();
        until("no new connections", || TcpStream::connect(server.address()).is_err()).await;
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{}: {answer}", setup.kind);
        assert!(server.wait().success(), "{}: {}", setup.kind, setup.log());

        let server = setup.serve();
        let (status, _) = server.json(Method::POST, "/acme/access", Some(body)).await;
        assert_eq!(status, 409, "{}: what was answered is there", setup.kind);
    }
}

#[tokio::test]
async fn a_disconnected_client_does_not_cancel_its_write() {
    for setup in Setup::each("goes_away").await {
        let server = setup.serve();
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
        // The log shows when the request is done, without a client.
        let logged = || setup.log().contains("\"correlation_id\":\"gone\"");
        until("the request is in the log", logged).await;
        let (status, _) = server.json(Method::POST, "/acme/access", Some(body)).await;
        assert_eq!(status, 409, "{}: it was made", setup.kind);
    }
}

/// A lock holds the row that a creation needs, and is never released.
#[tokio::test]
async fn stopping_is_bounded_even_if_the_database_hangs() {
    let setup = Setup::postgres("stopping_is_bounded").await;
    let server = setup.serve();
    let url = setup.database_url.as_ref().unwrap();
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
    assert!(status.success(), "{}", setup.log());
    assert_eq!(
        stuck.await.unwrap().unwrap().status(),
        503,
        "the response says that nothing was done"
    );
}

#[tokio::test]
async fn the_demo_says_what_to_do_next() {
    let setup = Setup::sqlite();
    let mut server = setup.serve_with(&["--demo"]);
    let mut printed = String::new();
    while !printed.contains("/-/ready") {
        assert_ne!(server.stdout.read_line(&mut printed).unwrap(), 0, "it ended: {printed}");
    }
    let token =
        printed.split("GATEHOUSE_TOKEN=").nth(1).unwrap().split_whitespace().next().unwrap();
    server.token = token.to_owned();
    let (status, contracts) = server.json(Method::GET, "/demo/contract", None).await;
    assert_eq!((status, contracts.as_array().unwrap().len()), (200, 2));
    assert!(printed.contains(&format!("GATEHOUSE_URL={}", server.url)), "{printed}");
    let (status, _) =
        server.json(Method::POST, "/demo/access", Some(r#"{"contractId": "C-PAYG"}"#)).await;
    assert_eq!(status, 201, "the token can do what the text says");

    assert!(printed.contains(&format!("{}/-/console/", server.url)), "{printed}");
    let (status, sign_in) = server.json(Method::GET, "/-/sign-in", None).await;
    assert_eq!((status, sign_in["demo"]["tenant"].as_str()), (200, Some("demo")), "{sign_in}");
    server.token = sign_in["demo"]["token"].as_str().unwrap().to_owned();
    let (status, me) = server.json(Method::GET, "/-/me", None).await;
    assert_eq!((status, &me["tenants"]), (200, &serde_json::json!(["demo"])), "{me}");
}

#[test]
fn print_config_shows_what_would_be_used() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("g.toml"), "database_url = 'postgres://ann:s3cret@db/fleet'\n")
        .unwrap();
    let mut command = setup.command(&["serve", "--print-config", "--config", "g.toml"]);
    let output = command.env("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "7").output().unwrap();
    let shown = printed(&output);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("page_size_max = 7") && shown.contains("postgres://***@db:5432/fleet"),
        "{shown}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(!setup.path("gatehouse-data").exists(), "nothing was made");
}

#[test]
fn faults_of_the_settings_are_reported_before_anything_is_created() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("bad.toml"), "lisen = 'x'").unwrap();
    std::fs::write(setup.path("bad.yaml"), "tenants:\n  - name: -x\n").unwrap();
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
        let output = setup.run(&arguments);
        let shown = printed(&output);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
        assert!(!setup.path("gatehouse-data").exists(), "{arguments:?} made something");
    }
    let output = setup.command(&["serve"]).env("GATEHOUSE_LISEN", "x").output().unwrap();
    assert!(printed(&output).contains("GATEHOUSE_LISEN"), "{}", printed(&output));
    let no_text = std::ffi::OsStr::from_bytes(b"postgres://\xff");
    let output = setup.command(&["serve"]).env("GATEHOUSE_DATABASE_URL", no_text).output().unwrap();
    assert!(
        printed(&output).contains("GATEHOUSE_DATABASE_URL: must be UTF-8"),
        "{}",
        printed(&output)
    );
}

#[test]
fn two_servers_do_not_share_a_data_directory_or_a_port() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let shown = printed(&setup.run(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(shown.contains("another gatehouse uses"), "{shown}");
    let shown =
        printed(&setup.run(&["serve", "--data-dir", "other", "--listen", server.address()]));
    assert!(shown.contains("can't listen on") && shown.contains("--listen"), "{shown}");
    assert!(!setup.path("other").exists(), "a start that fails leaves no trace");
}

/// As in a bare container: the demo's own platforms use plain HTTP, so it works all the same.
#[test]
fn a_machine_without_certificates_of_authorities_runs_the_demo() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("no-authorities.pem"), "").unwrap();
    let on_bare_machine = |words: &[&str]| {
        let mut command = setup.command(words);
        command.env("SSL_CERT_FILE", setup.path("no-authorities.pem")).env_remove("SSL_CERT_DIR");
        command
    };
    let log = std::fs::File::create(setup.path("log")).unwrap();
    let serve = on_bare_machine(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let server = setup.start_as(serve, log);
    let mut list = on_bare_machine(&["product", "list", "--page-size", "4"]);
    list.env("GATEHOUSE_URL", &server.url).env("GATEHOUSE_TENANT", "demo");
    list.env("GATEHOUSE_TOKEN", &server.token).env("XDG_CONFIG_HOME", setup.path("config"));
    let listed = list.output().unwrap();
    assert!(printed(&listed).contains("ALPHA-"), "{}", printed(&listed));
    assert!(setup.log().contains("install the package ca-certificates"), "{}", setup.log());
    server.terminate();
    assert!(server.wait().success(), "{}", setup.log());
}

#[test]
fn a_missing_file_of_authorities_is_reported_before_anything_is_created() {
    let setup = Setup::sqlite();
    let mut serve = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("SSL_CERT_FILE", setup.path("nowhere.pem")).env_remove("SSL_CERT_DIR");
    let served = serve.output().unwrap();
    assert!(!served.status.success(), "{}", printed(&served));
    assert!(printed(&served).contains("SSL_CERT_FILE"), "{}", printed(&served));
    assert!(printed(&served).contains("nowhere.pem"), "{}", printed(&served));
    assert!(!setup.path("gatehouse-data").exists());
}
