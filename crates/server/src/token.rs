//! The token that clients present: its sources, and the file in the user's state directory.
//!
//! Each user has one token, since its bearer acts as that user in any workspace. The first start of a server that
//! listens creates it, and the user's other commands read it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use nix::fcntl::OFlag;

use crate::models::variable;
use crate::state;
use bobbin_config::Config;

/// Random bytes of a token; in text it is twice as long.
const TOKEN_BYTES: usize = 32;
/// Longest token in bytes; it must fit into a request's head.
const MAX_TOKEN_BYTES: u64 = 4096;
/// The file in the state directory.
const FILE: &str = "token";
/// The variable with a token.
const VARIABLE: &str = "BOBBIN_TOKEN";

/// A token that is named on the command line.
#[derive(Debug, Args, Clone, Default)]
pub struct TokenOptions {
    /// What clients present, instead of what `bobbin token` prints. Other users see it in `ps`: prefer --token-file.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// A file with what clients present; `BOBBIN_TOKEN` can hold it too.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenOptions {
    /// Returns the token for clients of a listener: from the command line, the variable, the user's configuration or
    /// the state directory. Creates the last one if there is none. `None` if the user's configuration requires no
    /// token.
    ///
    /// # Errors
    /// A file cannot be read or written, other users can read the state's, or a named token is empty.
    pub fn wanted(&self, config: &Config) -> anyhow::Result<Option<String>> {
        match self.named()?.or_else(|| config.listener.token.clone()) {
            Some(token) => Ok(Some(token).filter(|token| !token.is_empty())),
            None => of_state(state::directory()?.path()).map(Some),
        }
    }

    /// Returns the token to present to a server of this user, from the same sources. Creates none.
    ///
    /// # Errors
    /// As [`wanted`](Self::wanted).
    pub fn presented(&self, config: &Config) -> anyhow::Result<Option<String>> {
        match self.named()?.or_else(|| config.listener.token.clone()) {
            Some(token) => Ok(Some(token)),
            None => read(&state::directory()?.path().join(FILE)),
        }
    }

    fn named(&self) -> anyhow::Result<Option<String>> {
        let (token, origin) = if let Some(token) = &self.token {
            (token.clone(), "--token".to_owned())
        } else if let Some(file) = &self.token_file {
            let read = File::open(file).and_then(|opened| bounded(&opened));
            let token = read.with_context(|| format!("the token file {} cannot be read", file.display()))?;
            (token, format!("the token file {}", file.display()))
        } else if let Some(token) = variable(VARIABLE) {
            (token, VARIABLE.to_owned())
        } else {
            return Ok(None);
        };
        if token.is_empty() {
            bail!("{origin} is empty; `bobbin token` prints a token to use");
        }
        Ok(Some(token))
    }
}

/// Returns the token of a state directory. Creates it if there is none.
///
/// # Errors
/// The file cannot be written or read, or other users can read it.
pub fn of_state(state: &Path) -> anyhow::Result<String> {
    match read(&state.join(FILE))? {
        Some(token) => Ok(token),
        None => make(state, Existing::Keep),
    }
}

/// Reads the token, if there is one. The file must belong to this user, must not be readable for others and must not
/// be a link.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let opened = File::options()
        .read(true)
        // A pipe in its place must not block.
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    let shown = path.display();
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!("the token {shown} cannot be read ({error}); `bobbin token --new` replaces it"),
    };
    let found = file
        .metadata()
        .with_context(|| format!("the token {shown} cannot be read"))?;
    if !found.is_file() || found.uid() != nix::unistd::geteuid().as_raw() {
        bail!("the token {shown} is no file of yours; `bobbin token --new` replaces it");
    }
    if found.mode() & 0o077 != 0 {
        bail!(
            "other users can read or change the token {shown}; replace it with `bobbin token --new`, or run \
             `chmod 600 {shown}` if nobody has read it"
        );
    }
    let token = bounded(&file).with_context(|| format!("the token {shown} cannot be read"))?;
    if token.is_empty() {
        bail!("the token {shown} is empty; `bobbin token --new` replaces it");
    }
    Ok(Some(token))
}

/// Replaces the token of a state directory. Running servers still use the old one.
///
/// # Errors
/// The file cannot be written.
pub fn replace(state: &Path) -> anyhow::Result<String> {
    make(state, Existing::Replace)
}

/// Whether an existing token stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Keep,
    Replace,
}

/// Writes a random token, in one step. Returns the token in the file, since another process may have been first.
fn make(state: &Path, existing: Existing) -> anyhow::Result<String> {
    let path = state.join(FILE);
    let failed = || format!("the token {} cannot be written", path.display());
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
        .with_context(failed)?;
    let mut random = [0; TOKEN_BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .with_context(failed)?;
    let token = hex::encode(random);
    // Private from the start: such files are created with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(state).with_context(failed)?;
    file.write_all(format!("{token}\n").as_bytes())
        .with_context(failed)?;
    file.as_file().sync_all().with_context(failed)?;
    let moved = match existing {
        Existing::Replace => file.persist(&path),
        Existing::Keep => file.persist_noclobber(&path),
    };
    match moved {
        Ok(_) => Ok(token),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            read(&path)?.with_context(failed)
        }
        Err(error) => Err(error.error).with_context(failed),
    }
}

/// Reads a token without the white space around it.
fn bounded(file: &File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TOKEN_BYTES {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            format!("it has more than {MAX_TOKEN_BYTES} bytes"),
        ));
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_replaced_on_request() {
        let top = tempfile::tempdir().unwrap();
        let state = top.path().join("state/bobbin");
        let token = of_state(&state).unwrap();
        assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(of_state(&state).unwrap(), token);
        // Another process was first.
        assert_eq!(make(&state, Existing::Keep).unwrap(), token);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(FILE))), (0o700, 0o600));
        let other = make(&state, Existing::Replace).unwrap();
        assert_ne!(other, token);
        assert_eq!(of_state(&state).unwrap(), other);
        assert_eq!(
            std::fs::read_dir(&state).unwrap().count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn what_is_no_private_file_is_refused_and_replaced_on_request() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join(FILE);
        let secret = state.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        assert!(of_state(state.path()).is_err());
        make(state.path(), Existing::Replace).unwrap();
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert!(of_state(state.path()).is_ok());
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = of_state(state.path()).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(of_state(state.path()).is_err());
    }
}
