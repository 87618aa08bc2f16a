//! The agent's session of a Thread, in a file of the workspace's state.
//!
//! The file is replaced as a whole and is on disk before the input is sent. It is removed with its Thread. If it is lost
//! otherwise, the agent gets the conversation as text.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bobbin_agent_api::engines::EngineCommand;
use bobbin_model::item::USER_COMMAND_CALL;
use bobbin_model::{ItemBody, ThreadId, Turn};
use serde::{Deserialize, Serialize};

/// Most bytes of a file that is read.
const MAX_BYTES: u64 = 256 << 10;

/// The stored facts about the agent of a Thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSession {
    /// The engine's name.
    pub(crate) engine: String,
    /// The agent's id of the session.
    pub(crate) session: String,
    /// The Turn whose input was sent last. The agent may have worked on it.
    pub(crate) sent: Option<SentTurn>,
    /// Whether that Turn has ended with the agent's answer, so that the session has all of it.
    pub(crate) answered: bool,
    /// The cost of the session so far, in millionths.
    pub(crate) cost_micros: u64,
    /// The agent's slash commands.
    #[serde(default)]
    pub(crate) commands: Vec<EngineCommand>,
}

/// A Turn. Its number alone may come again after a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SentTurn {
    number: u32,
    started_at: i64,
}

impl SentTurn {
    pub(crate) fn of(turn: &Turn) -> Self {
        Self {
            number: turn.id.0,
            started_at: turn.started_at.0,
        }
    }

    /// Whether the session has everything that the agent of these Turns, oldest first, has said and done.
    pub(crate) fn is_last_of(self, turns: &[Turn]) -> bool {
        let Some(at) = turns.iter().position(|turn| Self::of(turn) == self) else {
            return false;
        };
        !turns[at + 1..].iter().any(has_output)
    }
}

/// Whether an agent said or did something in a Turn.
fn has_output(turn: &Turn) -> bool {
    let output = |body: &ItemBody| match body {
        ItemBody::AgentMessage { .. } | ItemBody::Reasoning { .. } => true,
        // A user's own command is no work of an agent.
        ItemBody::ToolCall { call_id, .. } => !call_id.starts_with(USER_COMMAND_CALL),
        _ => false,
    };
    turn.items.iter().any(|item| output(&item.body))
}

/// The file of one Thread.
#[derive(Debug, Clone)]
pub(crate) struct SessionFile(PathBuf);

impl SessionFile {
    /// Returns the file of a Thread in `folder`.
    pub(crate) fn of(folder: &Path, thread: &ThreadId) -> Self {
        let mut name = String::new();
        for byte in thread.to_string().bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
                name.push(char::from(byte));
            } else {
                let _ = write!(name, "%{byte:02x}");
            }
        }
        Self(folder.join(format!("{name}.json")))
    }

    /// Returns the stored session. A file that cannot be read counts as none. Blocks on the disk.
    pub(crate) fn read(&self) -> Option<StoredSession> {
        let found = fs::metadata(&self.0).ok()?;
        if found.len() > MAX_BYTES {
            return None;
        }
        let text = fs::read_to_string(&self.0).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Removes the stored session, if there is one. Blocks on the disk.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Replaces the stored session; it is on disk when this returns. Blocks on the disk.
    pub(crate) fn write(&self, session: &StoredSession) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let new = self.0.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(session)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.0)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = SessionFile::of(
            &folder.path().join("engines"),
            &ThreadId::new("../thread_1".to_owned()),
        );
        assert_eq!(file.read(), None);
        assert!(file.0.starts_with(folder.path().join("engines")));
        let mut session = StoredSession {
            engine: "tea".into(),
            session: "s-1".into(),
            sent: Some(SentTurn {
                number: 3,
                started_at: 5,
            }),
            answered: false,
            cost_micros: 7,
            commands: vec![EngineCommand {
                name: "init".into(),
                description: "Makes a file.".into(),
                hint: None,
            }],
        };
        file.write(&session).unwrap();
        session.answered = true;
        file.write(&session).unwrap();
        assert_eq!(file.read(), Some(session.clone()));
        fs::write(&file.0, "{").unwrap();
        assert_eq!(file.read(), None, "a broken file counts as none");
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(!file.0.exists());
    }
}
