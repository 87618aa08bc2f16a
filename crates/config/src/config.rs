//! The configuration that results from both files.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bobbin_agent_api::hook::HookEvent;
use bobbin_agent_api::trust::TrustItem;
use bobbin_children::VariableRules;
use bobbin_model::{ApprovalPolicy, ServerOrigin};
use serde_json::{Map, Value};

use crate::channels::{self, DeclaredChannel};
use crate::check::{Checked, check};
use crate::file::{self, ConfigFile, Mode};
use crate::gate::Gate;
use crate::hermes::{self, DeclaredExtension};
use crate::hooks::{self, Hook};
use crate::limits::AgentLimits;
use crate::models::ModelSettings;
use crate::plugins::PluginSettings;
use crate::profiles::{self, DeclaredProfile, SubAgentSettings};
use crate::rules::{self, Rules};
use crate::sandbox::SandboxSettings;
use crate::servers::{self, Declared, ServerFile};
use crate::{commands, editor, mcp_json};
use bobbin_workspace::TrustRecord;

/// Port if no file sets one (01 §3).
const DEFAULT_PORT: u16 = 9100;
/// Path of a configuration file in a home or a workspace.
pub const FILE: &str = ".craft/config.json";

/// The settings in force.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Endpoints that the server opens.
    pub mode: Mode,
    /// Providers and MCP servers from the options of the editor that started the server.
    pub editors_options: Option<(Map<String, Value>, Map<String, Value>)>,
    host: Option<IpAddr>,
    /// `None`: no file sets it. The server then takes a free port if the default one is taken.
    pub port: Option<u16>,
    /// The token that the user's own file sets for clients; empty: clients need none.
    pub token: Option<String>,
    /// Whether other users can run programs on this machine; `None`: no file says so.
    pub shared_machine: Option<bool>,
    /// Origins that may connect beside the listener's own, from the user's own file.
    pub allowed_origins: Vec<String>,
    /// Values of `Host` that may connect beside the listener's own.
    pub allowed_hosts: Vec<String>,
    /// The files with the listener's certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    hub_host: Option<String>,
    hub_port: Option<u16>,
    /// The policy for calls that match no rule; `None`: it depends on who starts a Turn.
    pub approval_policy: Option<ApprovalPolicy>,
    /// Whether a file sets that policy.
    pub is_policy_set: bool,
    /// Longest time that a call waits for an answer.
    pub approval_max_wait: Option<Duration>,
    /// How durable a commit to the database is.
    pub durability: file::Durability,
    /// MCP servers: the user's, then the workspace's.
    pub tool_servers: Vec<Declared>,
    /// External channels: the user's, then the workspace's.
    pub channels: Vec<DeclaredChannel>,
    /// Profiles of subagents: the user's, then the workspace's.
    pub profiles: Vec<DeclaredProfile>,
    /// Settings of all subagents.
    pub sub_agents: SubAgentSettings,
    /// Hermes extensions: the user's, then the workspace's. `None` without the section.
    pub hermes: Option<Vec<DeclaredExtension>>,
    /// Whether values of HL7 messages reach models.
    pub hermes_agent: bobbin_hermes::AgentValues,
    /// Rules for commands, paths and tools.
    pub rules: Rules,
    /// Files and network that commands can reach.
    pub sandbox: SandboxSettings,
    /// Rules for the user's variables that commands get.
    pub variables: VariableRules,
    /// Limits of a Turn, and when conversations are compacted.
    pub agent: AgentLimits,
    /// Models and their providers.
    pub models: ModelSettings,
    /// Hooks that count: the user's, then the workspace's.
    pub hooks: Vec<Hook>,
    /// Settings of plugins.
    pub plugins: PluginSettings,
    /// FineCode projects and their runners.
    pub finecode: bobbin_finecode::Settings,
    /// Whether welcome suggestions are switched off.
    pub without_welcome: bool,
    /// Warnings for the user; most name their file.
    pub warnings: Vec<String>,
    /// Items of the workspace that run or loosen something.
    pub folder_items: Vec<TrustItem>,
    /// Files that were read.
    pub sources: Vec<PathBuf>,
}

