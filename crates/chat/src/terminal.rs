//! The modes of the terminal while the client has it.

use std::io::{self, Write as _, stdout};
use std::process::Command;

use anyhow::Context as _;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use nix::sys::signal::{Signal, raise};

/// Most bytes that are taken from the user's editor.
const MAX_EDITED: u64 = 1 << 20;

/// Gives the terminal back when it is dropped.
pub(crate) struct Modes;

impl Modes {
    /// Takes the terminal.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take() -> io::Result<Self> {
        enter()?;
        Ok(Self)
    }

    /// Stops this process as Ctrl-Z does, until its user brings it back.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn suspend() -> anyhow::Result<()> {
        leave()?;
        raise(Signal::SIGTSTP)?;
        enter()?;
        Ok(())
    }

    /// Has the user edit a text with the program `editor`.
    ///
    /// # Errors
    /// The editor cannot be started, ends with an error, or leaves no text.
    pub(crate) fn edit(editor: &str, text: &str) -> anyhow::Result<String> {
        let mut file = tempfile::Builder::new()
            .prefix("prompt-")
            .suffix(".md")
            .tempfile()?;
        file.write_all(text.as_bytes())?;
        let mut words = editor.split_whitespace();
        let program = words.next().context("EDITOR is empty")?;
        leave()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the user's own editor, with the user's terminal"
        )]
        let mut command = Command::new(program);
        let ended = command.args(words).arg(file.path()).status();
        enter()?;
        let ended = ended.with_context(|| format!("{program} cannot be started"))?;
        anyhow::ensure!(
            ended.success(),
            "{program} ended with an error; the prompt is as it was"
        );
        let edited = bobbin_files::read_text_unlinked(file.path(), MAX_EDITED)?;
        Ok(edited.trim_end().to_owned())
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        drop(leave());
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    let mut out = stdout();
    queue!(
        out,
        EnableBracketedPaste,
        // Terminals without it ignore it.
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )?;
    out.flush()
}

fn leave() -> io::Result<()> {
    let left = execute!(stdout(), PopKeyboardEnhancementFlags, DisableBracketedPaste);
    disable_raw_mode()?;
    left
}
