//! The configuration that results from both files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, anyhow, bail};
use bobbin_agent::AgentSettings;
use bobbin_agent_api::trust::TrustItem;
use bobbin_alerts::AlertSettings;
use bobbin_channels::settings::DeclaredChannel;
use bobbin_children::VariableRules;
use bobbin_engine_acp::settings::DeclaredEngine;
use bobbin_hermes::settings::HermesSettings;
use bobbin_hooks::Hook;
use bobbin_imports::{Author, Brought, brought};
use bobbin_mcp::settings::{DeclaredServer, ServerFile};
use bobbin_model::ServerOrigin;
use bobbin_models::settings::ModelSettings;
use bobbin_plugins::PluginSettings;
use bobbin_policy::settings::PermissionSettings;
use bobbin_profiles::ProfileSettings;
use bobbin_retention::settings::RetentionSettings;
use bobbin_settings::{Checked, FILE, MAX_FILE_BYTES, Source, check};
use bobbin_store_sqlite::Durability;
use bobbin_tools::built_in_names;
use bobbin_tools::settings::{SandboxSettings, add_commands};
use bobbin_workspace::TrustRecord;
use serde_json::{Map, Value};

use crate::database::DatabaseSettings;
use crate::editor;
use crate::file::{self, ConfigFile};
use crate::listener::ListenerSettings;

/// Name of an editor's options in messages.
const EDITORS_OPTIONS: &str = "the editor's options";

pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(file::schema);

/// The settings in force.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Where the server and the Hub listen, and who may connect.
    pub listener: ListenerSettings,
    /// Providers and MCP servers from the options of the editor that started the server.
    pub editors_options: Option<(Map<String, Value>, Map<String, Value>)>,
    /// Alerts outside of clients, if the user wants any.
    pub alerts: Option<AlertSettings>,
    /// Which old Threads are archived and deleted, if any.
    pub retention: Option<RetentionSettings>,
    /// Rules and policy for calls.
    pub permissions: PermissionSettings,
    /// The database that stores conversations.
    pub database: DatabaseSettings,
    /// How durable a commit to the database is.
    pub durability: Durability,
    /// MCP servers: the user's, then the workspace's.
    pub tool_servers: Vec<DeclaredServer>,
    /// External channels: the user's, then the workspace's.
    pub channels: Vec<DeclaredChannel>,
    /// Other agents as engines: the user's, then the workspace's.
    pub engines: Vec<DeclaredEngine>,
    /// Profiles of subagents.
    pub profiles: ProfileSettings,
    /// Hermes extensions.
    pub hermes: HermesSettings,
    /// Files and network that commands can reach.
    pub sandbox: SandboxSettings,
    /// Rules for the user's variables that commands get.
    pub variables: VariableRules,
    /// Limits of a Turn, compaction, and small requests.
    pub agent: AgentSettings,
    /// Models and their providers.
    pub models: ModelSettings,
    /// Hooks that count: the user's, then the workspace's.
    pub hooks: Vec<Hook>,
    /// Settings of plugins.
    pub plugins: PluginSettings,
    /// FineCode projects and their runners.
    pub finecode: bobbin_finecode::Settings,
    /// Warnings for the user; most name their file.
    pub warnings: Vec<String>,
    /// Items of the workspace that run or loosen something.
    pub folder_items: Vec<TrustItem>,
    /// Files that were read.
    pub sources: Vec<PathBuf>,
    /// Files of other agents: the user's, then the workspace's.
    pub brought: Vec<Brought>,
    /// Fingerprints of those items of the workspace that files of other agents have.
    pub brought_items: BTreeSet<String>,
}

impl Config {
    /// Reads both files; a missing one counts as empty. Settings of a workspace that loosen something count only as
    /// far as `record` says that the user trusts them. Files of other agents count beside the file of their home or
    /// workspace, which has precedence.
    ///
    /// # Errors
    /// A file is not JSON or has an invalid value, or a section that restrains something has an unknown member. A
    /// workspace's file gives an error only if the user trusts the folder.
    pub fn read(workspace: &Path, home: Option<&Path>, record: &TrustRecord) -> anyhow::Result<Self> {
        let mut config = Self::default();
        if let Some(home) = home {
            config.add_brought(home, workspace, None);
            let path = home.join(FILE);
            let added = config.add_users(&path, home, workspace);
            added.map_err(|error| in_file(&path, &error, &config.warnings))?;
        }
        // A workspace that is the user's home has one file only, the user's.
        if home != Some(workspace) {
            config.add_brought(workspace, workspace, Some((home, record)));
            let path = workspace.join(FILE);
            let mut both = config.clone();
            let known = both.warnings.len();
            match both.add_folders(&path, workspace, home, record) {
                Ok(()) => config = both,
                Err(error) => {
                    let error = in_file(&path, &error, &both.warnings[known..]);
                    if record.trusted {
                        return Err(error);
                    }
                    config.warnings.push(format!(
                        "{error}; nothing in that file is used, since you have not trusted this folder"
                    ));
                }
            }
            let (known, warnings) = (&config.tool_servers, &mut config.warnings);
            let servers = bobbin_mcp::settings::of_mcp_json(workspace, record, known, warnings);
            config
                .folder_items
                .extend(servers.iter().filter_map(DeclaredServer::item));
            config.tool_servers.extend(servers);
        }
        config.warnings.append(&mut config.models.warnings);
        Ok(config)
    }

