//! `audit/*`: who did what in the workspace.

pub mod types;
