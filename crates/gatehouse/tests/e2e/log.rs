//! The log and its readers.

use std::io::Read;
use std::process::Stdio;

use super::process::*;
use reqwest::Method;
use serde_json::Value;

#[tokio::test]
async fn every_log_line_of_a_request_names_its_id_and_subject() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let trace = "0af7651916cd43dd8448eb211c80319c";
    for (path, token) in [("/acme/contract", Some(&server.token)), ("/acme/contract", None)] {
        let mut request = server.client.get(format!("{}{path}", server.url));
        request = request.header("x-correlation-id", "it's/\"mine\"\\");
        request = request.header("traceparent", format!("00-{trace}-b7ad6b7169203331-01"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap();
    }
    server.terminate();
    assert!(server.wait().success());
    let log = setup.log();
    let lines: Vec<Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    for line in &lines {
        for name in ["timestamp", "level", "message"] {
            assert!(line[name].is_string(), "{line}");
        }
    }
    let requests: Vec<&Value> = lines.iter().filter(|it| it["message"] == "request").collect();
    let [known, unknown] = requests[..] else { panic!("{log}") };
    for line in [known, unknown] {
        assert_eq!(line["correlation_id"], "it's/\"mine\"\\");
        assert_eq!(line["trace_id"], trace);
        assert_eq!(line["tenant"], "acme");
        assert_eq!(line["route"], "/{tenantName}/contract");
    }
    assert_eq!((&known["subject"], unknown.get("subject")), (&"cli".into(), None));
}

/// Standard error may be a full disk, or a reader that is gone or doesn't read.
#[tokio::test]
async fn an_unwritable_log_delays_no_request() {
    let full_disk = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let (gone, writer) = std::io::pipe().unwrap();
    drop(gone);
    let (mut still, slow) = std::io::pipe().unwrap();
    for (case, log) in
        [("a full disk", full_disk()), ("a closed pipe", writer.into()), ("a pipe", slow.into())]
    {
        let setup = Setup::sqlite();
        // At this level every request logs, far more than a pipe holds.
        let server = setup.serve_to(log, &["--estate", "estate.yaml"]);
        for _ in 0..1000 {
            let (status, _) = server.json(Method::GET, "/acme/contract", None).await;
            assert_eq!(status, 200, "{case}");
        }
        server.terminate();
        assert!(server.wait().success(), "{case}");
    }
    let mut read = Vec::new();
    still.read_to_end(&mut read).unwrap();
    assert!(read.starts_with(b"{\"timestamp\""), "what a pipe holds is there");
}

/// A chosen subject, path or method must not forge lines of the log.
#[tokio::test]
async fn clients_cannot_forge_log_lines() {
    for format in ["json", "text"] {
        let setup = Setup::sqlite();
        std::fs::write(setup.path("g.toml"), format!("log.format = '{format}'")).unwrap();
        let mut server = setup.serve_with(&["--estate", "estate.yaml", "--config", "g.toml"]);
        let subject = "ann\r\n2026-01-01T00:00:00Z ERROR \u{1b}[2Jforged\n{\"level\":\"ERROR\"}";
        let arguments = ["token", "--tenant", "*", "--scope", "access:read", "--subject", subject];
        server.token = String::from_utf8(setup.run(&arguments).stdout).unwrap().trim().to_owned();
        for (method, path) in [
            ("GET", "/acme/contract"),
            ("GET", "/ac%0A%1B%5B2Jme/contract"),
            ("GET", "/acme/contract/x%0Aforged"),
            ("FORGED", "/acme/contract?x=%0Aforged"),
        ] {
            server.ask(method.parse().unwrap(), path, None).await;
        }
        server.terminate();
        assert!(server.wait().success());
        let log = setup.log();
        let requests = log.split_terminator('\n').filter(|it| it.contains("microseconds"));
        assert_eq!(requests.count(), 4, "{log}");
        for line in log.split_terminator('\n') {
            let begins = if format == "json" { "{\"timestamp\":\"20" } else { "20" };
            assert!(line.starts_with(begins) && line.contains("INFO"), "{line}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        assert!(log.contains("ann\\r\\n2026"), "{format}: {log}");
    }
}

#[tokio::test]
async fn a_refused_check_is_logged_without_the_tried_password() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let body = r#"{"contractId": "payg", "username": "pump-seven", "password": "right-one"}"#;
    let (status, made) = server.json(Method::POST, "/acme/access", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let (client, _) = setup.create_client("access:read");
    for n in 0..11 {
        for name in ["pump-seven", "guessed-name"] {
            let body = format!(r#"{{"username": "{name}", "password": "tried-{n}"}}"#);
            let (status, _) = server.json(Method::POST, "/acme/verify", Some(&body)).await;
            assert!([401, 429].contains(&status), "{status}");
        }
    }
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", client.as_str()),
        ("client_secret", "tried-too"),
    ];
    let form = form.map(|(name, value)| format!("{name}={value}")).join("&");
    let request = server.client.post(format!("{}/-/oauth2/token", server.url)).body(form);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(request.send().await.unwrap().status(), 401);
    server.terminate();
    assert!(server.wait().success());
    let log = setup.log();
    let lines: Vec<Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let about =
        |message: &str| lines.iter().filter(|it| it["message"] == message).collect::<Vec<_>>();
    let checks = about("a check was refused");
    assert_eq!(checks.len(), 22, "{log}");
    for check in &checks {
        assert_eq!((&check["tenant"], &check["peer"]), (&"acme".into(), &"127.0.0.1".into()));
        assert!(check["correlation_id"].is_string(), "{check}");
    }
    assert_eq!(checks[0]["access"], made["id"]);
    assert_eq!(checks[1].get("access"), None, "no access has this name");
    assert_eq!(checks[20]["reason"], "too many failed checks");
    let [refused] = about("a client was refused")[..] else { panic!("{log}") };
    assert_eq!((&refused["client"], &refused["tenant"]), (&client.as_str().into(), &"acme".into()));
    for tried in ["tried-", "guessed-name", "right-one"] {
        assert!(!log.contains(tried), "{tried}");
    }
}
