//! Reads and writes of single members of the configuration files. A write is checked as a whole; the file is restored
//! if a secret, an invalid value or an unknown name would be in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bobbin_agent_api::workspace_config::{
    ConfigLayer, ConfigOwner, ConfigReading, ConfigWrite, ConfigWriteError, ConfigWritten,
};
use bobbin_config::Config;
use bobbin_config::layers::{
    self, Known, counting, leaves, masked, member, merge, reserved, secrets, version,
};
use bobbin_settings::{FILE, edit};
use serde_json::{Map, Value};

use super::{MODEL, POLICY, Place, WELCOME, restore};
use crate::{config, models};

/// A file, and the members of it that count.
struct Layer {
    owner: ConfigOwner,
    file: PathBuf,
    whole: Value,
    counts: Value,
}

impl Layer {
    fn shown(&self) -> ConfigLayer {
        ConfigLayer {
            owner: self.owner,
            file: self.file.clone(),
            version: version(&self.whole),
            config: masked(&self.whole),
        }
    }
}

/// A change of a file by its path from the top.
type Change = (Vec<String>, Option<Value>);

impl Place {
    /// Returns the files: the user's first.
    fn layers(&self) -> anyhow::Result<Vec<Layer>> {
        let config = config::read_with(&self.root, self.home.as_deref(), &self.trust.read());
        let mut found = Vec::new();
        if self.home.is_some() {
            let whole = value(&self.own())?;
            found.push(Layer {
                owner: ConfigOwner::User,
                file: self.own(),
                counts: whole.clone(),
                whole,
            });
        }
        if self.home.as_ref() != Some(&self.root) {
            // Any author can break a workspace's file.
            let whole = value(&self.folders()).unwrap_or_else(|_| Value::Object(Map::new()));
            let counts = match &config {
                Ok(config) if config.sources.contains(&self.root.join(FILE)) => {
                    let of_others = |fingerprint: &Option<String>| {
                        fingerprint
                            .as_ref()
                            .is_some_and(|one| config.brought_items.contains(one))
                    };
                    let items = config.folder_items.iter();
                    let items = items.filter(|item| !item.trusted && !of_others(&item.fingerprint));
                    counting(&whole, items.map(|item| item.name.as_str()))
                }
                _ => Value::Object(Map::new()),
            };
            found.push(Layer {
                owner: ConfigOwner::Workspace,
                file: self.folders(),
                whole,
                counts,
            });
        }
        Ok(found)
    }

    /// Returns the files and their result, without secrets.
    pub(super) fn reading(&self) -> anyhow::Result<ConfigReading> {
        let layers = self.layers()?;
        let config = merged(&layers);
        let origin = |path: &String| {
            let names: Vec<&str> = path.split('.').collect();
            layers
                .iter()
                .rposition(|layer| member(&layer.counts, &names).is_some())
        };
        let origins: BTreeMap<String, usize> = leaves(&config)
            .into_keys()
            .filter_map(|path| Some((path.clone(), origin(&path)?)))
            .collect();
        Ok(ConfigReading {
            config: masked(&config),
            origins,
            layers: layers.iter().map(Layer::shown).collect(),
        })
    }

    /// Returns the owner of a file that clients may write.
    fn writable(
        &self,
        file: Option<&Path>,
        is_remote: bool,
    ) -> Result<(ConfigOwner, PathBuf), ConfigWriteError> {
        let is_home = self.home.as_ref() == Some(&self.root);
        let owner = match file {
            None if is_home => ConfigOwner::User,
            None => ConfigOwner::Workspace,
            Some(file) if self.home.is_some() && file == self.own() => ConfigOwner::User,
            Some(file) if !is_home && file == self.folders() => ConfigOwner::Workspace,
            Some(_) => {
                let detail =
                    "'filePath' is no configuration file of this workspace; 'config/read' lists both.";
                return Err(ConfigWriteError::ReadOnly(detail.to_owned()));
            }
        };
        match owner {
            ConfigOwner::User if is_remote => {
                let detail =
                    "Other machines can reach this server. Change your own file with 'bobbin config set'.";
                Err(ConfigWriteError::ReadOnly(detail.to_owned()))
            }
            ConfigOwner::User => Ok((owner, self.own())),
            ConfigOwner::Workspace => Ok((owner, self.folders())),
        }
    }

