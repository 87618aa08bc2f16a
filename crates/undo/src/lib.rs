//! Undoing Turns: what files were before and after each call that may change them, and putting them back.
//!
//! A workspace has one bare git repository of the server's own: outside of the workspace and of the user's repository,
//! without the user's configuration, hooks, filters and attributes. Around a call that names its files, those files are
//! recorded; around any other call that may change files, a snapshot of the workspace is taken (a git tree). Refs name
//! what was before and after each call; an undo puts back the difference.
//!
//! * `git`: the program git, run with nothing of the user's; `contents`: what it says of trees and contents.
//! * `objects`: objects that are written without it.
//! * `scan`: which files of a workspace have changed; `snapshot`: a tree of them, one at a time for each workspace.
//! * `steps`: refs for each call; `calls`: recording a call.
//! * `plan`: what a Turn did to each file, and what is to be done about it. Pure.
//! * `revert`: an undo; `tidy`: what is removed, and when.
//!
//! * `diff`: all file changes of a Turn as one unified diff, and the preview of one call.
//!
//! Knows nothing of tools, models and clients: it implements [`Undo`](bobbin_agent_api::undo::Undo).

mod calls;
mod contents;
mod diff;
mod git;
mod objects;
mod plan;
mod repository;
mod revert;
mod scan;
mod snapshot;
mod steps;
mod tidy;

pub use diff::{Changes, preview, unified};
pub use repository::{FileUndo, UndoUnavailable};
