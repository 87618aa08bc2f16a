//! The `McpServers` section of a configuration file, and back.
//!
//! The section is an object of entries by name, or a list of entries with names. A broken entry is reported; the
//! others still count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_agent_api::tool_server::{ConfiguredServer, Secrets, ServerAccess, ToolServerConfig};
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_model::ServerOrigin;
use serde_json::{Value, json};

use crate::file::{McpServer, McpTransport};
use crate::plugins::plugin_digest;
use crate::{entries, fingerprint, mcp_json, shown};
use bobbin_workspace::TrustRecord;

/// Name of a plugin's folder in its files.
pub const PLUGIN_ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// A server in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The server.
    pub config: ToolServerConfig,
    /// The owner of its file.
    pub origin: ServerOrigin,
    /// The file.
    pub file: ServerFile,
    /// The fingerprint of its content; `None` in a file that only the user writes.
    pub fingerprint: Option<String>,
    /// Whether it may run.
    pub trusted: bool,
    /// The folder of the plugin that it belongs to.
    pub plugin: Option<PluginFolder>,
}

/// The folder of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFolder {
    /// Its path.
    pub root: PathBuf,
    /// The digest of the content that the user trusts; `None` if only the user writes the folder.
    pub digest: Option<String>,
}

impl PluginFolder {
    /// Whether its content is unchanged since the user trusted it. Blocks on the disk.
    pub fn is_unchanged(&self) -> bool {
        let now = |_| plugin_digest(&self.root).ok();
        self.digest.as_ref().and_then(now) == self.digest
    }
}

/// The file that declares a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFile {
    /// `.craft/config.json` of the user or of the folder.
    Config,
    /// The folder's `.mcp.json`. `${NAME}` in its texts is replaced from the environment.
    McpJson,
    /// The options of the user's editor.
    Editor,
    /// A file of a plugin. `${NAME}` in its texts is replaced too.
    Plugin,
}

impl Declared {
    /// Returns a server of the user's own file.
    pub fn own(config: ToolServerConfig, origin: ServerOrigin) -> Self {
        Self {
            config,
            origin,
            file: ServerFile::Config,
            fingerprint: None,
            trusted: true,
            plugin: None,
        }
    }

    /// Returns a server of a plugin that is in use.
    pub fn of_plugin(config: ToolServerConfig, plugin: PluginFolder) -> Self {
        Self {
            file: ServerFile::Plugin,
            plugin: Some(plugin),
            ..Self::own(config, ServerOrigin::Plugin)
        }
    }

    /// Returns a server of a file in the folder `root`. Blocks on the disk.
    pub fn of_folder(config: ToolServerConfig, file: ServerFile, root: &Path, record: &TrustRecord) -> Self {
        let fingerprint = fingerprint::of_declared(&config, file, root);
        Self {
            config,
            origin: ServerOrigin::Workspace,
            file,
            trusted: record.has(&fingerprint),
            fingerprint: Some(fingerprint),
            plugin: None,
        }
    }

    /// Whether its definition and the files that its command line names are those that the user trusts. Blocks on the
    /// disk.
    pub fn is_unchanged(&self, root: &Path) -> bool {
        if let Some(plugin) = &self.plugin {
            return plugin.is_unchanged();
        }
        let now = |_| fingerprint::of_declared(&self.config, self.file, root);
        self.fingerprint.as_ref().map(now) == self.fingerprint
    }

