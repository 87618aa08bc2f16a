//! Servers that files declare: their trust, and what users see of them.

use std::collections::BTreeSet;
use std::path::Path;

use bobbin_agent_api::tool_server::{ConfiguredServer, ServerAccess, ToolServerConfig};
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_model::ServerOrigin;
use bobbin_settings::{PluginFolder, file_digest, plain, shown_command};
use bobbin_workspace::TrustRecord;
use sha2::{Digest as _, Sha256};

use super::mcp_json;
use super::section::definition;

/// A server in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredServer {
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

impl DeclaredServer {
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
        let fingerprint = of_declared(&config, file, root);
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
        let now = |_| of_declared(&self.config, self.file, root);
        self.fingerprint.as_ref().map(now) == self.fingerprint
    }

    /// Returns its file's name for users.
    pub fn place(&self) -> &'static str {
        match (self.file, self.origin) {
            (ServerFile::Config, ServerOrigin::User) => "~/.craft/config.json",
            (ServerFile::Config, ServerOrigin::Workspace) => ".craft/config.json",
            (ServerFile::McpJson, _) => mcp_json::FILE,
            (ServerFile::Editor, _) => "the editor's options",
            (ServerFile::Plugin, _) | (_, ServerOrigin::Plugin) => "a plugin",
        }
    }

    /// Describes what it runs or its address, and the user's variables that it gets. Leaves out values of the user's
    /// own file.
    pub fn what_runs(&self) -> String {
        let mut runs = what_runs(&self.config, self.is_users());
        if self.fills_in() {
            let mut access = self.config.access.clone();
            let texts = texts(&mut access).into_iter();
            let names: BTreeSet<&str> = texts.flat_map(|text| mcp_json::variables(text)).collect();
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
            for text in texts(&mut access) {
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
pub(super) fn texts(access: &mut ServerAccess) -> Vec<&mut String> {
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

/// Returns the fingerprint of a server: its definition and the files of the folder that its command line names.
///
/// Files that those files load do not count. Blocks on the disk.
pub fn of_server(config: &ToolServerConfig, root: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(b"server\0");
    hash.update(definition(config).to_string());
    if let ServerAccess::Stdio {
        command, args, cwd, ..
    } = &config.access
    {
        let cwd = root.join(cwd.as_deref().unwrap_or_default());
        for word in [command].into_iter().chain(args) {
            if let Some(content) = file_digest(&cwd.join(word), root) {
                hash.update([0]);
                hash.update(word);
                hash.update(content);
            }
        }
    }
    hex::encode(hash.finalize())
}

/// Returns the fingerprint of a server in a file of the folder. A file that fills in variables changes the meaning of
/// a text, so it also changes the fingerprint. Blocks on the disk.
fn of_declared(config: &ToolServerConfig, file: ServerFile, root: &Path) -> String {
    let plain = of_server(config, root);
    if file != ServerFile::McpJson {
        return plain;
    }
    hex::encode(
        Sha256::new_with_prefix(b"mcp.json\0")
            .chain_update(plain)
            .finalize(),
    )
}

/// Describes what a server runs or its address. Leaves out values of the user's own file.
fn what_runs(config: &ToolServerConfig, is_users: bool) -> String {
    match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            let set = env.0.iter().map(|(name, value)| {
                if is_users {
                    plain(name)
                } else {
                    format!("{}={value:?}", plain(name))
                }
            });
            let passed = env_vars.iter().map(|name| format!("your {}", plain(name)));
            let line = shown_command([command].into_iter().chain(args), set.chain(passed));
            let place = cwd.iter().map(|cwd| format!(" in {cwd:?}"));
            let outside = if config.outside_sandbox && !is_users {
                "outside of the sandbox "
            } else {
                ""
            };
            format!("runs {outside}{line}{}", place.collect::<String>())
        }
        ServerAccess::Http {
            url,
            headers,
            env_headers,
            bearer_token_env_var,
        } => {
            let named = headers.0.keys().map(|name| format!("the header {}", plain(name)));
            let filled = env_headers
                .iter()
                .map(|(header, name)| format!("your {} in the header {}", plain(name), plain(header)));
            let bearer = bearer_token_env_var
                .iter()
                .map(|name| format!("your {} as its token", plain(name)));
            let sent: Vec<String> = bearer.chain(filled).chain(named).collect();
            let which = if sent.is_empty() { "" } else { ", which is sent " };
            format!("is at {}{which}{}", plain(url), sent.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn server(entry: &Value) -> ToolServerConfig {
        crate::settings::section::of_section(&json!({ "pantry": entry }))
            .0
            .remove(0)
    }

    #[test]
    fn what_runs_decides_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("serve.py"), "one").unwrap();
        let of = |entry: &Value| of_server(&server(entry), &root);
        let entry = json!({ "command": "python3", "args": ["serve.py"] });
        let before = of(&entry);
        assert_eq!(
            before,
            of(&json!({ "command": "python3", "args": ["serve.py"], "enabled": false }))
        );
        assert_ne!(
            before,
            of(&json!({ "command": "python3", "args": ["serve.py"], "env": { "A": "b" } }))
        );
        std::fs::write(root.join("serve.py"), "two").unwrap();
        assert_ne!(before, of(&entry), "the script that it names has changed");
    }
}
