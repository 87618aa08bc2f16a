//! The plugins of a running workspace: what they bring is put into effect here, and clients manage them.
//!
//! Nothing is remembered of the disk between two requests: each looks again, so a folder that its user has changed counts
//! or waits from then on. Changes are made one at a time, and in effect before they are answered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::ConfigNews;
use bobbin_core::Broadcasts;
use bobbin_hooks::Hook;
use bobbin_mcp::settings::DeclaredServer;
use bobbin_prompts::{PluginTexts, Prompts};
use bobbin_settings::{FILE, edit, folder_digest};
use bobbin_workspace::{TrustFile, TrustRecord};
use serde_json::{Value, json};

use crate::discovery::{self, Choice, Found, Place};
use crate::settings::{PluginSettings, canonical};
use crate::{install, manifest};

/// Reads what the configuration says now. Blocks on the disk.
pub type ReadSettings = Box<dyn Fn(&TrustRecord) -> anyhow::Result<PluginSettings> + Send + Sync>;

/// Takes what plugins bring.
pub trait Effects: Send + Sync + 'static {
    /// Replaces the MCP servers of plugins. Returns whether anything is different now.
    fn set_servers(&self, servers: Vec<DeclaredServer>) -> bool;

    /// Replaces the hooks of plugins.
    fn set_hooks(&self, hooks: Vec<Hook>);

    /// Whether the configuration has an MCP server of this name.
    fn has_server(&self, name: &str) -> bool;
}

/// The result of a change.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) found: Found,
    /// Whether MCP servers are different now.
    pub(crate) servers_too: bool,
}

/// The plugins of a workspace.
pub struct Plugins {
    place: Place,
    trust: TrustFile,
    settings: ReadSettings,
    prompts: Arc<Prompts>,
    effects: Arc<dyn Effects>,
    broadcasts: Broadcasts,
    /// Locked while plugins are changed or put into effect.
    changing: parking_lot::Mutex<()>,
}

impl Plugins {
    /// Returns the plugins of a workspace. What they bring is in effect once [`Plugins::refresh`] was called.
    pub fn new(
        place: Place,
        trust: TrustFile,
        settings: ReadSettings,
        prompts: Arc<Prompts>,
        effects: Arc<dyn Effects>,
        broadcasts: Broadcasts,
    ) -> Self {
        Self {
            place,
            trust,
            settings,
            prompts,
            effects,
            broadcasts,
            changing: parking_lot::Mutex::default(),
        }
    }

    /// Puts into effect what counts now. Blocks on the disk.
    pub fn refresh(&self) {
        let _changing = self.changing.lock();
        self.apply(&self.find());
    }

    pub(crate) fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    pub(crate) fn has_server(&self, name: &str) -> bool {
        self.effects.has_server(name)
    }

    /// Looks for plugins, and puts into effect what counts now. Blocks on the disk.
    pub(crate) fn look(&self) -> Found {
        let _changing = self.changing.lock();
        let found = self.find();
        self.apply(&found);
        found
    }

    fn find(&self) -> Found {
        let record = self.trust.read();
        let settings = (self.settings)(&record).unwrap_or_else(|error| {
            tracing::warn!(
                error = format!("{error:#}"),
                "what is said of plugins cannot be read"
            );
            PluginSettings::default()
        });
        discovery::find(&self.place, &settings, &record)
    }

    /// Puts into effect what plugins bring. Returns whether MCP servers are different now.
    fn apply(&self, found: &Found) -> bool {
        let counting = || found.plugins.iter().filter(|plugin| plugin.counts());
        let texts: Vec<PluginTexts> = counting().map(|plugin| plugin.manifest.texts.clone()).collect();
        self.prompts.set_plugins(&texts);
        let hooks = counting().flat_map(|plugin| plugin.hooks().collect::<Vec<_>>());
        self.effects.set_hooks(hooks.collect());
        let servers = counting().flat_map(|plugin| plugin.servers().collect::<Vec<_>>());
        self.effects.set_servers(servers.collect())
    }

    /// Makes a change and puts it into effect. Blocks on the disk.
    fn change(&self, change: impl FnOnce(&Found) -> Result<(), String>) -> Result<Changed, String> {
        let _changing = self.changing.lock();
        change(&self.find())?;
        let found = self.find();
        let servers_too = self.apply(&found);
        Ok(Changed { found, servers_too })
    }

    /// Notifies all clients of a change that a method has made.
    pub(crate) fn notify(&self, source: &'static str, servers_too: bool) {
        let mut regions = vec!["plugins", "skills"];
        if servers_too {
            regions.push("mcp");
        }
        self.broadcasts.send(ConfigNews { source, regions }, 0);
    }

