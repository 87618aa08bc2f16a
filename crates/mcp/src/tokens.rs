//! The tokens of a login, in a file of the state directory that only its owner may read.
//!
//! Each server's name and address has one file. Until the next login, a file beside it has the scope that the last login
//! lacked. Several Bobbins may run, so two locks beside the file allow one refresh and one login at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Longest scope that is stored (guess: several times what servers want).
const MAX_SCOPE: usize = 4 << 10;

/// The tokens of a login, and the client that got them.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    #[serde(flatten)]
    pub(crate) credentials: StoredCredentials,
    #[serde(flatten)]
    pub(crate) client: StoredClient,
}

/// The stored facts about a client besides its id.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct StoredClient {
    #[serde(default, rename = "client_secret", skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether the user has registered the client. Then later logins use it too.
    #[serde(default, rename = "client_is_users")]
    pub(crate) is_users: bool,
}

/// The tokens of one client at one server.
pub(crate) struct TokenStore {
    pub(crate) file: TokenFile,
    pub(crate) client: StoredClient,
}

/// The file with the tokens for one server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenFile(PathBuf);

impl TokenFile {
    /// Returns the file in a directory for the server of this name at this address. Another address has another file, so
    /// no tokens reach a server whose definition has changed.
    pub fn of(directory: &Path, name: &str, url: &str) -> Self {
        let name = name.to_lowercase();
        let hash = Sha256::new()
            .chain_update(name)
            .chain_update([0])
            .chain_update(url);
        let hash = hash.finalize();
        let hash = hex::encode(&hash[..16]);
        Self(directory.join(format!("{hash}.json")))
    }

    /// Removes the tokens. Returns whether there were any.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        is_removed(&self.scope())?;
        is_removed(&self.0)
    }

    /// Returns the last login. `None` if there was none.
    pub(crate) async fn login(&self) -> io::Result<Option<StoredLogin>> {
        self.on_disk(Self::read).await
    }

    /// Makes the next login ask for a scope: space-separated names.
    pub(crate) async fn want_scope(&self, scope: String) -> io::Result<()> {
        self.on_disk(move |file| {
            if scope.len() > MAX_SCOPE {
                return Err(io::Error::other("the scope is too long"));
            }
            file.make_directory()?;
            let mut noted = private().create(true).truncate(true).open(file.scope())?;
            noted.write_all(scope.as_bytes())
        })
        .await
    }

    /// Returns the scope that the last login lacked; empty if there is none.
    pub(crate) async fn wanted_scope(&self) -> io::Result<String> {
        self.on_disk(|file| match fs::read_to_string(file.scope()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        })
        .await
    }

    /// Makes the next login ask only for the scopes of the server and of the last login.
    pub(crate) async fn forget_scope(&self) -> io::Result<()> {
        self.on_disk(|file| is_removed(&file.scope()).map(drop)).await
    }

    fn scope(&self) -> PathBuf {
        self.0.with_extension("scope")
    }

    fn read(&self) -> io::Result<Option<StoredLogin>> {
        match fs::read(&self.0) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file as a whole: a crash leaves the tokens before or those after.
    fn write(&self, login: &StoredLogin) -> io::Result<()> {
        self.make_directory()?;
        let next = self.0.with_extension(format!("{}.new", std::process::id()));
        drop(fs::remove_file(&next));
        let mut file = private().create_new(true).open(&next)?;
        file.write_all(&serde_json::to_vec(login)?)?;
        file.sync_data()?;
        fs::rename(&next, &self.0)
    }

    fn make_directory(&self) -> io::Result<()> {
        let directory = self.0.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(directory)
    }

    fn lock_file(&self, of: &str) -> io::Result<File> {
        self.make_directory()?;
        private().create(true).open(self.0.with_extension(of))
    }

    /// Returns the lock for a login at this server. `None` while another login has it.
    pub(crate) async fn lock_login(&self) -> io::Result<Option<File>> {
        self.on_disk(|file| {
            let lock = file.lock_file("login")?;
            match lock.try_lock() {
                Ok(()) => Ok(Some(lock)),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        })
        .await
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let file = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&file)).await;
        done.map_err(io::Error::other).flatten()
    }
}

/// Removes a file. Returns whether it was there.
fn is_removed(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns options that open a file for writing and create it for its owner only.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn unusable(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for TokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let login = self.file.login().await.map_err(|error| unusable(&error))?;
        Ok(login.map(|login| login.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let client = self.client.clone();
        let login = StoredLogin { credentials, client };
        let saved = self.file.on_disk(move |file| file.write(&login)).await;
        saved.map_err(|error| unusable(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let cleared = self.file.on_disk(|file| is_removed(&file.0)).await;
        cleared.map(drop).map_err(|error| unusable(&error))
    }

    /// A refresh token is often good for one use, and several Bobbins of a user may have the same one.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let locked = self.file.on_disk(|file| {
            let lock = file.lock_file("lock")?;
            lock.lock()?;
            Ok(lock)
        });
        let lock = locked.await.map_err(|error| unusable(&error))?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}
