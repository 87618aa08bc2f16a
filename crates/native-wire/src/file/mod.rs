//! `workspace/files/*`: the files of the workspace.

pub mod types;
