//! Tools, resources and prompts of MCP servers, in pages. A cursor is the number of entries before the page, so the
//! server stores none. A list that changes meanwhile may repeat or omit an entry. Entries and bytes bound a page.

use std::sync::Arc;

use crate::client::{Client, refuse};
use bobbin_agent_api::tool_server::{ServerPrompt, ServerResource, ToolServerError, ToolServers};
use bobbin_model::{OfferedTool, ToolHints};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::mcp::page_types::{
    McpPageParams, McpPrompt, McpPromptArgument, McpPromptGetParams, McpPromptListResult, McpResource,
    McpResourceListResult, McpResourceReadParams, McpTextResult, McpTool, McpToolAnnotations,
    McpToolListResult,
};
use bobbin_peer::Responder;

use super::handlers::wire_error;

/// Default and largest number of entries of a page.
const USUAL: u32 = 100;
const MOST: u32 = 256;
/// Bytes of descriptions and schemas that end a page of tools: less than the longest message.
const MAX_BYTES: usize = 1 << 20;

type Servers = Arc<dyn ToolServers>;

pub(super) fn tools(_: &Client, servers: &Servers, params: McpPageParams, responder: Responder) {
    let all = servers.servers();
    let tools = all.iter().flat_map(|server| {
        let tools = server.tools.iter();
        tools.map(|tool| (server.name.as_str(), tool))
    });
    let mut bytes = 0;
    let fits = |(_, tool): &(&str, &OfferedTool)| {
        let is_first = bytes == 0;
        bytes += tool.description.len() + tool.input_schema.get().len();
        is_first || bytes <= MAX_BYTES
    };
    match page(servers, params, tools, |(server, _)| server, fits) {
        Ok((tools, next_cursor)) => responder.ok(McpToolListResult {
            tools: tools
                .into_iter()
                .map(|(server, tool)| tool_out(server, tool))
                .collect(),
            next_cursor,
        }),
        Err(error) => refuse(responder, error),
    }
}

pub(super) fn resources(_: &Client, servers: &Servers, params: McpPageParams, responder: Responder) {
    let all = servers.resources().into_iter();
    match page(servers, params, all, |one| &one.server, |_| true) {
        Ok((resources, next_cursor)) => responder.ok(McpResourceListResult {
            resources: resources.into_iter().map(resource_out).collect(),
            next_cursor,
        }),
        Err(error) => refuse(responder, error),
    }
}

pub(super) fn prompts(_: &Client, servers: &Servers, params: McpPageParams, responder: Responder) {
    let all = servers.prompts().into_iter();
    match page(servers, params, all, |one| &one.server, |_| true) {
        Ok((prompts, next_cursor)) => responder.ok(McpPromptListResult {
            prompts: prompts.into_iter().map(prompt_out).collect(),
            next_cursor,
        }),
        Err(error) => refuse(responder, error),
    }
}

pub(super) fn read(
    client: &Client,
    servers: &Servers,
    McpResourceReadParams { server, uri }: McpResourceReadParams,
    responder: Responder,
) {
    let servers = servers.clone();
    client.spawn(async move {
        let read = servers.read_resource(&server, &uri).await;
        answer(&servers, &server, read, responder);
    });
}

pub(super) fn fill(client: &Client, servers: &Servers, params: McpPromptGetParams, responder: Responder) {
    let servers = servers.clone();
    client.spawn(async move {
        let McpPromptGetParams {
            server,
            name,
            arguments,
        } = params;
        let filled = servers.fill_prompt(&server, &name, arguments).await;
        answer(&servers, &server, filled, responder);
    });
}

fn answer(servers: &Servers, server: &str, text: Result<String, ToolServerError>, responder: Responder) {
    match text {
        Ok(text) => responder.ok(McpTextResult { text }),
        Err(_) if !is_known(servers, server) => refuse(responder, RpcError::mcp_server_not_found(server)),
        Err(error) => refuse(responder, wire_error(&error)),
    }
}

fn is_known(servers: &Servers, name: &str) -> bool {
    let servers = servers.servers();
    servers
        .iter()
        .any(|server| server.name.to_lowercase() == name.to_lowercase())
}

/// Returns one page and the cursor of the next.
fn page<T>(
    servers: &Servers,
    McpPageParams {
        server,
        cursor,
        limit,
    }: McpPageParams,
    all: impl Iterator<Item = T>,
    server_of: impl Fn(&T) -> &str,
    mut fits: impl FnMut(&T) -> bool,
) -> Result<(Vec<T>, Option<String>), RpcError> {
    if let Some(server) = server.as_ref().filter(|server| !is_known(servers, server)) {
        return Err(RpcError::mcp_server_not_found(server));
    }
    let start: usize = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| RpcError::invalid_params("'cursor' is none of this list."))?,
    };
    let limit = limit.unwrap_or(USUAL).clamp(1, MOST) as usize;
    let wanted = server.map(|server| server.to_lowercase());
    let all = all.filter(|one| {
        let server = server_of(one);
        wanted
            .as_ref()
            .is_none_or(|wanted| *wanted == server.to_lowercase())
    });
    let mut entries = Vec::new();
    for one in all.skip(start) {
        if entries.len() == limit || !fits(&one) {
            let next = start + entries.len();
            return Ok((entries, Some(next.to_string())));
        }
        entries.push(one);
    }
    Ok((entries, None))
}

fn tool_out(server: &str, tool: &OfferedTool) -> McpTool {
    let ToolHints {
        title,
        read_only,
        destructive,
        idempotent,
        open_world,
    } = tool.hints.clone();
    let annotations = McpToolAnnotations {
        title,
        read_only_hint: read_only,
        destructive_hint: destructive,
        idempotent_hint: idempotent,
        open_world_hint: open_world,
    };
    McpTool {
        server: server.to_owned(),
        name: tool.name.clone(),
        offered_as: tool.offered_as.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        annotations: Some(annotations).filter(|said| *said != McpToolAnnotations::default()),
    }
}

fn resource_out(resource: ServerResource) -> McpResource {
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    McpResource {
        server: resource.server,
        uri: resource.uri,
        name: resource.name,
        description: said(resource.description),
        mime_type: said(resource.mime_type),
    }
}

fn prompt_out(prompt: ServerPrompt) -> McpPrompt {
    let arguments = prompt.arguments.into_iter().map(|argument| McpPromptArgument {
        name: argument.name,
        description: argument.description,
        required: argument.required,
    });
    McpPrompt {
        server: prompt.server,
        name: prompt.name,
        description: Some(prompt.description).filter(|text| !text.is_empty()),
        arguments: arguments.collect(),
    }
}
