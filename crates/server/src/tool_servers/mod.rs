//! The workspace's MCP servers: their specification, their trust and their management.
//!
//! A server of the user's own configuration runs. A server of the workspace's configuration may come from another
//! author's repository, and opening a directory must not start programs. So it runs only once its user trusts exactly
//! its definition ([`crate::trust`]).

mod login;
mod resolve;
mod servers;

pub use login::{directory as logins, over_http};
pub use resolve::{ServerPlaces, spec};
pub use servers::Servers;
