//! The section `Plugins` of configuration files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bobbin_settings::Source;
use schemars::JsonSchema;
use serde::Deserialize;

/// Most folders that a file names.
const MAX_ROOTS: usize = 32;

/// Plugins: where they are, and which are disabled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-unread" = ["EnabledPlugins"]))]
pub struct Section {
    /// Plugins that bring nothing, by their ids.
    #[serde(default)]
    disabled_plugins: Vec<String>,
    /// Folders of plugins beside `.craft/plugins` of the workspace and `~/.craft/plugins`: one plugin each, or with a folder for each plugin.
    #[serde(default)]
    plugin_roots: Vec<String>,
    /// Folders of the catalogue, whose plugins clients can install; those of the variable `DOTCRAFT_BUILTIN_PLUGIN_ROOTS` are added.
    #[serde(default)]
    builtin_roots: Vec<String>,
}

/// The settings of plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginSettings {
    /// Further folders of plugins.
    pub roots: Vec<PathBuf>,
    /// Folders of the catalogue of plugins that can be installed.
    pub catalogue: Vec<PathBuf>,
    /// Plugins that the user's own file disables.
    pub disabled_by_user: BTreeSet<String>,
    /// Plugins that the workspace's file disables.
    pub disabled: BTreeSet<String>,
}

impl PluginSettings {
    /// Adds the settings of a file. Any file may disable plugins.
    pub fn add(&mut self, section: Section, source: &mut Source<'_>) {
        let disabled = section.disabled_plugins.into_iter();
        let disabled = disabled.map(|id| canonical(&id).to_owned());
        if source.is_of_folder() {
            self.disabled.extend(disabled);
        } else {
            self.disabled_by_user.extend(disabled);
        }
        let (root, home) = (source.root, source.home);
        let folders = |named: Vec<String>| {
            let named = named.into_iter().take(MAX_ROOTS);
            named.map(move |text| match (text.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => root.join(text),
            })
        };
        if !section.plugin_roots.is_empty() && source.passes("Plugins.PluginRoots") {
            self.roots.extend(folders(section.plugin_roots));
        }
        if !section.builtin_roots.is_empty() && source.passes("Plugins.BuiltinRoots") {
            self.catalogue.extend(folders(section.builtin_roots));
        }
    }
}

/// Returns the id that clients and files mean; one plugin has been renamed (AppServer protocol 05 §5).
pub(crate) fn canonical(id: &str) -> &str {
    match id.trim() {
        "node-repl" => "browser-use",
        id => id,
    }
}
