//! The workspace's MCP servers: what the configuration says of them, who may start which, and their management.
//!
//! A server that stands in the user's own configuration runs. One that stands in the workspace's may have come with
//! somebody else's repository: opening a directory must not start a program of its choice, so such a server runs only
//! once its user trusts exactly this definition ([`crate::trust`]).

mod login;
mod resolve;
mod servers;

pub use login::{directory as logins, over_http};
pub use resolve::{ServerPlaces, spec};
pub use servers::Servers;
