//! TLS: protocols, and certificates that change while the server runs.

use std::path::Path;
use std::sync::Arc;

use super::hostile::assert_problem;
use super::locked_rows::LockedRows;
use super::process::*;
use super::socket::Socket;
use rcgen::{CertificateParams, CertifiedKey, KeyPair, generate_simple_self_signed};
use reqwest::tls::{self, TlsInfo};
use reqwest::{Certificate, Client, ClientBuilder, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(crate) struct Pair {
    certificate: String,
    key: String,
    der: Vec<u8>,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let names = vec!["127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        Self { certificate: cert.pem(), key: signing_key.serialize_pem(), der: cert.der().to_vec() }
    }

    /// A pair that is valid in these years.
    fn of_years(begins: i32, ends: i32) -> Self {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(begins, 1, 1);
        params.not_after = rcgen::date_time_ymd(ends, 1, 1);
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        Self { certificate: cert.pem(), key: key.serialize_pem(), der: cert.der().to_vec() }
    }

    /// Writes both files in a directory of this name.
    pub(crate) fn put(&self, dir: &Path) {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("c.pem"), &self.certificate).unwrap();
        std::fs::write(dir.join("k.pem"), &self.key).unwrap();
    }

    pub(crate) fn trusting(&self) -> ClientBuilder {
        let certificate = Certificate::from_pem(self.certificate.as_bytes()).unwrap();
        let builder = Client::builder().timeout(WAIT_LIMIT);
        builder.tls_certs_only([certificate]).tls_info(true)
    }
}

pub(crate) const FILES: [(&str, &str); 2] =
    [("TLS__CERTIFICATE", "tls/c.pem"), ("TLS__KEY", "tls/k.pem")];

/// The certificate that a client gets; `None` when the client doesn't trust it.
async fn seen_by(client: &Client, server: &Server) -> Option<Vec<u8>> {
    let response = client.get(format!("{}/-/live", server.url)).send().await.ok()?;
    assert_eq!(response.status(), 200);
    let info = response.extensions().get::<TlsInfo>().unwrap();
    info.peer_certificate().map(<[u8]>::to_vec)
}

/// Opens new connections until the server presents this certificate.
async fn until_seen(pair: &Pair, server: &Server) {
    let began = std::time::Instant::now();
    while seen_by(&pair.trusting().build().unwrap(), server).await.as_ref() != Some(&pair.der) {
        assert!(began.elapsed().as_secs() < 60, "the certificate never came");
    }
}

