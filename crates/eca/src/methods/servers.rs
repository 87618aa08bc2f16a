//! Tool servers (sections 17 and 21.5): their states, start and stop, and configuration.
//!
//! Changes are written to the workspace's configuration. A server of the user's own configuration cannot be changed
//! here; the user gets the path of its file.

use std::collections::BTreeMap;

use bobbin_agent_api::tool_server::{
    ConfiguredServer, LoginWishes, Secrets, ServerAccess, ToolServerConfig, ToolServerError, ToolServers,
};
use bobbin_editor_kit::NoticeKind;
use bobbin_model::ServerState;
use bobbin_peer::{CallContext, NotificationContext, Responder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Client, Ignored, params};
use crate::wire;
use crate::wire::config::HostedServer;
use crate::wire::lifecycle::ShowMessage;

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A server as a client configures it. Absent members stay as they are.
#[derive(Debug, Deserialize)]
struct ServerParams {
    name: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    disabled: Option<bool>,
}

/// Sends a client the state of all servers. From then on it gets changes.
pub(super) fn tell(client: &Client) {
    let Some(servers) = &client.offer.services.tool_servers else {
        return;
    };
    let mut hosted = client.eca.hosted.lock();
    for server in servers.servers() {
        hosted.is_lost(&server);
        // Some clients wait for the start of a server, even if it ran before they came.
        let starting = (server.state == ServerState::Ready).then(|| HostedServer::starting(&server));
        for message in starting.into_iter().chain([HostedServer::new(&server)]) {
            if client.peer.try_notify("tool/serverUpdated", message).is_err() {
                tracing::debug!(
                    server = server.name,
                    "a client did not get the state of a tool server"
                );
            }
        }
    }
    hosted.told = true;
}

pub(super) fn start(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let (servers, name) = wanted(client, notification)?;
    servers.start(&name).map_err(|error| ignored(&error))
}

pub(super) fn stop(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let (servers, name) = wanted(client, notification)?;
    servers.stop(&name).map_err(|error| ignored(&error))
}

/// Enables or disables a server. An error is shown to the user.
pub(super) async fn enable(
    client: &Client,
    notification: &NotificationContext,
    enabled: bool,
) -> Result<(), Ignored> {
    let (servers, name) = wanted(client, notification)?;
    let done = match configured(servers, &name) {
        Some(found) if found.config.enabled == enabled => return Ok(()),
        Some(found) => {
            let config = ToolServerConfig {
                enabled,
                ..found.config
            };
            upsert(servers, config).await.map(drop)
        }
        None => Err(ToolServerError::NotFound(name)),
    };
    if let Err(error) = done {
        show(client, NoticeKind::Warning, &error.to_string()).await;
    }
    Ok(())
}

/// Starts a login and shows the user the page to open. The server starts after the login.
pub(super) fn connect(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let (_, name) = wanted(client, notification)?;
    let Some(servers) = client.offer.services.tool_servers.clone() else {
        return Ok(());
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        match servers.log_in(&name, LoginWishes::default()).await {
            Ok(page) => {
                let message =
                    format!("Open this page on the machine of the server and log in at {name}: {page}");
                show(&of, NoticeKind::Info, &message).await;
            }
            Err(error) => show(&of, NoticeKind::Warning, &error.to_string()).await,
        }
    });
    Ok(())
}

/// Removes the tokens of a login.
pub(super) fn log_out(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let (_, name) = wanted(client, notification)?;
    let Some(servers) = client.offer.services.tool_servers.clone() else {
        return Ok(());
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        if let Err(error) = servers.log_out(&name).await {
            show(&of, NoticeKind::Warning, &error.to_string()).await;
        }
    });
    Ok(())
}

async fn show(client: &Client, kind: NoticeKind, message: &str) {
    client
        .notify("$/showMessage", &ShowMessage { kind, message })
        .await;
}

pub(super) fn add(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<ServerParams>(request, responder) else {
        return;
    };
    put(client, asked, true, responder);
}

pub(super) fn update(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<ServerParams>(request, responder) else {
        return;
    };
    put(client, asked, false, responder);
}

pub(super) fn remove(client: &Client, request: &CallContext, responder: Responder) {
    let Some((Named { name }, responder)) = params::<Named>(request, responder) else {
        return;
    };
    let Some(servers) = client.offer.services.tool_servers.clone() else {
        return responder.ok(refused(&ToolServerError::NotFound(name)));
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        let (tell, removed) = oneshot::channel();
        servers
            .remove(name.clone(), None, Box::new(|result| drop(tell.send(result))))
            .await;
        match removed.await.unwrap_or_else(|_| Err(ended())) {
            Ok(()) => {
                of.notify("tool/serverRemoved", &json!({ "name": name })).await;
                responder.ok(json!({ "name": name, "removed": true }));
            }
            Err(error) => responder.ok(refused(&error)),
        }
    });
}

