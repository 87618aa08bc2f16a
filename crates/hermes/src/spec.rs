//! The configuration of an extension, and its process. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_children::{Environment, ProcessSpec};
use bobbin_hl7::Shape;
use bobbin_supervise::Confine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Version of the extensions' protocol.
pub(crate) const API_VERSION: &str = "1.0";

/// A Hermes extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "PascalCase"))]
pub struct Entry {
    /// The program. Without `Args`, a command line, which is split as a shell splits it.
    pub path: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables that are set for it. It gets no secret of Bobbin's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// A label.
    pub name: Option<String>,
    /// How JSON, YAML and TOML of messages are laid out for it.
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
    /// The path is empty, or has a quote without an end. The text is a sentence for the user.
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

/// Context in which extensions run.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Working directory.
    pub cwd: PathBuf,
    /// The variables that every extension gets.
    pub environment: Environment,
    /// Directory with the data directory of each extension.
    pub data: PathBuf,
    /// Version of Hermes that extensions see.
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
    /// Its id, a hash of path, arguments and position.
    pub id: ExtensionId,
    /// Its entry in the configuration.
    pub entry: Entry,
    /// Its process; an error is a sentence for the user.
    pub launch: Result<ProcessSpec, String>,
    /// The sandbox of its process; `None` if it runs without one.
    pub sandbox: Option<Arc<dyn Confine>>,
    /// Runs before each start.
    pub check: Option<StartCheck>,
    pub(crate) data: PathBuf,
    pub(crate) version: &'static str,
}

impl ExtensionSpec {
    /// Makes the spec of an entry; `position` is its position in the list.
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
    /// Returns its data directory, which it may write and which is made before its start.
    pub fn data(&self) -> &Path {
        &self.data
    }
}

/// Returns the id. It depends on the position, since entries with the same path both run.
fn id(entry: &Entry, position: usize) -> ExtensionId {
    let mut hash = Sha256::new();
    for part in std::iter::once(&entry.path).chain(&entry.args) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.update(position.to_le_bytes());
    ExtensionId(format!("ext-{}", hex::encode(&hash.finalize()[..8])).into())
}
