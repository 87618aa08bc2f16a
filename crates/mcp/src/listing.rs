//! The tools that a server lists: asked for page by page, checked, and cut to what is bearable.
//!
//! At most [`MAX_PAGES`] pages and [`MAX_TOOLS`] tools; what is left out is said in the log. One bad tool takes no
//! other with it.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_core::tool::ToolSpec;
use bobbin_core::tool_name;
use bobbin_model::{Json, OfferedTool};
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, ServiceError};

use crate::permission::Traits;
use crate::text::head;

/// Most pages of one list.
const MAX_PAGES: usize = 64;
/// Most tools of one server (guess: several times what models can be told of).
const MAX_TOOLS: usize = 256;
/// Longest name of a tool.
const MAX_NAME: usize = 256;
/// Longest description; the rest is cut.
const MAX_DESCRIPTION: usize = 4 << 10;
/// Largest schema of a tool's arguments.
const MAX_SCHEMA: usize = 64 << 10;

/// A tool as its server lists it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// The server's own name for it.
    pub(crate) name: String,
    pub(crate) spec: ToolSpec,
    pub(crate) traits: Traits,
}

impl Listed {
    /// Returns it as people are shown it.
    pub(crate) fn offered(&self) -> OfferedTool {
        OfferedTool {
            name: self.name.clone(),
            description: self.spec.description.to_string(),
            input_schema: self.spec.input_schema.clone(),
        }
    }
}

/// Asks a server for its tools. The caller bounds the time.
pub(crate) async fn tools(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<Listed>, ServiceError> {
    let mut listed = Vec::new();
    let mut names = HashSet::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_tools(Some(params)).await?;
        for tool in page.tools {
            if listed.len() == MAX_TOOLS {
                tracing::warn!(
                    server,
                    MAX_TOOLS,
                    "an MCP server lists too many tools; the rest is left out"
                );
                return Ok(listed);
            }
            match checked(server, &tool) {
                // Of two with one name the first stays.
                Ok(tool) if names.insert(tool.spec.name.clone()) => listed.push(tool),
                Ok(tool) => tracing::warn!(server, tool = tool.name, "a tool is listed twice"),
                Err(why) => {
                    let tool = head(&tool.name, MAX_NAME);
                    tracing::warn!(server, tool, why, "a tool is left out");
                }
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(listed);
        }
    }
    tracing::warn!(
        server,
        MAX_PAGES,
        "an MCP server lists too many pages; the rest is left out"
    );
    Ok(listed)
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
    })
}

/// Returns the tools as people are shown them.
pub(crate) fn offered(listed: &[Listed]) -> Arc<[OfferedTool]> {
    listed.iter().map(Listed::offered).collect()
}
