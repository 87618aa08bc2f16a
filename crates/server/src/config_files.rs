//! Changes of the configuration files by clients, and their immediate effects.
//!
//! A client acts for the server's user, so its settings are trusted in the workspace's file too. An address and its
//! key are written together into the user's own file. No workspace's file has a key or decides where one is sent.

mod layers;
mod providers;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bobbin_agent::Helpers;
use bobbin_agent_api::ConfigValueNews;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_agent_api::workspace_config::{
    ConfigChange, ConfigChangeError, ConfigField, ConfigReading, ConfigSection, ConfigValues, ConfigWrite,
    ConfigWriteError, ConfigWritten, ProviderChange, WorkspaceConfig,
};
use bobbin_config::Config;
use bobbin_core::Threads;
use bobbin_models::CurrentModels;
use bobbin_models::settings::is_built_in;
use bobbin_settings::{FILE, edit};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::trust::TrustFile;
use crate::{config, models};

/// The method that changes settings.
const SOURCE: &str = "workspace/config/update";

type Name = &'static [&'static str];
const MODEL: Name = &["Model"];
const API_KEY: Name = &["ApiKey"];
const END_POINT: Name = &["EndPoint"];
const WELCOME: Name = &["WelcomeSuggestions", "Enabled"];
const SELF_LEARNING: Name = &["Skills", "SelfLearning", "Enabled"];
const CONSOLIDATE: Name = &["Memory", "AutoConsolidateEnabled"];
const POLICY: Name = &["Permissions", "DefaultApprovalPolicy"];

/// The configuration files of a served workspace.
pub(crate) struct ConfigFiles {
    place: Place,
    threads: Weak<Threads>,
    models: CurrentModels,
    helpers: Helpers,
    /// Whether other machines reach the server.
    is_remote: AtomicBool,
    /// Locked while files are changed and take effect.
    changing: tokio::sync::Mutex<()>,
}

/// The paths of the files, and the record of trust.
#[derive(Clone)]
struct Place {
    root: PathBuf,
    home: Option<PathBuf>,
    trust: TrustFile,
    /// The providers and MCP servers of the editor that started the server, which no file has.
    editors_options: Option<(Map<String, Value>, Map<String, Value>)>,
}

impl ConfigFiles {
    /// Returns the files of a workspace and the parts that a change affects.
    pub(crate) fn new(
        home: Option<&Path>,
        trust: TrustFile,
        threads: &Arc<Threads>,
        (models, helpers): (&CurrentModels, &Helpers),
        config: &Config,
    ) -> Self {
        Self {
            place: Place {
                root: trust.root().to_owned(),
                home: home.map(Path::to_owned),
                trust,
                editors_options: config.editors_options.clone(),
            },
            threads: Arc::downgrade(threads),
            models: models.clone(),
            helpers: helpers.clone(),
            is_remote: AtomicBool::new(false),
            changing: tokio::sync::Mutex::default(),
        }
    }

    /// Hides keys from clients that have not just set them, since other machines can reach the server.
    pub(crate) fn hide_keys(&self) {
        self.is_remote.store(true, Ordering::Relaxed);
    }

    /// Applies the settings that need no restart.
    fn apply(&self, config: &Config) -> Result<(), ConfigChangeError> {
        let opened = models::open(
            &config.models,
            self.place.home.as_deref(),
            config.agent.compact_percent,
        );
        let opened = opened.map_err(|error| ConfigChangeError::Unusable(format!("{error:#}")))?;
        self.models.replace(opened.models);
        self.helpers.set_welcome(config.agent.welcome);
        if let Some(threads) = self.threads.upgrade() {
            let policy = &threads.settings().approval_policy;
            policy.set(
                config.permissions.approval_policy,
                config.permissions.is_policy_set,
            );
        }
        Ok(())
    }
}

impl Place {
    fn own(&self) -> PathBuf {
        let own = self.home.as_deref().map(edit::users_file);
        own.unwrap_or_else(|| self.folders())
    }

    /// Returns the workspace's file. In a workspace that is the user's home, it is the user's own.
    fn folders(&self) -> PathBuf {
        if self.home.as_ref() == Some(&self.root) {
            return edit::users_file(&self.root);
        }
        self.root.join(FILE)
    }

