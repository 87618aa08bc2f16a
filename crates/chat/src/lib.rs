//! `bobbin chat`: a Thread in a terminal. Finished output goes into the terminal's own scrollback; the prompt, questions and
//! what runs stand after it. A client like any other: many may have the same Thread at once.

mod app;
mod ask;
mod cells;
mod change;
mod code;
mod commands;
mod compose;
mod drafts;
mod markdown;
mod picker;
mod pictures;
mod prose;
mod screen;
mod terminal;
mod text;
mod theme;
mod transcript;
mod view;

pub use app::{Opens, Settings, run};
pub use change::{ChangeLine, change_of_call, painted_diff};
pub use pictures::picture;
pub use prose::Prose;
