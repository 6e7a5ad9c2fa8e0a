//! Trusted certificate authorities: those of the system, and those of a file if one is given.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::Error;

#[derive(Debug)]
pub(crate) struct Trust {
    given: Vec<CertificateDer<'static>>,
}

impl Trust {
    pub(crate) fn read(file: Option<&Path>) -> Result<Self, Error> {
        let Some(file) = file else { return Ok(Self { given: Vec::new() }) };
        let wrong = |why: &str| Error::trust(&file.display().to_string(), why);
        let given: Vec<_> = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(&error.to_string()))?;
        // Each is checked now, so that an invalid file is reported at once.
        let mut roots = RootCertStore::empty();
        for certificate in &given {
            roots.add(certificate.clone()).map_err(|error| wrong(&error.to_string()))?;
        }
        if given.is_empty() {
            return Err(wrong("it holds no certificate in PEM"));
        }
        Ok(Self { given })
    }

    pub(crate) fn config(&self) -> Result<ClientConfig, String> {
        let mut roots = RootCertStore::empty();
        // What the system has and rustls cannot read is left out, as browsers do.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.given.iter().cloned());
        if roots.is_empty() {
            return Err("this system has no certificates of authorities; give a file".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(versions.with_root_certificates(roots).with_no_client_auth())
    }
}
