//! One numbered, bounded log per live Thread, read through cursors; joins Deltas for slow readers.
//!
//! The Thread's owner appends, which assigns the Seq, and later shows the committed entries to readers. A reader
//! holds a cursor only. A slow reader loses its place in memory but never delays the owner. The log knows nothing
//! of connections, stores or encodings: a [`Frame`] only caches encodings, so that each is made once.

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
