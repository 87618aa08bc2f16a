//! Finds the plugins of a workspace and its user, and says which of them count.
//!
//! In this order, the first of one id counts: `.craft/plugins` of the workspace, folders of the configuration,
//! `~/.craft/plugins`. Blocks on the disk; starts nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_hooks::{Hook, HookOrigin};
use bobbin_mcp::settings::DeclaredServer;
use bobbin_settings::{PluginFolder, folder_digest};
use bobbin_workspace::TrustRecord;

use crate::group::wire::{DiagnosticSeverity, PluginDiagnostic, PluginSource};
use crate::manifest::{self, Manifest};
use crate::settings::PluginSettings;

/// The folder of plugins in a workspace or a home.
const FOLDER: &str = ".craft/plugins";
/// The file that marks a folder that the server installed, and may remove.
pub(crate) const MARKER: &str = ".builtin";
/// Most folders of one place that are examined.
const MAX_PLUGINS: usize = 256;

/// A workspace and its user.
#[derive(Debug, Clone)]
pub struct Place {
    /// The workspace's folder, canonical.
    pub root: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
}

impl Place {
    /// Returns where plugins are installed.
    pub(crate) fn installed(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// Whether the workspace is the user's home.
    pub(crate) fn is_home(&self) -> bool {
        self.home.as_deref() == Some(&self.root)
    }
}

/// The configuration's choice about a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Enabled,
    Disabled,
    /// The user's own file disables it, which clients do not write.
    DisabledByUser,
}

/// A plugin that was found.
#[derive(Debug, Clone)]
pub(crate) struct Plugin {
    pub(crate) manifest: Manifest,
    pub(crate) source: PluginSource,
    /// Its folder, canonical.
    pub(crate) root: PathBuf,
    pub(crate) choice: Choice,
    /// Whether it has the marker and lies where plugins are installed.
    pub(crate) removable: bool,
    /// The digest of its content, if it lies in the workspace.
    pub(crate) digest: Option<String>,
    /// Whether its user's word covers it.
    pub(crate) trusted: bool,
    pub(crate) diagnostics: Vec<PluginDiagnostic>,
}

impl Plugin {
    pub(crate) fn enabled(&self) -> bool {
        self.choice == Choice::Enabled
    }

    /// Whether it brings what it has.
    pub(crate) fn counts(&self) -> bool {
        self.enabled() && self.trusted && self.source != PluginSource::Builtin
    }

    fn folder(&self) -> PluginFolder {
        PluginFolder {
            root: self.root.clone(),
            digest: self.digest.clone(),
        }
    }

    /// Returns its hooks.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = Hook> {
        let origin = HookOrigin::Plugin(self.manifest.id.clone(), self.folder());
        let hooks = self.manifest.hooks.iter().cloned();
        hooks.map(move |hook| Hook {
            origin: origin.clone(),
            ..hook
        })
    }

    /// Returns its MCP servers as the configuration has servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = DeclaredServer> {
        let folder = self.folder();
        let servers = self.manifest.servers.iter().cloned();
        servers.map(move |config| DeclaredServer::of_plugin(config, folder.clone()))
    }

    /// Returns it as a thing that waits for its user's word or has it. A disabled one needs none.
    fn item(&self) -> Option<TrustItem> {
        let fingerprint = self.digest.clone().filter(|_| self.enabled())?;
        let mut parts: Vec<String> = self
            .servers()
            .map(|server| format!("the MCP server {} {}", server.config.name, server.what_runs()))
            .collect();
        let hooks = self.manifest.hooks.iter();
        parts.extend(
            hooks.filter_map(|hook| Some(format!("the hook {} {}", hook.event.name(), hook.what_runs()?))),
        );
        let texts = &self.manifest.texts;
        if !texts.skills.is_empty() || !texts.commands.is_empty() {
            parts.push("brings skills and commands".to_owned());
        }
        Some(TrustItem {
            kind: TrustKind::Server,
            name: format!("the plugin {}", self.manifest.id),
            detail: parts.join("; "),
            fingerprint: Some(fingerprint),
            trusted: self.trusted,
        })
    }
}

/// The plugins and diagnostics of one discovery.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The installed plugins, by precedence.
    pub(crate) plugins: Vec<Plugin>,
    /// The plugins of the catalogue that are not installed.
    pub(crate) catalogue: Vec<Plugin>,
    /// The errors of folders that are no plugin.
    pub(crate) diagnostics: Vec<PluginDiagnostic>,
}

impl Found {
    pub(crate) fn find(&self, id: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.manifest.id == id)
    }

    pub(crate) fn in_catalogue(&self, id: &str) -> Option<&Plugin> {
        self.catalogue.iter().find(|plugin| plugin.manifest.id == id)
    }
}

/// Returns the plugins of the workspace that wait for their user's word, or have it. Blocks on the disk.
pub fn trust_items(place: &Place, settings: &PluginSettings, record: &TrustRecord) -> Vec<TrustItem> {
    let found = find(place, settings, record);
    found.plugins.iter().filter_map(Plugin::item).collect()
}

/// Returns what is wrong with plugins that are not disabled, and with folders that are none. Blocks on the disk.
pub(crate) fn problems(
    place: &Place,
    settings: &PluginSettings,
    record: &TrustRecord,
) -> Vec<PluginDiagnostic> {
    let found = find(place, settings, record);
    let enabled = found.plugins.into_iter().filter(Plugin::enabled);
    let of_plugins = enabled.flat_map(|plugin| plugin.diagnostics);
    found.diagnostics.into_iter().chain(of_plugins).collect()
}

