//! The shapes of `hermes/*`.

mod dialogs;
mod documents;
#[cfg(test)]
mod examples;
mod extensions;

pub use dialogs::*;
pub use documents::*;
pub use extensions::*;
