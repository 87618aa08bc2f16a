//! `mcpServerStatus/list`, `mcpServer/*` and `config/mcpServer/reload`: MCP servers that run, and their questions

pub mod types;
