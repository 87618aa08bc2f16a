//! The plugins of a running workspace: what they bring is put into effect here, and clients manage them.
//!
//! Nothing is remembered of the disk between two requests: each looks again, so a folder that its user has changed counts
//! or waits from then on. Changes are made one at a time, and in effect before they are answered.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::{Clock as _, ConfigNews, SystemClock};
use bobbin_core::Broadcasts;
use bobbin_hooks::{Hook, PluginHooks};
use bobbin_mcp::settings::DeclaredServer;
use bobbin_model::UnixMillis;
use bobbin_prompts::{PluginTexts, Prompts};
use bobbin_settings::{FILE, edit, folder_digest};
use bobbin_workspace::{TrustFile, TrustRecord};
use serde_json::{Value, json};

use crate::discovery::{self, Choice, Found, Place, Plugin};
use crate::group::wire::PluginSource;
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
    pub(crate) snapshot: Snapshot,
}

/// The number of a state of all plugins, and the plugins that differ from the state before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) changed: Vec<String>,
}

/// The newest state of all plugins that was seen.
#[derive(Debug, Default)]
struct Seen {
    revision: u64,
    /// A digest of each plugin, by its id. `None` before the first look.
    plugins: Option<BTreeMap<String, u64>>,
}

impl Seen {
    /// Notes what was found. The first numbers are times, so that they grow over restarts, too.
    fn note(&mut self, found: &Found, now: UnixMillis) -> Snapshot {
        let digest = |plugin: &Plugin| {
            let mut hasher = DefaultHasher::new();
            format!("{plugin:?}").hash(&mut hasher);
            (plugin.manifest.id.clone(), hasher.finish())
        };
        let all: BTreeMap<_, _> = found.plugins.iter().chain(&found.catalogue).map(digest).collect();
        let Some(before) = self.plugins.replace(all.clone()) else {
            self.revision = u64::try_from(now.0).unwrap_or_default();
            return Snapshot {
                revision: self.revision,
                changed: Vec::new(),
            };
        };
        let ids: BTreeSet<&String> = all.keys().chain(before.keys()).collect();
        let is_different = |id: &&String| all.get(*id) != before.get(*id);
        let changed: Vec<String> = ids.into_iter().filter(is_different).cloned().collect();
        self.revision += u64::from(!changed.is_empty());
        Snapshot {
            revision: self.revision,
            changed,
        }
    }
}

/// Broadcast: plugins have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginNews(pub(crate) Snapshot);

