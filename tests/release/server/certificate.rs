//! An authority made for one run, and the certificates a server can have.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// What kind of certificate a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For 127.0.0.1 and localhost, by the authority.
    Good,
    /// The same, of the year 2000.
    Expired,
    /// The same, for another host.
    OtherName,
    /// By nobody but itself.
    SelfSigned,
}

/// An authority that no store knows.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority made for a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer }
    }

    /// Its certificate as a file for `--cafile`.
    pub fn file(&self, folder: &Path) -> PathBuf {
        let path = folder.join("ca.pem");
        std::fs::write(&path, self.issuer.pem()).unwrap();
        path
    }

    pub fn server(&self, kind: Kind) -> ServerConfig {
        let names = match kind {
            Kind::OtherName => vec!["other.example".to_owned()],
            _ => vec!["127.0.0.1".to_owned(), "localhost".to_owned()],
        };
        let mut params = CertificateParams::new(names).unwrap();
        if kind == Kind::Expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2000, 12, 31);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = match kind {
            Kind::SelfSigned => params.self_signed(&key),
            _ => params.signed_by(&key, &self.issuer),
        };
        let chain: Vec<CertificateDer<'static>> = vec![certificate.unwrap().der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap()
    }
}
