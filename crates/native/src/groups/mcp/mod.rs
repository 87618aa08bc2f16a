//! `mcp/*`: tool servers (AppServer protocol 05 §8).

pub(crate) mod convert;
pub(crate) mod handlers;
mod page_types;
mod pages;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    EmptyParams, McpGetParams, McpListResult, McpLoginCompletedNotification, McpLoginParams, McpLoginResult,
    McpLogoutResult, McpPageParams, McpPromptGetParams, McpPromptListResult, McpRemoveParams,
    McpRemoveResult, McpResourceListResult, McpResourceReadParams, McpServerResult, McpStatusListResult,
    McpStatusUpdatedNotification, McpTestParams, McpTestResult, McpTextResult, McpToolListResult,
    McpUpsertParams, WorkspaceConfigChangedNotification,
};

pub(crate) const MCP_STATUS_UPDATED: &str = "mcp/status/updated";
pub(crate) const MCP_LOGIN_COMPLETED: &str = "mcp/login/completed";
pub(crate) const WORKSPACE_CONFIG_CHANGED: &str = "workspace/configChanged";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "mcp/list" (EmptyParams => McpListResult) [] now_with(tool_servers) handlers::list:
            "Lists the configurations of MCP servers that are in effect.";
        request "mcp/get" (McpGetParams => McpServerResult)
            [McpServerNotFound] now_with(tool_servers) handlers::get:
            "Returns the configuration of one MCP server.";
        request "mcp/upsert" (McpUpsertParams => McpServerResult)
            [McpInvalid, McpNameConflict, McpReadOnly] wait_with(tool_servers) handlers::upsert:
            "Adds an MCP server to the workspace's configuration, or replaces it there. It starts in the background.";
        request "mcp/remove" (McpRemoveParams => McpRemoveResult)
            [McpServerNotFound, McpReadOnly] wait_with(tool_servers) handlers::remove:
            "Removes an MCP server from the workspace's configuration.";
        request "mcp/status/list" (EmptyParams => McpStatusListResult)
            [] now_with(tool_servers) handlers::status:
            "Tells how MCP servers are.";
        request "mcp/test" (McpTestParams => McpTestResult) [McpInvalid] now_with(tool_servers) handlers::test:
            "Starts an MCP server for a moment and counts its tools.";
        request "mcp/login" (McpLoginParams => McpLoginResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) handlers::log_in:
            "Extension: starts a login at an MCP server over HTTP. Its end is `mcp/login/completed`.";
        request "mcp/logout" (McpLoginParams => McpLogoutResult)
            [McpServerNotFound, McpInvalid] wait_with(tool_servers) handlers::log_out:
            "Extension: removes what a login at an MCP server has given.";
        request "mcp/tool/list" (McpPageParams => McpToolListResult)
            [McpServerNotFound] now_with(tool_servers) pages::tools:
            "Lists the tools of MCP servers that run, page by page.";
        request "mcp/resource/list" (McpPageParams => McpResourceListResult)
            [McpServerNotFound] now_with(tool_servers) pages::resources:
            "Lists the resources of MCP servers that run, page by page.";
        request "mcp/resource/read" (McpResourceReadParams => McpTextResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) pages::read:
            "Reads a resource of an MCP server as text.";
        request "mcp/prompt/list" (McpPageParams => McpPromptListResult)
            [McpServerNotFound] now_with(tool_servers) pages::prompts:
            "Lists the prompts of MCP servers that run, page by page.";
        request "mcp/prompt/get" (McpPromptGetParams => McpTextResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) pages::fill:
            "Returns a prompt of an MCP server, filled in.";
        notification MCP_STATUS_UPDATED (McpStatusUpdatedNotification):
            "An MCP server is another way than before.";
        notification MCP_LOGIN_COMPLETED (McpLoginCompletedNotification):
            "Extension: a login at an MCP server has ended.";
        notification WORKSPACE_CONFIG_CHANGED (WorkspaceConfigChangedNotification):
            "The configuration was changed.";
    },
    capabilities: |server, capabilities| {
        let has_tool_servers = server.services().tool_servers.is_some();
        capabilities.mcp_management = has_tool_servers;
        capabilities.mcp_status = has_tool_servers;
        capabilities.mcp_server_origins = has_tool_servers;
    },
    unwanted: |capabilities| {
        if capabilities.config_change {
            Vec::new()
        } else {
            vec![WORKSPACE_CONFIG_CHANGED]
        }
    },
    broadcast: convert::broadcast,
    ..Group::EMPTY
};
