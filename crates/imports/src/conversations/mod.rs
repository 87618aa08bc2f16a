//! Conversations that other agents have stored on this machine, as finished history.
//!
//! Each format has a module that reads one conversation into a [`Conversation`]. [`take`] writes it into a store, in one
//! transaction. A line that cannot be read is skipped and counted. Of a conversation that is too large, the newest Turns
//! are taken. Only what was said, thought and called is read: no permissions, no settings, no open Turns.

mod claude;
mod codex;
mod history;
mod lines;
mod opencode;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use bobbin_model::{InputPart, UnixMillis};
use bobbin_store_sqlite::{OpencodeMessage, OpencodeSession};
use sha2::{Digest as _, Sha256};

pub use history::{Taken, take};

/// Most bytes of a message.
const MAX_TEXT: usize = 64 << 10;
/// Most bytes of the arguments or the result of a call.
const MAX_RESULT: usize = 16 << 10;
/// Most bytes of a conversation.
const MAX_BYTES: usize = 16 << 20;
/// Most Items of a conversation.
const MAX_ITEMS: usize = 5_000;
/// Most files that are looked at.
const MAX_FILES: usize = 10_000;
/// The last millisecond of the year 9999.
const LAST_TIME: i64 = 253_402_300_799_999;

/// An agent whose conversations are read from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// A conversation of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The word for the agent.
    pub agent: &'static str,
    /// Its id there.
    pub id: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// When it started.
    pub created_at: UnixMillis,
    /// When something last happened in it.
    pub last_active_at: UnixMillis,
    /// Lines that could not be read.
    pub damaged: u32,
    /// Older Turns that are left out, since it is too large.
    pub left_out: u32,
    turns: VecDeque<Turn>,
}

/// A message of the user and what came of it.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    at: UnixMillis,
    input: String,
    is_cancelled: bool,
    parts: Vec<(UnixMillis, Part)>,
    bytes: usize,
    /// Parts that are left out, since it is too large.
    left_out: usize,
}

/// A part of a Turn.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Message(String),
    Reasoning(String),
    Call {
        id: String,
        tool: String,
        arguments: String,
    },
    Result {
        id: String,
        text: String,
        success: bool,
    },
}

impl Part {
    fn bytes(&self) -> usize {
        self.texts().iter().map(|text| text.len()).sum()
    }

    fn texts(&self) -> [&str; 3] {
        match self {
            Self::Message(text) => ["message", text, ""],
            Self::Reasoning(text) => ["reasoning", text, ""],
            Self::Call { tool, arguments, .. } => ["call", tool, arguments],
            Self::Result { text, success, .. } => ["result", text, if *success { "ok" } else { "" }],
        }
    }
}

impl Conversation {
    fn new(agent: &'static str, id: &str) -> Self {
        Self {
            agent,
            id: id.to_owned(),
            title: None,
            created_at: UnixMillis(0),
            last_active_at: UnixMillis(0),
            damaged: 0,
            left_out: 0,
            turns: VecDeque::new(),
        }
    }

    /// Returns the number of its Turns.
    pub fn turn_count(&self) -> usize {
        self.turns.len()
    }

    /// Returns the number of messages, thoughts, calls and results that are left out of its Turns.
    pub fn parts_left_out(&self) -> usize {
        self.turns.iter().map(|turn| turn.left_out).sum()
    }

    /// Returns its title, or the beginning of its first message.
    pub fn shown_title(&self) -> String {
        let input = |text: &String| [InputPart::Text { text: text.clone() }];
        let first = || bobbin_model::title_of_input(&input(&self.turns.front()?.input));
        self.title.clone().or_else(first).unwrap_or_default()
    }

