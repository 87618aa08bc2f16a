//! The profiles of a workspace as its configuration has them, and as clients manage them.
//!
//! Changes are made one at a time: written, read again, put into effect, answered, notified. What a client writes is the
//! word of the server's user, so it counts in the workspace's file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::ConfigNews;
use bobbin_agent_api::sub_agent::SubAgentProfiles;
use bobbin_agent_api::trust::TrustItem;
use bobbin_core::Broadcasts;
use bobbin_model::{ServerOrigin, SubAgentProfile, SubAgentRuntime};
use bobbin_settings::{FILE, edit};
use bobbin_workspace::{TrustFile, TrustRecord};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::settings::{
    DeclaredProfile, NATIVE, Profile, ProfileDefinition, ProfileSettings, SECTION, SubAgentSettings,
    fingerprint, item_name,
};

/// The part of the configuration that is changed here.
const REGION: &str = "subagent";
/// Longest description in the list that a model gets.
const MAX_ABOUT: usize = 500;
/// Name of the setting of the model.
pub(crate) const MODEL: &[&str] = &["SubAgent", "Model"];
/// Name of the setting whether sessions go on.
pub(crate) const RESUMES: &[&str] = &["SubAgent", "EnableExternalCliSessionResume"];
const DISABLED: &[&str] = &["SubAgent", "DisabledProfiles"];

/// Reads both configuration files: the settings of profiles, and all items of the folder that need trust. Blocks on the
/// disk.
pub type ReadProfiles =
    Box<dyn Fn(&TrustRecord) -> anyhow::Result<(ProfileSettings, Vec<TrustItem>)> + Send + Sync>;

/// The profiles of a workspace.
pub struct Profiles {
    files: ReadProfiles,
    home: Option<PathBuf>,
    trust: TrustFile,
    /// The search path for programs of commands.
    search: Option<OsString>,
    state: Mutex<State>,
    broadcasts: Broadcasts,
    /// Locked while the configuration is changed.
    changing: tokio::sync::Mutex<()>,
}

/// The profiles and settings in effect.
#[derive(Default)]
struct State {
    settings: ProfileSettings,
    /// Programs of profiles that are not there.
    missing: BTreeSet<String>,
}

/// A profile as clients see it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) declared: DeclaredProfile,
    pub(crate) enabled: bool,
    pub(crate) binary_resolved: bool,
    /// Why the model is not offered it.
    pub(crate) hidden: Option<String>,
}

/// A setting of a file by its name, and its new value.
pub(crate) type Setting = (&'static [&'static str], Option<Value>);

/// Why a change was not made.
#[derive(Debug)]
pub(crate) enum ChangeError {
    NotFound(String),
    Invalid(String),
    Protected(String),
    Unwritable(String),
}

impl Profiles {
    /// Returns the profiles of a workspace whose `files` were read as `settings`. Blocks on the disk.
    pub fn new(
        home: Option<&Path>,
        trust: TrustFile,
        search: Option<OsString>,
        (files, settings): (ReadProfiles, ProfileSettings),
        broadcasts: Broadcasts,
    ) -> Arc<Self> {
        let profiles = Self {
            files,
            home: home.map(Path::to_owned),
            trust,
            search,
            state: Mutex::default(),
            broadcasts,
            changing: tokio::sync::Mutex::default(),
        };
        profiles.refresh(settings);
        Arc::new(profiles)
    }

    /// Takes what the files say now. Blocks on the disk.
    pub fn refresh(&self, settings: ProfileSettings) {
        let missing = self.missing(&settings.profiles);
        *self.state.lock() = State { settings, missing };
    }

    /// Looks again which programs are there. Blocks on the disk.
    pub(crate) fn look_again(&self) {
        let profiles = self.state.lock().settings.profiles.clone();
        let missing = self.missing(&profiles);
        self.state.lock().missing = missing;
    }

    /// Returns the programs of profiles that are not there.
    fn missing(&self, profiles: &[DeclaredProfile]) -> BTreeSet<String> {
        let programs = profiles
            .iter()
            .filter_map(|one| one.config.definition.bin.as_deref());
        let missing = programs.filter(|bin| !self.is_there(bin)).map(str::to_owned);
        missing.collect()
    }

