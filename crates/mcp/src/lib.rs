//! MCP servers offered as tools.
//!
//! A [`Host`] runs servers: it starts them, speaks with them, restarts failed ones with growing pauses, and ends them with
//! everything they started. To the engine it is a source of tools, to clients a list of
//! [`ToolServer`](bobbin_model::ToolServer)s whose changes it announces. It reads no environment:
//! a [`ServerSpec`] says how and whether a server may start. [`settings`] reads which servers files declare, and
//! [`Servers`] has the current ones of a workspace and their management by clients.
//!
//! A server of the user's own configuration runs. A server of the workspace's configuration may come from another
//! author's repository, and opening a directory must not start programs. So it runs only once its user trusts exactly
//! its definition.
//!
//! `supervise` runs the servers, one task each. A server that hangs, writes too much or dies costs only its own tools:
//! every wait has a time-out, every list and text a bound. Only this crate uses `rmcp`.

mod announce;
mod answer;
mod call;
mod changes;
mod checks;
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
mod logins;
mod outbound;
mod permission;
mod raw;
mod resolve;
mod server;
mod servers;
mod session_servers;
pub mod settings;
mod spec;
mod text;
mod tokens;
mod watched;

pub use announce::Announce;
pub use checks::check;
pub use host::{Full, Host};
pub use login::{Login, OAuthClient};
pub use logins::{logins, over_http};
pub use resolve::{ServerPlaces, resolve};
pub use servers::{ReadServers, Servers};
pub use session_servers::SessionServers;
pub use spec::{HttpSpec, Launch, Secret, ServerSpec, StartCheck};
pub use tokens::TokenFile;
