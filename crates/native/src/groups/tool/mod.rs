//! `tool/list`: the tools that the server brings (AppServer protocol 07 §8.1).

use std::sync::Arc;

use bobbin_agent_api::tool::BuiltInTools;
use bobbin_native_wire::tool::types::{ListedTool, ToolListParams, ToolListResult, ToolSource};
use bobbin_peer::Responder;

use crate::client::Client;
use crate::group::page::Page;
use crate::group::{Group, rows};

type Feature = Arc<BuiltInTools>;

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::COMMANDS, Some("toolCatalog");
        request "tool/list" (ToolListParams => ToolListResult) [] now_with(of Feature) list, needs Read:
            "Lists the tools that the server brings. Those of MCP servers are in `mcp/tool/list`.", spec "07 §8.1",
            test "server/agent: the_tools_of_the_server_are_listed";
    },
    capabilities: |server, capabilities| {
        capabilities.tool_catalog = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};

fn list(_: &Client, tools: &Feature, ToolListParams { mode, .. }: ToolListParams, responder: Responder) {
    let is_plan = mode.as_deref() == Some("plan");
    let listed = tools.0.iter().filter(|tool| tool.in_plan_mode || !is_plan);
    let listed = listed.map(|tool| ListedTool {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        icon: String::new(),
        source: ToolSource::Builtin,
        plan_mode: tool.in_plan_mode,
    });
    let mut tools: Vec<ListedTool> = listed.collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    responder.ok(ToolListResult { tools });
}