    /// Changes one file, and restores it if the result cannot be used. Returns the settings in force if the files can be
    /// read, the file, and the paths whose value in effect has changed.
    pub(super) fn write_values(
        &self,
        write: &ConfigWrite,
        is_remote: bool,
    ) -> Result<(Option<Config>, ConfigWritten, Vec<String>), ConfigWriteError> {
        let cannot = |error: anyhow::Error| ConfigWriteError::Unwritable(format!("{error:#}"));
        let (owner, file) = self.writable(write.file.as_deref(), is_remote)?;
        let text = edit::text(&file).map_err(cannot)?;
        let before = value(&file).map_err(cannot)?;
        if write
            .expected_version
            .as_ref()
            .is_some_and(|expected| *expected != version(&before))
        {
            return Err(ConfigWriteError::VersionConflict);
        }
        let mut changes = Vec::new();
        for edit in &write.edits {
            add_changes(&before, &edit.key_path, &edit.value, edit.merges, &mut changes)?;
        }
        let layers_before = self.layers().map_err(cannot)?;
        let known = self.read();
        let named: Vec<Vec<&str>> = changes
            .iter()
            .map(|(names, _)| names.iter().map(String::as_str).collect())
            .collect();
        let set = named
            .iter()
            .zip(&changes)
            .map(|(names, (_, value))| (names.as_slice(), value.clone()));
        edit::set(&file, &set.collect::<Vec<_>>()).map_err(cannot)?;
        let made = self.checked(owner, &file, &before, known).and_then(|config| {
            let layers = self.layers().map_err(cannot)?;
            Ok((config, layers))
        });
        let (mut config, mut layers) = made.inspect_err(|_| restore(&file, Ok(text)))?;
        if owner == ConfigOwner::Workspace && config.is_some() {
            let words = named.iter().filter_map(|names| word(names)).collect::<Vec<_>>();
            config = Some(self.trusted(&words).map_err(cannot)?);
            layers = self.layers().map_err(cannot)?;
        }
        let (old, new) = (merged(&layers_before), merged(&layers));
        let mut keys: Vec<String> = Vec::new();
        let mut hidden_by = None;
        for edit in &write.edits {
            let names: Vec<&str> = edit.key_path.split('.').collect();
            let now = member(&new, &names);
            if member(&old, &names) != now && !keys.contains(&edit.key_path) {
                keys.push(edit.key_path.clone());
            }
            let mut higher = layers
                .iter()
                .filter(|layer| owner == ConfigOwner::User && layer.owner != owner);
            let hides = higher.find(|layer| member(&layer.counts, &names).is_some());
            if let Some(layer) = hides
                && hidden_by.is_none()
                && now != Some(&edit.value)
            {
                let shown = member(&masked(&new), &names).cloned();
                hidden_by = Some((layer.shown(), shown.unwrap_or_default()));
            }
        }
        let written = value(&file).map_err(cannot)?;
        let written = ConfigWritten {
            version: version(&written),
            file,
            hidden_by,
        };
        Ok((config, written, keys))
    }

    pub(super) fn read(&self) -> anyhow::Result<Config> {
        let mut config = config::read_with(&self.root, self.home.as_deref(), &self.trust.read())?;
        if let Some((providers, mcp_servers)) = &self.editors_options
            && let Err(error) = config.add_editors(providers, mcp_servers)
        {
            tracing::warn!("the editor's options are not used any more: {error:#}");
        }
        Ok(config)
    }

