//! Which servers of which workspaces a person has allowed to run.
//!
//! Kept in the user's home, where no repository can write, in a file that only the user may read. What is kept of a
//! server is a hash of the workspace and of the whole definition: any change of its command, arguments, variables
//! or address has to be allowed anew. At most [`MAX_KEPT`] a workspace; the oldest go.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bobbin_core::tool_server::ToolServerConfig;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{declared, edit};
use crate::config::MAX_CONFIG_BYTES;

/// Most definitions kept of one workspace.
const MAX_KEPT: usize = 128;

/// The file of what is allowed.
#[derive(Debug, Clone)]
pub(super) struct Allowed {
    /// `None` without a home: nothing is remembered then.
    path: Option<PathBuf>,
    root: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Fingerprints by workspace, oldest first.
    #[serde(rename = "toolServers", default)]
    tool_servers: BTreeMap<String, Vec<String>>,
}

impl Allowed {
    pub(super) fn new(home: Option<&Path>, root: &Path) -> Self {
        Self {
            path: home.map(|home| home.join(".craft/bobbin-allowed.json")),
            root: root.to_owned(),
        }
    }

    /// Returns what stands for a definition in this workspace.
    pub(super) fn fingerprint(&self, config: &ToolServerConfig) -> String {
        let mut hash = Sha256::new();
        hash.update(self.root.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(declared::definition(config).to_string());
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Whether exactly this definition was allowed here. A file that cannot be read allows nothing.
    pub(super) fn has(&self, config: &ToolServerConfig) -> bool {
        let kept = self.read().unwrap_or_else(|error| {
            tracing::warn!(error = format!("{error:#}"), "what is allowed cannot be read");
            Kept::default()
        });
        let own = kept.tool_servers.get(&self.key());
        own.is_some_and(|kept| kept.contains(&self.fingerprint(config)))
    }

    /// Allows a definition from now on.
    ///
    /// # Errors
    /// It cannot be written down.
    pub(super) fn allow(&self, config: &ToolServerConfig) -> anyhow::Result<()> {
        self.change(
            |kept, fingerprint| {
                kept.retain(|known| *known != fingerprint);
                kept.push(fingerprint);
                let excess = kept.len().saturating_sub(MAX_KEPT);
                kept.drain(..excess);
            },
            config,
        )
    }

    /// Takes that back.
    ///
    /// # Errors
    /// It cannot be written down.
    pub(super) fn revoke(&self, config: &ToolServerConfig) -> anyhow::Result<()> {
        self.change(
            |kept, fingerprint| kept.retain(|known| *known != fingerprint),
            config,
        )
    }

    fn change(
        &self,
        with: impl FnOnce(&mut Vec<String>, String),
        config: &ToolServerConfig,
    ) -> anyhow::Result<()> {
        let path = self
            .path
            .as_ref()
            .context("there is no home directory to remember it in")?;
        let mut kept = self.read()?;
        let own = kept.tool_servers.entry(self.key()).or_default();
        with(own, self.fingerprint(config));
        kept.tool_servers.retain(|_, kept| !kept.is_empty());
        let text = serde_json::to_string_pretty(&kept).context("what is allowed cannot be written")?;
        edit::write(path, &(text + "\n"))
    }

    fn read(&self) -> anyhow::Result<Kept> {
        let Some(path) = &self.path else {
            return Ok(Kept::default());
        };
        match bobbin_files::read_text(path, MAX_CONFIG_BYTES) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Kept::default()),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }

    fn key(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(command: &str, enabled: bool) -> ToolServerConfig {
        let section = json!({ "pantry": { "command": command, "enabled": enabled } });
        declared::read(&section, &mut Vec::new()).remove(0)
    }

    #[test]
    fn exactly_what_was_allowed_is_allowed() {
        let home = tempfile::tempdir().unwrap();
        let here = Allowed::new(Some(home.path()), Path::new("/srv/tea"));
        assert!(!here.has(&server("pantry", true)));
        here.allow(&server("pantry", true)).unwrap();
        assert!(here.has(&server("pantry", true)) && here.has(&server("pantry", false)));
        assert!(!here.has(&server("other", true)));
        assert!(!Allowed::new(Some(home.path()), Path::new("/srv/rum")).has(&server("pantry", true)));
        here.revoke(&server("pantry", true)).unwrap();
        assert!(!here.has(&server("pantry", true)));
    }

    #[test]
    fn only_the_user_may_read_the_file_and_a_damaged_one_allows_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let here = Allowed::new(Some(home.path()), Path::new("/srv/tea"));
        here.allow(&server("pantry", true)).unwrap();
        let path = home.path().join(".craft/bobbin-allowed.json");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        std::fs::write(&path, "nonsense").unwrap();
        assert!(!here.has(&server("pantry", true)));
        assert!(here.allow(&server("pantry", true)).is_err());
        assert!(
            Allowed::new(None, Path::new("/srv/tea"))
                .allow(&server("pantry", true))
                .is_err()
        );
    }
}
