//! The tools that a server lists, read page by page, checked, and cut to limits.
//!
//! At most [`MAX_PAGES`] pages and [`MAX_TOOLS`] tools. The log and the server's status name tools that are left out. An
//! invalid tool does not affect the others.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_agent_api::tool::ToolSpec;
use bobbin_agent_api::tool_name;
use bobbin_model::{Json, OfferedTool, ToolHints};
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::{Peer, ServiceError};
use serde_json::Value;

use crate::permission::Traits;
use crate::text::head;

/// Most pages of one list.
const MAX_PAGES: usize = 64;
/// Most tools of one server (guess: several times the number that a request can have).
const MAX_TOOLS: usize = 256;
/// Longest name of a tool.
const MAX_NAME: usize = 256;
/// Longest description; the rest is cut.
const MAX_DESCRIPTION: usize = 4 << 10;
/// Largest schema of a tool's arguments.
const MAX_SCHEMA: usize = 64 << 10;
/// Most names of left-out tools in the server's status.
const MAX_NAMED: usize = 3;
/// Longest shown name of a left-out tool.
const MAX_SHOWN: usize = 64;

/// The tools that a server lists.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Listed>,
    /// The tools that are left out, in words that follow the server's name; empty if there are none.
    pub(crate) left_out: String,
}

/// Counts the tools and pages that are left out.
#[derive(Default)]
struct LeftOut {
    beyond: usize,
    pages: bool,
    unfit: Vec<String>,
    more_unfit: usize,
}

impl LeftOut {
    fn unfit(&mut self, server: &str, name: &str, why: &str) {
        let name = head(name, MAX_SHOWN);
        tracing::warn!(server, tool = name, why, "a tool is left out");
        if self.unfit.len() < MAX_NAMED {
            self.unfit.push(format!("its tool {name} is left out ({why})"));
        } else {
            self.more_unfit += 1;
        }
    }

    fn in_words(mut self, server: &str) -> String {
        let mut said = Vec::new();
        if self.beyond > 0 {
            tracing::warn!(server, beyond = self.beyond, "an MCP server lists too many tools");
            said.push(format!(
                "it lists {} tools, and {MAX_TOOLS} of a server are offered: the rest is left out",
                MAX_TOOLS + self.beyond
            ));
        }
        if self.pages {
            tracing::warn!(server, MAX_PAGES, "an MCP server lists too many pages");
            said.push(format!(
                "its list of tools has more than {MAX_PAGES} pages: what stands behind them is left out"
            ));
        }
        said.append(&mut self.unfit);
        if self.more_unfit > 0 {
            said.push(format!("and {} more", self.more_unfit));
        }
        said.join("; ")
    }
}

/// A tool as its server lists it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// The server's own name for it.
    pub(crate) name: String,
    pub(crate) spec: ToolSpec,
    pub(crate) traits: Traits,
    /// JSON Schema of its structured result; one that is too large is left out.
    output_schema: Option<Json>,
    hints: ToolHints,
}

impl Listed {
    /// Returns the tool with these traits and their effect.
    pub(crate) fn believed(mut self, traits: Traits) -> Self {
        self.spec.effect = traits.effect();
        Self { traits, ..self }
    }

    /// Returns the tool as clients show it.
    pub(crate) fn offered(&self) -> OfferedTool {
        OfferedTool {
            name: self.name.clone(),
            description: self.spec.description.to_string(),
            input_schema: self.spec.input_schema.clone(),
            output_schema: self.output_schema.clone(),
            offered_as: self.spec.name.to_string(),
            hints: self.hints.clone(),
        }
    }
}

/// Asks a server for its tools. The caller bounds the time.
pub(crate) async fn tools(peer: &Peer<RoleClient>, server: &str) -> Result<Listing, ServiceError> {
    let mut tools = Vec::new();
    let mut left_out = LeftOut::default();
    let mut names = HashSet::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = page(peer, cursor.take()).await?;
        for tool in page.tools {
            let tool = match tool {
                Ok(tool) => tool,
                Err(name) => {
                    left_out.unfit(server, &name, "it is not described as a tool is");
                    continue;
                }
            };
            if tools.len() == MAX_TOOLS {
                left_out.beyond += 1;
                continue;
            }
            match checked(server, &tool) {
                // The first of two tools with one name stays.
                Ok(tool) if names.insert(tool.spec.name.clone()) => tools.push(tool),
                Ok(tool) => left_out.unfit(server, &tool.name, "it is listed twice"),
                Err(why) => left_out.unfit(server, &tool.name, why),
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    left_out.pages = cursor.is_some();
    let left_out = left_out.in_words(server);
    Ok(Listing { tools, left_out })
}

/// A page of the list. An entry that is no valid tool is an error with its name.
struct Page {
    tools: Vec<Result<Tool, String>>,
    next_cursor: Option<String>,
}

async fn page(peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<Page, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest {
        params: Some(params),
        ..ListToolsRequest::default()
    };
    match peer
        .send_request(ClientRequest::ListToolsRequest(request))
        .await?
    {
        ServerResult::ListToolsResult(page) => Ok(Page {
            tools: page.tools.into_iter().map(Ok).collect(),
            next_cursor: page.next_cursor,
        }),
        // A page that does not decode as a whole may have valid tools.
        ServerResult::CustomResult(CustomResult(mut page)) => {
            let Some(Value::Array(entries)) = page.get_mut("tools").map(Value::take) else {
                return Err(ServiceError::UnexpectedResponse);
            };
            let tools = entries.into_iter().map(|entry| {
                let name = entry["name"].as_str().unwrap_or("without a name").to_owned();
                serde_json::from_value(entry).map_err(|_| name)
            });
            Ok(Page {
                tools: tools.collect(),
                next_cursor: page["nextCursor"].as_str().map(str::to_owned),
            })
        }
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn checked(server: &str, tool: &Tool) -> Result<Listed, &'static str> {
    if tool.name.is_empty() || tool.name.len() > MAX_NAME {
        return Err("its name is empty or too long");
    }
    let input_schema = Json::of(&tool.input_schema).map_err(|_| "its schema cannot be written")?;
    if input_schema.get().len() > MAX_SCHEMA {
        return Err("its schema is too large");
    }
    let traits = Traits::of(tool.annotations.as_ref());
    let description = tool.description.as_deref().or(tool.title.as_deref());
    Ok(Listed {
        name: tool.name.to_string(),
        spec: ToolSpec {
            name: tool_name::of_server(server, &tool.name).into(),
            description: head(description.unwrap_or_default(), MAX_DESCRIPTION).into(),
            input_schema,
            effect: traits.effect(),
        },
        traits,
        output_schema: tool
            .output_schema
            .as_ref()
            .and_then(|schema| Json::of(schema).ok())
            .filter(|schema| schema.get().len() <= MAX_SCHEMA),
        hints: hints(tool),
    })
}

fn hints(tool: &Tool) -> ToolHints {
    let said = tool.annotations.as_ref();
    let title = tool
        .title
        .as_deref()
        .or(said.and_then(|said| said.title.as_deref()));
    ToolHints {
        title: title.map(|title| head(title, MAX_NAME)),
        read_only: said.and_then(|said| said.read_only_hint),
        destructive: said.and_then(|said| said.destructive_hint),
        idempotent: said.and_then(|said| said.idempotent_hint),
        open_world: said.and_then(|said| said.open_world_hint),
    }
}

/// Returns the tools as clients show them.
pub(crate) fn offered(listed: &[Listed]) -> Arc<[OfferedTool]> {
    listed.iter().map(Listed::offered).collect()
}
