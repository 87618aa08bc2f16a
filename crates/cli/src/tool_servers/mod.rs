//! `bobbin mcp`: the workspace's MCP servers.

mod add;
mod command;

pub(crate) use command::{Mcp, run};
