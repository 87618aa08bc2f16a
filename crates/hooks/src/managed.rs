//! The hooks of a workspace as their user sees, trusts and switches them.
//!
//! Each request reads the files anew, and what they say is in effect then. Trust and switches are in the user's record about
//! the workspace, where no repository can write: trust is about the content of a hook, a switch about its command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::ConfigNews;
use bobbin_agent_api::trust::TrustNews;
use bobbin_core::Broadcasts;
use bobbin_settings::{FILE, edit, of_setting};
use bobbin_workspace::{TrustFile, TrustRecord, WorkspaceError};
use serde_json::{Value, json};

use crate::HookRunner;
use crate::group::wire::{
    HookExecution, HookFileError, HookHandler, HookInfo, HookSource, HookTrust, HooksListResult,
};
use crate::settings::{Hook, HookOrigin, read};

/// The hooks of an installed plugin.
#[derive(Debug)]
pub struct PluginHooks {
    /// The plugin's id.
    pub id: String,
    /// Its folder.
    pub root: PathBuf,
    /// Whether its user has enabled it.
    pub enabled: bool,
    /// Whether its user trusts its present content.
    pub trusted: bool,
    /// The digest of its content, if it lies in the workspace.
    pub digest: Option<String>,
    /// Its hooks, in the order of its file.
    pub hooks: Vec<Hook>,
}

/// Reads and changes what belongs to other features. All methods block on the disk.
pub trait HookSources: Send + Sync + 'static {
    /// Returns the hooks of the configuration that count.
    ///
    /// # Errors
    /// The configuration cannot be read.
    fn configured(&self, record: &TrustRecord) -> anyhow::Result<Vec<Hook>>;

    /// Returns the hooks of all installed plugins.
    fn plugins(&self) -> Vec<PluginHooks>;

    /// Trusts the present content of a plugin.
    ///
    /// # Errors
    /// A sentence for the user: it is not installed, or that cannot be written.
    fn trust_plugin(&self, id: &str) -> Result<(), String>;
}

/// Why hooks were not changed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// No hook has the key.
    #[error("there is no hook '{0}'; `hooks/list` has those of today")]
    Unknown(String),
    /// The hook is another one than the user has seen.
    #[error("the hook '{0}' has changed since it was shown; list the hooks again")]
    Changed(String),
    /// The plugin is not trusted.
    #[error("{0}")]
    Plugin(String),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] WorkspaceError),
}

/// The folders of hooks.
#[derive(Debug, Clone)]
pub struct Place {
    /// The workspace.
    pub root: PathBuf,
    /// The user's home; a workspace there has the user's own hooks only.
    pub home: Option<PathBuf>,
}

/// The hooks of a workspace. All methods block on the disk.
pub struct ManagedHooks {
    place: Place,
    trust: TrustFile,
    runner: Arc<HookRunner>,
    sources: Box<dyn HookSources>,
    broadcasts: Broadcasts,
    /// Locked while hooks are read and put into effect.
    changing: parking_lot::Mutex<()>,
}

/// A hook that was found.
struct FoundHook {
    info: HookInfo,
    hook: Hook,
    /// The fingerprint of the record that makes it trusted: of the hook, or of its whole plugin. `None` if it needs none.
    fingerprint: Option<String>,
}

/// Everything that was found.
#[derive(Default)]
struct Found {
    hooks: Vec<FoundHook>,
    warnings: Vec<String>,
    errors: Vec<HookFileError>,
}

impl Found {
    /// Adds the hooks of a plugin.
    fn add_plugin(&mut self, plugin: PluginHooks, record: &TrustRecord) {
        for (index, hook) in plugin.hooks.into_iter().enumerate() {
            let Some(fingerprint) = hook.fingerprint(&plugin.root) else {
                continue;
            };
            let trust = trust(plugin.trusted, &hook, record);
            let info = info(
                &hook,
                plugin_key(&plugin.id, index),
                (HookSource::Plugin, trust),
                record,
            );
            // Trust is about the whole plugin.
            let content = json!([fingerprint, plugin.digest]);
            let info = HookInfo {
                source_path: plugin.root.display().to_string(),
                enabled: info.enabled && plugin.enabled,
                current_hash: format!("sha256:{}", of_setting("PluginHook", &content)),
                plugin_id: Some(plugin.id.clone()),
                ..info
            };
            self.hooks.push(FoundHook {
                info,
                hook,
                fingerprint: plugin.digest.clone(),
            });
        }
    }

    fn result(self) -> HooksListResult {
        HooksListResult {
            hooks: self.hooks.into_iter().map(|found| found.info).collect(),
            warnings: self.warnings,
            errors: self.errors,
        }
    }
}

impl ManagedHooks {
    /// Returns the hooks of a workspace. Those that are switched off do not run from then on.
    pub fn new(
        place: Place,
        trust: TrustFile,
        runner: Arc<HookRunner>,
        sources: Box<dyn HookSources>,
        broadcasts: Broadcasts,
    ) -> Self {
        runner.set_off(trust.read().switched_off());
        Self {
            place,
            trust,
            runner,
            sources,
            broadcasts,
            changing: parking_lot::Mutex::new(()),
        }
    }

    /// Lists all hooks.
    pub(crate) fn list(&self) -> HooksListResult {
        let _changing = self.changing.lock();
        self.look(&self.trust.read()).result()
    }