    /// Returns a digest of what is taken of it: another one means that it has grown or changed.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        for turn in &self.turns {
            add(&turn.input);
            for (_, part) in &turn.parts {
                part.texts().into_iter().for_each(&mut add);
            }
        }
        hex::encode(hash.finalize())
    }

    /// Starts a Turn with a message of the user.
    fn start(&mut self, at: UnixMillis, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let input = bounded(text.trim(), MAX_TEXT);
        let at = self.noted(at);
        self.turns.push_back(Turn {
            at,
            bytes: input.len(),
            input,
            is_cancelled: false,
            parts: Vec::new(),
            left_out: 0,
        });
        self.shrink();
    }

    /// Removes the newest Turns.
    fn roll_back(&mut self, turns: usize) {
        self.turns.truncate(self.turns.len().saturating_sub(turns));
    }

    /// Notes that the user stopped the newest Turn.
    fn cancel(&mut self) {
        if let Some(turn) = self.turns.back_mut() {
            turn.is_cancelled = true;
        }
    }

    fn message(&mut self, at: UnixMillis, text: &str) {
        if !text.trim().is_empty() {
            self.add(at, Part::Message(bounded(text, MAX_TEXT)));
        }
    }

    fn reasoning(&mut self, at: UnixMillis, text: &str) {
        if !text.trim().is_empty() {
            self.add(at, Part::Reasoning(bounded(text, MAX_TEXT)));
        }
    }

    /// Adds a call. `arguments` is JSON; anything but an object counts as text.
    fn call(&mut self, at: UnixMillis, id: &str, tool: &str, arguments: &str) {
        let (id, tool) = (id.to_owned(), tool.to_owned());
        // Half an object is none: it stays as text, and users see that it was cut.
        let arguments = bounded(arguments, MAX_RESULT);
        self.add(at, Part::Call { id, tool, arguments });
    }

    fn result(&mut self, at: UnixMillis, id: &str, text: &str, success: bool) {
        let (id, text) = (id.to_owned(), bounded(text, MAX_RESULT));
        self.add(at, Part::Result { id, text, success });
    }

    /// Adds a part to the newest Turn; without a Turn it is dropped.
    fn add(&mut self, at: UnixMillis, part: Part) {
        let at = self.noted(at);
        if let Some(turn) = self.turns.back_mut() {
            turn.bytes += part.bytes();
            turn.parts.push((at, part));
            self.shrink();
        }
    }

    /// Returns a time within bounds, never before another one, and takes it as the newest.
    fn noted(&mut self, at: UnixMillis) -> UnixMillis {
        let at = UnixMillis(at.0.clamp(self.last_active_at.0, LAST_TIME));
        if self.created_at.0 == 0 {
            self.created_at = at;
        }
        self.last_active_at = at;
        at
    }

    /// Removes the oldest Turns, or the newest part of a single one, beyond the bounds.
    fn shrink(&mut self) {
        loop {
            let bytes: usize = self.turns.iter().map(|turn| turn.bytes).sum();
            let items: usize = self.turns.iter().map(|turn| 1 + turn.parts.len()).sum();
            if bytes <= MAX_BYTES && items <= MAX_ITEMS {
                return;
            }
            if self.turns.len() > 1 {
                self.turns.pop_front();
                self.left_out += 1;
                continue;
            }
            let Some(turn) = self.turns.front_mut() else {
                return;
            };
            let Some((_, part)) = turn.parts.pop() else { return };
            turn.bytes -= part.bytes();
            turn.left_out += 1;
        }
    }

    /// Returns it, unless nothing was said in it.
    fn said(mut self) -> Option<Self> {
        self.title = self.title.filter(|title| !title.trim().is_empty());
        (!self.turns.is_empty()).then_some(self)
    }
}

