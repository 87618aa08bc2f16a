//! What an editor asks for to fill its menus (sections 12, 13, 20.5, 20.6). The disk is read in tasks of
//! their own.

use bobbin_editor_kit::{CommandKind, Entry, MAX_FILES, matching};
use bobbin_peer::{CallContext, Responder};
use serde_json::{Value, json};

use super::{Client, params};
use crate::wire::chat::{
    CommandArgument, CommandInfo, Offered, QueryCommandsResult, QueryContextResult, QueryFilesResult,
    QueryParams,
};

pub(super) fn contexts(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<QueryParams>(request, responder) else {
        return;
    };
    let root = client.root().display().to_string();
    let query = params.query.unwrap_or_default();
    let given = params.contexts.unwrap_or_default();
    let chat_id = params.chat_id;
    let resources = resources(client, &query);
    find(client, query, move |entries| {
        let general = [
            Offered::RepoMap,
            Offered::Cursor,
            Offered::Directory { path: root },
        ];
        let mut contexts: Vec<Offered> = general.into_iter().chain(entries.iter().map(offered)).collect();
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
    // Clients of the first version read its spelling, later ones that of every server there was.
    let kind = if client.eca.is_current() {
        "mcpPrompt"
    } else {
        "mcp-prompt"
    };
    let command = move |found: bobbin_editor_kit::CommandInfo| CommandInfo {
        name: found.name,
        description: found.description,
        kind: match found.kind {
            CommandKind::Own => "native",
            CommandKind::Server(_) => kind,
            CommandKind::File => "customPrompt",
            CommandKind::Skill => "skill",
        },
        arguments: match &found.kind {
            CommandKind::Server(arguments) => arguments.iter().map(CommandArgument::new).collect(),
            CommandKind::Own | CommandKind::File | CommandKind::Skill => Vec::new(),
        },
    };
    let (servers, files) = (client.prompts(), client.offer.services.prompts.clone());
    client.tasks.spawn_blocking(move || {
        let found = matching(&params.query.unwrap_or_default(), servers, files.as_deref());
        responder.ok(QueryCommandsResult {
            chat_id: params.chat_id,
            commands: found.into_iter().map(command).collect(),
        });
    });
}

pub(super) fn providers(client: &Client, responder: Responder) {
    let models = client.offer.models.known().into_iter().map(|id| {
        let capabilities = json!({ "reason": false, "vision": false, "tools": true, "webSearch": false });
        json!({ "id": id, "capabilities": capabilities })
    });
    let models: Vec<Value> = models.collect();
    let provider = json!({
        "id": "bobbin", "label": "Bobbin", "configured": true, "auth": { "status": "local" }, "models": models,
    });
    responder.ok(json!({ "providers": [provider] }));
}

pub(super) fn jobs(responder: Responder) {
    // Commands in the background are not shown to editors yet.
    responder.ok(json!({ "jobs": [] }));
}

fn find(client: &Client, query: String, answer: impl FnOnce(Vec<Entry>) + Send + 'static) {
    let (root, home) = (client.root().to_owned(), client.offer.home.clone());
    client.tasks.spawn_blocking(move || {
        answer(bobbin_editor_kit::find(&root, home.as_deref(), &query));
    });
}

/// Returns what servers have to read, as far as a query means it.
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

fn offered(entry: &Entry) -> Offered {
    let path = entry.path.display().to_string();
    if entry.is_directory {
        Offered::Directory { path }
    } else {
        Offered::File { path }
    }
}

/// Whether the client has listed a context already.
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
