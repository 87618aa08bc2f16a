//! The requests about plugins. Files are read and written in tasks of their own.

use std::path::Path;

use bobbin_agent_api::tool_server::ServerAccess;
use bobbin_hooks::Hook;
use bobbin_native::client::{Client, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use serde::Serialize;

use super::wire::{
    DiagnosticSeverity, PluginDiagnostic, PluginHook, PluginInfo, PluginInstallLocalParams,
    PluginInstallParams, PluginListParams, PluginListResult, PluginMcpServer, PluginOutcome, PluginParams,
    PluginResult, PluginScope, PluginSetEnabledParams, PluginSetTrustedParams, PluginShadow, PluginSkill,
    PluginSkillReadParams, PluginSkillReadResult, PluginSource, PluginTransport, PluginWriteResult,
};
use super::{
    Feature, PLUGIN_INSTALL, PLUGIN_INSTALL_LOCAL, PLUGIN_REMOVE, PLUGIN_SET_ENABLED, PLUGIN_SET_TRUSTED,
};
use crate::Plugins;
use crate::discovery::Plugin;
use crate::plugins::{Changed, Snapshot};
use crate::settings::canonical;

/// Another one has taken its place, or it was removed by hand at this very moment.
const GONE: &str = "The plugin is not there any more.";
/// The code of a plugin that needs no trust.
const NOTHING_TO_TRUST: &str = "PluginRuntimeNotDeclared";

/// The result of a change, with the plugin.
struct Done {
    outcome: PluginOutcome,
    plugin: PluginInfo,
    diagnostics: Vec<PluginDiagnostic>,
    servers_too: bool,
    snapshot: Snapshot,
}

/// Makes a change, answers with the plugin, and notifies all clients.
async fn change(
    plugins: &Feature,
    responder: Responder,
    source: &'static str,
    change: impl FnOnce(&Plugins) -> Result<Done, String> + Send + 'static,
) {
    let own = plugins.clone();
    let changed = tokio::task::spawn_blocking(move || change(&own)).await;
    match changed {
        Ok(Ok(done)) => {
            responder.ok(PluginWriteResult {
                outcome: done.outcome,
                plugin: done.plugin,
                affected_plugins: Vec::new(),
                diagnostics: done.diagnostics,
                snapshot_revision: done.snapshot.revision,
            });
            if done.outcome == PluginOutcome::Applied {
                plugins.notify(source, done.servers_too, done.snapshot);
            }
        }
        Ok(Err(detail)) => refuse(responder, RpcError::invalid_params(detail)),
        Err(error) => broken(&error, responder),
    }
}

fn broken(error: &tokio::task::JoinError, responder: Responder) {
    tracing::error!(%error, "work with plugins ended badly");
    refuse(
        responder,
        RpcError::internal_error("The plugins could not be read."),
    );
}

/// Does blocking work and answers with what it returns; an error is a sentence for the user.
async fn answer<R: Serialize + Send + 'static>(
    plugins: Feature,
    responder: Responder,
    work: impl FnOnce(&Plugins) -> Result<R, String> + Send + 'static,
) {
    match tokio::task::spawn_blocking(move || work(&plugins)).await {
        Ok(Ok(result)) => responder.ok(result),
        Ok(Err(detail)) => refuse(responder, RpcError::invalid_params(detail)),
        Err(error) => broken(&error, responder),
    }
}

pub(super) fn list(client: &Client, plugins: &Feature, asked: PluginListParams, responder: Responder) {
    let list = move |plugins: &Plugins| {
        let (found, snapshot_revision) = plugins.look();
        let all = found.plugins.iter().chain(&found.catalogue);
        let listed = all.filter(|plugin| {
            let is_wanted = asked.include_disabled.unwrap_or(true) || plugin.enabled();
            is_wanted || plugin.source == PluginSource::Builtin
        });
        let listed: Vec<PluginInfo> = listed.map(|plugin| info(plugins, plugin)).collect();
        let of_plugins = listed.iter().flat_map(|plugin| plugin.diagnostics.clone());
        Ok(PluginListResult {
            diagnostics: found.diagnostics.iter().cloned().chain(of_plugins).collect(),
            plugins: listed,
            snapshot_revision,
            marketplaces: Vec::new(),
            workspace_path: plugins.root().to_string_lossy().into_owned(),
        })
    };
    client.spawn(answer(plugins.clone(), responder, list));
}

