//! TLS by rustls: which certificates are trusted, and the connector that tokio-postgres asks for.

use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::{Mode, Roots, Tls};

/// Makes TLS connections.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ClientConfig>);

impl Connector {
    /// # Errors
    ///
    /// Which file cannot be used, and why.
    pub(crate) fn new(tls: &Tls) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let verifier = verifier(tls, provider)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| format!("the client certificate: {error}"))?,
            _ => builder.with_no_client_auth(),
        };
        Ok(Self(Arc::new(config)))
    }
}

/// As libpq: `require` verifies if it was given root certificates.
fn verifier(
    tls: &Tls,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let names = match (tls.mode, &tls.roots) {
        (Mode::VerifyFull, _) => true,
        (Mode::VerifyCa, _) | (Mode::Require, Roots::File(_) | Roots::System) => false,
        _ => return Ok(Arc::new(Unverified(provider))),
    };
    let roots = Arc::new(roots(&tls.roots)?);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
    let verifier = verifier.map_err(|error| format!("the root certificates: {error}"))?;
    Ok(if names { verifier } else { Arc::new(AnyName(verifier)) })
}

fn roots(roots: &Roots) -> Result<RootCertStore, String> {
    let usual = || {
        let home = std::env::var_os("HOME").map(PathBuf::from)?;
        Some(home.join(".postgresql/root.crt")).filter(|path| path.exists())
    };
    let file = match roots {
        Roots::File(path) => Some(path.clone()),
        Roots::Usual => usual(),
        Roots::System => None,
    };
    let mut store = RootCertStore::empty();
    match file {
        Some(path) => {
            for certificate in certificates(&path)? {
                let added = store.add(certificate);
                added.map_err(|error| {
                    format!("the root certificates in {}: {error}", path.display())
                })?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if store.is_empty() {
        return Err(
            "this system has no root certificates: give some with sslrootcert=FILE".to_owned()
        );
    }
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: String| format!("the certificates in {}: {why}", path.display());
    let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let read = read.map_err(|error| wrong(error.to_string()))?;
    if read.is_empty() { Err(wrong("there is none".to_owned())) } else { Ok(read) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let key = PrivateKeyDer::from_pem_file(path);
    key.map_err(|error| format!("the private key in {}: {error}", path.display()))
}

/// Accepts every certificate: the connection is encrypted, but whoever answers is believed.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts certificates of other hosts, if a root certificate vouches for them.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is checked last: all else is in order.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Stream<S>;
    type TlsConnect = Named;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<Named, Self::Error> {
        Ok(Named { connector: TlsConnector::from(self.0.clone()), host: host.to_owned() })
    }
}

/// A connector to one host.
pub(crate) struct Named {
    connector: TlsConnector,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Named {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            Ok(Stream(self.connector.connect(name, stream).await?))
        })
    }
}

/// An encrypted connection.
pub(crate) struct Stream<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    /// `tls-server-end-point` of RFC 5929: the certificate's digest, by the hash of its own signature.
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let certificate = session.peer_certificates().and_then(|all| all.first());
        match certificate.and_then(|certificate| end_point(certificate)) {
            Some(digest) => ChannelBinding::tls_server_end_point(digest),
            None => ChannelBinding::none(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Signature algorithms by their encoded object identifiers. MD5 and SHA-1 count as SHA-256. Others, such as
/// Ed25519, have no hash to take.
const SIGNATURES: [(&[u8], Hash); 9] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], Hash::Sha512),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], Hash::Sha512),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_algorithm(certificate)?;
    let (_, hash) = SIGNATURES.iter().find(|(known, _)| *known == algorithm)?;
    Some(match hash {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER, … }, … }
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (inside, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(inside, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    Some(element(algorithm, OBJECT_IDENTIFIER)?.0)
}

/// The contents of a DER element with a tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[first, length], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match length {
        0..0x80 => (usize::from(length), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let join =
                |sum: usize, digit: &u8| sum.checked_mul(256)?.checked_add(usize::from(*digit));
            (digits.iter().try_fold(0, join)?, rest)
        }
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    (first == tag).then_some((contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_of_a_certificate_says_which_hash() {
        // SEQUENCE { SEQUENCE { 130 bytes }, SEQUENCE { OID, NULL }, BIT STRING }
        let certificate = |algorithm: &[u8]| {
            let identifier =
                [&[0x06, algorithm.len() as u8][..], algorithm, &[0x05, 0x00]].concat();
            let body = [&[0x30, 0x81, 130][..], &[7; 130]].concat();
            let signature =
                [&[0x30, identifier.len() as u8][..], &identifier, &[0x03, 0x01, 0x00]].concat();
            let length = (body.len() + signature.len()) as u8;
            [&[0x30, 0x81, length][..], &body, &signature].concat()
        };
        for (algorithm, hash) in SIGNATURES {
            let bytes = match hash {
                Hash::Sha256 => 32,
                Hash::Sha384 => 48,
                Hash::Sha512 => 64,
            };
            let found = end_point(&certificate(algorithm)).map(|digest| digest.len());
            assert_eq!(found, Some(bytes), "{algorithm:?}");
        }
        let ed25519 = [0x2b, 0x65, 0x70];
        assert_eq!(signature_algorithm(&certificate(&ed25519)), Some(&ed25519[..]));
        assert_eq!(end_point(&certificate(&ed25519)), None);
        let whole = certificate(SIGNATURES[2].0);
        for end in 0..whole.len() {
            assert_eq!(end_point(&whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        let tls =
            Tls { mode: Mode::VerifyFull, roots: Roots::File(path.clone()), ..Tls::default() };
        let error = Connector::new(&tls).err().expect("there is no file");
        assert!(error.starts_with(&format!("the certificates in {}: ", path.display())), "{error}");
        fs::write(&path, "nothing").expect("written");
        let error = Connector::new(&tls).err().expect("there is no certificate");
        assert!(error.ends_with("there is none"), "{error}");
        // Not read where nothing is verified.
        Connector::new(&Tls { mode: Mode::Prefer, ..tls }).map(drop).expect("it is not needed");
    }
}
