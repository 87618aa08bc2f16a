//! The MCP servers that a client brings along with a session: started with it, ended with it.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_acp_wire::{
    McpServer, Pair, RemoteServer, RemoteTransport, SessionNotification, Severity, StdioServer, method,
};
use bobbin_agent_api::session_servers::{SessionServerNews, SessionToolServers, StartedServers};
use bobbin_agent_api::tool_server::{Secrets, ServerAccess, ToolServerConfig};
use bobbin_model::{ServerState, ThreadId, ToolServer};
use parking_lot::Mutex;

use crate::methods::Client;

/// Most servers of a session (a guess: several times what a user has).
const MAX_SERVERS: usize = 32;

/// Starts the servers of a session. Servers that cannot be started are reported to the client; the session goes on.
/// Call it after the answer that names the session.
pub(crate) fn start(
    client: &Client,
    thread: &ThreadId,
    servers: Vec<McpServer>,
) -> Option<Arc<dyn StartedServers>> {
    if servers.is_empty() {
        return None;
    }
    let Some(host) = client.offer.services.others.get::<Arc<dyn SessionToolServers>>() else {
        report(
            client,
            thread,
            "MCP servers of sessions are not taken here.".to_owned(),
        );
        return None;
    };
    let mut configs = Vec::new();
    for server in servers {
        match config(server) {
            Ok(config) if configs.len() < MAX_SERVERS => configs.push(config),
            Ok(config) => {
                let name = config.name;
                report(
                    client,
                    thread,
                    format!("The MCP server {name} was left out: a session has {MAX_SERVERS} at most."),
                );
            }
            Err(why) => report(client, thread, why),
        }
    }
    Some(host.start(thread, configs, news(client, thread)))
}

/// Returns the configuration of a server. The error is a sentence.
fn config(server: McpServer) -> Result<ToolServerConfig, String> {
    let (name, access) = match server {
        McpServer::Stdio(StdioServer {
            name,
            command,
            args,
            env,
        }) => {
            let access = ServerAccess::Stdio {
                command,
                args,
                env: secrets(env),
                env_vars: Vec::new(),
                cwd: None,
            };
            (name, access)
        }
        McpServer::Remote(RemoteServer {
            transport: RemoteTransport::Http,
            name,
            url,
            headers,
        }) => {
            let access = ServerAccess::Http {
                url,
                bearer_token_env_var: None,
                headers: secrets(headers),
                env_headers: std::collections::BTreeMap::new(),
            };
            (name, access)
        }
        McpServer::Remote(RemoteServer { name, .. }) => {
            return Err(format!(
                "The MCP server {name} was left out: sse is not spoken; use http."
            ));
        }
        McpServer::Unknown(_) => {
            return Err("An MCP server was left out: it is of an unknown kind.".to_owned());
        }
    };
    Ok(ToolServerConfig {
        name,
        enabled: true,
        access,
        outside_sandbox: true,
        start_timeout: None,
        call_timeout: None,
    })
}

fn secrets(pairs: Vec<Pair>) -> Secrets {
    Secrets(
        pairs
            .into_iter()
            .map(|Pair { name, value }| (name, value))
            .collect(),
    )
}

/// Returns the report of servers that fail, once for each.
fn news(client: &Client, thread: &ThreadId) -> SessionServerNews {
    let (client, thread) = (client.clone(), thread.clone());
    let reported = Mutex::new(HashSet::new());
    Arc::new(move |server: &ToolServer| {
        if server.state != ServerState::Error || !reported.lock().insert(server.name.clone()) {
            return;
        }
        let why = server.problem.as_deref().unwrap_or("it has ended");
        report(
            &client,
            &thread,
            format!("The MCP server {} does not run: {why}", server.name),
        );
    })
}

/// Reports a problem in a session, without waiting.
fn report(client: &Client, thread: &ThreadId, what: String) {
    let shown = client
        .acp
        .sessions
        .with(thread, |open| open.view.notice(Severity::Warning, what));
    let Some(update) = shown else { return };
    let news = SessionNotification {
        session_id: thread.to_string(),
        update,
        meta: None,
    };
    if let Err(error) = client.peer.try_notify(method::SESSION_UPDATE, &news) {
        tracing::info!(%error, "a problem of an MCP server was not reported");
    }
}
