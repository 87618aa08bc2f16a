//! TLS from two files of the user, which are read again when they have changed.
//!
//! Looks at the files with each new connection, so a certificate that was renewed counts without a restart or a signal.
//! Files that cannot be used leave the former ones in force.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::rustls::{self, ServerConfig};

/// Largest file that is read, in bytes: a chain of certificates has a few thousand.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other users of this machine can read the key.
    #[error("other users can read the key {}: run `chmod o-r` on it, or make a new one", .0.display())]
    PublicKeyFile(PathBuf),
    /// A file has no PEM of the kind that is wanted.
    #[error("{} has no {what} as PEM: {source}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The missing part.
        what: &'static str,
        /// Why.
        source: pem::Error,
    },
    /// They do not belong together, or are of a kind that TLS does not take.
    #[error("the certificate {} and the key {} cannot be used together: {source}", certificate.display(), key.display())]
    Unusable {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

/// The certificate and the key of a listener.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    /// The identities of the files at the last look.
    seen: [Option<Seen>; 2],
}

/// A file as far as a change of it shows: place, size and time.
type Seen = (u64, u64, i64, i64);

impl Tls {
    /// Reads the two files: a chain of certificates and its key, both as PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let seen = [seen(certificate), seen(key)];
        let config = load(certificate, key)?;
        Ok(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            loaded: Mutex::new(Loaded { config, seen }),
        })
    }

    /// Returns what accepts connections, with the files as they are now. Blocking.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let now = [seen(&self.certificate), seen(&self.key)];
        let mut loaded = self.loaded.lock();
        if loaded.seen != now {
            loaded.seen = now;
            match load(&self.certificate, &self.key) {
                Ok(config) => {
                    loaded.config = config;
                    tracing::info!("the certificate was read again");
                }
                Err(error) => tracing::warn!(%error, "the former certificate stays in use"),
            }
        }
        TlsAcceptor::from(loaded.config.clone())
    }
}

fn seen(path: &Path) -> Option<Seen> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

fn load(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let pem = |path: &Path, what| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, what, source }
    };
    let text = read(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.and_then(|chain| {
        if chain.is_empty() {
            Err(pem::Error::NoItemsFound)
        } else {
            Ok(chain)
        }
    });
    let chain = chain.map_err(pem(certificate, "certificate"))?;
    let text = read(key)?;
    let found = std::fs::metadata(key);
    if found.is_ok_and(|found| found.mode() & 0o007 != 0) {
        return Err(TlsError::PublicKeyFile(key.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(pem(key, "private key"))?;
    let unusable = |source| TlsError::Unusable {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read {
        path: path.to_owned(),
        source,
    };
    bobbin_files::read_bytes(path, MAX_FILE_BYTES).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    /// Writes a file, so many seconds after the epoch.
    fn write(path: &Path, text: &[u8], seconds: u64) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    }

    /// Writes a new certificate with its key.
    fn renew(directory: &Path, seconds: u64) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(["tea.example".to_owned()]).unwrap();
        let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
        write(&certificate, made.cert.pem().as_bytes(), seconds);
        write(&key, made.signing_key.serialize_pem().as_bytes(), seconds);
        (certificate, key)
    }

    fn config(tls: &Tls) -> Arc<ServerConfig> {
        drop(tls.acceptor());
        tls.loaded.lock().config.clone()
    }

    #[test]
    fn files_are_read_again_when_they_have_changed_and_only_as_a_pair() {
        let place = tempfile::tempdir().unwrap();
        let (certificate, key) = renew(place.path(), 1);
        let tls = Tls::open(&certificate, &key).unwrap();
        let first = config(&tls);
        assert!(Arc::ptr_eq(&first, &config(&tls)), "nothing has changed");
        let old = fs::read(&key).unwrap();
        renew(place.path(), 2);
        let new = fs::read(&key).unwrap();
        write(&key, &old, 3);
        assert!(Arc::ptr_eq(&first, &config(&tls)), "half of a pair is none");
        fs::remove_file(&key).unwrap();
        assert!(Arc::ptr_eq(&first, &config(&tls)), "a file is missing");
        write(&key, &new, 4);
        assert!(!Arc::ptr_eq(&first, &config(&tls)), "both are there");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let place = tempfile::tempdir().unwrap();
        let (certificate, key) = renew(place.path(), 1);
        let refused = |certificate: &Path, key: &Path| Tls::open(certificate, key).err().unwrap().to_string();
        let missing = place.path().join("missing");
        assert!(refused(&missing, &key).contains("missing cannot be read"));
        assert!(refused(&key, &key).contains("has no certificate"));
        assert!(refused(&certificate, &certificate).contains("has no private key"));
        fs::set_permissions(&key, Permissions::from_mode(0o604)).unwrap();
        assert!(refused(&certificate, &key).contains("chmod o-r"));
        let other = tempfile::tempdir().unwrap();
        let (_, foreign) = renew(other.path(), 1);
        assert!(refused(&certificate, &foreign).contains("cannot be used together"));
    }
}
