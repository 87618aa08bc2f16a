//! `mcp/*`: tool servers (AppServer protocol 05 §8). Served if the server runs them.

use std::sync::Arc;

use bobbin_agent_api::tool_server::{ConfiguredServer, LoginWishes, ToolServerError, ToolServers};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::mcp::types::{
    McpGetParams, McpListResult, McpLoginParams, McpLoginResult, McpLogoutResult, McpRemoveParams,
    McpRemoveResult, McpServerResult, McpStatusListResult, McpTestParams, McpTestResult, McpUpsertParams,
};
use bobbin_peer::Responder;

use super::convert;
use crate::call::NoParams;
use crate::client::{Client, refuse};

/// The error word of a failed `mcp/test`.
const TEST_FAILED: &str = "McpServerTestFailed";

type Servers = Arc<dyn ToolServers>;

pub(super) fn list(_: &Client, servers: &Servers, _: NoParams, responder: Responder) {
    let servers = servers.configured();
    responder.ok(McpListResult {
        servers: servers.iter().map(convert::config_out).collect(),
    });
}

pub(super) fn get(_: &Client, servers: &Servers, McpGetParams { name }: McpGetParams, responder: Responder) {
    let found = servers.configured().into_iter();
    let mut found = found.filter(|server| server.config.name.to_lowercase() == name.to_lowercase());
    match found.next() {
        Some(server) => responder.ok(McpServerResult {
            server: convert::config_out(&server),
        }),
        None => refuse(responder, RpcError::mcp_server_not_found(&name)),
    }
}

pub(super) fn status(_: &Client, servers: &Servers, _: NoParams, responder: Responder) {
    let servers = servers.servers();
    responder.ok(McpStatusListResult {
        servers: servers.iter().map(|server| convert::status(server)).collect(),
    });
}

pub(super) async fn upsert(
    client: &Client,
    servers: &Servers,
    McpUpsertParams { server, scope, .. }: McpUpsertParams,
    responder: Responder,
) {
    let config = match convert::config_in(server) {
        Ok(config) => config,
        Err(detail) => return refuse(responder, RpcError::mcp_invalid(detail)),
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = Box::new(|stored: Result<ConfiguredServer, ToolServerError>| match stored {
        Ok(server) => first.ok(&McpServerResult {
            server: convert::config_out(&server),
        }),
        Err(error) => first.err(wire_error(&error)),
    });
    servers.upsert(config, scope.map(convert::owner), reply).await;
}

pub(super) async fn remove(
    client: &Client,
    servers: &Servers,
    McpRemoveParams { name, scope, .. }: McpRemoveParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = Box::new(|removed: Result<(), ToolServerError>| match removed {
        Ok(()) => first.ok(&McpRemoveResult { removed: true }),
        Err(error) => first.err(wire_error(&error)),
    });
    servers.remove(name, scope.map(convert::owner), reply).await;
}

pub(super) fn test(
    client: &Client,
    servers: &Servers,
    McpTestParams { server }: McpTestParams,
    responder: Responder,
) {
    let config = match convert::config_in(server) {
        Ok(config) => config,
        Err(detail) => return refuse(responder, RpcError::mcp_invalid(detail)),
    };
    let (peer, servers) = (client.peer().clone(), servers.clone());
    client.spawn(async move {
        let tested = tokio::select! {
            // The client is gone; the server is killed.
            () = peer.closed() => return,
            tested = servers.test(config) => tested,
        };
        match tested {
            Ok(Ok(tools)) => responder.ok(McpTestResult {
                success: true,
                tool_count: Some(tools as u64),
                error_code: None,
                error_message: None,
            }),
            Ok(Err(message)) => responder.ok(McpTestResult {
                success: false,
                tool_count: None,
                error_code: Some(TEST_FAILED.to_owned()),
                error_message: Some(message),
            }),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}

pub(super) fn log_in(
    client: &Client,
    servers: &Servers,
    McpLoginParams { name }: McpLoginParams,
    responder: Responder,
) {
    let servers = servers.clone();
    client.spawn(async move {
        match servers.log_in(&name, LoginWishes::default()).await {
            Ok(url) => responder.ok(McpLoginResult { url }),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}

pub(super) async fn log_out(
    _: &Client,
    servers: &Servers,
    McpLoginParams { name }: McpLoginParams,
    responder: Responder,
) {
    match servers.log_out(&name).await {
        Ok(removed) => responder.ok(McpLogoutResult { removed }),
        Err(error) => refuse(responder, wire_error(&error)),
    }
}

/// Returns the wire's error for an error of tool servers.
pub(crate) fn wire_error(error: &ToolServerError) -> RpcError {
    match error {
        ToolServerError::NotFound(name) => RpcError::mcp_server_not_found(name),
        ToolServerError::Invalid(detail) => RpcError::mcp_invalid(detail.clone()),
        ToolServerError::NameConflict(detail) => RpcError::mcp_name_conflict(detail.clone()),
        ToolServerError::ReadOnly(name) => RpcError::mcp_read_only(name),
        ToolServerError::Unwritable(detail) => RpcError::internal_error(detail.clone()),
    }
}