    /// Writes the settings of a change. Returns the regions that have changed.
    fn write(&self, change: &ConfigChange) -> anyhow::Result<Vec<&'static str>> {
        let text =
            |value: &Option<Option<String>>| value.as_ref().map(|value| value.clone().map(Value::from));
        let flag = |value: Option<Option<bool>>| value.map(|value| value.map(Value::from));
        let policy = change
            .default_approval_policy
            .map(|policy| policy.map(Value::from));
        let chosen = if change.for_all_folders {
            self.own()
        } else {
            self.folders()
        };
        let settings = [
            (chosen.clone(), MODEL, text(&change.model), "workspace.model"),
            (self.own(), API_KEY, text(&change.api_key), "workspace.apiKey"),
            (
                self.own(),
                END_POINT,
                text(&change.end_point),
                "workspace.endpoint",
            ),
            (
                self.folders(),
                WELCOME,
                flag(change.welcome_suggestions),
                "welcomeSuggestions",
            ),
            (
                self.folders(),
                SELF_LEARNING,
                flag(change.skills_self_learning),
                "skills",
            ),
            (
                self.folders(),
                CONSOLIDATE,
                flag(change.memory_auto_consolidate),
                "memory",
            ),
            (chosen, POLICY, policy, "workspace.defaultApprovalPolicy"),
        ];
        let mut regions = Vec::new();
        if let Some(provider) = &change.provider
            && self.write_provider(provider)?
        {
            regions.push("workspace.providers");
        }
        for (file, name, value, region) in settings {
            if let Some(value) = value
                && edit::set(&file, &[(name, value)])?
            {
                regions.push(region);
            }
        }
        let provider_key = change
            .provider
            .as_ref()
            .and_then(|provider| provider.api_key.as_ref());
        if provider_key.is_some() || matches!(change.api_key, Some(Some(_))) {
            // A key counts only in a file that nobody else can read.
            std::fs::set_permissions(self.own(), std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(regions)
    }

    /// Writes a provider into the user's own file. Returns whether the file has changed.
    fn write_provider(&self, provider: &ProviderChange) -> anyhow::Result<bool> {
        let name = provider.name.as_str();
        let at = |member: &'static str| ["Providers", name, member];
        let (wire, address) = (at("Wire"), at("BaseUrl"));
        let keys = [at("ApiKey"), at("ApiKeyEnv"), at("ApiKeyFile")];
        let mut changes: Vec<(&[&str], Option<Value>)> = Vec::new();
        if let Some(said) = provider.wire {
            changes.push((&wire, Some(said.name().into())));
        }
        if let Some(said) = &provider.base_url {
            changes.push((&address, Some(said.clone().into())));
        }
        // A key is only sent to the address that it was set for.
        if provider.api_key.is_some() || provider.base_url.is_some() {
            let given = provider.api_key.clone().map(Value::from);
            changes.extend(keys.iter().map(|name| (name.as_slice(), None)));
            changes.push((&keys[0], given));
        }
        edit::set(&self.own(), &changes)
    }

    /// Trusts the settings that a client has written into the workspace's file, and returns the new configuration.
    fn trusted(&self, regions: &[&str]) -> anyhow::Result<Config> {
        let config = config::read_with(&self.root, self.home.as_deref(), &self.trust.read())?;
        let is_set = |item: &&TrustItem| {
            let region = match item.name.as_str() {
                "Model" => "workspace.model",
                "WelcomeSuggestions.Enabled" => "welcomeSuggestions",
                "Permissions.DefaultApprovalPolicy" => "workspace.defaultApprovalPolicy",
                _ => return false,
            };
            item.kind == TrustKind::Setting && regions.contains(&region)
        };
        let set = config.folder_items.iter().filter(is_set);
        let set: Vec<&str> = set.filter_map(|item| item.fingerprint.as_deref()).collect();
        if set.is_empty() {
            return Ok(config);
        }
        let record = self
            .trust
            .change(|record| set.iter().for_each(|set| record.add(set)))?;
        config::read_with(&self.root, self.home.as_deref(), &record)
    }

    /// Returns the values of the workspace's file, else of the user's own.
    fn values(&self) -> anyhow::Result<ConfigValues> {
        let of = |name: Name| -> anyhow::Result<Option<Value>> {
            match edit::get(&self.folders(), name)? {
                Some(value) => Ok(Some(value)),
                None => edit::get(&self.own(), name),
            }
        };
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let flag = |value: Option<Value>| value.and_then(|value| value.as_bool());
        Ok(ConfigValues {
            model: text(of(MODEL)?),
            api_key: text(edit::get(&self.own(), API_KEY)?),
            end_point: text(edit::get(&self.own(), END_POINT)?),
            welcome_suggestions: flag(of(WELCOME)?),
            skills_self_learning: flag(of(SELF_LEARNING)?),
            memory_auto_consolidate: flag(of(CONSOLIDATE)?),
            default_approval_policy: text(of(POLICY)?),
        })
    }

    /// Returns every setting with its value: the workspace's if it counts, else the user's own.
    fn sections(&self) -> Vec<ConfigSection> {
        let config = config::read_with(&self.root, self.home.as_deref(), &self.trust.read());
        let items = config.map(|config| config.folder_items).unwrap_or_default();
        let waits = |name: &str| items.iter().any(|item| !item.trusted && item.name == name);
        let mut sections = bobbin_config::sections();
        for section in &mut sections {
            for field in section.fields.iter_mut().filter(|field| is_shown(field)) {
                let name: Vec<&str> = section
                    .path
                    .iter()
                    .map(String::as_str)
                    .chain(field.key.split('.'))
                    .collect();
                // No workspace decides where a server listens and where keys are sent.
                let is_own = matches!(name[0], "AppServer" | "Hub" | "EndPoint");
                let folders = if is_own || waits(&name.join(".")) {
                    None
                } else {
                    edit::get(&self.folders(), &name).ok().flatten()
                };
                field.value = folders.or_else(|| edit::get(&self.own(), &name).ok().flatten());
            }
        }
        sections
    }

    /// Writes a change, and restores both files if the result cannot be used.
    fn change(
        &self,
        change: &ConfigChange,
    ) -> Result<(Config, ConfigValues, Vec<&'static str>), ConfigChangeError> {
        let address = |name: &str, address: &str| {
            let wrong = |why| ConfigChangeError::Unusable(format!("{name} {why}"));
            bobbin_models::base_url(address).map(drop).map_err(wrong)
        };
        if let Some(Some(end_point)) = &change.end_point {
            address("EndPoint", end_point)?;
        }
        if let Some(provider) = &change.provider {
            let unusable = |why: &str| Err(ConfigChangeError::Unusable(why.to_owned()));
            match &provider.base_url {
                Some(base_url) if !is_built_in(&provider.name) => address("'provider.baseUrl'", base_url)?,
                // Its key would be sent to another address.
                Some(_) => return unusable("'provider.baseUrl' must be left out for a built-in provider."),
                None => {}
            }
        }
        let cannot = |error: anyhow::Error| ConfigChangeError::Unwritable(format!("{error:#}"));
        // A file that cannot be read is not changed.
        let before = [self.folders(), self.own()].map(|path| (edit::text(&path), path));
        let made = self.write(change).map_err(cannot).and_then(|regions| {
            let config = self.trusted(&regions);
            let config = config.map_err(|error| ConfigChangeError::Unusable(format!("{error:#}")))?;
            Ok((config, self.values().map_err(cannot)?, regions))
        });
        if made.is_err() {
            for (text, path) in before {
                restore(&path, text);
            }
        }
        made
    }
}

/// Writes settings into the configuration files of a workspace and trusts them, as `workspace/config/update` does in
/// a server.
///
/// # Errors
/// The result cannot be used, or a file cannot be written. The files are unchanged then.
pub fn change(
    root: &Path,
    home: Option<&Path>,
    trust: TrustFile,
    change: &ConfigChange,
) -> anyhow::Result<()> {
    let place = Place {
        root: root.to_owned(),
        home: home.map(Path::to_owned),
        trust,
        editors_options: None,
    };
    place.change(change)?;
    Ok(())
}

/// As [`change`], and creates the workspace's file if it is missing.
///
/// # Errors
/// As [`change`].
pub fn set_up(
    root: &Path,
    home: Option<&Path>,
    trust: TrustFile,
    change: &ConfigChange,
) -> anyhow::Result<()> {
    let place = Place {
        root: root.to_owned(),
        home: home.map(Path::to_owned),
        trust,
        editors_options: None,
    };
    place.change(change)?;
    if !place.folders().exists() {
        edit::replace(&place.folders(), b"{}\n")?;
    }
    Ok(())
}

/// Writes or removes one setting, named as `Section.Member`, and returns the file. With `in_folder` it is the
/// workspace's file, where the user then trusts the setting; else the user's own.
///
/// # Errors
/// The setting does not exist, the value cannot be used, or the file cannot be written. The file is unchanged then.
pub fn set(
    root: &Path,
    home: Option<&Path>,
    trust: TrustFile,
    in_folder: bool,
    name: &str,
    value: Option<Value>,
) -> anyhow::Result<PathBuf> {
    let place = Place {
        root: root.to_owned(),
        home: home.map(Path::to_owned),
        trust,
        editors_options: None,
    };
    let file = if in_folder { place.folders() } else { place.own() };
    let read = || config::read_with(root, home, &place.trust.read());
    let known = read().map(|config| config.warnings).unwrap_or_default();
    let before = edit::text(&file);
    let names: Vec<&str> = name.split('.').collect();
    edit::set(&file, &[(&names, value)])?;
    let config = read().and_then(|config| {
        let new = config.warnings.iter().find(|warning| !known.contains(warning));
        match new {
            Some(warning) => anyhow::bail!("{warning}"),
            None => Ok(config),
        }
    });
    let config = config.inspect_err(|_| restore(&file, before))?;
    if in_folder {
        let is_it = |item: &&TrustItem| {
            item.kind == TrustKind::Setting && !item.trusted && item.name.eq_ignore_ascii_case(name)
        };
        let set = config.folder_items.iter().filter(is_it);
        let set: Vec<&str> = set.filter_map(|item| item.fingerprint.as_deref()).collect();
        place
            .trust
            .change(|record| set.iter().for_each(|set| record.add(set)))?;
    }
    Ok(file)
}

/// Restores the text that a file had before a failed change.
fn restore(file: &Path, before: anyhow::Result<Option<String>>) {
    let restored = match before {
        Ok(Some(text)) => edit::replace(file, text.as_bytes()),
        Ok(None) => std::fs::remove_file(file).or_else(as_removed).map_err(Into::into),
        Err(_) => Ok(()),
    };
    if let Err(error) = restored {
        tracing::warn!(%error, "a configuration file is not as it was before a change that failed");
    }
}

/// Whether clients see the value of a setting. Objects can contain variables and headers of programs.
fn is_shown(field: &ConfigField) -> bool {
    !field.sensitive && !matches!(field.kind, "json" | "keyValueMap")
}

/// Treats a missing file as removed.
fn as_removed(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Ok(());
    }
    Err(error)
}

