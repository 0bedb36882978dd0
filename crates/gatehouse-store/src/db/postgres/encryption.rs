//! Encrypted connections to PostgreSQL: what an address asks for, in libpq's words, and how rustls meets it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use crate::error::StoreError;

/// What an address says about encryption.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) mode: Option<String>,
    pub(super) root: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
}

/// Whom the other side must prove to be.
#[derive(Debug)]
enum Trust {
    /// Nobody: what is sent can't be read on the way, and may be sent to anyone.
    Anyone,
    /// Somebody with a certificate of these authorities.
    Known {
        roots: RootCertStore,
        /// The certificates themselves: one may be the server's own, without an authority.
        given: Vec<CertificateDer<'static>>,
        /// Whether the certificate must be for the host of the address.
        by_name: bool,
    },
}

/// By what we prove to be who we are, where that is asked for.
struct Own {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// How connections are encrypted.
#[derive(Clone)]
pub(super) struct Encryption {
    config: Arc<ClientConfig>,
}

impl Wanted {
    /// What it comes to, and whether a server may go without.
    pub(super) fn read(&self) -> Result<(Encryption, SslMode), StoreError> {
        let mode = self.mode.as_deref().unwrap_or("prefer");
        let (ssl_mode, is_checked, by_name) = match mode {
            "disable" => (SslMode::Disable, false, false),
            "allow" | "prefer" => (SslMode::Prefer, false, false),
            // libpq's rule: who names an authority wants it to be asked.
            "require" => (SslMode::Require, self.root.is_some(), false),
            "verify-ca" => (SslMode::Require, true, false),
            "verify-full" => (SslMode::Require, true, true),
            _ => {
                return Err(bad(
                    "sslmode must be `disable`, `prefer`, `require`, `verify-ca` or `verify-full`",
                ));
            }
        };
        if self.root.is_some() && !is_checked {
            return Err(bad(format!(
                "sslrootcert does nothing with sslmode `{mode}`: use `verify-full`, or `verify-ca`"
            )));
        }
        if self.certificate.is_some() && ssl_mode == SslMode::Disable {
            return Err(bad("sslcert does nothing with sslmode `disable`"));
        }
        let trust = if is_checked { self.trust(by_name)? } else { Trust::Anyone };
        Ok((Encryption::new(trust, self.own()?)?, ssl_mode))
    }

    fn trust(&self, by_name: bool) -> Result<Trust, StoreError> {
        let mut roots = RootCertStore::empty();
        let given = match self.root.as_deref() {
            Some(path) if path != "system" => {
                let given = certificates("sslrootcert", path)?;
                // One that can't be an authority may still be the server's own.
                roots.add_parsable_certificates(given.iter().cloned());
                given
            }
            of_system => {
                if of_system.is_some() && !by_name {
                    // Anybody can have a certificate of theirs.
                    return Err(bad("sslrootcert=system needs sslmode `verify-full`"));
                }
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(bad(
                        "this machine knows no certificate authorities; name a file with sslrootcert",
                    ));
                }
                Vec::new()
            }
        };
        Ok(Trust::Known { roots, given, by_name })
    }

    fn own(&self) -> Result<Option<Own>, StoreError> {
        let (certificate, key) = match (&self.certificate, &self.key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate, key),
            (Some(_), None) => return Err(bad("sslcert needs sslkey, the file with its key")),
            (None, Some(_)) => {
                return Err(bad("sslkey needs sslcert, the file with the certificate"));
            }
        };
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|why| bad(format!("sslkey {}: {why}", Path::new(key).display())))?;
        Ok(Some(Own { chain: certificates("sslcert", certificate)?, key }))
    }
}

impl Encryption {
    fn new(trust: Trust, own: Option<Own>) -> Result<Self, StoreError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Verifier { trust, provider: Arc::clone(&provider) };
        let unusable = |why: TlsError| bad(format!("sslcert and sslkey can't be used: {why}"));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match own {
            Some(Own { chain, key }) => {
                builder.with_client_auth_cert(chain, key).map_err(unusable)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self { config: Arc::new(config) })
    }
}

fn bad(why: impl Into<String>) -> StoreError {
    StoreError::Address(why.into())
}

fn certificates(parameter: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let path = PathBuf::from(path);
    let unread = |why: String| bad(format!("{parameter} {}: {why}", path.display()));
    let read = CertificateDer::pem_file_iter(&path).map_err(|why| unread(why.to_string()))?;
    let read: Vec<_> = read.collect::<Result<_, _>>().map_err(|why| unread(why.to_string()))?;
    if read.is_empty() {
        return Err(unread("it holds no certificate in PEM".into()));
    }
    Ok(read)
}

impl<S> MakeTlsConnect<S> for Encryption
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, io::Error> {
        Ok(Handshake { connector: Arc::clone(&self.config).into(), host: host.to_owned() })
    }
}

/// An agreement that is to come about. A socket of the machine is asked for one too, and never makes it.
pub(super) struct Handshake {
    connector: TlsConnector,
    host: String,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            Ok(Encrypted(self.connector.connect(name, stream).await?))
        })
    }
}

/// A connection that nobody reads on the way.
pub(super) struct Encrypted<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Encrypted<S> {
    /// Passwords are proven without it: it is for those who don't check certificates, and can.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// Looks at a server's certificate.
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Trust::Known { roots, given, by_name } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        let parsed = ParsedCertificate::try_from(own)?;
        if !given.contains(own) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, roots, between, now, algorithms)?;
        }
        if *by_name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
