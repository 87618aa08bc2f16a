//! The requests about plugins. Files are read and written in tasks of their own.

use std::path::Path;

use bobbin_agent_api::tool_server::ServerAccess;
use bobbin_hooks::Hook;
use bobbin_native::client::{Client, refuse};
use bobbin_native::wire::RpcError;
use bobbin_peer::Responder;
use serde::Serialize;

use super::wire::{
    PluginHook, PluginInfo, PluginInstallParams, PluginListParams, PluginListResult, PluginMcpServer,
    PluginParams, PluginResult, PluginSetEnabledParams, PluginShadow, PluginSkill, PluginSource,
    PluginTransport,
};
use super::{Feature, PLUGIN_INSTALL, PLUGIN_REMOVE, PLUGIN_SET_ENABLED};
use crate::Plugins;
use crate::discovery::Plugin;
use crate::plugins::Changed;
use crate::settings::canonical;

/// Another one has taken its place, or it was removed by hand at this very moment.
const GONE: &str = "The plugin is not there any more.";

/// Makes a change, answers with the plugin, and notifies all clients.
async fn change(
    plugins: &Feature,
    responder: Responder,
    source: &'static str,
    change: impl FnOnce(&Plugins) -> Result<(PluginInfo, bool), String> + Send + 'static,
) {
    let own = plugins.clone();
    let changed = tokio::task::spawn_blocking(move || change(&own)).await;
    match changed {
        Ok(Ok((plugin, servers_too))) => {
            responder.ok(PluginResult { plugin });
            plugins.notify(source, servers_too);
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
        let found = plugins.look();
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
        })
    };
    client.spawn(answer(plugins.clone(), responder, list));
}

pub(super) fn view(client: &Client, plugins: &Feature, asked: PluginParams, responder: Responder) {
    let view = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let found = plugins.look();
        let plugin = found.find(id).or_else(|| found.in_catalogue(id));
        let plugin = plugin.ok_or_else(|| format!("Plugin '{id}' was not found."))?;
        Ok(PluginResult {
            plugin: info(plugins, plugin),
        })
    };
    client.spawn(answer(plugins.clone(), responder, view));
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
        now(plugins, &changed, &id)
    };
    change(plugins, responder, PLUGIN_INSTALL, install).await;
}

pub(super) async fn remove(_: &Client, plugins: &Feature, asked: PluginParams, responder: Responder) {
    let remove = move |plugins: &Plugins| {
        let id = canonical(&asked.id);
        let before = plugins.look();
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
        Ok((plugin, changed.servers_too))
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
        now(plugins, &changed, id)
    };
    change(plugins, responder, PLUGIN_SET_ENABLED, set).await;
}

/// Returns a plugin after a change, and whether MCP servers are different now.
fn now(plugins: &Plugins, changed: &Changed, id: &str) -> Result<(PluginInfo, bool), String> {
    let plugin = changed.found.find(id).ok_or(GONE)?;
    Ok((info(plugins, plugin), changed.servers_too))
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
        hooks: manifest.hooks.iter().filter_map(hook).collect(),
        diagnostics: plugin.diagnostics.clone(),
    }
}

fn hook(hook: &Hook) -> Option<PluginHook> {
    Some(PluginHook {
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