#[tokio::test]
async fn tls_carries_http_1_and_2_and_its_addresses_say_so() {
    let setup = Setup::sqlite();
    let pair = Pair::new();
    pair.put(&setup.path("tls"));
    let mut server = setup.serve_set(&FILES);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    for (client, version) in [
        (pair.trusting(), Version::HTTP_2),
        (pair.trusting().http1_only(), Version::HTTP_11),
        (pair.trusting().tls_version_max(tls::Version::TLS_1_2), Version::HTTP_2),
        (pair.trusting().tls_version_min(tls::Version::TLS_1_3), Version::HTTP_2),
    ] {
        server.client = client.build().unwrap();
        let body = r#"{"contractId": "payg"}"#;
        let created = server.ask(reqwest::Method::POST, "/acme/access", Some(body)).await;
        assert_eq!((created.version(), created.status().as_u16()), (version, 201));
        for (name, value) in [
            ("strict-transport-security", "max-age=31536000"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(created.headers()[name], value);
        }
        let location = created.headers()["location"].to_str().unwrap().to_owned();
        assert!(location.starts_with(&format!("{}/acme/access/", server.url)), "{location}");
    }
    assert!(seen_by(&Pair::new().trusting().build().unwrap(), &server).await.is_none());
}

/// As in a bare container: the command line trusts no server there, and says why.
#[test]
fn a_machine_without_authorities_trusts_no_server_and_says_what_to_install() {
    let setup = Setup::sqlite();
    Pair::new().put(&setup.path("tls"));
    std::fs::write(setup.path("no-authorities.pem"), "").unwrap();
    let server = setup.serve_set(&FILES);
    let mut list = setup.command(&["access", "list"]);
    list.env("GATEHOUSE_URL", &server.url).env("GATEHOUSE_TENANT", "acme");
    list.env("GATEHOUSE_TOKEN", &server.token).env("XDG_CONFIG_HOME", setup.path("config"));
    list.env("SSL_CERT_FILE", setup.path("no-authorities.pem")).env_remove("SSL_CERT_DIR");
    let listed = list.output().unwrap();
    assert!(!listed.status.success(), "{}", printed(&listed));
    assert!(
        printed(&listed).contains("install the package ca-certificates"),
        "{}",
        printed(&listed)
    );
}

#[tokio::test]
async fn a_client_without_tls_gets_no_response() {
    let setup = Setup::sqlite();
    Pair::new().put(&setup.path("tls"));
    let server = setup.serve_set(&[FILES[0], FILES[1], ("LIMITS__CONNECTIONS", "1")]);
    let mut plain = Socket::open(server.address());
    plain.send("GET /-/live HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(!plain.rest_of_bytes().starts_with(b"HTTP"), "no text on an encrypted connection");
    // A connection without a handshake is closed first.
    let silent = Socket::open(server.address());
    let _next = Socket::open(server.address());
    assert_eq!(silent.rest_of_bytes(), b"");
    server.terminate();
    assert!(server.wait().success());
}

/// An encrypted connection with control of every byte.
pub(crate) async fn open(pair: &Pair, server: &Server) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(pair.der.clone().into()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(server.address()).await?;
    let name = "127.0.0.1".try_into().unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[tokio::test]
async fn a_missing_head_is_408_over_tls_too() {
    let setup = Setup::sqlite();
    let pair = Pair::new();
    pair.put(&setup.path("tls"));
    let server = setup.serve_set(&[FILES[0], FILES[1], ("LIMITS__HEADER_TIMEOUT", "200ms")]);
    let mut stream = open(&pair, &server).await.unwrap();
    stream.write_all(b"GET /-/live HTTP/1.1\r\nhost:").await.unwrap();
    let mut printed = String::new();
    stream.read_to_string(&mut printed).await.unwrap();
    assert_problem(&printed, 408);
}

#[tokio::test]
async fn a_connection_too_many_is_closed_without_a_handshake() {
    let setup = Setup::postgres("closed_without_a_handshake").await;
    let pair = Pair::new();
    pair.put(&setup.path("tls"));
    let server = setup.serve_set(&[FILES[0], FILES[1], ("LIMITS__CONNECTIONS", "1")]);
    let mut busy = open(&pair, &server).await.unwrap();
    let body = r#"{"contractId": "payg"}"#;
    let head = format!(
        "POST /acme/access HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.token,
        body.len()
    );
    let held = LockedRows::rows_of(&setup).await;
    busy.write_all(head.as_bytes()).await.unwrap();
    held.until_awaited().await;
    assert!(open(&pair, &server).await.is_err(), "there is no room");
    held.release().await;
    let mut printed = String::new();
    busy.read_to_string(&mut printed).await.unwrap();
    assert!(printed.starts_with("HTTP/1.1 201 "), "an accepted client is not disturbed: {printed}");
    drop(busy);
    assert!(seen_by(&pair.trusting().build().unwrap(), &server).await.is_some());
}

#[tokio::test]
async fn a_new_certificate_is_loaded_while_the_server_runs() {
    let setup = Setup::sqlite();
    let [old, new] = [Pair::new(), Pair::new()];
    old.put(&setup.path("v1"));
    new.put(&setup.path("v2"));
    // Both files change at once, by a link.
    std::os::unix::fs::symlink("v1", setup.path("tls")).unwrap();
    let server = setup.serve_set(&FILES);
    let before = old.trusting().build().unwrap();
    assert_eq!(seen_by(&before, &server).await.as_ref(), Some(&old.der));

    std::os::unix::fs::symlink("v2", setup.path("next")).unwrap();
    std::fs::rename(setup.path("next"), setup.path("tls")).unwrap();
    until_seen(&new, &server).await;
    assert!(seen_by(&old.trusting().build().unwrap(), &server).await.is_none());
    assert_eq!(seen_by(&before, &server).await.as_ref(), Some(&old.der), "its connection goes on");
}

#[tokio::test]
async fn a_broken_certificate_leaves_the_old_one_in_place() {
    let setup = Setup::sqlite();
    let [old, new] = [Pair::new(), Pair::new()];
    old.put(&setup.path("tls"));
    let server = setup.serve_set(&FILES);
    let logged = |text: &str| setup.log().matches(text).count();

    std::fs::write(setup.path("tls/c.pem"), "half a certif").unwrap();
    until("it is noticed", || logged("holds no certificate") > 0).await;
    until_seen(&old, &server).await;
    std::fs::write(setup.path("tls/c.pem"), &new.certificate).unwrap();
    until("the key is still the old one", || logged("is not the key of") > 0).await;
    until_seen(&old, &server).await;
    std::fs::write(setup.path("tls/k.pem"), &new.key).unwrap();
    until_seen(&new, &server).await;
    std::fs::remove_file(setup.path("tls/k.pem")).unwrap();
    until("it is gone", || logged("tls.key tls/k.pem") > 0).await;
    until_seen(&new, &server).await;
    assert_eq!(logged("holds no certificate"), 1, "once for each change: {}", setup.log());
    assert_eq!(logged("new connections get the new certificate"), 1);
}

#[test]
fn invalid_tls_files_are_reported_before_anything_is_created() {
    let setup = Setup::sqlite();
    let [one, other] = [Pair::new(), Pair::new()];
    one.put(&setup.path("one"));
    other.put(&setup.path("other"));
    std::fs::write(setup.path("nonsense.pem"), "nonsense").unwrap();
    let broken = one.certificate.replace("MII", "AII");
    std::fs::write(setup.path("broken.pem"), broken).unwrap();
    for (certificate, key, expected) in [
        ("missing.pem", "one/k.pem", "tls.certificate missing.pem"),
        ("one/c.pem", "missing.pem", "tls.key missing.pem"),
        ("nonsense.pem", "one/k.pem", "tls.certificate nonsense.pem: holds no certificate"),
        ("one/c.pem", "nonsense.pem", "tls.key nonsense.pem: holds no private key"),
        ("one/c.pem", "one/c.pem", "tls.key one/c.pem: holds no private key"),
        ("broken.pem", "one/k.pem", "tls.certificate broken.pem"),
        ("one/c.pem", "other/k.pem", "tls.key other/k.pem is not the key"),
        ("one/c.pem", "", "tls.key must not be empty"),
    ] {
        let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("GATEHOUSE_TLS__CERTIFICATE", certificate).env("GATEHOUSE_TLS__KEY", key);
        let output = command.output().unwrap();
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains(expected), "{expected}: {shown}");
        assert!(!setup.path("gatehouse-data").exists(), "{expected}: something was made");
    }
    for (key, expected) in
        [("one/k.pem", "ok     the certificate"), ("other/k.pem", "WRONG  tls.key")]
    {
        let mut command = setup.command(&["doctor"]);
        command.env("GATEHOUSE_TLS__CERTIFICATE", "one/c.pem").env("GATEHOUSE_TLS__KEY", key);
        let shown = printed(&command.output().unwrap());
        assert!(shown.contains(expected), "{shown}");
    }
    let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = command.env("GATEHOUSE_TLS__KEY", "one/k.pem").output().unwrap();
    assert!(printed(&output).contains("tls.certificate is not"), "{}", printed(&output));
}

#[test]
fn a_doctor_checks_the_dates_of_a_certificate() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    for (begins, ends, is_well, said_of_it) in [
        (2020, 2200, true, "valid until 2200-01-01T00:00:00.000Z"),
        (2020, 2021, false, "has expired at 2021-01-01T00:00:00.000Z"),
        (2190, 2200, false, "valid only from 2190-01-01T00:00:00.000Z on"),
    ] {
        Pair::of_years(begins, ends).put(&setup.path("tls"));
        let mut command = setup.command(&["doctor"]);
        for (name, value) in FILES {
            command.env(format!("GATEHOUSE_{name}"), value);
        }
        let output = command.output().unwrap();
        let shown = printed(&output);
        assert!(output.status.success() == is_well && shown.contains(said_of_it), "{shown}");
    }
}

#[tokio::test]
async fn an_expiring_certificate_is_in_the_log_and_a_metric() {
    for (ends, message) in
        [(2021, "the certificate of the API has ended: clients refuse it"), (2200, "")]
    {
        let setup = Setup::sqlite();
        Pair::of_years(2020, ends).put(&setup.path("tls"));
        let mut settings = FILES.to_vec();
        settings.push(("OPERATOR_LISTEN", "127.0.0.1:0"));
        let mut server = setup.serve_set(&settings);
        let url = format!("{}/-/metrics", server.operator_url());
        let figures = reqwest::get(url).await.unwrap().text().await.unwrap();
        let name = "gatehouse_tls_certificate_expiry_timestamp_seconds ";
        let end = figures.lines().find_map(|it| it.strip_prefix(name)).unwrap();
        let expected: gatehouse_core::Timestamp =
            format!("{ends}-01-01T00:00:00Z").parse().unwrap();
        assert_eq!(end.parse::<f64>().unwrap() as i64, expected.as_second());
        if !message.is_empty() {
            until("the log tells of it", || setup.log().contains(message)).await;
        }
        server.terminate();
        assert!(server.wait().success());
        assert!(message.is_empty() != setup.log().contains("the certificate of the API"));
    }
}