    /// Adds the settings of other agents under `root`: the user's home, or a workspace with the home and the record of
    /// trust. They never stop a start.
    fn add_brought(
        &mut self,
        root: &Path,
        workspace: &Path,
        of_folder: Option<(Option<&Path>, &TrustRecord)>,
    ) {
        let (author, home) = match of_folder {
            None => (Author::User, Some(root)),
            Some((home, _)) => (Author::Folder, home),
        };
        for found in brought(root, author, home) {
            let mut with = self.clone();
            let added = check::<ConfigFile>(&SCHEMA, found.value.clone()).and_then(|checked| {
                let mut source = match of_folder {
                    None => Source::of_user(&found.path, root, &checked.value),
                    Some((home, record)) => {
                        Source::of_folder(&found.path, root, home, &checked.value, record)
                    }
                };
                if root == workspace {
                    source.origin = ServerOrigin::Workspace;
                }
                source.warnings = checked.warnings;
                let added = with.add(checked.file, &mut source);
                let known = with.folder_items.len();
                with.take(source);
                let items = with.folder_items[known..].iter();
                let fingerprints = items.filter_map(|item| item.fingerprint.clone());
                with.brought_items.extend(fingerprints);
                added
            });
            match added {
                Ok(()) => *self = with,
                Err(error) => {
                    let file = found.path.display();
                    self.warnings
                        .push(format!("in {file}: {error:#}; nothing in it is used"));
                }
            }
            self.brought.push(found);
        }
    }

    /// Adds the settings of the user's own file.
    fn add_users(&mut self, path: &Path, home: &Path, workspace: &Path) -> anyhow::Result<()> {
        let Some(Checked {
            mut file,
            value,
            warnings,
        }) = read_file(path, Author::User)?
        else {
            return Ok(());
        };
        let mut source = Source::of_user(path, home, &value);
        if home == workspace {
            source.origin = ServerOrigin::Workspace;
        }
        source.warnings = warnings;
        let (server, hub, database) = (
            std::mem::take(&mut file.app_server),
            std::mem::take(&mut file.hub),
            std::mem::take(&mut file.database),
        );
        self.alerts = std::mem::take(&mut file.alerts).check()?;
        self.retention = std::mem::take(&mut file.threads).check()?;
        let added = self
            .add(file, &mut source)
            .and_then(|()| self.listener.set(server, hub, &mut source))
            .and_then(|()| DatabaseSettings::of(database, home))
            .map(|database| self.database = database);
        self.take(source);
        added
    }

    /// Adds the settings of a workspace's file that count.
    fn add_folders(
        &mut self,
        path: &Path,
        workspace: &Path,
        home: Option<&Path>,
        record: &TrustRecord,
    ) -> anyhow::Result<()> {
        let Some(Checked {
            file,
            value,
            warnings,
        }) = read_file(path, Author::Folder)?
        else {
            return Ok(());
        };
        let mut source = Source::of_folder(path, workspace, home, &value, record);
        source.warnings = warnings;
        let added = self.add(file, &mut source);
        self.take(source);
        added
    }

    /// Adds the sections of one file. The user's file comes first.
    fn add(&mut self, file: ConfigFile, source: &mut Source<'_>) -> anyhow::Result<()> {
        self.sources.push(source.path.to_owned());
        let hooks = file.hooks.unwrap_or_default();
        self.hooks.extend(bobbin_hooks::of_file(hooks, source));
        self.profiles.add(file.profiles, source);
        let channels = bobbin_channels::settings::of_file(file.external_channels, source);
        self.channels.extend(channels);
        let engines = bobbin_engine_acp::settings::of_file(file.engines, source);
        self.engines.extend(engines);
        let servers = bobbin_mcp::settings::of_file(file.mcp_servers, source);
        self.tool_servers.extend(servers);
        self.hermes.add(file.hermes, source)?;
        self.plugins.add(file.plugins, source);
        let tools: Vec<&str> = built_in_names().collect();
        self.permissions.add(file.permissions, &tools, source)?;
        self.sandbox.add(file.sandbox, source)?;
        add_commands(&mut self.variables, file.commands, source)?;
        self.agent.add(file.agent, source);
        if let Some(settings) = file.fine_code
            && source.passes("FineCode")
        {
            self.finecode.add(settings);
        }
        let full = |_: &_, said: &_| *said == Durability::Full;
        source.set(&mut self.durability, file.durability, "Durability", full);
        self.models.add(file.models, source)
    }

