//! Encrypted connections to a PostgreSQL with TLS.

use std::path::Path;

use futures_util::future::join_all;
use gatehouse_testing::execute;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::*;
use crate::StoreError;
use crate::db::SnapshotFor;

/// A certificate authority of the test.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
struct Signed {
    certificate: String,
    key: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    fn sign(&self, name: &str) -> Signed {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Signed { certificate, key: key.serialize_pem() }
    }
}

/// Turns TLS on in the tests' server. It runs as another user, so it writes its files itself.
async fn encrypt(admin: &str, authority: &Authority, server: &Signed) {
    for (file, pem) in [
        ("test-authority.pem", &authority.certificate),
        ("test-server.pem", &server.certificate),
        ("test-server.key", &server.key),
    ] {
        let lines = format!("SELECT unnest(string_to_array('{}', E'\\n'))", pem.trim());
        let write = format!("COPY ({lines}) TO PROGRAM 'umask 077; rm -f {file}; cat >{file}'");
        execute(admin, &write).await;
    }
    for setting in [
        "ssl_ca_file = 'test-authority.pem'",
        "ssl_cert_file = 'test-server.pem'",
        "ssl_key_file = 'test-server.key'",
        "ssl = on",
    ] {
        execute(admin, &format!("ALTER SYSTEM SET {setting}")).await;
    }
    execute(admin, "SELECT pg_reload_conf()").await;
}

/// Opens a store and uses it; returns the numbers of encrypted and plain connections, and the TLS version that the
/// store reports.
async fn open(url: &str) -> Result<(u64, u64, Option<String>), StoreError> {
    let store = Store::open_postgres(&url.parse()?, Clock::machine()).await?;
    store.put_tenant(&tenant("acme"), &audited()).await?;
    assert!(store.tenant(&acme()).await?.is_some());
    let seen = "SELECT COUNT(*) FILTER (WHERE ssl), COUNT(*) FILTER (WHERE NOT ssl), MAX(client_dn) \
                FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                WHERE application_name = current_setting('application_name')";
    let read = |row: &crate::db::Row<'_>| Ok((row.count(0)?, row.count(1)?, row.optional_text(2)?));
    let seen = store
        .db
        .snapshot(SnapshotFor::Server(None), async move |tx| tx.row(seen, &[], read).await)
        .await;
    Ok(seen?.unwrap())
}

/// Writes a file of the test; returns its path.
fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn tls_settings_of_an_address_are_met_or_refused() {
    let url = gatehouse_testing::empty_schema("store_encryption").await;
    let (authority, stranger) = (Authority::new("ours"), Authority::new("theirs"));
    let server = authority.sign("localhost");
    encrypt(&std::env::var("TEST_POSTGRES_URL").unwrap(), &authority, &server).await;

    let dir = tempfile::tempdir().unwrap();
    let root = write(dir.path(), "root.pem", &authority.certificate);
    let strange = write(dir.path(), "strange.pem", &stranger.certificate);
    let pinned = write(dir.path(), "pinned.pem", &server.certificate);
    let client = authority.sign("gatehouse-1");
    let own = format!(
        "sslcert={}&sslkey={}",
        write(dir.path(), "own.pem", &client.certificate),
        write(dir.path(), "own.key", &client.key)
    );
    // Each address has its own application name, by which its connections are counted.
    let with = |n: usize, host: &str, query: &str| {
        url.replace("127.0.0.1", host)
            .replace("sslmode=disable", &format!("application_name=encryption-{n}&{query}"))
    };
    let named = with(0, "localhost", &format!("sslmode=verify-full&sslrootcert={root}"));
    let mut n_tries = 0;
    // The server applies its new settings after a while.
    while let Err(why) = open(&named).await {
        n_tries += 1;
        assert!(n_tries < 10, "{}", why.explained());
    }

    let met = [
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}"), true, None),
        ("localhost", format!("sslmode=verify-full&sslrootcert={pinned}"), true, None),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}"), true, None),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={root}"), true, None),
        ("127.0.0.1", "sslmode=require".into(), true, None),
        ("127.0.0.1", "sslmode=prefer".into(), true, None),
        ("127.0.0.1", format!("sslmode=require&{own}"), true, Some("/CN=gatehouse-1")),
        ("127.0.0.1", "sslmode=disable".into(), false, None),
    ];
    for (n, (host, query, is_encrypted, name)) in met.iter().enumerate() {
        let (encrypted, plain, seen) = open(&with(1 + n, host, query)).await.unwrap();
        let seen = (encrypted > 0, plain > 0, seen.filter(|it| !it.is_empty()));
        assert_eq!(seen, (*is_encrypted, !is_encrypted, name.map(str::to_owned)), "{query}");
    }

    let refused = [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), "not valid for name"),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={pinned}"), "not valid for name"),
        ("localhost", format!("sslmode=verify-full&sslrootcert={strange}"), "UnknownIssuer"),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={strange}"), "UnknownIssuer"),
        ("localhost", format!("sslmode=require&sslrootcert={strange}"), "UnknownIssuer"),
        ("localhost", "sslmode=verify-full".into(), "UnknownIssuer"),
    ];
    join_all(refused.iter().map(async |(host, query, why)| {
        let error = open(&with(0, host, query)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        assert!(error.explained().contains(why), "{query}: {}", error.explained());
    }))
    .await;
}

#[tokio::test]
async fn a_server_without_tls_gets_nothing_when_tls_is_required() {
    let url = gatehouse_testing::empty_pooled_database("store_no_encryption").await;
    let error = open(&format!("{url}?sslmode=require")).await.unwrap_err();
    assert!(error.explained().contains("does not support TLS"), "{}", error.explained());
}