    /// Returns its file's name for users.
    pub fn place(&self) -> &'static str {
        match (self.file, self.origin) {
            (ServerFile::Config, ServerOrigin::User) => "~/.craft/config.json",
            (ServerFile::Config, ServerOrigin::Workspace) => ".craft/config.json",
            (ServerFile::McpJson, _) => mcp_json::FILE,
            (ServerFile::Editor, _) => crate::EDITORS_OPTIONS,
            (ServerFile::Plugin, _) | (_, ServerOrigin::Plugin) => "a plugin",
        }
    }

    /// Describes what it runs or its address, and the user's variables that it gets. Leaves out values of the user's
    /// own file.
    pub fn what_runs(&self) -> String {
        let mut runs = shown::what_runs(&self.config, self.is_users());
        if self.fills_in() {
            let texts = texts(&self.config.access);
            let names: BTreeSet<&str> = texts.into_iter().flat_map(mcp_json::variables).collect();
            if !names.is_empty() {
                let names: Vec<&str> = names.into_iter().collect();
                runs.push_str(", filled in with your ");
                runs.push_str(&names.join(", "));
            }
        }
        runs
    }

    /// Returns how to reach it, with the values of variables if its file may use them.
    ///
    /// # Errors
    /// The name of a variable that is not set.
    pub fn access(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<ServerAccess, String> {
        let mut access = self.config.access.clone();
        if self.fills_in() {
            for text in texts_mut(&mut access) {
                *text = mcp_json::filled_in(text, variable)?;
            }
        }
        Ok(access)
    }

    /// Whether its texts may contain variables.
    fn fills_in(&self) -> bool {
        matches!(self.file, ServerFile::McpJson | ServerFile::Plugin)
    }

    /// Whether a folder declares it, in a file or in a plugin.
    pub fn is_of_folder(&self) -> bool {
        let of_plugin = self.plugin.as_ref().is_some_and(|plugin| plugin.digest.is_some());
        of_plugin || self.origin == ServerOrigin::Workspace
    }

    /// Whether only the user writes its file.
    pub fn is_users(&self) -> bool {
        self.fingerprint.is_none()
    }

    /// Returns its trust item; `None` for a disabled server and for one of the user's own file.
    pub fn item(&self) -> Option<TrustItem> {
        let fingerprint = self.fingerprint.clone().filter(|_| self.config.enabled)?;
        Some(TrustItem {
            kind: TrustKind::Server,
            name: format!("the MCP server {}", self.config.name),
            detail: self.what_runs(),
            fingerprint: Some(fingerprint),
            trusted: self.trusted,
        })
    }

    /// Returns it as clients see it.
    pub fn configured(&self) -> ConfiguredServer {
        ConfiguredServer {
            config: self.config.clone(),
            origin: self.origin,
            read_only: self.is_read_only(),
        }
    }

    /// Whether clients may not change it. They write the workspace's `.craft/config.json` only.
    pub fn is_read_only(&self) -> bool {
        self.origin != ServerOrigin::Workspace || self.file != ServerFile::Config
    }
}

/// Returns the texts that may contain variables.
fn texts(access: &ServerAccess) -> Vec<&str> {
    match access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            cwd,
            ..
        } => {
            let texts = [command].into_iter().chain(args).chain(env.0.values()).chain(cwd);
            texts.map(String::as_str).collect()
        }
        ServerAccess::Http { url, headers, .. } => {
            let texts = [url].into_iter().chain(headers.0.values());
            texts.map(String::as_str).collect()
        }
    }
}

fn texts_mut(access: &mut ServerAccess) -> Vec<&mut String> {
    match access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            cwd,
            ..
        } => {
            let texts = [command].into_iter().chain(args).chain(env.0.values_mut());
            texts.chain(cwd).collect()
        }
        ServerAccess::Http { url, headers, .. } => [url].into_iter().chain(headers.0.values_mut()).collect(),
    }
}

/// Returns the servers of a section. Mistakes go to `warnings`.
pub fn read(section: BTreeMap<String, McpServer>, warnings: &mut Vec<String>) -> Vec<ToolServerConfig> {
    entries::read(section, "MCP server", warnings, config)
}

