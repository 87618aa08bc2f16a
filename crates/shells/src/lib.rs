//! `shell/*`: shells of the user, each in a terminal, outside of the sandbox.
//!
//! A shell has the user's environment and rights, so it is for the user alone: a client over a connection that others
//! cannot read. No Thread records it, and no agent reads or writes it. It belongs to the server: it outlives the connection
//! that opened it, and ends with the server, together with everything that it started.
//!
//! Bounds: [`MAX_SHELLS`] shells, the newest 256 KiB of the output of each, one part of it on its way to each client, and a
//! pace of reading. See `screen` and `shell`.

mod handlers;
mod screen;
mod shell;
pub mod types;

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_children::{ChildError, Children, Environment, ProcessSpec, TerminalSize};
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use shell::Shell;
use types::{
    ShellAttachParams, ShellAttachResult, ShellCloseParams, ShellCloseResult, ShellDetachParams,
    ShellDetachResult, ShellExitedNotification, ShellListParams, ShellListResult, ShellOpenParams,
    ShellOpenResult, ShellOutputNotification, ShellResizeParams, ShellResizeResult, ShellSkippedNotification,
    ShellWriteParams, ShellWriteResult,
};

/// Most shells at once; others are refused.
pub const MAX_SHELLS: usize = 8;

pub(crate) const OUTPUT: &str = "shell/output";
pub(crate) const SKIPPED: &str = "shell/skipped";
pub(crate) const EXITED: &str = "shell/exited";

/// The shells of a server. Cheap to clone.
#[derive(Clone)]
pub struct Shells {
    children: Children,
    program: PathBuf,
    environment: Environment,
    open: Arc<Mutex<Vec<Arc<Shell>>>>,
    slots: Arc<Semaphore>,
    owners: TaskTracker,
}

/// Why a shell was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("There are {MAX_SHELLS} terminals already. Close one of them first.")]
    Full,
    #[error("The server is ending.")]
    Ending,
    #[error("The shell {} does not start: {source}. Name another one in SHELL and start the server again.", program.display())]
    Start { program: PathBuf, source: ChildError },
}

impl Shells {
    /// Returns the shells that `children` starts: `program` with the variables of `environment`.
    pub fn new(children: Children, program: PathBuf, environment: Environment) -> Self {
        Self {
            children,
            program,
            environment,
            open: Arc::default(),
            slots: Arc::new(Semaphore::new(MAX_SHELLS)),
            owners: TaskTracker::new(),
        }
    }

    /// Whether there is a shell.
    pub fn is_any_open(&self) -> bool {
        !self.open.lock().is_empty()
    }

    /// Ends all shells with everything that they started. None is opened any more.
    pub async fn end(&self) {
        self.slots.close();
        self.owners.close();
        for shell in self.list() {
            shell.close();
        }
        self.owners.wait().await;
    }

    /// Returns the slot of a new shell, and what [`end`](Self::end) waits for until the shell has an owner.
    fn reserve(&self) -> Result<(OwnedSemaphorePermit, TaskTrackerToken), OpenError> {
        // Before the slot: `end` closes the slots first, and waits afterwards.
        let counted = self.owners.token();
        let slot = self.slots.clone().try_acquire_owned();
        let slot = slot.map_err(|error| match error {
            TryAcquireError::Closed => OpenError::Ending,
            TryAcquireError::NoPermits => OpenError::Full,
        })?;
        Ok((slot, counted))
    }

    /// Opens a shell in a directory.
    async fn open(
        &self,
        cwd: PathBuf,
        thread: Option<String>,
        size: TerminalSize,
    ) -> Result<Arc<Shell>, OpenError> {
        let (slot, counted) = self.reserve()?;
        let spec = ProcessSpec::new(&self.program, &cwd, self.environment.clone());
        let started = self.children.start_in_terminal(spec, size).await;
        let (child, terminal) = started.map_err(|source| OpenError::Start {
            program: self.program.clone(),
            source,
        })?;
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        let (shell, run) = Shell::new(
            name.to_string_lossy().into_owned(),
            cwd,
            thread,
            (child, terminal, size),
        );
        {
            let mut open = self.open.lock();
            // `end` closes the slots first, and looks at the list afterwards.
            if self.slots.is_closed() {
                return Err(OpenError::Ending);
            }
            open.push(shell.clone());
        }
        let (all, ended) = (self.open.clone(), shell.clone());
        self.owners.spawn(async move {
            let code = run.await;
            all.lock().retain(|shell| shell.id != ended.id);
            drop(slot);
            tracing::info!(shell = ended.id, ?code, "a shell ended");
            ended.screen.end(code);
        });
        drop(counted);
        tracing::info!(shell = shell.id, "a shell was opened");
        Ok(shell)
    }

