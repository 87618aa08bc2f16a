//! `workspace/files/*`: names of files, for menus.

pub mod types;