    /// Switches a hook, and trusts it if `hash` is that of its present content.
    ///
    /// # Errors
    /// [`HookError`]. Nothing has changed then.
    pub(crate) fn set_state(
        &self,
        key: &str,
        enabled: Option<bool>,
        hash: Option<&str>,
    ) -> Result<HooksListResult, HookError> {
        let _changing = self.changing.lock();
        let before = self.look(&self.trust.read());
        let known = before.hooks.iter().find(|found| found.info.key == key);
        let found = known.ok_or_else(|| HookError::Unknown(key.to_owned()))?;
        if hash.is_some_and(|hash| hash != found.info.current_hash) {
            return Err(HookError::Changed(key.to_owned()));
        }
        let trusted = found.fingerprint.as_deref().filter(|_| hash.is_some());
        let switch = found.hook.switch();
        let record = self.trust.change(|record| {
            if let Some(fingerprint) = trusted {
                record.add(fingerprint);
                // So that it is known as changed once it is another one.
                record.add(&switch);
            }
            if let Some(on) = enabled {
                record.switch(&switch, on);
            }
        })?;
        if trusted.is_some() {
            let trusted = record.trusted;
            self.broadcasts.send(TrustNews { trusted }, 0);
        }
        Ok(self.look(&record).result())
    }

    /// Trusts the present content of a plugin, and with it its hooks.
    ///
    /// # Errors
    /// [`HookError::Plugin`].
    pub(crate) fn trust_plugin(&self, id: &str) -> Result<HooksListResult, HookError> {
        let _changing = self.changing.lock();
        self.sources.trust_plugin(id).map_err(HookError::Plugin)?;
        Ok(self.look(&self.trust.read()).result())
    }

    /// Notifies all clients of a change.
    pub(crate) fn notify(&self, source: &'static str) {
        let regions = vec!["hooks"];
        self.broadcasts.send(ConfigNews { source, regions }, 0);
    }

    /// Reads all hooks and puts into effect what counts.
    fn look(&self, record: &TrustRecord) -> Found {
        let mut found = Found::default();
        if let Some(home) = &self.place.home {
            self.file(&edit::users_file(home), HookSource::User, record, &mut found);
        }
        if self.place.home.as_deref() != Some(&*self.place.root) {
            self.file(
                &self.place.root.join(FILE),
                HookSource::Workspace,
                record,
                &mut found,
            );
        }
        for plugin in self.sources.plugins() {
            found.add_plugin(plugin, record);
        }
        for (order, hook) in found.hooks.iter_mut().enumerate() {
            hook.info.display_order = order;
        }
        self.runner.set_off(record.switched_off());
        match self.sources.configured(record) {
            Ok(hooks) => self.runner.set_configured(hooks),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "hooks stay as they were"),
        }
        found
    }

    /// Adds the hooks of a configuration file.
    fn file(&self, path: &Path, source: HookSource, record: &TrustRecord, found: &mut Found) {
        let is_users = source == HookSource::User;
        let mut failed = |message: String| {
            let path = Some(path.display().to_string());
            found.errors.push(HookFileError { message, path });
        };
        let section = match edit::get(path, &["Hooks"]) {
            Ok(Some(Value::Object(section))) => section,
            Ok(Some(_)) => return failed("'Hooks' is no object of lists by event.".to_owned()),
            Ok(None) => return,
            Err(error) => return failed(format!("{error:#}.")),
        };
        let hooks = read(section, path, is_users || record.trusted, &mut found.warnings);
        let owner = if is_users { "user" } else { "workspace" };
        for (index, hook) in hooks.into_iter().enumerate() {
            let Some(fingerprint) = hook.fingerprint(&self.place.root) else {
                continue;
            };
            let origin = if is_users {
                HookOrigin::User
            } else {
                HookOrigin::Workspace(None)
            };
            let hook = Hook { origin, ..hook };
            let trust = trust(is_users || record.has(&fingerprint), &hook, record);
            let info = HookInfo {
                source_path: path.display().to_string(),
                current_hash: format!("sha256:{fingerprint}"),
                ..info(&hook, format!("{owner}:{index}"), (source, trust), record)
            };
            let fingerprint = (!is_users).then_some(fingerprint);
            found.hooks.push(FoundHook {
                info,
                hook,
                fingerprint,
            });
        }
    }
}

/// Returns the key of a plugin's hook.
pub fn plugin_key(plugin: &str, index: usize) -> String {
    format!("plugin:{plugin}:{index}")
}

/// Returns the state of a hook. One that is not trusted has changed if another content with its command line was, or has come
/// or changed since the folder was trusted as a whole.
fn trust(is_trusted: bool, hook: &Hook, record: &TrustRecord) -> HookTrust {
    if is_trusted {
        HookTrust::Trusted
    } else if record.trusted || record.has(&hook.switch()) {
        HookTrust::Modified
    } else {
        HookTrust::Untrusted
    }
}

/// Returns a hook for clients. Its path and its digest depend on the owner.
fn info(
    hook: &Hook,
    key: String,
    (source, trust_status): (HookSource, HookTrust),
    record: &TrustRecord,
) -> HookInfo {
    HookInfo {
        key,
        event_name: hook.event.name().to_owned(),
        handler_type: HookHandler::Command,
        timeout_sec: hook.timeout.as_secs_f64(),
        execution_mode: HookExecution::Sync,
        async_rewake: false,
        source,
        source_path: String::new(),
        display_order: 0,
        enabled: !record.switched_off().contains(&hook.switch()),
        is_managed: false,
        current_hash: String::new(),
        trust_status,
        matcher: hook.matcher.clone(),
        command: hook.command.clone().ok(),
        plugin_id: None,
    }
}