/// The plugins of a workspace.
pub struct Plugins {
    place: Place,
    trust: TrustFile,
    settings: ReadSettings,
    prompts: Arc<Prompts>,
    effects: Arc<dyn Effects>,
    broadcasts: Broadcasts,
    /// Locked while plugins are changed or put into effect.
    changing: parking_lot::Mutex<Seen>,
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
        self.look();
    }

    /// Returns the hooks of all installed plugins, in use or not. Blocks on the disk.
    pub fn hooks(&self) -> Vec<PluginHooks> {
        let (found, _) = self.look();
        let hooks = found.plugins.iter().map(|plugin| PluginHooks {
            id: plugin.manifest.id.clone(),
            root: plugin.root.clone(),
            enabled: plugin.enabled(),
            trusted: plugin.trusted,
            digest: plugin.digest.clone(),
            hooks: plugin.hooks().collect(),
        });
        hooks.filter(|plugin| !plugin.hooks.is_empty()).collect()
    }

    /// Trusts the present content of a plugin, and notifies all clients. Blocks on the disk.
    ///
    /// # Errors
    /// A sentence for the user: it is not installed, or that cannot be written.
    pub fn trust(&self, id: &str) -> Result<(), String> {
        if let Some(changed) = self.set_trusted(canonical(id), true)? {
            self.notify(
                crate::group::PLUGIN_SET_TRUSTED,
                changed.servers_too,
                changed.snapshot,
            );
        }
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.place.root
    }

    pub(crate) fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    pub(crate) fn has_server(&self, name: &str) -> bool {
        self.effects.has_server(name)
    }

    /// Looks for plugins, and puts into effect what counts now. Returns the number of this state, too. Blocks on the disk.
    pub(crate) fn look(&self) -> (Found, u64) {
        let mut seen = self.changing.lock();
        let found = self.find();
        self.apply(&found);
        let snapshot = seen.note(&found, SystemClock.now());
        let revision = snapshot.revision;
        self.notify_of(snapshot);
        (found, revision)
    }

    /// Notifies all clients of plugins that have changed.
    fn notify_of(&self, snapshot: Snapshot) {
        if !snapshot.changed.is_empty() {
            self.broadcasts.send(PluginNews(snapshot), 0);
        }
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
        let mut seen = self.changing.lock();
        let before = self.find();
        self.notify_of(seen.note(&before, SystemClock.now()));
        change(&before)?;
        let found = self.find();
        let servers_too = self.apply(&found);
        let snapshot = seen.note(&found, SystemClock.now());
        Ok(Changed {
            found,
            servers_too,
            snapshot,
        })
    }

    /// Notifies all clients of a change that a method has made.
    pub(crate) fn notify(&self, source: &'static str, servers_too: bool, snapshot: Snapshot) {
        let mut regions = vec!["plugins", "skills"];
        if servers_too {
            regions.push("mcp");
        }
        // Trust is no part of the configuration.
        if source != crate::group::PLUGIN_SET_TRUSTED {
            self.broadcasts.send(ConfigNews { source, regions }, 0);
        }
        self.notify_of(snapshot);
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

    /// Installs a new plugin from a folder and enables it. Returns its id too.
    pub(crate) fn install_new(&self, path: &Path, for_user: bool) -> Result<(Changed, String), String> {
        let (root, id) = self.read_folder(path)?;
        let changed = self.change(|found| {
            if let Some(other) = found.find(&id) {
                return Err(format!(
                    "Plugin '{id}' is there already, in {}.",
                    other.root.display()
                ));
            }
            if !for_user || self.place.is_home() {
                return self.install_from(&id, &root);
            }
            let home = self
                .place
                .home
                .clone()
                .ok_or("This server has no home of a user.")?;
            let place = Place {
                root: home,
                home: None,
            };
            install::install(&place, &id, &root)?;
            self.enable(&id, true)
        })?;
        Ok((changed, id))
    }

    /// Changes whether the user trusts the present content of a plugin of the workspace. Returns `None` for a plugin that
    /// needs no trust.
    pub(crate) fn set_trusted(&self, id: &str, trusted: bool) -> Result<Option<Changed>, String> {
        let mut needs_none = false;
        let changed = self.change(|found| {
            let plugin = found
                .find(id)
                .ok_or_else(|| format!("Plugin '{id}' is not installed."))?;
            match &plugin.digest {
                Some(digest) if trusted => self.record(|record| record.add(digest)),
                Some(digest) => self.record(|record| record.remove(digest)),
                None => {
                    needs_none = true;
                    Ok(())
                }
            }
        })?;
        Ok((!needs_none).then_some(changed))
    }

    /// Reads the plugin in a folder. Returns the whole path and the id.
    fn read_folder(&self, path: &Path) -> Result<(PathBuf, String), String> {
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
        if root.starts_with(self.place.installed()) {
            return Err("The folder is where plugins are installed.".to_owned());
        }
        Ok((root, manifest.id))
    }

    /// Installs the plugin in a folder and enables it. Returns its id too.
    pub(crate) fn install_folder(&self, path: &Path, id: Option<&str>) -> Result<(Changed, String), String> {
        let (root, found) = self.read_folder(path)?;
        if let Some(other) = id.filter(|id| *id != found) {
            return Err(format!(
                "{} is the plugin '{found}', not '{other}'.",
                path.display()
            ));
        }
        let id = found;
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
            let home = self.place.home.clone();
            let place = match plugin.source {
                PluginSource::UserGlobal => {
                    home.map_or_else(|| self.place.clone(), |root| Place { root, home: None })
                }
                _ => self.place.clone(),
            };
            install::remove(&place, id)?;
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