/// Writes the configuration of a new or an existing server.
fn put(client: &Client, asked: ServerParams, is_new: bool, responder: Responder) {
    let Some(servers) = client.offer.services.tool_servers.clone() else {
        return responder.ok(refused(&ToolServerError::NotFound(asked.name)));
    };
    client.tasks.spawn(async move {
        let name = asked.name.clone();
        let config = match (configured(&*servers, &name), is_new) {
            (Some(_), true) => Err(ToolServerError::NameConflict(format!(
                "there is a tool server {name:?} already"
            ))),
            (None, false) => Err(ToolServerError::NotFound(name.clone())),
            (found, _) => asked.config(found.map(|found| found.config)),
        };
        let done = match config {
            Ok(config) => upsert(&*servers, config).await,
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            return responder.ok(refused(&error));
        }
        let all = servers.servers();
        let server = all.iter().find(|server| server.name == name);
        responder.ok(json!({ "server": server.map(|server| HostedServer::new(server)) }));
    });
}

impl ServerParams {
    /// Returns the new configuration, based on the previous one.
    fn config(self, before: Option<ToolServerConfig>) -> Result<ToolServerConfig, ToolServerError> {
        let outside_sandbox = before.as_ref().is_some_and(|before| before.outside_sandbox);
        let (enabled, start_timeout, call_timeout, access) = match before {
            Some(before) => (
                before.enabled,
                before.start_timeout,
                before.call_timeout,
                Some(before.access),
            ),
            None => (true, None, None, None),
        };
        let access = match (self.command, self.url, access) {
            (Some(_), Some(_), _) => {
                return Err(ToolServerError::Invalid(
                    "a server has a 'command' or a 'url', not both".to_owned(),
                ));
            }
            (
                None,
                url,
                Some(ServerAccess::Http {
                    url: before,
                    headers,
                    bearer_token_env_var,
                    env_headers,
                }),
            ) => ServerAccess::Http {
                url: url.unwrap_or(before),
                bearer_token_env_var,
                headers: self.headers.map_or(headers, Secrets),
                env_headers,
            },
            (None, Some(url), _) => ServerAccess::Http {
                url,
                bearer_token_env_var: None,
                headers: Secrets(self.headers.unwrap_or_default()),
                env_headers: BTreeMap::new(),
            },
            (
                command,
                None,
                Some(ServerAccess::Stdio {
                    command: before,
                    args,
                    env,
                    env_vars,
                    cwd,
                }),
            ) => ServerAccess::Stdio {
                command: command.unwrap_or(before),
                args: self.args.unwrap_or(args),
                env: self.env.map_or(env, Secrets),
                env_vars,
                cwd,
            },
            (Some(command), None, _) => ServerAccess::Stdio {
                command,
                args: self.args.unwrap_or_default(),
                env: Secrets(self.env.unwrap_or_default()),
                env_vars: Vec::new(),
                cwd: None,
            },
            (None, None, None) => {
                return Err(ToolServerError::Invalid(
                    "a server needs a 'command' or a 'url'".to_owned(),
                ));
            }
        };
        Ok(ToolServerConfig {
            name: self.name,
            enabled: self.disabled.map_or(enabled, |disabled| !disabled),
            access,
            outside_sandbox,
            start_timeout,
            call_timeout,
        })
    }
}

/// Returns the reason for a refused change, as a result that clients show beside their form.
fn refused(error: &ToolServerError) -> Value {
    let code = match error {
        ToolServerError::NotFound(_) => "not_found",
        ToolServerError::Invalid(_) => "invalid",
        ToolServerError::NameConflict(_) => "already_exists",
        ToolServerError::ReadOnly(_) => "read_only",
        ToolServerError::Unwritable(_) => "unwritable",
    };
    json!({ "error": { "code": code, "message": error.to_string() } })
}

fn ended() -> ToolServerError {
    ToolServerError::Unwritable("the server is stopping".to_owned())
}

async fn upsert(
    servers: &dyn ToolServers,
    config: ToolServerConfig,
) -> Result<ConfiguredServer, ToolServerError> {
    let (tell, stored) = oneshot::channel();
    servers
        .upsert(config, None, Box::new(|result| drop(tell.send(result))))
        .await;
    stored.await.unwrap_or_else(|_| Err(ended()))
}

fn configured(servers: &dyn ToolServers, name: &str) -> Option<ConfiguredServer> {
    let mut all = servers.configured().into_iter();
    all.find(|found| found.config.name.eq_ignore_ascii_case(name))
}

fn wanted<'a>(
    client: &'a Client,
    notification: &NotificationContext,
) -> Result<(&'a dyn ToolServers, String), Ignored> {
    let Named { name } = wire::params(notification.params.as_deref())?;
    match &client.offer.services.tool_servers {
        Some(servers) => Ok((&**servers, name)),
        None => Err(Ignored::new("there are no tool servers")),
    }
}

fn ignored(error: &ToolServerError) -> Ignored {
    Ignored::new(error.to_string())
}