    fn is_there(&self, bin: &str) -> bool {
        let is_program = |path: &Path| {
            path.metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        if bin.contains('/') {
            return is_program(&self.trust.root().join(bin));
        }
        let search = self.search.as_deref().unwrap_or_default();
        std::env::split_paths(search)
            .any(|directory| directory.is_absolute() && is_program(&directory.join(bin)))
    }

    /// Returns the settings of all profiles.
    pub(crate) fn settings(&self) -> SubAgentSettings {
        self.state.lock().settings.sub_agents.clone()
    }

    /// Whether commands go on with sessions of their own.
    pub(crate) fn resumes(&self) -> bool {
        self.state.lock().settings.sub_agents.resumes
    }

    /// Returns all but the native one: of two with one name the workspace's, unless that is not trusted.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let state = self.state.lock();
        let mut profiles: BTreeMap<String, &DeclaredProfile> = BTreeMap::new();
        for one in &state.settings.profiles {
            let key = one.config.name.to_lowercase();
            if one.trusted || !profiles.contains_key(&key) {
                profiles.insert(key, one);
            }
        }
        let shown = profiles.into_values().map(|declared| {
            let Profile { name, definition } = &declared.config;
            let bin = definition.bin.as_deref();
            let binary_resolved = bin.is_none_or(|bin| !state.missing.contains(bin));
            let mut disabled = state.settings.sub_agents.disabled.iter();
            let enabled = !disabled.any(|disabled| is_same(disabled, name));
            let hidden = if !declared.trusted {
                Some(
                    "It came with this folder, whose user has not trusted it: run `bobbin trust`.".to_owned(),
                )
            } else if !enabled {
                Some("It is disabled.".to_owned())
            } else if binary_resolved {
                None
            } else {
                Some(format!("Binary '{}' was not found.", bin.unwrap_or_default()))
            };
            Shown {
                declared: declared.clone(),
                enabled,
                binary_resolved,
                hidden,
            }
        });
        shown.collect()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Shown, ChangeError> {
        let found = self
            .shown()
            .into_iter()
            .find(|one| is_same(&one.declared.config.name, name));
        found.ok_or_else(|| ChangeError::NotFound(name.to_owned()))
    }

    /// Returns the definition of a command line that is about to run.
    ///
    /// # Errors
    /// It does not count now: why, for the user.
    pub(crate) async fn to_run(&self, name: &str) -> Result<ProfileDefinition, String> {
        let cannot = |why: &str| format!("The subagent profile {name} cannot run: {why}");
        let shown = self
            .find(name)
            .map_err(|_| cannot("there is none of that name now."))?;
        // A program that is missing says so when it is started.
        if !shown.declared.trusted || !shown.enabled {
            return Err(cannot(&shown.hidden.unwrap_or_default()));
        }
        if shown.declared.config.definition.runtime() != SubAgentRuntime::CliOneshot {
            return Err(cannot("it is no command any more."));
        }
        let (declared, root) = (shown.declared.clone(), self.trust.root().to_owned());
        let unchanged =
            tokio::task::spawn_blocking(move || declared.is_unchanged(|profile| fingerprint(profile, &root)))
                .await;
        if !unchanged.unwrap_or(false) {
            return Err(cannot(
                "a file of this folder that it starts has changed since you trusted it: run `bobbin trust`.",
            ));
        }
        Ok(shown.declared.config.definition)
    }

    /// Writes a profile into the workspace's file. `reply` is called before clients are notified.
    pub(crate) async fn upsert(
        self: &Arc<Self>,
        name: String,
        definition: ProfileDefinition,
        reply: impl FnOnce(Result<Shown, ChangeError>) + Send,
    ) {
        let change = definition
            .check(&name)
            .map_err(ChangeError::Invalid)
            .and_then(|()| not_native(&name))
            .and_then(|()| {
                serde_json::to_value(&definition).map_err(|error| ChangeError::Invalid(error.to_string()))
            });
        let change = change.map(|entry| {
            let name = name.clone();
            move |file: &Path| edit::set(file, &[(&[SECTION, &name], Some(entry))])
        });
        let find = |profiles: &Self| profiles.find(&name);
        let written = Some(name.clone());
        self.change("subagent/profiles/upsert", written, change, find, reply)
            .await;
    }

    /// Switches a profile on or off. `reply` is called before clients are notified.
    pub(crate) async fn set_enabled(
        self: &Arc<Self>,
        name: String,
        enabled: bool,
        reply: impl FnOnce(Result<Shown, ChangeError>) + Send,
    ) {
        let change = self.find(&name).and_then(|shown| {
            let name = shown.declared.config.name;
            if enabled && is_disabled_in(self.own().as_deref(), &name) {
                let why = format!("'{name}' is disabled in your own ~/.craft/config.json; enable it there.");
                return Err(ChangeError::Protected(why));
            }
            Ok(move |file: &Path| set_disabled(file, &name, !enabled))
        });
        let find = |profiles: &Self| profiles.find(&name);
        self.change("subagent/profiles/setEnabled", None, change, find, reply)
            .await;
    }

    /// Removes a profile from the workspace's file. `reply` is called before clients are notified.
    pub(crate) async fn remove(
        self: &Arc<Self>,
        name: String,
        reply: impl FnOnce(Result<(), ChangeError>) + Send,
    ) {
        let is_its = |one: &&DeclaredProfile| {
            one.origin == ServerOrigin::Workspace && is_same(&one.config.name, &name)
        };
        let found = self
            .state
            .lock()
            .settings
            .profiles
            .iter()
            .find(is_its)
            .map(|one| one.config.name.clone());
        let file = self.trust.root().join(FILE);
        let change = found
            .ok_or_else(|| ChangeError::NotFound(name.clone()))
            .and_then(|name| match edit::get(&file, &[SECTION, &name]) {
                Ok(None) => Err(ChangeError::Protected(format!(
                    "'{name}' is an agent of .claude/agents; remove its file there."
                ))),
                _ => Ok(name),
            })
            .map(|name| {
                move |file: &Path| {
                    set_disabled(file, &name, false)?;
                    edit::set(file, &[(&[SECTION, &name], None)])
                }
            });
        self.change("subagent/profiles/remove", None, change, |_| Ok(()), reply)
            .await;
    }

    /// Sets what is said of all profiles, or removes it. `reply` is called before clients are notified.
    pub(crate) async fn update(
        self: &Arc<Self>,
        settings: Vec<Setting>,
        reply: impl FnOnce(Result<SubAgentSettings, ChangeError>) + Send,
    ) {
        let change = move |file: &Path| edit::set(file, &settings);
        let find = |profiles: &Self| Ok(profiles.settings());
        self.change("subagent/settings/update", None, Ok(change), find, reply)
            .await;
    }

    /// Makes a change, puts it into effect, answers and notifies.
    async fn change<T>(
        self: &Arc<Self>,
        source: &'static str,
        written: Option<String>,
        change: Result<impl FnOnce(&Path) -> anyhow::Result<bool> + Send + 'static, ChangeError>,
        find: impl FnOnce(&Self) -> Result<T, ChangeError> + Send,
        reply: impl FnOnce(Result<T, ChangeError>) + Send,
    ) {
        let change = match change {
            Ok(change) => change,
            Err(error) => return reply(Err(error)),
        };
        let _changing = self.changing.lock().await;
        let profiles = self.clone();
        let written = tokio::task::spawn_blocking(move || profiles.write(written.as_deref(), change)).await;
        match written.unwrap_or_else(|error| Err(error.into())) {
            Ok(changed) => {
                reply(find(self));
                if changed {
                    let regions = vec![REGION];
                    self.broadcasts.send(ConfigNews { source, regions }, 0);
                }
            }
            Err(error) => reply(Err(ChangeError::Unwritable(format!("{error:#}")))),
        }
    }

    /// Changes the workspace's file, has count what has changed there, and puts it into effect. Returns whether anything
    /// is different.
    fn write(
        &self,
        written: Option<&str>,
        change: impl FnOnce(&Path) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let (_, before) = self.read()?;
        let changed = change(&self.trust.root().join(FILE))?;
        let (mut settings, after) = self.read()?;
        let known: BTreeSet<_> = before.iter().map(|item| &item.fingerprint).collect();
        // What a client writes as the folder brought it is the user's word for that.
        let written = written.map(item_name);
        let new = after.iter().filter(|item| !item.trusted);
        let new =
            new.filter(|item| !known.contains(&item.fingerprint) || Some(&item.name) == written.as_ref());
        let new: Vec<&str> = new.filter_map(|item| item.fingerprint.as_deref()).collect();
        let is_trust = !new.is_empty();
        if is_trust {
            self.trust
                .change(|record| new.iter().for_each(|new| record.add(new)))?;
            (settings, _) = self.read()?;
        }
        self.refresh(settings);
        Ok(changed || is_trust)
    }

    fn read(&self) -> anyhow::Result<(ProfileSettings, Vec<TrustItem>)> {
        (self.files)(&self.trust.read())
    }

    /// Returns the user's own file, if that is another than the workspace's.
    fn own(&self) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|home| *home != self.trust.root());
        home.map(|home| edit::users_file(home))
    }
}

