//! `mcp/*`: tool servers (AppServer protocol 05 §8).

pub(crate) mod convert;
pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const MCP_STATUS_UPDATED: &str = "mcp/status/updated";
pub(crate) const WORKSPACE_CONFIG_CHANGED: &str = "workspace/configChanged";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::EmptyParams, wire::McpListResult>(
            "mcp/list",
            "Lists the configurations of MCP servers that are in effect.",
            &[],
            |call| call.now_with(|of| of.tool_servers.as_ref(), handlers::list),
        ),
        Method::request::<wire::McpGetParams, wire::McpServerResult>(
            "mcp/get",
            "Returns the configuration of one MCP server.",
            &[ErrorCode::McpServerNotFound],
            |call| call.now_with(|of| of.tool_servers.as_ref(), handlers::get),
        ),
        Method::request::<wire::McpUpsertParams, wire::McpServerResult>(
            "mcp/upsert",
            "Adds an MCP server to the workspace's configuration, or replaces it there. It starts in the background.",
            &[
                ErrorCode::McpInvalid,
                ErrorCode::McpNameConflict,
                ErrorCode::McpReadOnly,
            ],
            |call| call.wait_with(|of| of.tool_servers.as_ref(), handlers::upsert),
        ),
        Method::request::<wire::McpRemoveParams, wire::McpRemoveResult>(
            "mcp/remove",
            "Removes an MCP server from the workspace's configuration.",
            &[ErrorCode::McpServerNotFound, ErrorCode::McpReadOnly],
            |call| call.wait_with(|of| of.tool_servers.as_ref(), handlers::remove),
        ),
        Method::request::<wire::EmptyParams, wire::McpStatusListResult>(
            "mcp/status/list",
            "Tells how MCP servers are.",
            &[],
            |call| call.now_with(|of| of.tool_servers.as_ref(), handlers::status),
        ),
        Method::request::<wire::McpTestParams, wire::McpTestResult>(
            "mcp/test",
            "Starts an MCP server for a moment and counts its tools.",
            &[ErrorCode::McpInvalid],
            |call| call.now_with(|of| of.tool_servers.as_ref(), handlers::test),
        ),
        Method::notification::<wire::McpStatusUpdatedNotification>(
            MCP_STATUS_UPDATED,
            "An MCP server is another way than before.",
        ),
        Method::notification::<wire::WorkspaceConfigChangedNotification>(
            WORKSPACE_CONFIG_CHANGED,
            "The configuration was changed.",
        ),
    ],
    capabilities: |server, capabilities| {
        let has_tool_servers = server.services.tool_servers.is_some();
        capabilities.mcp_management = has_tool_servers;
        capabilities.mcp_status = has_tool_servers;
        capabilities.mcp_server_origins = has_tool_servers;
    },
    broadcast: convert::broadcast,
};