impl Config {
    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        let host = self.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        SocketAddr::new(host, self.port.unwrap_or(DEFAULT_PORT))
    }

    /// Returns the address that the Hub listens on.
    ///
    /// # Errors
    /// The host is no loopback address.
    pub fn hub_address(&self) -> anyhow::Result<SocketAddr> {
        let host = match self.hub_host.as_deref() {
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => ip(host).filter(IpAddr::is_loopback).ok_or_else(|| {
                anyhow!("Hub.Host is {host:?}: the Hub listens on this machine alone, such as 127.0.0.1")
            })?,
        };
        Ok(SocketAddr::new(host, self.hub_port.unwrap_or(0)))
    }

    /// Reads both files; a missing one counts as empty. Settings of a workspace that loosen something count only as
    /// far as `record` says that the user trusts them.
    ///
    /// # Errors
    /// A file is not JSON or has an invalid value, or a section that restrains something has an unknown member. A
    /// workspace's file gives an error only if the user trusts the folder.
    pub fn read(workspace: &Path, home: Option<&Path>, record: &TrustRecord) -> anyhow::Result<Self> {
        let mut config = Self::default();
        if let Some(home) = home {
            // A workspace that is the user's home has one file only, the user's.
            let origin = if home == workspace {
                ServerOrigin::Workspace
            } else {
                ServerOrigin::User
            };
            let path = home.join(FILE);
            let added = config.add_users(&path, origin, home);
            added.map_err(|error| in_file(&path, &error, &config.warnings))?;
        }
        if home != Some(workspace) {
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
            config.add_mcp_json(workspace, record);
        }
        config.warnings.append(&mut config.models.warnings);
        Ok(config)
    }

    /// Adds the settings of the user's own file.
    fn add_users(&mut self, path: &Path, origin: ServerOrigin, home: &Path) -> anyhow::Result<()> {
        let Some(Checked {
            mut file,
            value,
            mut warnings,
        }) = read_file(path, Author::User, |_| Vec::new())?
        else {
            return Ok(());
        };
        if file.permissions.trust_workspace_rules.is_some() {
            warnings.push(
                "Permissions.TrustWorkspaceRules is not used any more: run `bobbin trust` in a folder that you trust"
                    .to_owned(),
            );
        }
        let servers = servers::read(std::mem::take(&mut file.mcp_servers), &mut warnings);
        let channels = channels::read(std::mem::take(&mut file.external_channels), &mut warnings);
        let channels = channels.into_iter();
        self.channels
            .extend(channels.map(|config| DeclaredChannel::own(config, origin)));
        let hooks = file.hooks.take().unwrap_or_default();
        self.hooks.extend(hooks::read(hooks, path, true, &mut warnings));
        let own = profiles::read(std::mem::take(&mut file.sub_agent_profiles), &mut warnings);
        let own = own.into_iter();
        self.profiles
            .extend(own.map(|profile| DeclaredProfile::own(profile, origin)));
        self.take_warnings(path, warnings);
        let servers = servers.into_iter().map(|config| Declared::own(config, origin));
        self.tool_servers.extend(servers);
        let mut gate = Gate::of_user(&value);
        hermes::add(&mut self.hermes, file.hermes_extensions.take(), home, &mut gate)?;
        hermes::add_agent(&mut self.hermes_agent, file.hermes_agent, &gate);
        self.plugins
            .add(std::mem::take(&mut file.plugins), home, Some(home), &mut gate);
        self.add_sections(path, &mut file, Some(home), &mut gate)?;
        self.models.add_users(path, &mut file, &mut gate)?;
        let listener = file.app_server;
        self.mode = listener.mode.unwrap_or_default();
        self.allowed_origins = listener.allowed_origins;
        self.allowed_hosts = listener.allowed_hosts;
        self.tls = match (listener.tls.certificate, listener.tls.key) {
            (Some(certificate), Some(key)) => Some((own_file(&certificate, home)?, own_file(&key, home)?)),
            (None, None) => None,
            (Some(_), None) => bail!("AppServer.Tls has a Certificate and no Key"),
            (None, Some(_)) => bail!("AppServer.Tls has a Key and no Certificate"),
        };
        self.port = listener.web_socket.port;
        self.token = listener.web_socket.token;
        self.shared_machine = listener.web_socket.shared_machine;
        if let Some(host) = listener.web_socket.host {
            let why = || format!("AppServer.WebSocket.Host is {host:?}, which is no IP address");
            self.host = Some(ip(&host).with_context(why)?);
        }
        (self.hub_host, self.hub_port) = (file.hub.host, file.hub.port);
        if let Err(error) = self.hub_address() {
            // A wrong address stops the Hub only.
            self.take_warnings(path, vec![error.to_string()]);
        }
        Ok(())
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
        let Checked {
            mut file,
            value,
            mut warnings,
        } = check(editor::as_file(providers, mcp_servers))?;
        let servers = servers::read(std::mem::take(&mut file.mcp_servers), &mut warnings);
        let mut models = self.models.clone();
        models.add_editors(&mut file, &mut Gate::of_user(&value))?;
        for (name, key) in editor::keys(providers) {
            models.set_key(name, key);
        }
        self.models = models;
        self.editors_options = Some((providers.clone(), mcp_servers.clone()));
        self.take_warnings(Path::new(crate::EDITORS_OPTIONS), warnings);
        for config in servers {
            self.tool_servers
                .retain(|known| !known.config.name.eq_ignore_ascii_case(&config.name));
            self.tool_servers.push(Declared {
                file: ServerFile::Editor,
                ..Declared::own(config, ServerOrigin::User)
            });
        }
        Ok(())
    }

    /// Sets the address and the key of the provider `endpoint`, in memory only.
    ///
    /// # Errors
    /// The address is invalid for a provider.
    pub fn set_endpoint(&mut self, address: &str, key: &str) -> anyhow::Result<()> {
        let said = serde_json::json!({ "EndPoint": address, "ApiKey": key });
        let Checked { mut file, value, .. } = check(said)?;
        self.models.add_editors(&mut file, &mut Gate::of_user(&value))
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
            mut file,
            value,
            mut warnings,
        }) = read_file(path, Author::Folder, withhold)?
        else {
            return Ok(());
        };
        let servers = servers::read(std::mem::take(&mut file.mcp_servers), &mut warnings);
        let channels = channels::read(std::mem::take(&mut file.external_channels), &mut warnings);
        let profiles = profiles::read(std::mem::take(&mut file.sub_agent_profiles), &mut warnings);
        let hooks = file.hooks.take().unwrap_or_default();
        let hooks = hooks::read(hooks, path, record.trusted, &mut warnings);
        self.take_warnings(path, warnings);
        for hook in hooks {
            let (hook, item) = hook.of_folder(workspace, record);
            // In a trusted folder, a changed `PreToolUse` hook still refuses its calls.
            let guards = record.trusted && hook.event == HookEvent::PreToolUse;
            if item.as_ref().is_some_and(|item| item.trusted) || guards {
                self.hooks.push(hook);
            }
            self.folder_items.extend(item);
        }
        for profile in profiles {
            let declared = DeclaredProfile::of_folder(profile, workspace, record);
            self.folder_items.extend(declared.item());
            self.profiles.push(declared);
        }
        for config in channels {
            let declared = DeclaredChannel::of_folder(config, workspace, record);
            self.folder_items.extend(declared.item());
            self.channels.push(declared);
        }
        for config in servers {
            let declared = Declared::of_folder(config, ServerFile::Config, workspace, record);
            self.folder_items.extend(declared.item());
            self.tool_servers.push(declared);
        }
        let mut gate = Gate::of_folder(&value, record);
        hermes::add(
            &mut self.hermes,
            file.hermes_extensions.take(),
            workspace,
            &mut gate,
        )?;
        hermes::add_agent(&mut self.hermes_agent, file.hermes_agent, &gate);
        self.plugins
            .add(std::mem::take(&mut file.plugins), workspace, home, &mut gate);
        self.add_sections(path, &mut file, home, &mut gate)?;
        self.models.add_projects(&mut file, &mut gate)?;
        self.folder_items.extend(gate.into_items());
        Ok(())
    }

    /// Adds the servers of the folder's `.mcp.json`.
    fn add_mcp_json(&mut self, workspace: &Path, record: &TrustRecord) {
        let (servers, mut warnings) = mcp_json::read(workspace);
        self.warnings.append(&mut warnings);
        for config in servers {
            let is_same = |known: &&Declared| {
                known.origin == ServerOrigin::Workspace
                    && known.config.name.to_lowercase() == config.name.to_lowercase()
            };
            if self.tool_servers.iter().any(|known| is_same(&known)) {
                self.warnings.push(format!(
                    "{}: the MCP server {} is not used: {FILE} has one of that name",
                    workspace.join(mcp_json::FILE).display(),
                    config.name
                ));
                continue;
            }
            let declared = Declared::of_folder(config, ServerFile::McpJson, workspace, record);
            self.folder_items.extend(declared.item());
            self.tool_servers.push(declared);
        }
    }

    /// Adds the sections that have the same rules in both files.
    fn add_sections(
        &mut self,
        path: &Path,
        file: &mut ConfigFile,
        home: Option<&Path>,
        gate: &mut Gate<'_>,
    ) -> anyhow::Result<()> {
        self.sources.push(path.to_owned());
        let permissions = std::mem::take(&mut file.permissions);
        self.take_warnings(path, rules::unknown_tools(&permissions.rules).collect());
        self.rules.add(path, permissions.rules, gate);
        self.rules.compile(home)?;
        self.sandbox.add(std::mem::take(&mut file.sandbox), gate)?;
        let variables = std::mem::take(&mut file.commands.environment);
        commands::add(&mut self.variables, variables, gate)?;
        self.agent.add(file, gate);
        self.sub_agents.add(std::mem::take(&mut file.sub_agent), gate);
        if let Some(policy) = permissions.default_approval_policy {
            let policy = match policy {
                file::Policy::Default => Some(ApprovalPolicy::Default),
                file::Policy::AskWrites => Some(ApprovalPolicy::AskWrites),
                file::Policy::Refuse => Some(ApprovalPolicy::Refuse),
                file::Policy::Sandboxed => Some(ApprovalPolicy::Sandboxed),
                file::Policy::Automatic => None,
                file::Policy::AutoApprove => Some(ApprovalPolicy::AutoApprove),
            };
            // Any file may make it stricter.
            let before = self.approval_policy.unwrap_or_default();
            let is_strict = policy.is_some_and(|policy| policy.stricter(before) == policy);
            if is_strict || gate.passes("Permissions.DefaultApprovalPolicy") {
                self.approval_policy = policy;
                self.is_policy_set = true;
            }
        }
        if let Some(enabled) = file.welcome_suggestions.enabled
            && (!enabled || gate.passes("WelcomeSuggestions.Enabled"))
        {
            self.without_welcome = !enabled;
        }
        if let Some(settings) = file.fine_code.take()
            && gate.passes("FineCode")
        {
            self.finecode.add(settings);
        }
        if let Some(durability) = file.durability
            && (durability == file::Durability::Full || gate.passes("Durability"))
        {
            self.durability = durability;
        }
        if let Some(wait) = file.approvals.max_wait_seconds.map(Duration::from_secs)
            && (self.approval_max_wait.is_some_and(|known| wait <= known)
                || gate.passes("Approvals.MaxWaitSeconds"))
        {
            self.approval_max_wait = Some(wait);
        }
        Ok(())
    }

    fn take_warnings(&mut self, path: &Path, warnings: Vec<String>) {
        let warnings = warnings.into_iter();
        self.warnings
            .extend(warnings.map(|warning| format!("{}: {warning}", path.display())));
    }
}

