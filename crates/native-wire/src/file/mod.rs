//! `workspace/files/*`: the files of the workspace, for people.

pub mod types;