    /// Checks a changed file. Returns the settings in force; `None` if an earlier mistake stops them.
    fn checked(
        &self,
        owner: ConfigOwner,
        file: &Path,
        before: &Value,
        known: anyhow::Result<Config>,
    ) -> Result<Option<Config>, ConfigWriteError> {
        let invalid = |detail: String| Err(ConfigWriteError::Invalid(detail));
        let after = value(file).map_err(|error| ConfigWriteError::Unwritable(format!("{error:#}")))?;
        if secrets(before) != secrets(&after) {
            return invalid(
                "A key, and the address that it is sent to, are set with 'workspace/config/update'."
                    .to_owned(),
            );
        }
        if owner == ConfigOwner::Workspace && reserved(before) != reserved(&after) {
            return invalid(
                "AppServer, Hub, EndPoint and ApiKey count in the user's own file only.".to_owned(),
            );
        }
        let config = match (known, self.read()) {
            (Err(before), Err(after)) if format!("{before:#}") == format!("{after:#}") => return Ok(None),
            (_, Err(after)) => return invalid(format!("{after:#}")),
            (Err(_), Ok(config)) => config,
            (Ok(known), Ok(config)) => {
                let new = config
                    .warnings
                    .iter()
                    .find(|warning| !known.warnings.contains(warning));
                if let Some(warning) = new {
                    return invalid(warning.clone());
                }
                config
            }
        };
        let opened = models::open(&config.models, self.home.as_deref(), config.agent.compact_percent);
        match opened {
            Ok(_) => Ok(Some(config)),
            Err(error) => invalid(format!("{error:#}")),
        }
    }
}

/// Returns the content of a file; a missing one is empty.
fn value(path: &Path) -> anyhow::Result<Value> {
    let Some(text) = edit::text(path)? else {
        return Ok(Value::Object(Map::new()));
    };
    let members: Map<String, Value> = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|_| anyhow::anyhow!("{} is not a JSON object", path.display()))?;
    Ok(Value::Object(members))
}

fn merged(layers: &[Layer]) -> Value {
    let mut config = Value::Object(Map::new());
    for layer in layers {
        merge(&mut config, &layer.counts);
    }
    config
}

/// Adds the changes of an edit: one, or one for each value of an object that is merged.
fn add_changes(
    before: &Value,
    path: &str,
    value: &Value,
    merges: bool,
    changes: &mut Vec<Change>,
) -> Result<(), ConfigWriteError> {
    let names: Vec<&str> = path.split('.').collect();
    match layers::of_path(&names) {
        Known::Unknown => return Err(ConfigWriteError::UnknownKey(path.to_owned())),
        Known::Secret => {
            let detail = format!("{path} is a secret; 'workspace/config/update' sets it.");
            return Err(ConfigWriteError::Invalid(detail));
        }
        Known::Setting => {}
    }
    for depth in 1..names.len() {
        let around = member(before, &names[..depth]);
        if around.is_some_and(|around| !around.is_object() && !around.is_null()) {
            let detail = format!("{} is not an object.", names[..depth].join("."));
            return Err(ConfigWriteError::Invalid(detail));
        }
    }
    match value {
        Value::Object(members) if merges => {
            for (name, value) in members {
                add_changes(before, &format!("{path}.{name}"), value, true, changes)?;
            }
        }
        value => {
            let names = names.into_iter().map(str::to_owned).collect();
            changes.push((names, Some(value.clone()).filter(|value| !value.is_null())));
        }
    }
    Ok(())
}

/// Returns the word of `workspace/config/update` for a setting that it trusts.
fn word(names: &[&str]) -> Option<&'static str> {
    let words = [
        (MODEL, "workspace.model"),
        (WELCOME, "welcomeSuggestions"),
        (POLICY, "workspace.defaultApprovalPolicy"),
    ];
    let is = |known: &&[&str]| known.join(".").eq_ignore_ascii_case(&names.join("."));
    words
        .into_iter()
        .find(|(known, _)| is(known))
        .map(|(_, word)| word)
}
