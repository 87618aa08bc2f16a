//! One numbered, bounded log per live Thread, read through cursors; joins Deltas for readers behind.
//!
//! The Thread's owner appends, which gives the Seq, and later shows, which lets readers see what has been
//! committed. Readers hold a cursor and nothing else; being slow costs them their place in memory, never
//! the owner's time. The log knows nothing of connections, stores or encodings: a [`Frame`] only keeps
//! what others encoded, so that it is encoded once.

mod frame;
mod join;
mod log;
mod wake;

pub use frame::{
    Broadcast, ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, Part, SubagentQuestion, View, WireMessage,
};
pub use join::join;
pub use log::{Entry, Limits, Log, Read};
pub use wake::Waker;