    /// Adds the options of an editor. On an error none of them counts.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn add_editors(
        &mut self,
        providers: &Map<String, Value>,
        mcp_servers: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        let place = Path::new(EDITORS_OPTIONS);
        let Checked {
            file,
            value,
            warnings,
        } = check::<ConfigFile>(&SCHEMA, editor::as_file(providers, mcp_servers))?;
        let mut source = Source::of_user(place, place, &value);
        source.warnings = warnings;
        let mut models = self.models.clone();
        models.add_editors(file.models, &mut source)?;
        for (name, key) in editor::keys(providers) {
            models.set_key(name, key);
        }
        self.models = models;
        self.editors_options = Some((providers.clone(), mcp_servers.clone()));
        for mut server in bobbin_mcp::settings::of_file(file.mcp_servers, &mut source) {
            self.tool_servers
                .retain(|known| !known.config.name.eq_ignore_ascii_case(&server.config.name));
            server.file = ServerFile::Editor;
            self.tool_servers.push(server);
        }
        self.take(source);
        Ok(())
    }

    /// Sets the address and the key of the provider `endpoint`, in memory only.
    ///
    /// # Errors
    /// The address is invalid for a provider.
    pub fn set_endpoint(&mut self, address: &str, key: &str) -> anyhow::Result<()> {
        let said = serde_json::json!({ "EndPoint": address, "ApiKey": key });
        let Checked { file, value, .. } = check::<ConfigFile>(&SCHEMA, said)?;
        let place = Path::new(EDITORS_OPTIONS);
        self.models
            .add_editors(file.models, &mut Source::of_user(place, place, &value))
    }

    /// Takes the items and the warnings of a file.
    fn take(&mut self, source: Source<'_>) {
        let path = source.path;
        let (items, warnings) = source.into_parts();
        self.folder_items.extend(items);
        let warnings = warnings.into_iter();
        self.warnings
            .extend(warnings.map(|warning| format!("{}: {warning}", path.display())));
    }
}

/// Returns the error with its file and the warnings, since a misspelled name may be the cause.
fn in_file(path: &Path, error: &anyhow::Error, warnings: &[String]) -> anyhow::Error {
    let error = format!("in {}: {error:#}", path.display());
    let sentences: Vec<&str> = [error.as_str()]
        .into_iter()
        .chain(warnings.iter().map(String::as_str))
        .collect();
    anyhow!("{}", sentences.join("; "))
}

/// Reads and checks a file, if it exists.
fn read_file(path: &Path, author: Author) -> anyhow::Result<Option<Checked<ConfigFile>>> {
    let text = match author {
        Author::User => bobbin_files::read_text(path, MAX_FILE_BYTES),
        Author::Folder => bobbin_files::read_text_unlinked(path, MAX_FILE_BYTES),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!("the file cannot be read: {error}"),
    };
    let mut value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).context("this is not valid JSON")?;
    let withheld = match author {
        Author::User => Vec::new(),
        Author::Folder => withhold(&mut value),
    };
    let mut checked = check::<ConfigFile>(&SCHEMA, value)?;
    checked.warnings.extend(withheld);
    Ok(Some(checked))
}

/// Removes the settings that no workspace may make. Only the user decides where processes listen, who may connect and where
/// conversations go, even in trusted folders.
fn withhold(value: &mut Value) -> Vec<String> {
    let Some(members) = value.as_object_mut() else {
        return Vec::new();
    };
    let mut withheld = Vec::new();
    members.retain(|name, _| {
        let own = [
            ("AppServer", "who may connect"),
            ("Hub", "who may connect"),
            ("Database", "where conversations are stored"),
        ];
        let own = own.into_iter().find(|(own, _)| name.eq_ignore_ascii_case(own));
        withheld.extend(own.map(|(own, what)| {
            format!("{own} is not used: no workspace says {what}; put it into your own ~/.craft/config.json")
        }));
        own.is_none()
    });
    withheld
}

#[cfg(test)]
mod tests;
