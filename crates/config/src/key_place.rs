//! Where keys of providers are to come from. Reading them is the business of who opens the providers.

use std::path::{Path, PathBuf};

use bobbin_models::Key;

/// Where a key is to come from.
#[derive(Debug, Clone)]
pub enum KeyPlace {
    /// No file says; local providers need none.
    Nowhere,
    /// A variable.
    Variable(String),
    /// A variable, and the key where it is not set.
    VariableOr(String, Key),
    /// A file with the key and nothing else.
    File(PathBuf),
    /// The user's configuration itself.
    Inline(Key, PathBuf),
    /// The user's editor gave it.
    Given(Key),
    /// The user's editor gave it in a form that is not supported; this one.
    Unsupported(String),
    /// The provider stands in a project's file.
    Withheld,
}

/// Returns a path with `~` as the user's home.
pub fn expanded(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