    /// Returns the open shells, the oldest first.
    fn list(&self) -> Vec<Arc<Shell>> {
        self.open.lock().clone()
    }

    fn find(&self, id: &str) -> Option<Arc<Shell>> {
        self.open.lock().iter().find(|shell| shell.id == id).cloned()
    }
}

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("shells", "Terminals of the user"), Some("extensions.shells");
        request "shell/open" (ShellOpenParams => ShellOpenResult)
            [ThreadNotFound] wait_with(of Shells) handlers::open, needs Own:
            "Extension: opens the user's shell in a terminal, outside of the sandbox, in the workspace's folder or that of a Thread. The connection is attached to it.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection",
            unplayed "the prompt of a shell differs from one machine to the next",
            note "at most 8 at once. It outlives the connection and ends with the server. Only over stdio, the workspace's socket, \
                this machine's loopback, or TLS, and for no adapter of a channel";
        request "shell/list" (ShellListParams => ShellListResult)
            [] now_with(of Shells) handlers::list, needs Own:
            "Extension: lists the open shells.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection";
        request "shell/attach" (ShellAttachParams => ShellAttachResult)
            [] now_with(of Shells) handlers::attach, needs Own:
            "Extension: returns what a shell has written recently, and sends this connection what it writes from then on.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection",
            unplayed "the prompt of a shell differs from one machine to the next",
            note "a client sends no answers of its terminal to questions in the text that it, or another client, has shown before";
        request "shell/detach" (ShellDetachParams => ShellDetachResult)
            [] now_with(of Shells) handlers::detach, needs Own:
            "Extension: sends this connection no output of a shell any more.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection";
        request "shell/write" (ShellWriteParams => ShellWriteResult)
            [] now_with(of Shells) handlers::write, needs Own:
            "Extension: types into a shell. Answered once the terminal has taken all of it.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection",
            unplayed "the prompt of a shell differs from one machine to the next",
            note "not repeated after a lost connection: the text may have been typed. With `answer` it is dropped unless this connection answers";
        request "shell/resize" (ShellResizeParams => ShellResizeResult)
            [] now_with(of Shells) handlers::resize, needs Own:
            "Extension: sets the size of a shell's terminal. The last one counts for all connections.",
            test "server/shells: keys_stop_and_interrupt_programs_and_a_new_size_is_seen",
            unplayed "the prompt of a shell differs from one machine to the next";
        request "shell/close" (ShellCloseParams => ShellCloseResult)
            [] now_with(of Shells) handlers::close, needs Own:
            "Extension: ends a shell with everything that it started. Answered once all is gone.",
            test "server/shells: closing_ends_what_the_shell_started",
            unplayed "the prompt of a shell differs from one machine to the next";
        notification OUTPUT (ShellOutputNotification):
            "Extension: a shell has written something.",
            test "server/shells: a_shell_runs_commands_and_outlives_its_connection",
            unplayed "the prompt of a shell differs from one machine to the next",
            note "to attached connections alone";
        notification SKIPPED (ShellSkippedNotification):
            "Extension: the connection was too slow for a shell's output and is not attached any more. A client attaches again.",
            test "shells/handlers: a_client_that_lags_is_sent_to_the_present",
            unplayed "only a slow client is sent it",
            note "to the connection alone";
        notification EXITED (ShellExitedNotification):
            "Extension: a shell has ended.",
            test "server/shells: closing_ends_what_the_shell_started",
            unplayed "the prompt of a shell differs from one machine to the next",
            note "to attached connections alone, after all output";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Shells>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("shells".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_a_shell_that_is_being_opened() {
        let shells = Shells::new(Children::new(None), "/bin/sh".into(), Environment::empty());
        let reserved = shells.reserve().unwrap();
        let mut end = std::pin::pin!(shells.end());
        let waits = std::future::poll_fn(|context| std::task::Poll::Ready(end.as_mut().poll(context)));
        assert!(waits.await.is_pending());
        assert!(matches!(shells.reserve(), Err(OpenError::Ending)));
        drop(reserved);
        end.await;
    }
}
