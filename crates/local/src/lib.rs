//! The one server of a workspace: the programs of its user find it, start it, join it and end it here.
//!
//! A server answers at a socket file in the workspace's state, for programs of the same user that can read the key beside it.
//! A program that finds no server starts one as a process of its own session, which listens on no port and ends when nothing
//! uses it. The operating system lock of the workspace decides which process serves; another one looks again.

mod control;
mod hello;
mod join;
mod launch;
mod version;

pub use control::{CONTROL_LEAVE, CONTROL_LISTEN, CONTROL_WAIT, Leave, Left, ListenRequest, Opened};
pub use hello::{Dialect, Hello, Relayed, SOCKET};
pub use join::{JoinError, Joined, connect, end, ended, join};
pub use launch::{Launch, LaunchError, Ready, Report};
