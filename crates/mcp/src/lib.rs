//! MCP servers offered as tools.
//!
//! A [`Host`] runs the servers it is given: it starts them, speaks with them, sees them fail, starts them again with
//! growing pauses, and ends them with everything they started. To the engine it is a source of tools, to clients a
//! list of [`ToolServer`](bobbin_model::ToolServer)s whose changes it announces. It reads no configuration and no
//! environment, and it does not know who may start what: it is handed a [`ServerSpec`] that says so.
//!
//! `supervise` runs the servers, one task each. A server
//! that hangs, floods or dies costs its own tools and nothing else: every wait has a time-out, every list and text a
//! bound. `rmcp` appears in this crate only.

mod announce;
mod answer;
mod call;
mod changes;
mod connect;
mod denial;
mod elicit;
mod extras;
mod handler;
mod host;
mod http;
mod large;
mod listing;
mod login;
mod outbound;
mod permission;
mod server;
mod spec;
mod text;
mod tokens;

pub use announce::Announce;
pub use host::{Full, Host};
pub use login::{Login, OAuthClient};
pub use spec::{HttpSpec, Launch, Secret, ServerSpec, StartCheck};
pub use tokens::TokenFile;
