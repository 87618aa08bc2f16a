//! Sources of providers' keys. The code that opens the providers reads them.

use std::path::{Path, PathBuf};

use super::Key;

/// The source of a key.
#[derive(Debug, Clone)]
pub enum KeyPlace {
    /// No key is set; local providers need none.
    Nowhere,
    /// A variable.
    Variable(String),
    /// A variable, and the key to use if it is not set.
    VariableOr(String, Key),
    /// A file with the key and nothing else.
    File(PathBuf),
    /// The user's configuration itself.
    Inline(Key, PathBuf),
    /// The user's editor gave it.
    Given(Key),
    /// The user's editor gave it in this form, which is not supported.
    Unsupported(String),
    /// None: the provider is in a project's file, and no key of the user is sent there.
    Withheld,
}

/// Returns a path with `~` as the user's home.
pub fn expanded(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
