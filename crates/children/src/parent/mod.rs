//! The parent of a child: a process of our own binary between the server and what it starts.
//!
//! Every child has one. It has one thread and no runtime, is the subreaper of what it starts, and shares one socket with the
//! server. At the end of that socket, that is when the server wants the child's end or is gone for whatever reason, it ends
//! everything that it has started, in whatever session. See `docs/design/sandbox.md`.

mod launch;
mod run;
mod tree;

pub(crate) mod message;

pub use run::run_child;

/// First argument of the helper mode that runs [`run_child`].
pub const RUN_CHILD_ARGUMENT: &str = "run-child";
/// The number of the socket that the server and the parent share.
pub(crate) const SOCKET: i32 = 3;
