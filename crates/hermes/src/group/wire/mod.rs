//! The shapes of `hermes/*`.

mod dialogs;
mod documents;
mod extensions;

pub use dialogs::*;
pub use documents::*;
pub use extensions::*;
