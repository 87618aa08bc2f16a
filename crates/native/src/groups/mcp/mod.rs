//! `mcp/*`: tool servers (AppServer protocol 05 §8).

pub(crate) mod convert;
pub(crate) mod handlers;
mod pages;

use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::mcp::page_types::{
    McpPageParams, McpPromptGetParams, McpPromptListResult, McpResourceListResult, McpResourceReadParams,
    McpTextResult, McpToolListResult,
};
use bobbin_native_wire::mcp::types::{
    McpGetParams, McpListResult, McpLoginCompletedNotification, McpLoginParams, McpLoginResult,
    McpLogoutResult, McpRemoveParams, McpRemoveResult, McpServerResult, McpStatusListResult,
    McpStatusUpdatedNotification, McpTestParams, McpTestResult, McpUpsertParams,
    WorkspaceConfigChangedNotification,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const MCP_STATUS_UPDATED: &str = "mcp/status/updated";
pub(crate) const MCP_LOGIN_COMPLETED: &str = "mcp/login/completed";
pub(crate) const WORKSPACE_CONFIG_CHANGED: &str = "workspace/configChanged";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::MCP, Some("mcpManagement");
        request "mcp/list" (EmptyParams => McpListResult) [] now_with(tool_servers) handlers::list, needs Own:
            "Lists the configurations of MCP servers that are in effect.", spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire";
        request "mcp/get" (McpGetParams => McpServerResult)
            [McpServerNotFound] now_with(tool_servers) handlers::get, needs Own:
            "Returns the configuration of one MCP server.", spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire";
        request "mcp/upsert" (McpUpsertParams => McpServerResult)
            [McpInvalid, McpNameConflict, McpReadOnly] wait_with(tool_servers) handlers::upsert, needs Own:
            "Adds an MCP server to a configuration file, or replaces it there. It starts in the background.",
            spec "05 §8", test "server/mcp: servers_are_managed_over_the_wire",
            note "a `clientRequestId` is known for as long as the server runs";
        request "mcp/remove" (McpRemoveParams => McpRemoveResult)
            [McpServerNotFound, McpReadOnly] wait_with(tool_servers) handlers::remove, needs Own:
            "Removes an MCP server from a configuration file.", spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire",
            note "a `clientRequestId` is known for as long as the server runs";
        request "mcp/status/list" (EmptyParams => McpStatusListResult)
            [] now_with(tool_servers) handlers::status, needs Read:
            "Tells how MCP servers are.", capability Some("mcpStatus"), spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire";
        request "mcp/test" (McpTestParams => McpTestResult)
            [McpInvalid] now_with(tool_servers) handlers::test, needs Own:
            "Starts an MCP server for a moment and counts its tools.", spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire";
        request "mcp/login" (McpLoginParams => McpLoginResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) handlers::log_in, needs Own:
            "Extension: starts a login at an MCP server over HTTP. Its end is `mcp/login/completed`.",
            test "server/mcp_http: a_client_logs_its_user_in_and_the_server_starts";
        request "mcp/logout" (McpLoginParams => McpLogoutResult)
            [McpServerNotFound, McpInvalid] wait_with(tool_servers) handlers::log_out, needs Own:
            "Extension: removes what a login at an MCP server has given.",
            test "server/mcp_http: a_client_logs_its_user_in_and_the_server_starts";
        request "mcp/tool/list" (McpPageParams => McpToolListResult)
            [McpServerNotFound] now_with(tool_servers) pages::tools, needs Read:
            "Lists the tools of MCP servers that run, page by page.",
            test "server/mcp: what_a_server_has_is_listed_read_and_filled_in_over_the_wire",
            note "pages of at most 256; what servers that run have";
        request "mcp/resource/list" (McpPageParams => McpResourceListResult)
            [McpServerNotFound] now_with(tool_servers) pages::resources, needs Approve:
            "Lists the resources of MCP servers that run, page by page.",
            test "server/mcp: what_a_server_has_is_listed_read_and_filled_in_over_the_wire",
            note "pages of at most 256; what servers that run have";
        request "mcp/resource/read" (McpResourceReadParams => McpTextResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) pages::read, needs Approve:
            "Reads a resource of an MCP server as text.",
            test "server/mcp: what_a_server_has_is_listed_read_and_filled_in_over_the_wire",
            note "pages of at most 256; what servers that run have";
        request "mcp/prompt/list" (McpPageParams => McpPromptListResult)
            [McpServerNotFound] now_with(tool_servers) pages::prompts, needs Read:
            "Lists the prompts of MCP servers that run, page by page.",
            test "server/mcp: what_a_server_has_is_listed_read_and_filled_in_over_the_wire",
            note "pages of at most 256; what servers that run have";
        request "mcp/prompt/get" (McpPromptGetParams => McpTextResult)
            [McpServerNotFound, McpInvalid] now_with(tool_servers) pages::fill, needs Approve:
            "Returns a prompt of an MCP server, filled in.",
            test "server/mcp: what_a_server_has_is_listed_read_and_filled_in_over_the_wire",
            note "pages of at most 256; what servers that run have";
        notification MCP_STATUS_UPDATED (McpStatusUpdatedNotification):
            "An MCP server is another way than before.", capability Some("mcpStatus"), spec "05 §8",
            test "server/mcp: servers_are_managed_over_the_wire";
        notification MCP_LOGIN_COMPLETED (McpLoginCompletedNotification):
            "Extension: a login at an MCP server has ended.",
            test "server/mcp_http: a_client_logs_its_user_in_and_the_server_starts";
        notification WORKSPACE_CONFIG_CHANGED (WorkspaceConfigChangedNotification):
            "The configuration was changed.", page Page::WORKSPACE, capability Some("workspaceConfigManagement"),
            spec "05 §1", test "server/mcp: servers_are_managed_over_the_wire";
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
