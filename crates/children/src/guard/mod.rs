//! The guard: one small process that kills our children's groups when we are killed.
//!
//! `kill -9` gives us no last word, so somebody else has to have it. The guard runs a hidden helper mode of our own
//! binary ([`guard_main`]) and reads a socket whose other end only we hold. New groups announce themselves on
//! it before their programs start; we take them off the books once they are killed. At the end of the
//! socket, that is when we are gone for whatever reason, it kills every group still on the books and exits.
//! Not taken: a supervisor process around each command, which costs a second process a command.
//!
//! [`Guard`] is our side of it and owns the process; started with the first child, replaced when it
//! died. Bounds: one entry per running group on both sides, records of 16 bytes.

mod link;
mod watch;

pub(crate) mod record;

pub(crate) use link::Guard;
pub use link::GuardProgram;
pub use watch::guard_main;