/// Returns the IP address of a host.
fn ip(host: &str) -> Option<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    host.parse().ok()
}

/// Returns the path in a setting of the user's own file.
fn own_file(text: &str, home: &Path) -> anyhow::Result<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(text),
    };
    if path.is_absolute() {
        Ok(path)
    } else {
        bail!("AppServer.Tls names {text:?}: write the whole path, or begin with ~/")
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

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// The user's. It may be a link into a repository of their own.
    User,
    /// A folder's.
    Folder,
}

/// Reads and checks a file, if it exists. `withhold` removes members that do not count and returns sentences about
/// them.
fn read_file(
    path: &Path,
    author: Author,
    withhold: impl FnOnce(&mut Value) -> Vec<String>,
) -> anyhow::Result<Option<Checked>> {
    let text = match author {
        Author::User => bobbin_files::read_text(path, crate::MAX_CONFIG_BYTES),
        Author::Folder => bobbin_files::read_text_unlinked(path, crate::MAX_CONFIG_BYTES),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!("the file cannot be read: {error}"),
    };
    let mut value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).context("this is not valid JSON")?;
    let mut withheld = withhold(&mut value);
    let mut checked = check(value)?;
    checked.warnings.append(&mut withheld);
    Ok(Some(checked))
}

/// Removes the settings that no workspace may make. Only the user decides where processes listen and who may connect,
/// even in trusted folders.
fn withhold(value: &mut Value) -> Vec<String> {
    let Some(members) = value.as_object_mut() else {
        return Vec::new();
    };
    let mut withheld = Vec::new();
    members.retain(|name, _| {
        let own = ["AppServer", "Hub"].into_iter().find(|own| name.eq_ignore_ascii_case(own));
        withheld.extend(own.map(|own| {
            format!(
                "{own} is not used: no workspace says who may connect; put it into your own ~/.craft/config.json"
            )
        }));
        own.is_none()
    });
    withheld
}

/// Returns the servers of a section and the warnings about it.
#[cfg(test)]
pub(crate) fn tool_servers(
    section: &Value,
) -> (std::collections::BTreeMap<String, file::McpServer>, Vec<String>) {
    let checked = check(serde_json::json!({ "McpServers": section })).unwrap();
    (checked.file.mcp_servers, checked.warnings)
}

#[cfg(test)]
mod tests;