/// Returns the servers of a plugin: `{"mcpServers": {NAME: …}}`, or the inner object alone. Their names are
/// `ID:NAME`. Mistakes go to `warnings`.
pub fn of_plugin(value: Value, id: &str, root: &Path, warnings: &mut Vec<String>) -> Vec<ToolServerConfig> {
    let section = match value {
        Value::Object(mut members) => match members.remove("mcpServers") {
            Some(section) => section,
            None => Value::Object(members),
        },
        other => other,
    };
    let checked = match crate::check::check(json!({ "McpServers": section })) {
        Ok(checked) => checked,
        Err(error) => {
            warnings.push(format!("the MCP servers are not used: {error:#}"));
            return Vec::new();
        }
    };
    warnings.extend(checked.warnings);
    let mut servers = read(checked.file.mcp_servers, warnings);
    for config in &mut servers {
        config.name = format!("{id}:{}", config.name);
        config.outside_sandbox = false;
        for text in texts_mut(&mut config.access) {
            *text = text.replace(PLUGIN_ROOT, &root.to_string_lossy());
        }
        if let ServerAccess::Stdio { cwd: Some(cwd), .. } = &mut config.access {
            *cwd = root.join(&*cwd).to_string_lossy().into_owned();
        }
    }
    servers.retain(|config| match check(config) {
        Ok(()) => true,
        Err(why) => {
            warnings.push(format!("the MCP server {} is not used: {why}", config.name));
            false
        }
    });
    servers
}

fn config(name: &str, entry: McpServer) -> Result<ToolServerConfig, String> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let url = said(entry.url);
    let by_url = match entry.transport {
        None => url.is_some(),
        Some(transport) => transport == McpTransport::StreamableHttp,
    };
    let access = if by_url {
        ServerAccess::Http {
            url: url.ok_or("it has no Url")?,
            bearer_token_env_var: said(entry.bearer_token_env_var),
            headers: Secrets(entry.headers),
            env_headers: entry.env_http_headers,
        }
    } else {
        ServerAccess::Stdio {
            command: entry.command.unwrap_or_default(),
            args: entry.arguments,
            env: Secrets(entry.environment_variables),
            env_vars: entry.env_vars,
            cwd: said(entry.cwd),
        }
    };
    let config = ToolServerConfig {
        name: name.to_owned(),
        enabled: entry.enabled.unwrap_or(true) && !entry.disabled.unwrap_or(false),
        access,
        outside_sandbox: entry.sandbox == Some(false),
        start_timeout: entry.startup_timeout_sec.and_then(seconds),
        call_timeout: entry.tool_timeout_sec.and_then(seconds),
    };
    check(&config)?;
    Ok(config)
}

/// Checks the members that a transport needs, and the sizes of all of them.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub fn check(config: &ToolServerConfig) -> Result<(), String> {
    entries::check_name(&config.name)?;
    let (texts, parts): (Vec<&String>, usize) = match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            if command.trim().is_empty() {
                return Err("it has no command".to_owned());
            }
            let texts = [command]
                .into_iter()
                .chain(args)
                .chain(env.0.iter().flat_map(|(a, b)| [a, b]));
            (
                texts.chain(env_vars).chain(cwd).collect(),
                args.len() + env.0.len() + env_vars.len(),
            )
        }
        ServerAccess::Http {
            url,
            headers,
            env_headers,
            bearer_token_env_var,
        } => {
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                return Err("its url must begin with http:// or https://".to_owned());
            }
            let named = headers.0.iter().chain(env_headers).flat_map(|(a, b)| [a, b]);
            (
                [url]
                    .into_iter()
                    .chain(bearer_token_env_var)
                    .chain(named)
                    .collect(),
                headers.0.len() + env_headers.len(),
            )
        }
    };
    entries::check_texts(parts, texts.into_iter())
}

/// Returns the entry of a server, with the names that the protocol's clients write.
pub(crate) fn entry(config: &ToolServerConfig) -> Value {
    let mut entry = definition(config);
    entry["Enabled"] = json!(config.enabled);
    let seconds = |time: Duration| {
        if time.subsec_nanos() == 0 {
            json!(time.as_secs())
        } else {
            json!(time.as_secs_f64())
        }
    };
    if let Some(time) = config.start_timeout {
        entry["StartupTimeoutSec"] = seconds(time);
    }
    if let Some(time) = config.call_timeout {
        entry["ToolTimeoutSec"] = seconds(time);
    }
    entry
}

