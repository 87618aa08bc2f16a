//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14).

pub mod types;
