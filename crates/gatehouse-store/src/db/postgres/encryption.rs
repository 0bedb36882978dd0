//! TLS connections to PostgreSQL: libpq's settings in an address, implemented with rustls.

mod end_point;
mod verifier;

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error as TlsError, RootCertStore};

use self::end_point::end_point;
use self::verifier::{Trust, Verifier};
use crate::error::StoreError;

/// TLS settings of an address.
#[derive(Default)]
pub(super) struct TlsSettings {
    pub(super) mode: Option<String>,
    pub(super) root: Option<String>,
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
}

/// Certificate and key that this program authenticates with.
struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// TLS configuration of connections.
#[derive(Clone)]
pub(super) struct Encryption {
    config: Arc<ClientConfig>,
    is_checked: bool,
}

impl TlsSettings {
    /// Builds the TLS configuration, and says whether encryption is required, preferred or off.
    pub(super) fn read(&self) -> Result<(Encryption, SslMode), StoreError> {
        let mode = self.mode.as_deref().unwrap_or("prefer");
        let (ssl_mode, is_checked, by_name) = match mode {
            "disable" => (SslMode::Disable, false, false),
            "allow" | "prefer" => (SslMode::Prefer, false, false),
            // Like libpq: an address with a root certificate wants it to be checked.
            "require" => (SslMode::Require, self.root.is_some(), false),
            "verify-ca" => (SslMode::Require, true, false),
            "verify-full" => (SslMode::Require, true, true),
            _ => {
                return Err(bad(
                    "sslmode must be `disable`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`",
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
        Ok((Encryption::new(trust, self.client_identity()?)?, ssl_mode))
    }

    fn trust(&self, by_name: bool) -> Result<Trust, StoreError> {
        let mut roots = RootCertStore::empty();
        let given = match self.root.as_deref() {
            Some(path) if path != "system" => {
                let given = certificates("sslrootcert", path)?;
                // A certificate that can't be an authority may still be the server's own.
                roots.add_parsable_certificates(given.iter().cloned());
                given
            }
            _ if !by_name => {
                // Anyone can get a certificate of a public authority.
                return Err(bad(
                    "the machine's authorities prove nothing without a name: use sslmode `verify-full`, or name a \
                     file of your own authority by sslrootcert",
                ));
            }
            _ => {
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

    fn client_identity(&self) -> Result<Option<ClientIdentity>, StoreError> {
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
        Ok(Some(ClientIdentity { chain: certificates("sslcert", certificate)?, key }))
    }
}

impl Encryption {
    fn new(trust: Trust, identity: Option<ClientIdentity>) -> Result<Self, StoreError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let is_checked = matches!(trust, Trust::Known { .. });
        let verifier = Verifier { trust, provider: Arc::clone(&provider) };
        let unusable =
            |why: TlsError| bad(format!("sslcert and sslkey can't be used: {}", explain(&why)));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match identity {
            Some(ClientIdentity { chain, key }) => {
                builder.with_client_auth_cert(chain, key).map_err(unusable)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self { config: Arc::new(config), is_checked })
    }

    /// Whether the server must prove its identity.
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked
    }
}

fn bad(why: impl Into<String>) -> StoreError {
    StoreError::Address(why.into())
}

/// The error's text, with advice where there is some.
fn explain(error: &TlsError) -> String {
    let is_other = |name: &str| match error {
        TlsError::InvalidCertificate(CertificateError::Other(other)) => {
            format!("{other:?}").contains(name)
        }
        _ => false,
    };
    let what_to_do = match error {
        TlsError::InconsistentKeys(_) => "the key is another certificate's",
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "name the file with its authority by sslrootcert"
        }
        TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            "use a name that it is for, or another certificate, with this one in its subjectAltName"
        }
        _ if is_other("UnsupportedCertVersion") => {
            "the certificate is of version 1; make one of version 3, with a subjectAltName"
        }
        _ if is_other("CaUsedAsEndEntity") => "name this very certificate by sslrootcert",
        _ => return error.to_string(),
    };
    format!("{error}: {what_to_do}")
}

/// A TLS handshake failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", match .0.get_ref().and_then(|why| why.downcast_ref()) {
    Some(why) => explain(why),
    None => .0.to_string(),
})]
pub(super) struct HandshakeFailed(io::Error);

impl HandshakeFailed {
    /// Whether a failed handshake is the reason why a connection failed.
    pub(super) fn is_in(error: &tokio_postgres::Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Self>())
    }
}

fn certificates(parameter: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let path = Path::new(path);
    let unread = |why: String| bad(format!("{parameter} {}: {why}", path.display()));
    let read = CertificateDer::pem_file_iter(path).map_err(|why| unread(why.to_string()))?;
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
    type Error = HandshakeFailed;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, HandshakeFailed> {
        Ok(Handshake { connector: Arc::clone(&self.config).into(), host: host.to_owned() })
    }
}

/// A handshake to be made. The driver also asks for one on a Unix socket, and never uses it.
pub(super) struct Handshake {
    connector: TlsConnector,
    host: String,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = HandshakeFailed;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted<S>, HandshakeFailed>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let no_name = |why| HandshakeFailed(io::Error::other(why));
            let name = ServerName::try_from(self.host).map_err(no_name)?;
            Ok(Encrypted(self.connector.connect(name, stream).await.map_err(HandshakeFailed)?))
        })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        match certificates.and_then(|them| them.first()).and_then(|own| end_point(own)) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash),
            None => ChannelBinding::none(),
        }
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
