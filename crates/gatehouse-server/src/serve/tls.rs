//! The API's certificate and key, reloaded when the files change.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_meter::MetricSet;
use gatehouse_store::Clock;
use parking_lot::RwLock;
use prometheus::IntGauge;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::{Error as RustlsError, InconsistentKeys, ServerConfig};

use super::certificate::Validity;
use crate::config;

/// Polling interval of the files.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long before its expiry a certificate is warned about.
const WARN_MILLISECONDS: i64 = 14 * DAY_MILLISECONDS;

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// Why TLS can't be used; names the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read, or has the wrong content.
    #[error("{setting} {}: {why}", path.display())]
    File {
        /// The setting.
        setting: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The key belongs to another certificate.
    #[error(
        "tls.key {} is not the key of the certificate in tls.certificate {}",
        key.display(), certificate.display()
    )]
    Mismatch {
        /// File of the certificate.
        certificate: PathBuf,
        /// File of the key.
        key: PathBuf,
    },
}

/// Certificate of new connections.
pub(super) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<LoadedPair>,
    /// When the certificate expires, in seconds since 1970.
    expiry: IntGauge,
    metrics: MetricSet,
}

/// The loaded pair, and the state of its files.
struct LoadedPair {
    versions: [FileVersion; 2],
    config: Arc<ServerConfig>,
    /// State of invalid files that were logged.
    logged: Option<[FileVersion; 2]>,
}

/// Identifies a version of a file: device, inode, size and time of change.
type FileVersion = Option<(u64, u64, u64, i64, i64)>;

impl Tls {
    /// Loads the files in the settings; `None` if they name none.
    pub(super) fn load(settings: &config::Tls) -> Result<Option<Self>, TlsError> {
        let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else {
            return Ok(None);
        };
        let (certificate, key) = (certificate.clone(), key.clone());
        let versions = [file_version(&certificate), file_version(&key)];
        let config = read_pair(&certificate, &key)?;
        let current = RwLock::new(LoadedPair { versions, config, logged: None });
        let mut metrics = MetricSet::default();
        let expiry = metrics.gauge(
            "gatehouse_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the API ends, in seconds since 1970",
        );
        let tls = Self { certificate, key, current, expiry, metrics };
        tls.record_expiry();
        Ok(Some(tls))
    }

    /// All metrics of TLS.
    pub(super) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Updates the metric of the expiry.
    fn record_expiry(&self) {
        if let Ok(validity) = self.validity() {
            self.expiry.set(validity.ends.as_second());
        }
    }

    /// Logs a certificate that expires soon, once a day.
    fn warn_of_expiry(&self, now: Timestamp, logged: &mut Option<Timestamp>) {
        let ends = Timestamp::EPOCH.plus_milliseconds(self.expiry.get() * 1000);
        let expires_soon = self.expiry.get() > 0 && now.plus_milliseconds(WARN_MILLISECONDS) > ends;
        let is_logged = logged.is_some_and(|at| now < at.plus_milliseconds(DAY_MILLISECONDS));
        if !expires_soon || is_logged {
            return;
        }
        *logged = Some(now);
        let certificate = self.certificate.display();
        if now < ends {
            tracing::warn!(%certificate, %ends, "the certificate of the API nears its end");
        } else {
            tracing::error!(%certificate, %ends, "the certificate of the API has ended: clients refuse it");
        }
    }

    /// The validity of the certificate in the file.
    pub(super) fn validity(&self) -> Result<Validity, TlsError> {
        let bad = |why: &str| TlsError::File {
            setting: "tls.certificate",
            path: self.certificate.clone(),
            why: why.to_owned(),
        };
        let pem = std::fs::read(&self.certificate).map_err(|cause| bad(&cause.to_string()))?;
        let first = CertificateDer::pem_slice_iter(&pem).next().and_then(Result::ok);
        let dates = first.and_then(|certificate| Validity::of(&certificate));
        dates.ok_or_else(|| bad("has no dates that can be read"))
    }

    /// The acceptor for new connections.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read();
        TlsAcceptor::from(Arc::clone(&current.config))
    }

    /// Polls the files and loads changes. Never returns.
    pub(super) async fn keep_fresh(self: Arc<Self>, clock: Clock) {
        let mut logged = None;
        loop {
            self.warn_of_expiry(clock.now(), &mut logged);
            tokio::time::sleep(POLL_INTERVAL).await;
            let tls = Arc::clone(&self);
            // A disk, above all a network disk, may be slow.
            let _ = tokio::task::spawn_blocking(move || tls.refresh()).await;
        }
    }

    /// Reloads changed files. An invalid pair, which may be half written, leaves the old one and is tried again.
    fn refresh(&self) {
        // Before reading, so that a change meanwhile is noticed the next time.
        let versions = [file_version(&self.certificate), file_version(&self.key)];
        if self.current.read().versions == versions {
            return;
        }
        let read = read_pair(&self.certificate, &self.key);
        let mut current = self.current.write();
        match read {
            Ok(config) => {
                *current = LoadedPair { versions, config, logged: None };
                self.record_expiry();
                tracing::info!("new connections get the new certificate");
            }
            Err(why) if current.logged != Some(versions) => {
                current.logged = Some(versions);
                tracing::warn!(%why, "the certificate has changed, and the old one stays");
            }
            Err(_) => {}
        }
    }
}

fn file_version(path: &Path) -> FileVersion {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

fn read_pair(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let bad =
        |setting, path: &Path, why: String| TlsError::File { setting, path: path.to_owned(), why };
    let bad_certificate = |why: String| bad("tls.certificate", certificate, why);
    let bad_key = |why: String| bad("tls.key", key, why);

    let pem = std::fs::read(certificate).map_err(|cause| bad_certificate(cause.to_string()))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| bad_certificate("holds no certificate in PEM".into()))?;
    let pem = std::fs::read(key).map_err(|cause| bad_key(cause.to_string()))?;
    // Not the error's text: it may quote a line of the key.
    let private_key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        bad_key("holds no private key in PEM; one with a passphrase can't be used".into())
    })?;

    let provider = Arc::new(aws_lc_rs::default_provider());
    let pair =
        CertifiedKey::from_der(chain, private_key, &provider).map_err(|error| match error {
            RustlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() }
            }
            RustlsError::InvalidCertificate(_) => bad_certificate(error.to_string()),
            _ => bad_key(error.to_string()),
        })?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
        .with_no_client_auth();
    // A new session store: sessions under the old certificate are not resumed.
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
