//! A workspace with terminals, and helpers that start commands in it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::terminal::{TerminalError, Terminals as _, Wait};
use bobbin_agent_api::tool::CallOrigin;
use bobbin_children::{Children, Environment, ProcessSpec, Shell};
use bobbin_model::{BackgroundReason, Terminal, ThreadId, TurnId};
use bobbin_terminals::{Bounds, CommandOrder, Running, Terminals};
use bobbin_testkit::ManualClock;
use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) clock: Arc<ManualClock>,
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::default(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Opens the terminals of this place, as a server does that starts here.
    pub(crate) fn open(&self, bounds: Bounds) -> Terminals {
        let children = Children::new(None);
        Terminals::open(
            children,
            &self.path().join("terminals"),
            self.clock.clone(),
            bounds,
        )
        .unwrap()
    }

    pub(crate) fn spec(&self, line: &str) -> ProcessSpec {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        ProcessSpec::shell(&Shell::Posix, line, self.path(), environment)
    }

    pub(crate) fn run(&self, terminals: &Terminals, line: &str) -> Running {
        terminals.run(self.spec(line), self.order(line))
    }

    pub(crate) fn order(&self, line: &str) -> CommandOrder {
        CommandOrder {
            origin: CallOrigin {
                thread: thread("a"),
                turn: TurnId(1),
                call: "call_1".to_owned(),
            },
            command: line.to_owned(),
            working_directory: self.path().to_owned(),
            sandboxed: false,
            time_limit: None,
            grace: Duration::from_millis(500),
            captured_bytes: 1 << 16,
            typed: true,
        }
    }

    /// Starts a command, waits for its first output, and leaves it.
    pub(crate) async fn leave(&self, terminals: &Terminals, line: &str) -> Terminal {
        let mut running = self.run(terminals, line);
        assert!(running.output().await.is_some(), "it says that it has begun");
        left(&mut running).await
    }

    /// Runs a command in the background to its end.
    pub(crate) async fn over(&self, terminals: &Terminals, line: &str) -> Terminal {
        let begun = self.leave(terminals, &format!("{line}; read -r word")).await;
        typed(terminals, &begun.facts.id, "\n").await.unwrap();
        ended(terminals, &begun.facts.id).await
    }
}

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(format!("thread_{name}"))
}

pub(crate) async fn left(running: &mut Running) -> Terminal {
    running.leave(BackgroundReason::Requested).await.unwrap()
}

/// Waits for a terminal's end.
pub(crate) async fn ended(terminals: &Terminals, id: &str) -> Terminal {
    for _ in 0..100 {
        let wait = Wait::End(Duration::from_secs(30));
        let terminal = terminals.read(id, wait, None).await.unwrap();
        if terminal.completed_at.is_some() {
            return terminal;
        }
    }
    panic!("it does not end");
}

/// Types an input and returns the state of the terminal.
pub(crate) async fn typed(terminals: &Terminals, id: &str, input: &str) -> Result<Terminal, TerminalError> {
    terminals
        .write(id, input.to_owned(), Duration::ZERO, None, None)
        .await
}

/// Reads until `wanted` accepts the output.
pub(crate) async fn until(terminals: &Terminals, id: &str, wanted: impl Fn(&str) -> bool) -> Terminal {
    for _ in 0..1000 {
        let wait = Wait::News(Duration::from_secs(30));
        let terminal = terminals
            .read(id, Wait::News(Duration::ZERO), None)
            .await
            .unwrap();
        if wanted(&terminal.output) {
            return terminal;
        }
        terminals.read(id, wait, None).await.unwrap();
    }
    panic!("it does not say that");
}

/// Whether a process group has a process.
pub(crate) fn lives(group: &str) -> bool {
    let group = nix::unistd::Pid::from_raw(group.trim().parse().unwrap());
    nix::sys::signal::killpg(group, None).is_ok()
}

/// Waits until a process group is empty. Dead processes may stay for a moment until they are reaped.
pub(crate) async fn gone(group: &str) {
    for _ in 0..1000 {
        if !lives(group) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the group lives on");
}
