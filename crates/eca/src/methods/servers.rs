//! Tool servers (section 17): telling of them, stopping and starting them.

use bobbin_agent_api::tool_server::{ToolServerError, ToolServers};
use bobbin_peer::NotificationContext;
use serde::Deserialize;

use super::{Client, Ignored};
use crate::wire;
use crate::wire::config::HostedServer;

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Tells a client of the servers there are. What becomes of them it is told as it happens.
pub(super) fn tell(client: &Client) {
    let Some(servers) = &client.offer.services.tool_servers else {
        return;
    };
    let mut hosted = client.eca.hosted.lock();
    for server in servers.servers() {
        hosted.is_lost(&server);
        let message = HostedServer::new(&server);
        if client.peer.try_notify("tool/serverUpdated", message).is_err() {
            tracing::debug!(server = server.name, "a client was not told of a tool server");
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
