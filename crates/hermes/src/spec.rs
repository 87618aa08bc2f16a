//! What the configuration says of an extension, and what is started for it. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_children::{Environment, ProcessSpec};
use bobbin_hl7::Shape;
use bobbin_supervise::Confine;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of the protocol of extensions.
pub(crate) const API_VERSION: &str = "1.0";

/// An entry of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The program. Without `args`, a command line: it is split as a shell splits it, and no shell runs.
    pub path: String,
    /// Arguments. With them, `path` is taken as it is.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables beside those that every extension gets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether it is started. Default true.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// A label for users.
    #[serde(default)]
    pub name: Option<String>,
    /// The layout of messages in JSON, YAML and TOML that it gets.
    #[serde(default)]
    pub shape: Shape,
}

const fn yes() -> bool {
    true
}

impl Entry {
    /// Returns the program and its arguments.
    ///
    /// # Errors
    /// The path is empty, or has a quote without an end: a sentence for the user.
    pub fn command_line(&self) -> Result<Vec<String>, String> {
        let words = if self.args.is_empty() {
            let words = shell_words::split(&self.path);
            words.map_err(|_| "its path has a quote without an end; close it".to_owned())?
        } else {
            [std::slice::from_ref(&self.path), &self.args].concat()
        };
        if words.first().is_none_or(String::is_empty) {
            return Err("it has no path; name the program to start".to_owned());
        }
        Ok(words)
    }
}

/// The id of an extension: `ext-` and 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ExtensionId(Arc<str>);

impl ExtensionId {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ExtensionId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ExtensionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where extensions run.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The directory that they start in.
    pub cwd: PathBuf,
    /// The variables that every extension gets.
    pub environment: Environment,
    /// The directory below which each extension has its own.
    pub data: PathBuf,
    /// The version that they are given as that of Hermes.
    pub version: &'static str,
}

/// Checks whether an extension may be started; an error is a sentence for the user. May block.
#[derive(Clone)]
pub struct StartCheck(pub Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl fmt::Debug for StartCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartCheck")
    }
}

/// An extension to run.
#[derive(Debug, Clone)]
pub struct ExtensionSpec {
    /// Its id, which follows from path, arguments and position.
    pub id: ExtensionId,
    /// What the configuration says.
    pub entry: Entry,
    /// How it is started, or why not: a sentence for the user.
    pub launch: Result<ProcessSpec, String>,
    /// Confines its process; `None` for one that nothing confines.
    pub sandbox: Option<Arc<dyn Confine>>,
    /// Checked before each start.
    pub check: Option<StartCheck>,
    pub(crate) data: PathBuf,
    pub(crate) version: &'static str,
}

impl ExtensionSpec {
    /// Returns what to run for the entry at a position of the list.
    pub fn new(entry: Entry, position: usize, place: &Surroundings) -> Self {
        let id = id(&entry, position);
        let data = place.data.join(id.as_str());
        let launch = entry.command_line().map(|mut words| {
            let mut environment = place.environment.clone();
            for (name, value) in &entry.env {
                environment.set(name, value);
            }
            environment.set("HERMES_VERSION", place.version);
            environment.set("HERMES_API_VERSION", API_VERSION);
            environment.set("HERMES_DATA_DIR", &data);
            let program = words.remove(0);
            ProcessSpec::new(program, &place.cwd, environment).args(words)
        });
        Self {
            id,
            entry,
            launch,
            sandbox: None,
            check: None,
            data,
            version: place.version,
        }
    }
}

impl ExtensionSpec {
    /// Returns the directory that it may write, which is made before its start.
    pub fn data(&self) -> &Path {
        &self.data
    }
}

/// Entries with one path both run, so the position counts too.
fn id(entry: &Entry, position: usize) -> ExtensionId {
    let mut hash = Sha256::new();
    for part in std::iter::once(&entry.path).chain(&entry.args) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.update(position.to_le_bytes());
    ExtensionId(format!("ext-{}", hex::encode(&hash.finalize()[..8])).into())
}
