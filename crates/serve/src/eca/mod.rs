//! The editors of this server, and the workspace that an editor names who has started us.

mod choices;
mod editors;
mod workspace;

pub(crate) use editors::Editors;
pub use workspace::EditorWorkspace;