/// Finds all plugins.
pub(crate) fn find(place: &Place, settings: &PluginSettings, record: &TrustRecord) -> Found {
    let mut scan = Scan {
        place,
        settings,
        record,
        seen: BTreeSet::new(),
        found: Found::default(),
    };
    scan.folder(&place.installed(), PluginSource::Workspace);
    for root in &settings.roots {
        scan.named_folder(root, PluginSource::Explicit);
    }
    if let Some(home) = place.home.as_ref().filter(|_| !place.is_home()) {
        scan.folder(&home.join(FOLDER), PluginSource::UserGlobal);
    }
    for root in &settings.catalogue {
        scan.named_folder(root, PluginSource::Builtin);
    }
    scan.found
}

struct Scan<'a> {
    place: &'a Place,
    settings: &'a PluginSettings,
    record: &'a TrustRecord,
    seen: BTreeSet<String>,
    found: Found,
}

impl Scan<'_> {
    /// Adds what is in a folder that the configuration names: one plugin, or some.
    fn named_folder(&mut self, folder: &Path, source: PluginSource) {
        if !folder.is_dir() {
            let message = "The folder of plugins is not there.".to_owned();
            let diagnostic = diagnostic(DiagnosticSeverity::Warning, "PluginRootMissing", message, folder);
            self.found.diagnostics.push(diagnostic);
        } else if manifest::is_plugin(folder) {
            self.plugin(folder, source);
        } else {
            self.folder(folder, source);
        }
    }

    /// Adds the plugins in a folder.
    fn folder(&mut self, folder: &Path, source: PluginSource) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let entries = entries.flatten().map(|entry| entry.path());
        let is_hidden = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        };
        let entries = entries.filter(|path| !is_hidden(path) && path.is_dir());
        let mut folders: Vec<PathBuf> = entries.take(MAX_PLUGINS).collect();
        folders.sort();
        for folder in folders {
            if manifest::is_plugin(&folder) {
                self.plugin(&folder, source);
            }
        }
    }

    fn plugin(&mut self, folder: &Path, source: PluginSource) {
        let Ok(root) = folder.canonicalize() else {
            return;
        };
        let mut diagnostics = Vec::new();
        let Some(manifest) = manifest::read(&root, &mut diagnostics) else {
            self.found.diagnostics.extend(diagnostics);
            return;
        };
        let id = manifest.id.clone();
        if !self.seen.insert(id.to_lowercase()) {
            // An installed plugin of the catalogue is expected there.
            if source != PluginSource::Builtin {
                let message = format!("Another plugin '{id}' has precedence; this one is not used.");
                let mut duplicate =
                    diagnostic(DiagnosticSeverity::Warning, "DuplicatePluginId", message, &root);
                duplicate.plugin_id = Some(id);
                self.found.diagnostics.push(duplicate);
            }
            return;
        }
        let installed = match (source, &self.place.home) {
            (PluginSource::Workspace, _) => Some(self.place.installed()),
            (PluginSource::UserGlobal, Some(home)) => Some(home.join(FOLDER)),
            _ => None,
        };
        let choice = if self.settings.disabled_by_user.contains(&id) && !self.place.is_home() {
            Choice::DisabledByUser
        } else if self.settings.disabled.contains(&id) || self.settings.disabled_by_user.contains(&id) {
            Choice::Disabled
        } else {
            Choice::Enabled
        };
        let mut plugin = Plugin {
            choice,
            removable: folder.parent() == installed.as_deref() && folder.join(MARKER).is_file(),
            digest: None,
            trusted: true,
            manifest,
            source,
            root,
            diagnostics,
        };
        if source == PluginSource::Builtin {
            plugin.choice = Choice::Disabled;
            self.found.catalogue.push(plugin);
            return;
        }
        self.judge(&mut plugin);
        self.found.plugins.push(plugin);
    }

    /// Says whether the user's word covers a plugin: where the workspace can write it, only as far as its content is known.
    fn judge(&self, plugin: &mut Plugin) {
        let is_workspaces =
            plugin.source == PluginSource::Workspace || plugin.root.starts_with(&self.place.root);
        if !is_workspaces || self.place.is_home() {
            return;
        }
        let (code, message) = match folder_digest(&plugin.root) {
            Ok(digest) => {
                plugin.trusted = self.record.has(&digest);
                plugin.digest = Some(digest);
                let message = "The plugin lies in the workspace, and you have not trusted its present content: nothing of it \
                               is used. `bobbin trust` shows it.";
                ("PluginNotTrusted", message.to_owned())
            }
            Err(why) => {
                plugin.trusted = false;
                (
                    "PluginUnreadable",
                    format!("Nothing of the plugin is used: {why}."),
                )
            }
        };
        if !plugin.trusted {
            let mut diagnostic = diagnostic(DiagnosticSeverity::Warning, code, message, &plugin.root);
            diagnostic.plugin_id = Some(plugin.manifest.id.clone());
            plugin.diagnostics.push(diagnostic);
        }
    }
}

fn diagnostic(severity: DiagnosticSeverity, code: &str, message: String, path: &Path) -> PluginDiagnostic {
    PluginDiagnostic {
        severity,
        code: code.to_owned(),
        message,
        plugin_id: None,
        path: Some(path.to_string_lossy().into_owned()),
    }
}
