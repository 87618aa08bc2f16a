//! The parent of a child: a process of our own binary between the server and the child.
//!
//! Every child has a parent. The parent has one thread and no runtime, is the subreaper of its descendants, and
//! shares one socket with the server. The socket ends when the server wants the child's end, or when the server is
//! gone. The parent then ends everything that the child started, in any session. See `docs/design/sandbox.md`.
//!
//! The same mode connects to a port in a network of children or listens there, and starts nothing then.

mod connect;
mod launch;
mod run;
mod tree;

pub(crate) mod message;

pub use run::run_child;

/// First argument of the helper mode that runs [`run_child`].
pub const RUN_CHILD_ARGUMENT: &str = "run-child";
/// The number of the socket that the server and the parent share.
pub(crate) const SOCKET: i32 = 3;
/// The number of a network, or of the socket to show one, where the order has it.
pub(crate) const NETWORK: i32 = 4;
