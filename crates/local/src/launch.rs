//! Starts a server as a process of its own session.
//!
//! The process gets one line on its stdin, says on its stdout in one line whether it is ready, and writes its log to a file.
//! It outlives the program that has started it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bobbin_workspace::open_private;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// How long a start may take (guess: a database that a crash left in the middle is read first).
const PATIENCE: Duration = Duration::from_secs(30);
/// Size of a log in bytes at which the next server starts a new one.
const MAX_LOG_BYTES: u64 = 1 << 20;
/// Longest line that a server says in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables of this process that the server does not get.
    pub without: Vec<OsString>,
    /// The folder that it starts in.
    pub directory: PathBuf,
    /// The file at whose end it writes its stderr. `None`: the stderr of this process.
    pub log: Option<PathBuf>,
    /// The text on its stdin.
    pub input: String,
}

/// The report of a server that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// Sentences for the user who has started it.
    pub warnings: Vec<String>,
}

/// The line that a server says when it is ready, or cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Report {
    /// It answers at the socket.
    Ready(Ready),
    /// It has ended.
    Failed {
        /// The exit code that its user would see.
        code: u8,
        /// Whether another process serves the workspace.
        busy: bool,
        /// The sentence for the user.
        message: String,
    },
}

/// Why no server was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Another process serves the workspace by now.
    #[error("another process serves the workspace")]
    Busy,
    /// The server says why it cannot serve.
    #[error("{message}")]
    Refused {
        /// The exit code that its user would see.
        code: u8,
        /// The sentence for the user.
        message: String,
    },
    /// It ended, or said nothing in time.
    #[error("the server of this folder {what}{}", place(log.as_deref()))]
    Silent {
        /// The failure of the server, as the end of a sentence.
        what: &'static str,
        /// The log of the server.
        log: Option<PathBuf>,
    },
    /// The process cannot be started.
    #[error("the server of this folder cannot be started: {0}")]
    Failed(#[from] std::io::Error),
}

impl Launch {
    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// [`LaunchError`]. No server that this call has started runs then.
    pub(crate) async fn start(&self) -> Result<Ready, LaunchError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "it outlives its parent, which children of bobbin-children never do"
        )]
        let mut command = Command::new(&self.program);
        for name in &self.without {
            command.env_remove(name);
        }
        let mut child = command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match &self.log {
                Some(path) => log(path)?.into(),
                None => Stdio::inherit(),
            })
            .spawn()?;
        let (mut input, output) = (child.stdin.take(), child.stdout.take());
        let talk = async {
            if let Some(input) = &mut input {
                // A server that has ended says why on its stdout, or not at all.
                drop(input.write_all(self.input.as_bytes()).await);
            }
            drop(input.take());
            let mut line = String::new();
            if let Some(output) = output {
                output.take(MAX_BYTES).read_to_string(&mut line).await?;
            }
            std::io::Result::Ok(line)
        };
        let silent = |what| LaunchError::Silent {
            what,
            log: self.log.clone(),
        };
        let Ok(line) = tokio::time::timeout(PATIENCE, talk).await else {
            child.start_kill()?;
            return Err(silent("was not ready within 30 seconds"));
        };
        match serde_json::from_str(&line?) {
            Ok(Report::Ready(ready)) => Ok(ready),
            Ok(Report::Failed { busy: true, .. }) => Err(LaunchError::Busy),
            Ok(Report::Failed { code, message, .. }) => Err(LaunchError::Refused { code, message }),
            Err(_) => Err(silent("ended before it was ready")),
        }
    }
}

/// Returns where a log is, as the end of a sentence.
fn place(log: Option<&Path>) -> String {
    log.map_or_else(String::new, |log| format!("; its log is {}", log.display()))
}

/// Opens a log, which only its user can read. Several servers may start at once, and all but one of them end: each writes at
/// the end of the same file.
fn log(path: &Path) -> std::io::Result<File> {
    let file = open_private(path, File::options().append(true).create(true))?;
    if file.metadata()?.len() > MAX_LOG_BYTES {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn servers_that_start_at_once_share_a_log() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("server.log");
        let mut first = log(&path).expect("a new log");
        let mut second = log(&path).expect("the same log");
        first.write_all(b"first\n").expect("a line");
        second.write_all(b"second\n").expect("a line");
        first.write_all(b"third\n").expect("a line");
        let text = std::fs::read_to_string(&path).expect("the log");
        assert_eq!(text, "first\nsecond\nthird\n");
    }

    #[test]
    fn a_log_is_bounded_and_only_its_user_can_read_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("server.log");
        let new = log(&path).expect("a log").metadata().expect("its data");
        assert_eq!(new.permissions().mode() & 0o777, 0o600);
        for (bytes, after) in [(1_usize << 20, 1 << 20), ((1 << 20) + 1, 0)] {
            std::fs::write(&path, vec![b'x'; bytes]).expect("an earlier log");
            let found = log(&path).expect("a log").metadata().expect("its data");
            assert_eq!(found.len(), after);
        }
    }

    #[test]
    fn a_log_is_never_written_through_a_link() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, other) = (
            directory.path().join("server.log"),
            directory.path().join("notes"),
        );
        std::fs::write(&other, "notes").expect("a file");
        symlink(&other, &path).expect("a link");
        log(&path).expect_err("a link");
    }
}
