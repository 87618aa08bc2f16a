//! `bobbin plugin`: shows the workspace's plugins, installs and removes them, switches them on and off.
//!
//! Asks the server that runs in the workspace, so that a change counts there at once. Where none runs, the command opens the
//! workspace by itself. Texts of plugins are shown so that they cannot pass for anything else on a terminal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use bobbin_client::Client;
use bobbin_model::{Lines, visible};
use bobbin_plugins::Place;
use bobbin_plugins::wire::{
    DiagnosticSeverity, PluginDiagnostic, PluginInfo, PluginListResult, PluginResult, PluginSource,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::call::{ask_server, asking, call};
use bobbin_server::telemetry::LogOptions;
use bobbin_server::trust::TrustFile;
use bobbin_server::{config, console, state, telemetry};

/// Longest description in a line, in bytes.
const LONGEST: usize = 120;

/// Arguments of `bobbin plugin`.
#[derive(Debug, Args)]
pub(crate) struct PluginCommand {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the plugins, installed or in the catalogue, and what is wrong with them (the default).
    List,
    /// Show what a plugin brings.
    View {
        /// Its id.
        id: String,
    },
    /// Install a plugin in the workspace and enable it, in place of an installed one.
    ///
    /// Read what is in a folder before: you say with it that its MCP servers and hooks may run.
    Install {
        /// A folder with a plugin, written with a `/`, such as `./tea-log`; or the id of one in the catalogue.
        plugin: String,
    },
    /// Remove an installed plugin with its files.
    Remove {
        /// Its id.
        id: String,
    },
    /// Have a plugin bring what it has.
    Enable {
        /// Its id.
        id: String,
    },
    /// Have a plugin bring nothing in this workspace. Its files stay.
    Disable {
        /// Its id.
        id: String,
    },
}

/// Does what was asked.
pub(crate) async fn run(command: PluginCommand) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(command.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let action = command.action.unwrap_or(Action::List);
    let plugin = ask_server(&workspace, &config, asking("bobbin-plugin"), async |client| {
        act(client, action).await
    })
    .await?;
    if let Some(plugin) = plugin {
        brings(&plugin);
        // Read again: an installation has changed the record.
        let file = TrustFile::of(&state::directory()?, &workspace.root);
        let place = Place {
            root: workspace.root.clone(),
            home: state::home(),
        };
        let name = format!("the plugin {}", plugin.id);
        let items = bobbin_plugins::trust_items(&place, &config.plugins, &file.read());
        for item in items.iter().filter(|item| item.name == name) {
            console::say(&format!("  in full: {}", shown(&item.detail)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Does what was asked. Returns a plugin of which the user is to see what it brings.
async fn act(client: &Client, action: Action) -> anyhow::Result<Option<PluginInfo>> {
    match action {
        Action::List => {
            list(&call(client, "plugin/list", &json!({})).await?);
        }
        Action::View { id } => {
            let plugin = asked(client, "plugin/view", json!({ "id": id })).await?;
            console::say(&line(&plugin));
            return Ok(Some(plugin));
        }
        Action::Install { plugin } => {
            let installed = asked(client, "plugin/install", named(&plugin)?).await;
            if installed.is_err() && !is_path(&plugin) && Path::new(&plugin).is_dir() {
                console::complain(&format!(
                    "{plugin} is taken for an id; for the folder write ./{plugin}"
                ));
            }
            let plugin = installed?;
            console::say(&format!("Installed: {}", line(&plugin)));
            return Ok(Some(plugin));
        }
        Action::Remove { id } => {
            let plugin = asked(client, "plugin/remove", json!({ "id": id })).await?;
            console::say(&format!("Removed: {}", shown(&plugin.id)));
        }
        Action::Enable { id } => set_enabled(client, &id, true).await?,
        Action::Disable { id } => set_enabled(client, &id, false).await?,
    }
    Ok(None)
}

async fn asked(client: &Client, method: &'static str, params: Value) -> anyhow::Result<PluginInfo> {
    let result: PluginResult = call(client, method, &params).await?;
    Ok(result.plugin)
}

async fn set_enabled(client: &Client, id: &str, enabled: bool) -> anyhow::Result<()> {
    let params = json!({ "id": id, "enabled": enabled });
    let plugin = asked(client, "plugin/setEnabled", params).await?;
    console::say(&line(&plugin));
    diagnostics(&plugin.diagnostics);
    Ok(())
}

fn is_path(plugin: &str) -> bool {
    plugin.contains('/') || matches!(plugin, "." | "..")
}

/// Returns the parameters that say which plugin is installed: what is written as a path is a folder.
fn named(plugin: &str) -> anyhow::Result<Value> {
    if !is_path(plugin) {
        return Ok(json!({ "id": plugin }));
    }
    // The server has another current directory.
    let folder = Path::new(plugin).canonicalize();
    let folder = folder.with_context(|| format!("{plugin} cannot be installed"))?;
    Ok(json!({ "path": folder }))
}

fn list(listed: &PluginListResult) {
    if listed.plugins.is_empty() {
        console::say("There are no plugins; `bobbin plugin install ./FOLDER` installs one.");
    }
    for plugin in &listed.plugins {
        console::say(&line(plugin));
        hooks(plugin);
    }
    diagnostics(&listed.diagnostics);
}

/// Returns a plugin in one line.
fn line(plugin: &PluginInfo) -> String {
    let version = plugin
        .version
        .as_deref()
        .map(|version| format!(" {}", shown(version)));
    let is = match (plugin.installed, plugin.enabled) {
        (false, _) => "not installed",
        (true, false) => "disabled",
        (true, true) => "enabled",
    };
    let from = match plugin.source {
        PluginSource::Workspace => "the workspace's",
        PluginSource::Explicit => "from a folder of the configuration",
        PluginSource::UserGlobal => "yours",
        PluginSource::Builtin => "from the catalogue",
    };
    let about = plugin.description.as_deref().map(first_line);
    format!(
        "{}{} ({is}, {from}){}",
        shown(&plugin.id),
        version.unwrap_or_default(),
        about.unwrap_or_default()
    )
}

/// Says what a plugin brings, and what its user should know.
fn brings(plugin: &PluginInfo) {
    if !plugin.root_path.is_empty() {
        console::say(&format!("  in {}", shown(&plugin.root_path)));
    }
    for skill in &plugin.skills {
        let off = if skill.enabled { "" } else { " (switched off)" };
        console::say(&format!(
            "  skill {}{off}: {}",
            shown(&skill.name),
            shown(&skill.description)
        ));
    }
    for server in &plugin.mcp_servers {
        let is = match (server.active, &server.shadowed_by) {
            (_, Some(_)) => " (not used: the configuration has one of this name)",
            (true, None) => "",
            (false, None) => " (not used)",
        };
        console::say(&format!("  MCP server {}{is}", shown(&server.runtime_name)));
    }
    hooks(plugin);
    diagnostics(&plugin.diagnostics);
}

/// Says which commands a plugin runs by itself, and when.
fn hooks(plugin: &PluginInfo) {
    for hook in &plugin.hooks {
        let of = hook
            .matcher
            .as_deref()
            .map(|matcher| format!(" ({})", shown(matcher)));
        let (event, of) = (shown(&hook.event), of.unwrap_or_default());
        console::say(&format!("  hook {event}{of}: {}", shown(&hook.command)));
    }
}

fn diagnostics(diagnostics: &[PluginDiagnostic]) {
    for one in diagnostics {
        let whose = one.plugin_id.as_ref().or(one.path.as_ref());
        let whose = whose
            .map(|whose| format!("{}: ", shown(whose)))
            .unwrap_or_default();
        let text = format!("{whose}{}", shown(&one.message));
        match one.severity {
            DiagnosticSeverity::Info => console::say(&format!("  {text}")),
            DiagnosticSeverity::Warning | DiagnosticSeverity::Error => console::complain(&text),
        }
    }
}

/// Returns the beginning of a description, to follow what it describes.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let (head, whole) = bobbin_agent_api::cut::head(line, LONGEST);
    format!(": {}{}", shown(head), if whole { "" } else { " […]" })
}

/// Returns a text of another author for one line of a terminal.
fn shown(text: &str) -> String {
    visible(text, Lines::One).to_string()
}