impl WorkspaceConfig for ConfigFiles {
    fn schema(&self) -> BoxFuture<'_, Vec<ConfigSection>> {
        let place = self.place.clone();
        async move {
            let filled = tokio::task::spawn_blocking(move || place.sections()).await;
            filled.unwrap_or_else(|_| bobbin_config::sections())
        }
        .boxed()
    }

    fn update(&self, change: ConfigChange) -> BoxFuture<'_, Result<ConfigValues, ConfigChangeError>> {
        async move {
            let _changing = self.changing.lock().await;
            let sets_key = matches!(change.api_key, Some(Some(_)));
            let place = self.place.clone();
            let changed = tokio::task::spawn_blocking(move || place.change(&change)).await;
            let (config, mut values, regions) =
                changed.unwrap_or_else(|error| Err(ConfigChangeError::Unwritable(error.to_string())))?;
            self.apply(&config)?;
            if !regions.is_empty()
                && let Some(threads) = self.threads.upgrade()
            {
                threads.broadcasts().send(
                    ConfigValueNews {
                        source: SOURCE,
                        keys: regions.iter().map(|region| key(region).to_owned()).collect(),
                        regions: regions.into_iter().map(str::to_owned).collect(),
                    },
                    0,
                );
            }
            if self.is_remote.load(Ordering::Relaxed) && !sets_key {
                values.api_key = None;
            }
            Ok(values)
        }
        .boxed()
    }

    fn read(&self) -> BoxFuture<'_, Result<ConfigReading, String>> {
        let place = self.place.clone();
        async move {
            let read = tokio::task::spawn_blocking(move || place.reading()).await;
            let read = read.map_err(|error| error.to_string())?;
            read.map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }

    fn write(&self, write: ConfigWrite) -> BoxFuture<'_, Result<ConfigWritten, ConfigWriteError>> {
        async move {
            let _changing = self.changing.lock().await;
            let source = write.source;
            let (place, is_remote) = (self.place.clone(), self.is_remote.load(Ordering::Relaxed));
            let written = tokio::task::spawn_blocking(move || place.write_values(&write, is_remote)).await;
            let (config, written, keys) =
                written.unwrap_or_else(|error| Err(ConfigWriteError::Unwritable(error.to_string())))?;
            if let Some(config) = config {
                let applied = self.apply(&config);
                applied.map_err(|error| ConfigWriteError::Invalid(error.to_string()))?;
            }
            if !keys.is_empty()
                && let Some(threads) = self.threads.upgrade()
            {
                let regions = keys.iter().map(|key| match key.as_str() {
                    key if key.eq_ignore_ascii_case("Model") => "workspace.model".to_owned(),
                    key => key.to_owned(),
                });
                let regions = regions.collect();
                threads.broadcasts().send(
                    ConfigValueNews {
                        source,
                        regions,
                        keys,
                    },
                    0,
                );
            }
            Ok(written)
        }
        .boxed()
    }
}

/// Returns the path of what a region of `workspace/config/update` names; providers have a word.
fn key(region: &str) -> &str {
    match region {
        "workspace.model" => "Model",
        "workspace.apiKey" => "ApiKey",
        "workspace.endpoint" => "EndPoint",
        "workspace.defaultApprovalPolicy" => "Permissions.DefaultApprovalPolicy",
        "workspace.providers" => "providers",
        "welcomeSuggestions" => "WelcomeSuggestions.Enabled",
        "skills" => "Skills.SelfLearning.Enabled",
        "memory" => "Memory.AutoConsolidateEnabled",
        other => other,
    }
}
