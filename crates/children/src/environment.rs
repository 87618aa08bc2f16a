//! The environment of children: for what the server starts for itself, an allow-list applied to its own.
//!
//! A variable passes only if it is listed, and a name that looks like a secret never passes. The environment of commands
//! follows other rules ([`crate::VariableRules`]). The binary builds both once; this crate never reads the process
//! environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Allowed names: the user's name and home, text display, locations of common tool chains.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables with paths of caches, and the cache's folder in a directory of caches.
const CACHES: [(&str, &str); 5] = [
    ("XDG_CACHE_HOME", ""),
    ("npm_config_cache", "npm"),
    ("UV_CACHE_DIR", "uv"),
    ("UV_TOOL_DIR", "uv-tools"),
    ("UV_PYTHON_INSTALL_DIR", "uv-python"),
];

/// Parts of a name that mark a secret wherever they stand.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];

/// The variables a child process starts with; nothing else is inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns an environment without any variable.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the variables of `base` that children may have.
    ///
    /// These are a fixed list: `PATH`, `HOME`, `LC_*` and the like. Names that look like secrets never pass; use
    /// [`Environment::set`] to pass one on purpose.
    pub fn from_base(base: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = base
            .into_iter()
            .filter(|(name, _)| {
                name.to_str().is_some_and(|name| {
                    (ALLOWED.contains(&name) || name.starts_with("LC_")) && !looks_secret(name)
                })
            })
            .collect();
        Self { variables }
    }

    /// Sets one variable, whatever its name: for values the user configured for this very program.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Makes `npx`, `uvx` and the like write their caches into the directory `place`, which a sandbox allows, not the home.
    /// Variables in `own` stay as the configuration sets them.
    pub fn set_caches(&mut self, own: &BTreeMap<String, String>, place: &Path) {
        for (name, within) in CACHES {
            if !own.contains_key(name) {
                self.set(name, place.join(within));
            }
        }
    }

    /// Removes the variables whose names a predicate does not accept.
    pub(crate) fn retain(&mut self, accept: impl Fn(&OsStr) -> bool) {
        self.variables.retain(|name, _| accept(name));
    }

    /// Returns the value of `name`.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Returns all variables, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Returns whether a variable of this name is likely to hold a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || name
            .split('_')
            .any(|word| word.ends_with("KEY") || word.ends_with("KEYS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(names: &[&str]) -> Vec<(OsString, OsString)> {
        names
            .iter()
            .map(|name| (OsString::from(name), OsString::from("x")))
            .collect()
    }

    #[test]
    fn only_listed_names_pass() {
        let env = Environment::from_base(base(&["PATH", "LC_ALL", "LD_PRELOAD", "RUST_LOG"]));
        let names: Vec<_> = env.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }

    #[test]
    fn names_that_look_like_secrets_are_known() {
        let names = [
            "OPENAI_API_KEY",
            "APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "GH_TOKEN",
            "PGPASSWORD",
            "client_secret",
            "LC_TOKEN",
            "GOOGLE_CREDENTIALS",
            "SIGNING_KEYS",
        ];
        for name in names {
            assert!(looks_secret(name), "{name}");
        }
        assert_eq!(Environment::from_base(base(&["LC_TOKEN"])), Environment::empty());
    }

    #[test]
    fn a_value_set_on_purpose_passes() {
        let mut env = Environment::empty();
        env.set("SERVICE_TOKEN", "t");
        assert_eq!(env.get("SERVICE_TOKEN"), Some(OsStr::new("t")));
    }
}
