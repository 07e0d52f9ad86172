//! Whom to believe: the system's certificate store, the roots built in, and the site's own.
//!
//! With the system's store alone no connection is possible on a host without one; with the
//! built-in roots alone a site's own authority is ignored. There is no way to switch the check
//! off: what is fetched is firmware.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::error::HttpError;

/// A TLS client that believes the system, the built-in roots and the certificates of `ca_files`.
///
/// # Errors
/// [`HttpError::BadCaFile`].
pub fn client_config(ca_files: &[PathBuf]) -> Result<ClientConfig, HttpError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        log::info!("system certificate store: {error}");
    }
    let (added, ignored) = roots.add_parsable_certificates(system.certs);
    log::debug!("system certificate store: {added} roots, {ignored} not readable");
    for path in ca_files {
        add_file(&mut roots, path)?;
    }
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::Setup {
            reason: error.to_string(),
        })
        .map(|builder| builder.with_root_certificates(roots).with_no_client_auth())
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), HttpError> {
    let bad = |reason: String| HttpError::BadCaFile {
        path: path.to_owned(),
        reason,
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
    let mut count = 0_usize;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| bad(format!("certificate {}: {error}", count + 1)))?;
        count += 1;
    }
    if count == 0 {
        return Err(bad("there is no PEM certificate in it".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        std::fs::write(&path, "no certificate\n").unwrap();
        let error = client_config(std::slice::from_ref(&path)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: there is no PEM certificate in it", path.display())
        );
        let missing = client_config(&[dir.path().join("none.pem")]).unwrap_err();
        assert_eq!(missing.class(), "bad_ca_file");
    }
}