impl SubAgentProfiles for Profiles {
    fn offered(&self) -> Vec<(String, String)> {
        let offered = self.shown().into_iter().filter(|one| one.hidden.is_none());
        let offered = offered.map(|one| {
            let Profile { name, definition } = one.declared.config;
            let other = definition.bin.or(definition.engine);
            let about = match (definition.description, other) {
                (Some(about), _) => about.chars().take(MAX_ABOUT).collect(),
                (None, Some(other)) => format!("another agent, run as {other}."),
                (None, None) => "an agent with instructions of its own.".to_owned(),
            };
            (name, about)
        });
        offered.collect()
    }

    fn resolve(&self, name: Option<&str>) -> Result<Option<SubAgentProfile>, String> {
        let model = self.settings().model;
        let Some(name) = name.filter(|name| !is_same(name, NATIVE)) else {
            return Ok(model.map(|model| SubAgentProfile {
                name: NATIVE.to_owned(),
                model: Some(model),
                ..SubAgentProfile::default()
            }));
        };
        let shown = self.find(name).ok();
        let why = match &shown {
            Some(Shown {
                hidden: Some(why), ..
            }) => format!(
                "the subagent profile {name:?} cannot be used: {}",
                why.trim_end_matches('.')
            ),
            Some(Shown { declared, .. }) => {
                let Profile { name, definition } = declared.config.clone();
                let runtime = definition.runtime();
                return Ok(Some(SubAgentProfile {
                    name,
                    runtime,
                    engine: definition.engine.filter(|_| runtime == SubAgentRuntime::Acp),
                    model: match runtime {
                        SubAgentRuntime::Native => definition.model.or(model),
                        SubAgentRuntime::CliOneshot => None,
                        SubAgentRuntime::Acp => definition.model,
                    },
                    instructions: definition.instructions,
                    tools: definition.tool_allow_list.unwrap_or_default(),
                    denied_tools: definition.tool_deny_list.unwrap_or_default(),
                }));
            }
            None => format!("there is no subagent profile {name:?}"),
        };
        let names: Vec<String> = self.offered().into_iter().map(|(name, _)| name).collect();
        Err(if names.is_empty() {
            format!("{why}; leave the profile out")
        } else {
            format!("{why}; there are: {}", names.join(", "))
        })
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Checks that a profile is not the one that is always there.
fn not_native(name: &str) -> Result<(), ChangeError> {
    if is_same(name, NATIVE) {
        return Err(ChangeError::Protected(format!("'{NATIVE}' cannot be changed.")));
    }
    Ok(())
}

/// Returns the names that a file switches off.
fn disabled_in(file: &Path) -> anyhow::Result<Vec<String>> {
    let listed = edit::get(file, DISABLED)?;
    let listed = listed.as_ref().and_then(Value::as_array).into_iter().flatten();
    Ok(listed.filter_map(Value::as_str).map(str::to_owned).collect())
}

fn is_disabled_in(file: Option<&Path>, name: &str) -> bool {
    let listed = file.and_then(|file| disabled_in(file).ok()).unwrap_or_default();
    listed.iter().any(|listed| is_same(listed, name))
}

/// Adds a name to those that a file switches off, or takes it out.
fn set_disabled(file: &Path, name: &str, disabled: bool) -> anyhow::Result<bool> {
    let mut listed = disabled_in(file)?;
    let before = listed.len();
    listed.retain(|listed| !is_same(listed, name));
    if disabled && before == listed.len() {
        listed.push(name.to_owned());
    } else if disabled || before == listed.len() {
        return Ok(false);
    }
    let value = Some(json!(listed)).filter(|_| !listed.is_empty());
    edit::set(file, &[(DISABLED, value)])
}
