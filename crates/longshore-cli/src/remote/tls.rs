//! Whom a server's certificate must be from.

use std::path::Path;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::exit::Failure;

/// With a file: the authorities in it and no others. Without: Mozilla's, which are compiled in; the system's own list
/// is not looked at.
pub(super) fn config(ca_file: &Path) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them all");
    if ca_file.as_os_str().is_empty() {
        return Ok(builder.with_webpki_roots().with_no_client_auth());
    }
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("remote.ca_file is {}: {why}", ca_file.display()))
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(ca_file).map_err(|error| wrong(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"there is no certificate in it; it is to be PEM"));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