pub(super) fn view(client: &Client, plugins: &Feature, asked: PluginParams, responder: Responder) {
    let view = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let (found, snapshot_revision) = plugins.look();
        let plugin = found.find(id).or_else(|| found.in_catalogue(id));
        let plugin = plugin.ok_or_else(|| format!("Plugin '{id}' was not found."))?;
        Ok(PluginResult {
            plugin: info(plugins, plugin),
            snapshot_revision,
        })
    };
    client.spawn(answer(plugins.clone(), responder, view));
}

pub(super) fn read_skill(
    client: &Client,
    plugins: &Feature,
    asked: PluginSkillReadParams,
    responder: Responder,
) {
    let read = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let (found, _) = plugins.look();
        let plugin = found.find(id).or_else(|| found.in_catalogue(id));
        let plugin = plugin.ok_or_else(|| format!("Plugin '{id}' was not found."))?;
        let content = plugins
            .prompts()
            .skill_source_of(&plugin.manifest.texts, &asked.name);
        Ok(PluginSkillReadResult {
            id: id.to_owned(),
            content: content.map_err(|error| format!("{error}."))?,
            name: asked.name,
        })
    };
    client.spawn(answer(plugins.clone(), responder, read));
}

pub(super) async fn install(_: &Client, plugins: &Feature, asked: PluginInstallParams, responder: Responder) {
    let install = move |plugins: &Plugins| {
        let id = asked.id.as_deref().map(canonical);
        let (changed, id) = match (asked.path.as_deref().map(Path::new), id) {
            (Some(path), _) if !path.is_absolute() => {
                return Err("'path' must be the whole path of a folder.".to_owned());
            }
            (Some(path), id) => plugins.install_folder(path, id)?,
            (None, Some(id)) => (plugins.install(id)?, id.to_owned()),
            (None, None) => return Err("'id' or 'path' must say which plugin.".to_owned()),
        };
        now(plugins, changed, &id)
    };
    change(plugins, responder, PLUGIN_INSTALL, install).await;
}

pub(super) async fn install_local(
    _: &Client,
    plugins: &Feature,
    asked: PluginInstallLocalParams,
    responder: Responder,
) {
    let install = move |plugins: &Plugins| {
        let path = Path::new(&asked.path);
        if !path.is_absolute() {
            return Err("'path' must be the whole path of a folder.".to_owned());
        }
        let (changed, id) = plugins.install_new(path, asked.scope == PluginScope::User)?;
        now(plugins, changed, &id)
    };
    change(plugins, responder, PLUGIN_INSTALL_LOCAL, install).await;
}

pub(super) async fn set_trusted(
    _: &Client,
    plugins: &Feature,
    asked: PluginSetTrustedParams,
    responder: Responder,
) {
    let set = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        if let Some(changed) = plugins.set_trusted(id, asked.trusted)? {
            return now(plugins, changed, id);
        }
        let (found, revision) = plugins.look();
        let plugin = found.find(id).ok_or(GONE)?;
        let diagnostic = PluginDiagnostic {
            severity: DiagnosticSeverity::Info,
            code: NOTHING_TO_TRUST.to_owned(),
            message: format!("Plugin '{id}' is not in the workspace, so it needs no trust."),
            plugin_id: Some(id.to_owned()),
            path: None,
        };
        Ok(Done {
            outcome: PluginOutcome::NotApplied,
            plugin: info(plugins, plugin),
            diagnostics: vec![diagnostic],
            servers_too: false,
            snapshot: Snapshot {
                revision,
                changed: Vec::new(),
            },
        })
    };
    change(plugins, responder, PLUGIN_SET_TRUSTED, set).await;
}