    /// Installs a plugin of the catalogue and enables it.
    pub(crate) fn install(&self, id: &str) -> Result<Changed, String> {
        self.change(|found| {
            let known = found.find(id).filter(|plugin| plugin.removable);
            let Some(plugin) = found.in_catalogue(id) else {
                return match known {
                    // Installed already: it is enabled, and nothing else.
                    Some(_) => self.enable(id, true),
                    None => Err(format!(
                        "Plugin '{id}' is not in the catalogue of built-in plugins."
                    )),
                };
            };
            self.install_from(id, &plugin.root)
        })
    }

    /// Installs the plugin in a folder and enables it. Returns its id too.
    pub(crate) fn install_folder(&self, path: &Path, id: Option<&str>) -> Result<(Changed, String), String> {
        let root = path.canonicalize();
        let root = root.map_err(|error| format!("{} cannot be installed: {error}.", path.display()))?;
        let mut problems = Vec::new();
        let Some(manifest) = manifest::read(&root, &mut problems) else {
            let why = problems.first().map_or_else(
                || "it has no .craft-plugin/plugin.json and no .claude-plugin/plugin.json.".to_owned(),
                |problem| problem.message.clone(),
            );
            return Err(format!("{} is no plugin: {why}", path.display()));
        };
        if let Some(other) = id.filter(|id| *id != manifest.id) {
            return Err(format!(
                "{} is the plugin '{}', not '{other}'.",
                path.display(),
                manifest.id
            ));
        }
        if root.starts_with(self.place.installed()) {
            return Err("The folder is where plugins are installed.".to_owned());
        }
        let id = manifest.id;
        let changed = self.change(|_| self.install_from(&id, &root))?;
        Ok((changed, id))
    }

    fn install_from(&self, id: &str, root: &Path) -> Result<(), String> {
        install::install(&self.place, id, root)?;
        // The user who installs it has chosen this content.
        let digest = folder_digest(&self.place.installed().join(id))?;
        self.record(|record| record.add(&digest))?;
        self.enable(id, true)
    }

    /// Removes an installed plugin.
    pub(crate) fn remove(&self, id: &str) -> Result<Changed, String> {
        self.change(|found| {
            let plugin = found
                .find(id)
                .ok_or_else(|| format!("Plugin '{id}' is not installed."))?;
            if !plugin.removable {
                return Err(format!(
                    "Plugin '{id}' was not installed from here, so it is not removed. Its folder is {}.",
                    plugin.root.display()
                ));
            }
            install::remove(&self.place, id)?;
            if let Some(digest) = &plugin.digest {
                self.record(|record| record.remove(digest))?;
            }
            self.write_disabled(id, false)
        })
    }

    /// Enables or disables an installed plugin.
    pub(crate) fn set_enabled(&self, id: &str, enabled: bool) -> Result<Changed, String> {
        self.change(|found| {
            let plugin = found
                .find(id)
                .ok_or_else(|| format!("Plugin '{id}' is not installed."))?;
            if enabled && plugin.choice == Choice::DisabledByUser {
                return Err(format!(
                    "Plugin '{id}' is disabled in your own ~/.craft/config.json: enable it there."
                ));
            }
            self.enable(id, enabled)
        })
    }

    fn enable(&self, id: &str, enabled: bool) -> Result<(), String> {
        self.write_disabled(id, !enabled)
    }

    fn record(&self, change: impl FnOnce(&mut TrustRecord)) -> Result<(), String> {
        let changed = self.trust.change(change);
        changed.map(drop).map_err(|error| format!("{error}."))
    }

    /// Writes into the workspace's configuration whether a plugin is disabled.
    fn write_disabled(&self, id: &str, disabled: bool) -> Result<(), String> {
        const NAMES: &[&str] = &["Plugins", "DisabledPlugins"];
        let file: PathBuf = self.place.root.join(FILE);
        let write = || {
            let known = edit::get(&file, NAMES)?;
            let known = known.as_ref().and_then(Value::as_array).into_iter().flatten();
            let mut ids: Vec<&str> = known
                .filter_map(Value::as_str)
                .filter(|known| canonical(known) != id)
                .collect();
            if disabled {
                ids.push(id);
            }
            let value = (!ids.is_empty()).then(|| json!(ids));
            edit::set(&file, &[(NAMES, value)])
        };
        write().map(drop).map_err(|error| format!("{error:#}."))
    }
}

#[cfg(test)]
#[path = "plugins_tests.rs"]
mod tests;
