//! Queries of an editor for its menus (sections 12, 13, 20.5, 20.6). Separate tasks read the disk.

use std::path::PathBuf;

use bobbin_editor_kit::{CommandKind, FoundPath, MAX_FILES, matching, path_of};
use bobbin_peer::{CallContext, NotificationContext, Responder};
use serde::Deserialize;
use serde_json::Value;

use super::{Client, Found, Ignored, params};
use crate::wire::chat::{
    CommandArgument, CommandInfo, Offered, QueryCommandsResult, QueryContextResult, QueryFilesResult,
    QueryParams,
};
use crate::wire::{self, lifecycle::WorkspaceFolder};

/// Most folders of a workspace in menus, beside the served one.
pub(crate) const MAX_FOLDERS: usize = 16;

pub(super) fn contexts(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<QueryParams>(request, responder) else {
        return;
    };
    let roots = roots(client);
    let query = params.query.unwrap_or_default();
    let given = params.contexts.unwrap_or_default();
    let chat_id = params.chat_id;
    let resources = resources(client, &query);
    find(client, query, move |entries| {
        let folders = roots.iter().map(|root| Offered::Directory {
            path: root.display().to_string(),
        });
        let general = [Offered::RepoMap, Offered::Cursor].into_iter().chain(folders);
        let mut contexts: Vec<Offered> = general.chain(entries.iter().map(offered)).collect();
        contexts.extend(resources);
        contexts.retain(|offered| !is_given(offered, &given));
        responder.ok(QueryContextResult { chat_id, contexts });
    });
}

pub(super) fn files(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<QueryParams>(request, responder) else {
        return;
    };
    let chat_id = params.chat_id;
    find(client, params.query.unwrap_or_default(), move |entries| {
        let files = entries.iter().map(offered).collect();
        responder.ok(QueryFilesResult { chat_id, files });
    });
}

pub(super) fn commands(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<QueryParams>(request, responder) else {
        return;
    };
    // Clients of the first version read only its spelling; later clients read that of all other servers.
    let kind = if client.eca.is_current() {
        "mcpPrompt"
    } else {
        "mcp-prompt"
    };
    let command = move |found: bobbin_editor_kit::CommandInfo| CommandInfo {
        name: found.name,
        description: found.description,
        kind: match found.kind {
            CommandKind::Own | CommandKind::Agent(_) => "native",
            CommandKind::Server(_) => kind,
            CommandKind::File(_) => "customPrompt",
            CommandKind::Skill => "skill",
        },
        arguments: match &found.kind {
            CommandKind::Server(arguments) => arguments.iter().map(CommandArgument::new).collect(),
            CommandKind::Own | CommandKind::File(_) | CommandKind::Skill | CommandKind::Agent(_) => {
                Vec::new()
            }
        },
    };
    let (servers, files) = (client.prompts(), client.offer.services.prompts.clone());
    let asking = client.clone();
    client.tasks.spawn(async move {
        let chat = match &params.chat_id {
            Some(id) => asking.find(id).await.ok(),
            None => None,
        };
        let agents = match chat {
            Some(Found::Chat(handle)) => {
                let services = &asking.offer.services;
                asking.threads().engine_commands(services, handle.id()).await
            }
            Some(Found::Free | Found::Bad) | None => Vec::new(),
        };
        let query = params.query.unwrap_or_default();
        let found = move || matching(&query, agents, servers, files.as_deref());
        let found = tokio::task::spawn_blocking(found).await.unwrap_or_default();
        responder.ok(QueryCommandsResult {
            chat_id: params.chat_id,
            commands: found.into_iter().map(command).collect(),
        });
    });
}

#[derive(Debug, Deserialize)]
struct FoldersChanged {
    event: FoldersEvent,
}

#[derive(Debug, Deserialize)]
struct FoldersEvent {
    added: Option<Vec<WorkspaceFolder>>,
    removed: Option<Vec<WorkspaceFolder>>,
}

/// Records the further folders of the client's workspace. The served one stays.
pub(super) fn folders_changed(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let FoldersChanged { event } = wire::params(notification.params.as_deref())?;
    let paths = |folders: Option<Vec<WorkspaceFolder>>| -> Vec<PathBuf> {
        let folders = folders.into_iter().flatten();
        folders
            .filter_map(|folder| folder.uri.as_deref().map(path_of))
            .collect()
    };
    let (added, removed) = (paths(event.added), paths(event.removed));
    let mut further = client.eca.further_folders.lock();
    further.retain(|known| !removed.contains(known));
    for folder in added {
        if further.len() < MAX_FOLDERS && folder != client.root() && !further.contains(&folder) {
            further.push(folder);
        }
    }
    Ok(())
}

/// Returns the folders of the client's workspace; the served one comes first.
fn roots(client: &Client) -> Vec<PathBuf> {
    let further = client.eca.further_folders.lock();
    std::iter::once(client.root().to_owned())
        .chain(further.iter().cloned())
        .collect()
}

fn find(client: &Client, query: String, answer: impl FnOnce(Vec<FoundPath>) + Send + 'static) {
    let (roots, home) = (roots(client), client.offer.home.clone());
    client.tasks.spawn_blocking(move || {
        let mut found: Vec<FoundPath> = Vec::new();
        for root in roots {
            for entry in bobbin_editor_kit::find(&root, home.as_deref(), &query) {
                // A query that is a path gives the same entry for every folder.
                if found.len() < MAX_FILES && !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        answer(found);
    });
}

/// Returns the resources of servers that match a query.
fn resources(client: &Client, query: &str) -> Vec<Offered> {
    let query = query.trim().to_lowercase();
    let servers = client.offer.services.tool_servers.as_ref();
    let all = servers.map_or_else(Vec::new, |servers| servers.resources());
    let meant = all.into_iter().filter(|resource| {
        resource.name.to_lowercase().contains(&query) || resource.uri.to_lowercase().contains(&query)
    });
    meant
        .take(MAX_FILES)
        .map(|resource| Offered::McpResource {
            uri: resource.uri,
            name: resource.name,
            description: resource.description,
            mime_type: resource.mime_type,
            server: resource.server,
        })
        .collect()
}

fn offered(entry: &FoundPath) -> Offered {
    let path = entry.path.display().to_string();
    if entry.is_directory {
        Offered::Directory { path }
    } else {
        Offered::File { path }
    }
}

/// Whether the client already has this context.
fn is_given(offered: &Offered, given: &[Value]) -> bool {
    if let Offered::McpResource { uri, server, .. } = offered {
        return given
            .iter()
            .any(|given| given["uri"] == **uri && given["server"] == **server);
    }
    let (kind, path) = match offered {
        Offered::RepoMap => ("repoMap", None),
        Offered::Cursor => ("cursor", None),
        Offered::Directory { path } => ("directory", Some(path)),
        Offered::File { path } => ("file", Some(path)),
        Offered::McpResource { .. } => return false,
    };
    given
        .iter()
        .any(|given| given["type"] == kind && path.is_none_or(|path| given["path"] == **path))
}
