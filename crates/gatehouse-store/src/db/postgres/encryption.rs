//! Encrypted connections to PostgreSQL: what an address asks for, in libpq's words, and how rustls meets it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::aws_lc_rs::digest;
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
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
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
    /// Nobody: what is sent can't be read on the way, and may be sent to anyone. Nothing of the certificate is looked
    /// at, since one that is odd is as good as any other.
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
    is_checked: bool,
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
        let is_checked = matches!(trust, Trust::Known { .. });
        let verifier = Verifier { trust, provider: Arc::clone(&provider) };
        let unusable =
            |why: TlsError| bad(format!("sslcert and sslkey can't be used: {}", told(&why)));
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
        Ok(Self { config: Arc::new(config), is_checked })
    }

    /// Whether the other side must prove who it is.
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked
    }
}

fn bad(why: impl Into<String>) -> StoreError {
    StoreError::Address(why.into())
}

/// What went wrong, and what to do where that is known.
fn told(error: &TlsError) -> String {
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

/// Why both sides didn't agree on how to encrypt.
#[derive(Debug, thiserror::Error)]
#[error("{}", match .0.get_ref().and_then(|why| why.downcast_ref()) {
    Some(why) => told(why),
    None => .0.to_string(),
})]
pub(super) struct NoAgreement(io::Error);

impl NoAgreement {
    /// Whether that is why a connection didn't come about.
    pub(super) fn is_in(error: &tokio_postgres::Error) -> bool {
        std::error::Error::source(error).is_some_and(|source| source.is::<Self>())
    }
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
    type Error = NoAgreement;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, NoAgreement> {
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
    type Error = NoAgreement;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted<S>, NoAgreement>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let no_name = |why| NoAgreement(io::Error::other(why));
            let name = ServerName::try_from(self.host).map_err(no_name)?;
            Ok(Encrypted(self.connector.connect(name, stream).await.map_err(NoAgreement)?))
        })
    }
}

/// A connection that nobody reads on the way.
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

/// A server's certificate as both sides name it when a password is proven (RFC 5929): hashed by the function of its
/// signature, or by SHA-256 where that is a weaker one.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    let (whole, _) = element(certificate)?;
    let (_contents, rest) = element(whole)?;
    let (algorithm, _) = element(rest)?;
    let (name, _) = element(algorithm)?;
    let hash = match (name.strip_prefix(RSA), name.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => &digest::SHA256,
        (Some([12]), _) | (_, Some([3, 3])) => &digest::SHA384,
        (Some([13]), _) | (_, Some([3, 4])) => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// What the first element of a piece of DER holds, and what is behind it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_tag, first], rest) = der.split_first_chunk()?;
    let (n_bytes, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(n_bytes)
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
        if matches!(self.trust, Trust::Anyone) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        if matches!(self.trust, Trust::Anyone) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    };

    use super::*;

    #[test]
    fn a_certificate_is_named_by_the_hash_of_its_signature() {
        for (algorithm, hash) in [
            (&PKCS_ECDSA_P256_SHA256, Some(&digest::SHA256)),
            (&PKCS_ECDSA_P384_SHA384, Some(&digest::SHA384)),
            (&PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let params = CertificateParams::new(vec!["db".to_owned()]).unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let der = certificate.der();
            let expected = hash.map(|hash| digest::digest(hash, der).as_ref().to_vec());
            assert_eq!(end_point(der), expected, "{algorithm:?}");
            for n_bytes in 0..der.len() {
                end_point(&der[..n_bytes]);
            }
        }
    }
}
