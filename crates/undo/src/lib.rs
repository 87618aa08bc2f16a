//! Undoes Turns: records files before and after each call that may change them, and restores them.
//!
//! Each workspace has a bare git repository of the server's own: outside of the workspace and of the user's repository,
//! without the user's configuration, hooks, filters and attributes. A call that names its files has those files
//! recorded. Any other call that may change files has a snapshot of the workspace before and after it (a git tree).
//! Refs name both states of each call; an undo restores the difference.
//!
//! * `git`: runs git with nothing of the user's; `contents`: reads trees and contents with it.
//! * `objects`: objects that are written without git; `pack`: many of them in one file; `tree`: the tree of a workspace,
//!   made of them.
//! * `scan`: which files of a workspace have changed; `ignored`: which of those that git ignores are among them;
//!   `snapshot`: a tree of them, one at a time for each workspace; `index`: its files on disk, for the next server.
//! * `steps`: refs for each call; `calls`: recording a call.
//! * `plan`: what a Turn did to each file, and what an undo does about it. Pure.
//! * `revert`: an undo; `tidy`: what is removed, and when.
//! * `diff`: all file changes of a Turn as one unified diff, and the preview of one call.
//!
//! Knows nothing of tools, models and clients: it implements [`Undo`](bobbin_agent_api::undo::Undo).

mod calls;
mod checks;
mod contents;
mod diff;
mod git;
mod ignored;
mod index;
mod objects;
mod pack;
mod plan;
mod repository;
mod revert;
mod scan;
mod snapshot;
mod steps;
mod tidy;
mod tree;

pub use checks::check;
pub use diff::{Changes, preview, unified};
pub use repository::{FileUndo, UndoUnavailable};
