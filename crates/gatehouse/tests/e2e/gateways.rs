//! Real gateways with the configurations that we ship: nginx, Caddy and FreeRADIUS ask gatehouse about devices.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::batch::Wait;
use super::process::*;
use gatehouse_testing::Subscriber;
use reqwest::Method;
use serde_json::json;

const PASSWORD: &str = "pä\"ss w\\x";

/// A program of this machine, until it is dropped.
struct Program(Child);

impl Program {
    fn start(name: &str, arguments: &[&str], setup: &Setup) -> Self {
        let log = std::fs::File::create(setup.path("program.log")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new(name)
            .args(arguments)
            .current_dir(setup.path("."))
            .env("PATH", format!("{path}:/usr/sbin"))
            .env("XDG_DATA_HOME", setup.path("data-home"))
            .env("XDG_CONFIG_HOME", setup.path("config-home"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        let needed = format!("these tests need {name}: run `cargo xtask test`");
        Self(child.unwrap_or_else(|_| panic!("{needed}")))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A shipped configuration, with its placeholders replaced.
fn shipped(name: &str, replaced: &[(&str, &str)]) -> String {
    let path = format!("{}/../../deploy/gateways/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).unwrap();
    for (placeholder, value) in replaced {
        assert!(text.contains(placeholder), "{name} has no {placeholder}");
        text = text.replace(placeholder, value);
    }
    text
}

/// The username of a prepaid access, in which every gateway has to escape something.
const STRANGE: &str = "mü\"l\\ler";

/// A server, and what a gateway needs to ask it.
struct Asked {
    server: Server,
    address: String,
    key: String,
    /// Identifiers of the accesses, by username.
    ids: Vec<(String, String)>,
}

impl Asked {
    /// Starts a server with the devices `ann` and `bob`, of which `bob` is suspended, and a prepaid one.
    async fn start(setup: &Setup, dialect: &str) -> Self {
        let server = setup.serve();
        let mut ids = Vec::new();
        for (contract, username) in [("payg", "ann"), ("payg", "bob"), ("pre", STRANGE)] {
            let body = json!({"contractId": contract, "username": username, "password": PASSWORD});
            let made = server.json(Method::POST, "/acme/access", Some(&body.to_string())).await;
            assert_eq!(made.0, 201, "{}", made.1);
            let id = made.1["id"].as_str().unwrap().to_owned();
            if username == "bob" {
                let path = format!("/acme/access/{id}");
                let suspend = Some(r#"{"status": "SUSPENDED"}"#);
                assert_eq!(server.json(Method::PATCH, &path, suspend).await.0, 200);
            }
            ids.push((username.to_owned(), id));
        }
        let (body, hooks) = (json!({"dialect": dialect}), "/-/admin/tenants/acme/hooks");
        let (status, hook) = server.json(Method::POST, hooks, Some(&body.to_string())).await;
        assert_eq!(status, 201, "{hook}");
        let address = server.url.trim_start_matches("http://").to_owned();
        Self { server, address, key: hook["key"].as_str().unwrap().to_owned(), ids }
    }

    fn id(&self, username: &str) -> &str {
        &self.ids.iter().find(|(name, _)| name == username).unwrap().1
    }
}

/// Sends a device's request to a proxy, which may still be starting; returns the response.
async fn request(asked: &Asked, port: u16, username: &str, password: &str) -> reqwest::Response {
    let wait = Wait::new("the proxy answers");
    loop {
        let request = asked
            .server
            .client
            .post(format!("http://127.0.0.1:{port}/its/own%20path?x=1"))
            .basic_auth(username, Some(password))
            .header("x-access-id", "forged")
            .header("x-contract-id", "forged")
            .body("its own body");
        if let Ok(response) = request.send().await {
            return response;
        }
        wait.check_limit();
    }
}

/// A proxy lets in whom gatehouse lets in, and tells the service behind it who that is.
async fn check_proxy(asked: &Asked, port: u16, service: &Subscriber, at_no_answer: u16) {
    for (username, password, status) in [
        ("ann", PASSWORD, 204),
        (STRANGE, PASSWORD, 204),
        ("ann", "wrong", 401),
        ("bob", PASSWORD, 401),
        ("unknown", PASSWORD, 401),
    ] {
        let response = request(asked, port, username, password).await;
        assert_eq!(response.status().as_u16(), status, "{username}");
        let challenge = response.headers().get("www-authenticate").map(|it| it.to_str().unwrap());
        let expected = (status == 401).then_some("Basic realm=\"device\", charset=\"UTF-8\"");
        assert_eq!(challenge, expected, "{username}");
    }
    let seen = service.messages();
    assert_eq!(seen.len(), 2, "the service got only what was let in");
    assert_eq!(seen[0].header("x-access-id"), asked.id("ann"));
    assert_eq!(seen[0].header("x-access-name"), "ann");
    assert_eq!(seen[0].header("x-contract-id"), "payg");
    assert_eq!(seen[0].header("authorization"), "", "the service needs no credentials");
    assert_eq!(seen[0].body, "its own body");
    assert_eq!(seen[1].header("x-access-name"), "m%C3%BC\"l\\ler");

    // A change that was answered is obeyed by the next request.
    let path = format!("/acme/access/{}", asked.id("ann"));
    let suspend = Some(r#"{"status": "SUSPENDED"}"#);
    assert_eq!(asked.server.json(Method::PATCH, &path, suspend).await.0, 200);
    assert_eq!(request(asked, port, "ann", PASSWORD).await.status().as_u16(), 401);
    asked.server.crash();
    let response = request(asked, port, STRANGE, PASSWORD).await;
    assert_eq!(response.status().as_u16(), at_no_answer, "without gatehouse");
    assert_eq!(service.messages().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_lets_in_whom_gatehouse_lets_in() {
    let setup = Setup::sqlite();
    let (asked, service) = (Asked::start(&setup, "basic").await, Subscriber::willing().await);
    let port = free_port();
    let site = shipped(
        "nginx.conf",
        &[
            ("KEY", &asked.key),
            ("/demo/", "/acme/"),
            ("127.0.0.1:8080", &asked.address),
            ("127.0.0.1:9000", address_of(&service)),
            ("listen 8081", &format!("listen 127.0.0.1:{port}")),
        ],
    );
    let dir = setup.dir.path().display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|it| format!("{it}_temp_path {dir}/{it};\n"));
    let text = format!(
        "daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/nginx.log;\n\
         events {{}}\nhttp {{\naccess_log off;\n{}\n{site}\n}}\n",
        temporary.concat()
    );
    std::fs::write(setup.path("nginx.conf"), text).unwrap();
    let config = setup.path("nginx.conf").display().to_string();
    let log = setup.path("nginx.log").display().to_string();
    let _nginx = Program::start("nginx", &["-c", &config, "-e", &log], &setup);
    check_proxy(&asked, port, &service, 500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caddy_lets_in_whom_gatehouse_lets_in() {
    let setup = Setup::sqlite();
    let (asked, service) = (Asked::start(&setup, "basic").await, Subscriber::willing().await);
    let port = free_port();
    let text = shipped(
        "Caddyfile",
        &[
            ("header_up X-Hook-Key KEY", &format!("header_up X-Hook-Key {}", asked.key)),
            ("/demo/", "/acme/"),
            ("127.0.0.1:8080", &asked.address),
            ("127.0.0.1:9000", address_of(&service)),
            ("\n:8081 {", &format!("\nhttp://127.0.0.1:{port} {{")),
        ],
    );
    let text = format!("{{\n\tadmin off\n\tauto_https off\n}}\n{text}");
    std::fs::write(setup.path("Caddyfile"), text).unwrap();
    let arguments = ["run", "--config", "Caddyfile", "--adapter", "caddyfile"];
    let _caddy = Program::start("caddy", &arguments, &setup);
    check_proxy(&asked, port, &service, 502).await;
}

fn address_of(service: &Subscriber) -> &str {
    service.url().trim_start_matches("http://").trim_end_matches("/events")
}

/// The reply to a request for access, as radclient shows it.
fn radius_request(setup: &Setup, port: u16, username: &str, password: &str) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let attributes =
        format!("User-Name = \"{}\"\nUser-Password = \"{}\"\n", quoted(username), quoted(password));
    let address = format!("127.0.0.1:{port}");
    let mut client = Command::new("radclient")
        .args(["-x", "-r", "2", "-t", "10", &address, "auth", "testing123"])
        .current_dir(setup.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need radclient: run `cargo xtask test`");
    client.stdin.take().unwrap().write_all(attributes.as_bytes()).unwrap();
    let output = String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap();
    let received = output.find("Received").map(|at| output[at..].to_owned());
    received.unwrap_or(output)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freeradius_lets_in_whom_gatehouse_lets_in() {
    let setup = Setup::sqlite();
    let asked = Asked::start(&setup, "radius").await;
    let port = free_port();
    let rest = shipped(
        "freeradius/rest",
        &[("KEY", &asked.key), ("/demo/", "/acme/"), ("127.0.0.1:8080", &asked.address)],
    );
    let site = shipped(
        "freeradius/site",
        &[("ipaddr = *", "ipaddr = 127.0.0.1"), ("port = 1812", &format!("port = {port}"))],
    );
    let dir = setup.dir.path().display();
    let text = format!(
        "prefix = /usr\nlibdir = /usr/lib/freeradius\nlogdir = {dir}\nrun_dir = {dir}\n\
         raddbdir = {dir}\npidfile = {dir}/radius.pid\nproxy_requests = no\n\
         log {{\n destination = stdout\n}}\n\
         security {{\n reject_delay = 0\n status_server = no\n allow_vulnerable_openssl = yes\n}}\n\
         client localhost {{\n ipaddr = 127.0.0.1\n secret = testing123\n}}\n\
         modules {{\nalways reject {{\n rcode = reject\n}}\n{rest}\n}}\n{site}\n"
    );
    std::fs::write(setup.path("radiusd.conf"), text).unwrap();
    let arguments = ["-d", &dir.to_string(), "-f", "-l", "stdout"];
    let _freeradius = Program::start("freeradius", &arguments, &setup);
    let wait = Wait::new("FreeRADIUS answers");
    while !radius_request(&setup, port, "ann", PASSWORD).starts_with("Received") {
        wait.check_limit();
    }
    for (username, password, expected) in [
        ("ann", PASSWORD, "Access-Accept"),
        (STRANGE, PASSWORD, "Access-Accept"),
        ("ann", "wrong", "Access-Reject"),
        ("bob", PASSWORD, "Access-Reject"),
        ("unknown", PASSWORD, "Access-Reject"),
    ] {
        let reply = radius_request(&setup, port, username, password);
        assert!(reply.contains(expected), "{username}: {reply}");
        let has_end = username == STRANGE && expected == "Access-Accept";
        assert_eq!(reply.contains("Session-Timeout = 25"), has_end, "30 days: {reply}");
        assert_eq!(reply.contains("Class = 0x"), expected == "Access-Accept", "{reply}");
    }
    asked.server.crash();
    let reply = radius_request(&setup, port, "ann", PASSWORD);
    assert!(!reply.contains("Access-Accept"), "without gatehouse: {reply}");
}