/// Returns a text of at most `max` bytes without zero bytes; of a longer one, its middle is left out.
fn bounded(text: &str, max: usize) -> String {
    let text = text.replace('\0', "");
    if text.len() <= max {
        return text;
    }
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - max / 4);
    format!(
        "{}\n[… {} bytes were left out when this was imported …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// Returns the files with conversations of an agent, newest first. Codex's may be of any folder. Blocks on the disk.
pub fn files(agent: Agent, home: &Path, workspace: &Path) -> Vec<PathBuf> {
    match agent {
        Agent::Claude => claude::files(home, workspace),
        Agent::Codex => codex::files(home),
    }
}

/// Reads a file of an agent. `None`: nothing was said in it, or it is of another folder than `workspace`. Blocks on the
/// disk.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn read(agent: Agent, file: &Path, workspace: &Path) -> std::io::Result<Option<Conversation>> {
    match agent {
        Agent::Claude => claude::read(file, workspace),
        Agent::Codex => codex::read(file, workspace),
    }
}

/// Returns the conversation of a session of opencode. `None`: nothing was said in it.
pub fn of_opencode(session: &OpencodeSession, messages: &[OpencodeMessage]) -> Option<Conversation> {
    opencode::read(session, messages)
}

/// Returns the database of opencode in a home.
pub fn opencode_database(home: &Path) -> PathBuf {
    home.join(".local/share/opencode/opencode.db")
}

/// Returns the files of a directory with an ending, newest first, in at most `depth` levels of directories.
fn newest(directory: &Path, ending: &str, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(directory.to_owned(), 0)];
    let mut left = MAX_FILES;
    while let Some((directory, level)) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if left == 0 {
                break;
            }
            left -= 1;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && level < depth {
                open.push((entry.path(), level + 1));
            } else if metadata.is_file() && entry.file_name().to_string_lossy().ends_with(ending) {
                found.push((metadata.modified().ok(), entry.path()));
            }
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns a time in RFC 3339.
fn time(text: Option<&str>) -> UnixMillis {
    let time = text.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    UnixMillis(time.map_or(0, jiff::Timestamp::as_millisecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_conversations_are_bounded() {
        let text = bounded(&"é".repeat(MAX_TEXT), MAX_TEXT);
        assert!(
            text.len() < MAX_TEXT && text.contains("81920 bytes were left out"),
            "{}",
            text.len()
        );
        assert_eq!(bounded("a\0b", 9), "ab");
        let mut long = Conversation::new("claude", "x");
        for number in 0..MAX_ITEMS {
            long.start(UnixMillis(5), &format!("{number}"));
            long.message(UnixMillis(3), "yes");
        }
        assert_eq!((long.turn_count(), long.left_out), (MAX_ITEMS / 2, 2_500));
        assert_eq!(long.shown_title(), "2500");
        assert_eq!(
            (long.created_at, long.last_active_at),
            (UnixMillis(5), UnixMillis(5))
        );
        let mut large = Conversation::new("claude", "x");
        large.start(UnixMillis(i64::MAX), "say much");
        for _ in 0..300 {
            large.message(UnixMillis(0), &"x".repeat(MAX_TEXT));
        }
        let turn = &large.turns[0];
        let held: usize = turn.parts.iter().map(|(_, part)| part.bytes()).sum();
        assert_eq!(turn.bytes, "say much".len() + held);
        assert!(turn.bytes > MAX_BYTES - 2 * MAX_TEXT, "{}", turn.bytes);
        assert_eq!(turn.parts.len() + large.parts_left_out(), 300);
        assert!(large.parts_left_out() > 0);
        let before = turn.parts.len();
        large.message(UnixMillis(0), "this fits");
        assert_eq!(large.turns[0].parts.len(), before + 1);
        assert_eq!(large.last_active_at, UnixMillis(LAST_TIME));
    }

    #[test]
    fn the_fingerprint_is_of_what_is_taken() {
        let of = |texts: &[&str]| {
            let mut conversation = Conversation::new("claude", "x");
            conversation.start(UnixMillis(1), "hi");
            for text in texts {
                conversation.message(UnixMillis(1), text);
            }
            conversation.fingerprint()
        };
        assert_eq!(of(&["a"]), of(&["a"]));
        assert_ne!(of(&["a"]), of(&["a", "b"]));
        assert_ne!(of(&["ab"]), of(&["a", "b"]));
    }
}
