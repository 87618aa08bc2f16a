//! The work of a parent, from its start to its end.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bobbin_sandbox::{StartNote, close_on_exec, take_descriptor};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use super::connect::{connect, listen};
use super::launch::{Launched, launch};
use super::message::{NetworkOrder, Report, StartFailure, Task, read, write};
use super::tree::{Tree, memory};
use super::{NETWORK, SOCKET};
use crate::Exit;

/// How often the child's memory is measured.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(500);
/// How often the remaining processes are killed.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// Runs as the parent of one child: reads the order from its socket, starts the child, reports, and ends the
/// child's descendants. Or connects to a port in a network of children, or listens there.
///
/// Call it before any thread starts, in a process that [`Children`](crate::Children) started as its
/// [`Helper`](crate::Helper).
pub fn run_child() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The server sees this process exit.
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<()> {
    let mut socket = UnixStream::from(take_descriptor(SOCKET)?);
    // The child inherits the streams only: not the socket, nor other descriptors of the server.
    close_on_exec();
    let order = match read::<Task>(&mut socket)? {
        Some(Task::Run(order)) => *order,
        Some(Task::Connect(port)) => return connect(&socket, port),
        Some(Task::Listen) => return listen(&socket),
        None => return Ok(()),
    };
    let network = match order.network {
        NetworkOrder::Own => None,
        NetworkOrder::Shown | NetworkOrder::Joined => Some(take_descriptor(NETWORK)?),
    };
    // A session and not only a group: without a terminal for a prompt, `ssh` or `sudo` fails at once instead of
    // being stopped until the time-out.
    setsid()?;
    set_child_subreaper(true)?;
    let ended = SigSet::from(Signal::SIGCHLD);
    ended.thread_block()?;
    let ended = SignalFd::with_flags(&ended, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let memory = order.limits.memory_bytes;
    let launched = match launch(order, network) {
        Ok(launched) => launched,
        Err(failure) => return write(&mut socket, &Report::Failed(failure)),
    };
    // Only the child has the streams open, so they end with it.
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    socket.set_nonblocking(true)?;
    let Launched { tree, report } = launched;
    let mut parent = Parent {
        socket,
        ended,
        tree,
        memory,
        over_memory: false,
        step: report.map_or(Step::Started, |report| Step::Starting(report, Vec::new())),
        killing: false,
    };
    if matches!(parent.step, Step::Started) {
        parent.report(&Report::Started);
    }
    parent.watch()
}

/// State of the child.
enum Step {
    /// The helper in bubblewrap has not finished its report.
    Starting(File, Vec<u8>),
    Started,
    /// The child has ended or was not started.
    Over,
}

struct Parent {
    socket: UnixStream,
    ended: SignalFd,
    tree: Tree,
    /// Most bytes of memory of the child and its descendants.
    memory: Option<u64>,
    over_memory: bool,
    step: Step,
    killing: bool,
}

impl Parent {
    /// Watches the child until it and its descendants are gone.
    fn watch(&mut self) -> io::Result<()> {
        let mut look = Instant::now() + LOOK_AT_MEMORY;
        loop {
            while self.ended.read_signal()?.is_some() {}
            self.hear_helper();
            self.see_exit();
            if self.tree.is_gone() {
                self.report(&Report::Ended);
                return Ok(());
            }
            if self.memory.is_some() && Instant::now() >= look {
                look = Instant::now() + LOOK_AT_MEMORY;
                self.over_memory |= self.memory.is_some_and(|most| memory() > most);
                self.killing |= self.over_memory;
            }
            if self.killing {
                self.tree.kill();
            }
            let wait = match (self.killing, self.memory) {
                (true, _) => Some(KILL_AGAIN),
                (false, Some(_)) => Some(look.saturating_duration_since(Instant::now())),
                (false, None) => None,
            };
            self.wait(wait)?;
            self.hear_server();
        }
    }

    /// Reports the child's exit, once.
    fn see_exit(&mut self) {
        let Some(exit) = self.tree.exit() else { return };
        if let Step::Starting(report, text) = &mut self.step {
            // Another process may have the writing end open without reporting, so this never blocks.
            while is_readable(report) && hear(report, text) {}
            let note = StartNote::read(text);
            self.settle(note);
        }
        if matches!(self.step, Step::Started) {
            let exit = match self.memory.filter(|_| self.over_memory) {
                Some(most) => Exit::OverMemory(most),
                None => exit,
            };
            self.report(&Report::Exited(exit));
            self.step = Step::Over;
        }
    }

    /// Waits for an event.
    fn wait(&self, longest: Option<Duration>) -> io::Result<()> {
        let longest = longest.map_or(PollTimeout::NONE, |longest| {
            // Rounded up, to avoid a busy loop.
            let millis = u16::try_from(longest.as_millis().saturating_add(1)).unwrap_or(u16::MAX);
            PollTimeout::from(millis)
        });
        let mut watched = vec![PollFd::new(self.ended.as_fd(), PollFlags::POLLIN)];
        if !self.killing {
            watched.push(PollFd::new(self.socket.as_fd(), PollFlags::POLLIN));
        }
        if let Step::Starting(report, _) = &self.step {
            watched.push(PollFd::new(report.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut watched, longest) {
            Err(Errno::EINTR) => Ok(()),
            waited => Ok(waited.map(drop)?),
        }
    }

    /// Reads the server's requests.
    fn hear_server(&mut self) {
        let mut asked = [0; 16];
        match self.socket.read(&mut asked) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(count) if count > 0 => self.tree.terminate(),
            // The server wants the child's end, or is gone.
            Ok(_) | Err(_) => self.killing = true,
        }
    }

    /// Reads the report of the helper in bubblewrap, and passes it on at its end.
    fn hear_helper(&mut self) {
        if let Step::Starting(report, text) = &mut self.step
            && is_readable(report)
            && !hear(report, text)
        {
            let note = StartNote::read(text);
            self.settle(note);
        }
    }

    fn settle(&mut self, note: StartNote) {
        let failure = match note {
            StartNote::Runs => {
                self.report(&Report::Started);
                self.step = Step::Started;
                return;
            }
            StartNote::Failed(failure) => StartFailure::Start(failure),
            StartNote::Nothing => StartFailure::Bubblewrap,
        };
        self.report(&Report::Failed(failure));
        (self.step, self.killing) = (Step::Over, true);
    }

    /// Sends a report to the server; if the server is gone, the child is ended anyway.
    fn report(&mut self, report: &Report) {
        drop(write(&mut self.socket, report));
    }
}

fn is_readable(report: &File) -> bool {
    let mut watched = [PollFd::new(report.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut watched, PollTimeout::ZERO), Ok(1..))
}

/// Reads a part of the helper's report. Returns whether there may be more.
fn hear(report: &mut File, text: &mut Vec<u8>) -> bool {
    let mut piece = [0; 4096];
    match report.read(&mut piece) {
        Ok(count) if count > 0 => {
            text.extend_from_slice(&piece[..count]);
            true
        }
        Ok(_) | Err(_) => false,
    }
}
