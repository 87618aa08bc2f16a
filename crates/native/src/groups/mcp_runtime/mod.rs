//! `mcpServerStatus/list`, `mcpServer/*` and `config/mcpServer/reload`: MCP servers that run, and their questions
//! (AppServer protocol 07 §7.4, §7.5).

mod convert;
pub(crate) mod elicitation;
mod handlers;

use std::sync::Arc;

use bobbin_agent_api::outside::OutsideCalls;
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::mcp_runtime::types::{
    McpElicitationRequestParams, McpElicitationRequestResult, McpServerOauthLoginCompletedNotification,
    McpServerOauthLoginParams, McpServerOauthLoginResult, McpServerResourceReadParams,
    McpServerResourceReadResult, McpServerStartupStatusUpdatedNotification, McpServerStatusListParams,
    McpServerStatusListResult, McpServerToolCallParams, McpServerToolCallResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const STARTUP_STATUS_UPDATED: &str = "mcpServer/startupStatus/updated";
pub(crate) const ELICITATION_REQUEST: &str = "mcpServer/elicitation/request";
pub(crate) const OAUTH_LOGIN_COMPLETED: &str = "mcpServer/oauthLogin/completed";

/// Runs the calls of clients.
type Calls = Arc<dyn OutsideCalls>;

/// The conditions of a client's call.
const CALLS: &str = "the rules, the policy of the Thread and hooks decide as in a Turn, but nobody is asked: a call that \
    needs an approval is refused, with `isError` and the reason. It is not recorded in the Thread and cannot be undone. \
    Members that this server does not know are left out of JSON answers over HTTP";

/// The client that is asked, and the worth of its answer.
const ELICITATION: &str = "to one client with `mcpElicitation` that follows the Thread, first the one that started the \
    Turn. An error, content that does not fit or a lost connection is an error for the MCP server; the end of the \
    call is `cancel`. Where no such client is there, clients with `requestUserInputSupport` or `userInputSupport` are \
    asked for the members of a form, one by one";

/// To whom notifications of today go.
const TODAY: &str = "to clients of today (`ClientCapabilities`)";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::MCP, Some("mcpRuntime");
        request "mcpServerStatus/list" (McpServerStatusListParams => McpServerStatusListResult)
            [ThreadNotFound] wait_with(tool_servers) handlers::list, needs Read:
            "Lists MCP servers with their tools and resources, page by page.", spec "07 §7.4",
            test "server/mcp_runtime: a_client_of_today_lists_servers_with_what_they_offer",
            note "a page ends early behind 4 MiB";
        request "mcpServer/tool/call" (McpServerToolCallParams => McpServerToolCallResult)
            [ThreadNotFound, McpServerNotFound] wait_with(of Calls) handlers::call, needs Approve:
            "Calls a tool of an MCP server, outside of any Turn.", spec "07 §7.4",
            test "server/mcp_runtime: a_client_calls_a_tool_and_gets_the_servers_own_answer", note CALLS;
        request "mcpServer/resource/read" (McpServerResourceReadParams => McpServerResourceReadResult)
            [ThreadNotFound, McpServerNotFound] wait_with(tool_servers) handlers::read, needs Approve:
            "Reads a resource of an MCP server.", spec "07 §7.4",
            test "server/mcp_runtime: a_resource_is_read_as_the_server_has_it";
        request "config/mcpServer/reload" (EmptyParams => EmptyResult)
            [] wait_with(tool_servers) handlers::reload, needs Own:
            "Reads the configuration files again, and starts, restarts or ends the MCP servers that have changed.",
            spec "07 §7.4", test "server/mcp_runtime: changed_files_are_read_again";
        request "mcpServer/oauth/login" (McpServerOauthLoginParams => McpServerOauthLoginResult)
            [ThreadNotFound, McpServerNotFound] wait_with(tool_servers) handlers::log_in, needs Own:
            "Starts a login at an MCP server over HTTP. Its end is `mcpServer/oauthLogin/completed`.",
            spec "07 §7.4", test "server/mcp_runtime: a_client_of_today_logs_its_user_in",
            note "a login that waits already has the same page";
        server_request ELICITATION_REQUEST (McpElicitationRequestParams => McpElicitationRequestResult), needs Approve:
            "Asks the user what an MCP server wants to know, by a form or a page.", capability Some("mcpElicitation"),
            spec "07 §7.5", test "server/elicitation: a_form_is_filled_in_by_one_client_and_checked",
            note ELICITATION;
        notification STARTUP_STATUS_UPDATED (McpServerStartupStatusUpdatedNotification):
            "The start of an MCP server goes on. Directly after `mcp/status/updated`.", spec "07 §7.4",
            test "server/mcp_runtime: a_client_of_today_lists_servers_with_what_they_offer", note TODAY;
        notification OAUTH_LOGIN_COMPLETED (McpServerOauthLoginCompletedNotification):
            "A login at an MCP server has ended. Directly after `mcp/login/completed`.", spec "07 §7.4",
            test "server/mcp_runtime: a_client_of_today_logs_its_user_in", note TODAY;
    },
    capabilities: |server, capabilities| {
        let services = server.services();
        capabilities.mcp_elicitation = services.tool_servers.is_some();
        capabilities.mcp_runtime =
            services.tool_servers.is_some() && services.others.get::<Calls>().is_some();
    },
    unwanted: |capabilities| {
        if capabilities.is_today() {
            Vec::new()
        } else {
            vec![STARTUP_STATUS_UPDATED, OAUTH_LOGIN_COMPLETED]
        }
    },
    broadcast: |news, _| convert::broadcast(news),
    ..Group::EMPTY
};
