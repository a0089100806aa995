//! Certificates for `rediss://`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::ConfigError;

/// Files in PEM form. Without a CA the system's trusted roots count.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// Who may have signed Redis' certificate.
    pub ca: Option<PathBuf>,
    /// The bridge's own certificate, if Redis asks for one.
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

impl TlsFiles {
    /// Reads the files.
    pub(super) fn load(&self) -> Result<Arc<ClientConfig>, ConfigError> {
        let fault = |error: &dyn std::fmt::Display| ConfigError::Tls(error.to_string());
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(&error))?
            .with_root_certificates(self.roots()?);
        let config = match (&self.cert, &self.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(cert), Some(key)) => {
                let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                builder.with_client_auth_cert(certificates(cert)?, key_der).map_err(|error| fault(&error))?
            }
            _ => return Err(ConfigError::Tls("a certificate and its key belong together".to_owned())),
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, ConfigError> {
        let mut roots = RootCertStore::empty();
        let certificates = match &self.ca {
            Some(path) => certificates(path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        roots.add_parsable_certificates(certificates);
        if roots.is_empty() {
            return Err(ConfigError::Tls("no trusted root certificate was found: name one".to_owned()));
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Tls(format!("{}: {error}", path.display()))
}
