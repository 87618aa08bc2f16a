//! `runtime.json`: the tools that a client brings along for servers, such as a Node for built-in channels.
//!
//! A request gives them, the file remembers them for the next Hub, and servers get them as variables at their start.

use std::path::{Path, PathBuf};

use bobbin_workspace::write_small;
use serde::Serialize;
use serde_json::Value;

use crate::wire::{ServiceState, ServiceStatus};

/// Name of their service in the status of a server.
pub(crate) const TYPESCRIPT_RUNTIME: &str = "typescriptRuntime";

const NAME: &str = "runtime.json";
/// Most of the file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Most folders of plugins.
const MAX_ROOTS: usize = 32;

/// Tools for servers. All paths are absolute, and were there when they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuntimeTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    ripgrep_path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_bin: Option<PathBuf>,
    /// Whether the program at `node_bin` is another one that can be a Node, as Electron.
    node_run_as_node: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modules_dir: Option<PathBuf>,
    built_in_plugin_roots: Vec<PathBuf>,
}

impl RuntimeTools {
    /// Reads the tools that a client or the file names. A path that is relative or not there is ignored.
    pub(crate) fn of(given: &Value) -> Self {
        let path = |name: &str| given[name].as_str().and_then(existing);
        let flag = &given["nodeRunAsNode"];
        let roots = match &given["builtInPluginRoots"] {
            Value::String(all) => std::env::split_paths(all).collect(),
            Value::Array(all) => all
                .iter()
                .filter_map(|one| one.as_str().map(PathBuf::from))
                .collect(),
            _ => Vec::new(),
        };
        Self {
            ripgrep_path: path("ripgrepPath"),
            node_bin: path("nodeBin"),
            node_run_as_node: flag
                .as_bool()
                .unwrap_or_else(|| matches!(flag.as_str(), Some("1" | "true"))),
            modules_dir: path("modulesDir"),
            built_in_plugin_roots: roots.into_iter().filter_map(existing).take(MAX_ROOTS).collect(),
        }
    }

    /// Reads the file. Without one, or with a broken one, there are no tools.
    pub(crate) fn read(directory: &Path) -> Self {
        let text = bobbin_files::read_text(&directory.join(NAME), MAX_BYTES).unwrap_or_default();
        Self::of(&serde_json::from_str(&text).unwrap_or_default())
    }

    /// Writes the file.
    pub(crate) fn write(&self, directory: &Path) {
        let written = serde_json::to_vec_pretty(self).map_err(|error| error.to_string());
        let written = written
            .and_then(|text| write_small(&directory.join(NAME), &text).map_err(|error| error.to_string()));
        if let Err(error) = written {
            tracing::warn!(%error, "the next Hub does not know the tools that a client has named");
        }
    }

    /// Returns the variables of a server.
    pub(crate) fn variables(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let paths = [
            ("DOTCRAFT_RG_PATH", &self.ripgrep_path),
            ("DOTCRAFT_NODE_BIN", &self.node_bin),
            ("DOTCRAFT_MODULES_DIR", &self.modules_dir),
        ];
        let paths = paths
            .into_iter()
            .filter_map(|(name, path)| Some((name, path.as_ref()?.into())));
        let mut variables: Vec<_> = paths.collect();
        if self.node_run_as_node {
            variables.push(("DOTCRAFT_NODE_RUN_AS_NODE", "1".into()));
        }
        if let Ok(roots) = std::env::join_paths(&self.built_in_plugin_roots)
            && !roots.is_empty()
        {
            variables.push(("DOTCRAFT_BUILTIN_PLUGIN_ROOTS", roots));
        }
        variables
    }

    /// Returns the status of a server that runs with these, while clients have named `wanted`.
    pub(crate) fn status(&self, wanted: &Self) -> ServiceStatus {
        let (state, reason) = if self != wanted {
            let reason = "The server runs with other tools than a client has named; restart it.";
            (ServiceState::RestartRequired, Some(reason))
        } else if self.modules_dir.is_none() {
            (
                ServiceState::Unavailable,
                Some("No client has named a folder of modules."),
            )
        } else {
            (ServiceState::Allocated, None)
        };
        ServiceStatus {
            state,
            url: None,
            reason: reason.map(str::to_owned),
        }
    }
}

/// Returns a path if it is absolute and there. A colon would split it where servers read several.
fn existing(path: impl Into<PathBuf>) -> Option<PathBuf> {
    let path = path.into();
    let can_be_listed = !path.as_os_str().as_encoded_bytes().contains(&b':');
    (path.is_absolute() && can_be_listed && path.exists()).then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_absolute_paths_that_are_there_become_variables() {
        let home = tempfile::tempdir().unwrap();
        let (one, two, colon) = (
            home.path().join("one"),
            home.path().join("two"),
            home.path().join("a:b"),
        );
        for folder in [&one, &two, &colon] {
            std::fs::create_dir(folder).unwrap();
        }
        let given = json!({
            "ripgrepPath": one, "nodeBin": home.path().join("gone"), "modulesDir": "usr", "nodeRunAsNode": true,
            "builtInPluginRoots": [one, 7, "etc", colon, two], "defaultPluginRegistryUrl": "https://tea.example",
        });
        let tools = RuntimeTools::of(&given);
        let joined = format!("{}:{}", one.display(), two.display());
        let expected = [
            ("DOTCRAFT_RG_PATH", one.clone().into_os_string()),
            ("DOTCRAFT_NODE_RUN_AS_NODE", "1".into()),
            ("DOTCRAFT_BUILTIN_PLUGIN_ROOTS", joined.clone().into()),
        ];
        assert_eq!(tools.variables(), expected);
        tools.write(home.path());
        assert_eq!(RuntimeTools::read(home.path()), tools);
        let text = json!({ "builtInPluginRoots": joined, "nodeRunAsNode": "1", "ripgrepPath": one });
        assert_eq!(RuntimeTools::of(&text), tools);
        std::fs::remove_dir(&two).unwrap();
        assert_ne!(RuntimeTools::read(home.path()), tools, "gone since");
        for broken in [
            json!(null),
            json!([1]),
            json!({ "nodeBin": 7, "nodeRunAsNode": {} }),
        ] {
            assert_eq!(RuntimeTools::of(&broken), RuntimeTools::default());
        }
        assert_eq!(RuntimeTools::default().variables(), []);
    }
}
