//! The shapes of `hermes/*`.

pub mod dialogs;
pub mod documents;
pub mod extensions;