/// Returns the members of a server that decide what happens when it starts. The user trusts exactly these.
pub fn definition(config: &ToolServerConfig) -> Value {
    let mut entry = match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => json!({
            "Transport": "stdio",
            "Command": command,
            "Arguments": args,
            "EnvironmentVariables": env.0,
            "EnvVars": env_vars,
            "Cwd": cwd,
        }),
        ServerAccess::Http {
            url,
            bearer_token_env_var,
            headers,
            env_headers,
        } => json!({
            "Transport": "streamableHttp",
            "Url": url,
            "BearerTokenEnvVar": bearer_token_env_var,
            "Headers": headers.0,
            "EnvHttpHeaders": env_headers,
        }),
    };
    if let Some(members) = entry.as_object_mut() {
        members.insert("Name".to_owned(), json!(config.name));
        if config.outside_sandbox {
            members.insert("Sandbox".to_owned(), json!(false));
        }
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(all) => !all.is_empty(),
            Value::Object(all) => !all.is_empty(),
            _ => true,
        });
    }
    entry
}

/// Returns the servers of a section of a file, and the warnings.
#[cfg(test)]
pub fn of_section(section: &Value) -> (Vec<ToolServerConfig>, Vec<String>) {
    let (section, mut warnings) = crate::config::tool_servers(section);
    let servers = read(section, &mut warnings);
    (servers, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(section: &Value) -> ToolServerConfig {
        let (mut servers, warnings) = of_section(section);
        assert_eq!((servers.len(), warnings), (1, Vec::new()));
        servers.remove(0)
    }

    #[test]
    fn entries_of_every_spelling_are_one_server() {
        let ours = one(&json!({ "pantry": {
            "Transport": "stdio", "Command": "npx", "Arguments": ["-y", "pantry"],
            "EnvironmentVariables": { "SHELF": "2" }, "EnvVars": ["LANG"], "Cwd": "x", "ToolTimeoutSec": 1.5,
        } }));
        let theirs = one(&json!({ "pantry": {
            "type": "stdio", "command": "npx", "args": ["-y", "pantry"], "env": { "SHELF": 2 },
            "envVars": ["LANG"], "cwd": "x", "toolTimeoutSec": 1.5, "disabled": false,
        } }));
        let listed = one(&json!([{
            "Name": "pantry", "Command": "npx", "Args": ["-y", "pantry"], "Env": { "SHELF": "2" },
            "EnvVars": ["LANG"], "Cwd": "x", "ToolTimeoutSec": 1.5,
        }]));
        assert_eq!(ours, theirs);
        assert_eq!(ours, listed);
        let written = json!({ "pantry": entry(&ours) });
        assert_eq!(one(&written), ours);
    }

    #[test]
    fn a_url_makes_it_a_server_that_is_reached_over_http() {
        let config = one(&json!({ "cellar": {
            "url": "https://cellar.example/mcp", "headers": { "X-Shelf": "2" }, "bearerTokenEnvVar": "T",
        } }));
        assert!(matches!(&config.access, ServerAccess::Http { headers, .. } if headers.0["X-Shelf"] == "2"));
        assert_eq!(one(&json!({ "cellar": entry(&config) })), config);
    }

    #[test]
    fn broken_entries_are_reported_and_the_others_are_used() {
        let section = json!({
            "good": { "command": "x" },
            "empty": {},
            "seven": 7,
            "odd": { "transport": "pigeon" },
            " ": { "command": "x" },
            "args": { "command": "x", "args": "y" },
            "file": { "url": "file:///etc/passwd" },
        });
        let (servers, warnings) = of_section(&section);
        assert_eq!(servers.len(), 1);
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        for part in [
            "no command",
            "not an object",
            "pigeon",
            "blank",
            "Arguments is not a list",
            "http://",
        ] {
            assert!(
                warnings.iter().any(|warning| warning.contains(part)),
                "{part}: {warnings:?}"
            );
        }
    }
}
