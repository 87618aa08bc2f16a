//! Settings of MCP servers: the section `McpServers` of configuration files, the `.mcp.json` of folders, and the servers
//! of plugins. Reads no environment.

mod declared;
mod lines;
mod mcp_json;
mod section;

use std::path::Path;

use bobbin_agent_api::tool_server::ToolServerConfig;
use bobbin_model::ServerOrigin;
use bobbin_settings::{Entries, FILE, Source, edit};
use bobbin_workspace::TrustRecord;

pub use declared::{DeclaredServer, ServerFile, of_server};
pub use section::{McpServer, check, of_plugin, read};

/// Returns the servers of a configuration file. Blocks on the disk.
pub fn of_file(section: Entries<McpServer>, source: &mut Source<'_>) -> Vec<DeclaredServer> {
    let servers = read(section, &mut source.warnings).into_iter();
    let servers: Vec<_> = servers
        .map(|config| match source.record() {
            Some(record) => DeclaredServer::of_folder(config, ServerFile::Config, source.root, record),
            None => DeclaredServer::own(config, source.origin),
        })
        .collect();
    for server in &servers {
        source.add_item(server.item());
    }
    servers
}

/// Returns the servers of the folder's `.mcp.json` beside the `known` ones. Mistakes go to `warnings`. Blocks on the disk.
pub fn of_mcp_json(
    root: &Path,
    record: &TrustRecord,
    known: &[DeclaredServer],
    warnings: &mut Vec<String>,
) -> Vec<DeclaredServer> {
    let (servers, mut mistakes) = mcp_json::read(root);
    warnings.append(&mut mistakes);
    let mut found = Vec::new();
    for config in servers {
        let is_same = |known: &DeclaredServer| {
            known.origin == ServerOrigin::Workspace
                && known.config.name.to_lowercase() == config.name.to_lowercase()
        };
        if known.iter().any(is_same) {
            warnings.push(format!(
                "{}: the MCP server {} is not used: {FILE} has one of that name",
                root.join(mcp_json::FILE).display(),
                config.name
            ));
            continue;
        }
        found.push(DeclaredServer::of_folder(
            config,
            ServerFile::McpJson,
            root,
            record,
        ));
    }
    found
}

/// Writes a server into a configuration file, over the one with its name.
///
/// # Errors
/// As [`edit::put`].
pub fn put(file: &Path, config: &ToolServerConfig) -> anyhow::Result<()> {
    edit::put(
        file,
        section::SECTION,
        &config.name,
        Some(&section::entry(config)),
    )
}

/// Removes a server from a configuration file.
///
/// # Errors
/// As [`edit::put`].
pub fn remove(file: &Path, name: &str) -> anyhow::Result<()> {
    edit::put(file, section::SECTION, name, None)
}