pub(super) async fn remove(_: &Client, plugins: &Feature, asked: PluginParams, responder: Responder) {
    let remove = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let (before, _) = plugins.look();
        let changed = plugins.remove(id)?;
        let plugin = match changed.found.in_catalogue(id) {
            Some(plugin) => info(plugins, plugin),
            None => PluginInfo {
                enabled: false,
                installed: false,
                removable: false,
                root_path: String::new(),
                diagnostics: Vec::new(),
                ..info(plugins, before.find(id).ok_or(GONE)?)
            },
        };
        Ok(Done {
            outcome: PluginOutcome::Applied,
            plugin,
            diagnostics: Vec::new(),
            servers_too: changed.servers_too,
            snapshot: changed.snapshot,
        })
    };
    change(plugins, responder, PLUGIN_REMOVE, remove).await;
}

pub(super) async fn set_enabled(
    _: &Client,
    plugins: &Feature,
    asked: PluginSetEnabledParams,
    responder: Responder,
) {
    let set = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let changed = plugins.set_enabled(id, asked.enabled)?;
        now(plugins, changed, id)
    };
    change(plugins, responder, PLUGIN_SET_ENABLED, set).await;
}

/// Returns what a change has done, with the plugin.
fn now(plugins: &Plugins, changed: Changed, id: &str) -> Result<Done, String> {
    let plugin = changed.found.find(id).ok_or(GONE)?;
    Ok(Done {
        outcome: if changed.snapshot.changed.is_empty() {
            PluginOutcome::NoChange
        } else {
            PluginOutcome::Applied
        },
        plugin: info(plugins, plugin),
        diagnostics: Vec::new(),
        servers_too: changed.servers_too,
        snapshot: changed.snapshot,
    })
}

/// Returns a plugin as clients see it.
fn info(plugins: &Plugins, plugin: &Plugin) -> PluginInfo {
    let manifest = &plugin.manifest;
    let installed = plugin.source != PluginSource::Builtin;
    let skills = plugins.prompts().skills_of(&manifest.texts).into_iter();
    PluginInfo {
        id: manifest.id.clone(),
        display_name: manifest.display_name.clone(),
        description: manifest.description.clone(),
        version: manifest.version.clone(),
        enabled: plugin.enabled(),
        installed,
        installable: !installed,
        removable: plugin.removable,
        source: plugin.source,
        root_path: if installed {
            plugin.root.to_string_lossy().into_owned()
        } else {
            String::new()
        },
        interface: manifest.interface.clone(),
        functions: Vec::new(),
        skills: skills
            .map(|skill| PluginSkill {
                name: skill.name,
                description: skill.description,
                display_name: skill.display_name,
                short_description: skill.short_description,
                enabled: skill.enabled,
            })
            .collect(),
        mcp_servers: servers(plugins, plugin),
        hooks: manifest
            .hooks
            .iter()
            .enumerate()
            .filter_map(|(index, found)| hook(&manifest.id, index, found))
            .collect(),
        apps: Vec::new(),
        workflows: Vec::new(),
        lsp_servers: Vec::new(),
        diagnostics: plugin.diagnostics.clone(),
    }
}

fn hook(plugin: &str, index: usize, hook: &Hook) -> Option<PluginHook> {
    Some(PluginHook {
        key: bobbin_hooks::plugin_key(plugin, index),
        event_name: hook.event.name().to_owned(),
        event: hook.event.name().to_owned(),
        matcher: hook.matcher.clone(),
        command: hook.command.clone().ok()?,
    })
}

fn servers(plugins: &Plugins, plugin: &Plugin) -> Vec<PluginMcpServer> {
    let shown = plugin.manifest.servers.iter().map(|server| {
        let shadowed_by = plugins
            .has_server(&server.name)
            .then_some(PluginShadow::Workspace);
        let declared = server.name.split_once(':');
        PluginMcpServer {
            name: declared.map_or(server.name.as_str(), |(_, name)| name).to_owned(),
            runtime_name: server.name.clone(),
            transport: match server.access {
                ServerAccess::Stdio { .. } => PluginTransport::Stdio,
                ServerAccess::Http { .. } => PluginTransport::StreamableHttp,
            },
            enabled: server.enabled,
            active: plugin.counts() && server.enabled && shadowed_by.is_none(),
            shadowed_by,
        }
    });
    shown.collect()
}
