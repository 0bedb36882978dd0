//! Certificate and key of the API's listener, read anew when the files change.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
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

/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long before its end a certificate is told of.
const NEAR_MILLISECONDS: i64 = 14 * DAY_MILLISECONDS;

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// Why there is no TLS. It names the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read, or doesn't hold what it should.
    #[error("{setting} {}: {why}", path.display())]
    File {
        /// The setting that names it.
        setting: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The key is another certificate's.
    #[error(
        "tls.key {} is not the key of the certificate in tls.certificate {}",
        key.display(), certificate.display()
    )]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
}

/// What new connections are encrypted with.
pub(super) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    present: RwLock<Loaded>,
    /// When the certificate ends, in seconds since 1970.
    expiry: IntGauge,
}

/// What the files gave, when they were as they were.
struct Loaded {
    stamps: [Stamp; 2],
    config: Arc<ServerConfig>,
    /// What was no good, and has been told of.
    told: Option<[Stamp; 2]>,
}

/// By what a file is known to be another one: device, inode, size and time of change.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

impl Tls {
    /// Reads the files that the settings name; nothing when they name none.
    pub(super) fn load(settings: &config::Tls) -> Result<Option<Self>, TlsError> {
        let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) else {
            return Ok(None);
        };
        let (certificate, key) = (certificate.clone(), key.clone());
        let stamps = [stamp(&certificate), stamp(&key)];
        let config = read_pair(&certificate, &key)?;
        let present = RwLock::new(Loaded { stamps, config, told: None });
        let expiry = IntGauge::new(
            "gatehouse_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the API ends, in seconds since 1970",
        );
        let expiry = expiry.expect("the name is sound");
        let tls = Self { certificate, key, present, expiry };
        tls.note_end();
        Ok(Some(tls))
    }

    /// The figure that tells when the certificate ends.
    pub(super) fn expiry(&self) -> IntGauge {
        self.expiry.clone()
    }

    /// Writes down when the certificate ends, where that can be read.
    fn note_end(&self) {
        if let Ok(validity) = self.validity() {
            self.expiry.set(validity.ends.as_second());
        }
    }

    /// Has the log tell of a certificate that nears its end, once a day.
    fn warn_of_end(&self, now: Timestamp, told: &mut Option<Timestamp>) {
        let ends = Timestamp::EPOCH.plus_milliseconds(self.expiry.get() * 1000);
        let is_near = self.expiry.get() > 0 && now.plus_milliseconds(NEAR_MILLISECONDS) > ends;
        let is_told = told.is_some_and(|at| now < at.plus_milliseconds(DAY_MILLISECONDS));
        if !is_near || is_told {
            return;
        }
        *told = Some(now);
        let certificate = self.certificate.display();
        if now < ends {
            tracing::warn!(%certificate, %ends, "the certificate of the API nears its end");
        } else {
            tracing::error!(%certificate, %ends, "the certificate of the API has ended: clients refuse it");
        }
    }

    /// When the certificate in the file is valid.
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

    /// Agrees on TLS with a client, with what is valid now.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let present = self.present.read();
        TlsAcceptor::from(Arc::clone(&present.config))
    }

    /// Looks at the files for ever, and takes what has changed.
    pub(super) async fn keep_fresh(self: Arc<Self>, clock: Clock) {
        let mut told = None;
        loop {
            self.warn_of_end(clock.now(), &mut told);
            tokio::time::sleep(LOOK_INTERVAL).await;
            let tls = Arc::clone(&self);
            // A disk may be slow, and a network's disk slower.
            let _ = tokio::task::spawn_blocking(move || tls.refresh()).await;
        }
    }

    /// Reads the files anew if they have changed. A pair that is no good leaves the old one in place: it may
    /// be half written, or not ours to read yet, so it is tried again and again.
    fn refresh(&self) {
        // Before reading: what changes while it is read is noticed the next time.
        let stamps = [stamp(&self.certificate), stamp(&self.key)];
        if self.present.read().stamps == stamps {
            return;
        }
        let read = read_pair(&self.certificate, &self.key);
        let mut present = self.present.write();
        match read {
            Ok(config) => {
                *present = Loaded { stamps, config, told: None };
                self.note_end();
                tracing::info!("new connections get the new certificate");
            }
            Err(why) if present.told != Some(stamps) => {
                present.told = Some(stamps);
                tracing::warn!(%why, "the certificate has changed, and the old one stays");
            }
            Err(_) => {}
        }
    }
}

fn stamp(path: &Path) -> Stamp {
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
    // Not the error's own words: they may hold a line of the key.
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
    // With sessions of its own: one that began under the old certificate is not taken up again.
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
