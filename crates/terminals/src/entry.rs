//! One background terminal, as tasks other than its own see it.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_agent_api::Once;
use bobbin_agent_api::terminal::{TerminalError, TerminalReply};
use bobbin_model::{Terminal, TerminalFacts, TerminalStatus, UnixMillis};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::output_buffer::OutputBuffer;
use crate::output_files::OutputFiles;
use crate::record::{End, Record};
use crate::tail::{last, whole};

/// Request names that are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 64;

/// Why the server stopped a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// A client or an agent requested it, or the server stops.
    Stopped,
    /// The terminal was idle for long.
    Idle,
}

/// A background terminal.
pub(crate) struct BackgroundTerminal {
    pub(crate) facts: Arc<TerminalFacts>,
    /// Ends its command.
    stop: CancellationToken,
    state: Mutex<TerminalState>,
    ended: watch::Sender<bool>,
}

struct TerminalState {
    end: End,
    /// Its output while it runs; after that, the output is in the files.
    buffer: Option<Arc<OutputBuffer>>,
    typed: Option<mpsc::Sender<Vec<u8>>>,
    why: Option<Why>,
    /// Clients that wait for the stop they requested: at most their requests in flight.
    waiting: Vec<TerminalReply<Result<Terminal, TerminalError>>>,
    remembered: VecDeque<Once>,
    touched: Instant,
}

/// The place of a terminal's output.
pub(crate) enum Output {
    Memory(Arc<OutputBuffer>),
    OutputFiles,
}

impl BackgroundTerminal {
    /// Returns a running terminal.
    pub(crate) fn running(
        facts: Arc<TerminalFacts>,
        stop: CancellationToken,
        buffer: Arc<OutputBuffer>,
        typed: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Self {
        let end = End {
            status: TerminalStatus::Running,
            exit_code: None,
            completed_at: None,
            output_chars: 0,
        };
        Self::new(facts, stop, end, Some(buffer), typed)
    }

    /// Returns an ended terminal from its record.
    pub(crate) fn recorded(record: Record) -> Self {
        Self::new(record.facts, CancellationToken::new(), record.end, None, None)
    }

    fn new(
        facts: Arc<TerminalFacts>,
        stop: CancellationToken,
        end: End,
        buffer: Option<Arc<OutputBuffer>>,
        typed: Option<mpsc::Sender<Vec<u8>>>,
    ) -> Self {
        Self {
            facts,
            stop,
            ended: watch::Sender::new(end.status != TerminalStatus::Running),
            state: Mutex::new(TerminalState {
                end,
                buffer,
                typed,
                why: None,
                waiting: Vec::new(),
                remembered: VecDeque::new(),
                touched: Instant::now(),
            }),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().end.status == TerminalStatus::Running
    }

    /// Returns the time of the last use.
    pub(crate) fn touched(&self) -> Instant {
        self.state.lock().touched
    }

    /// Notes a use of the terminal.
    pub(crate) fn touch(&self) {
        self.state.lock().touched = Instant::now();
    }

    pub(crate) fn output(&self) -> Output {
        match &self.state.lock().buffer {
            Some(buffer) => Output::Memory(buffer.clone()),
            None => Output::OutputFiles,
        }
    }

    /// Returns a receiver that is notified of its end.
    pub(crate) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Returns its state, with `output`.
    pub(crate) fn shown(&self, output: String, chars: u64, now: UnixMillis) -> Terminal {
        let end = self.state.lock().end;
        let until = end.completed_at.unwrap_or(now);
        Terminal {
            facts: self.facts.clone(),
            status: end.status,
            exit_code: end.exit_code,
            completed_at: end.completed_at,
            wall_time_ms: u64::try_from(until.0.saturating_sub(self.facts.started_at.0)).unwrap_or(0),
            truncated: (output.chars().count() as u64) < chars,
            output,
            output_chars: chars,
        }
    }

    /// Returns its state, with the last `chars` characters of its output. Blocks when they are in a file.
    pub(crate) fn shown_with(
        &self,
        chars: usize,
        output_files: Option<&OutputFiles>,
        now: UnixMillis,
    ) -> Terminal {
        let (output, all) = match self.output() {
            Output::Memory(buffer) => buffer.last(chars),
            Output::OutputFiles => {
                // A character takes four bytes at most.
                let limit = (chars as u64).saturating_mul(4);
                let read = |output_files: &OutputFiles| {
                    output_files.read_log(self.facts.thread.as_str(), &self.facts.id, limit)
                };
                let bytes = output_files.map(read).and_then(Result::ok).unwrap_or_default();
                (
                    last(whole(&bytes), chars).to_owned(),
                    self.state.lock().end.output_chars,
                )
            }
        };
        self.shown(output, all, now)
    }

    /// Sends input to the command. Input of a repeated request name is not sent again.
    ///
    /// # Errors
    /// The terminal takes no input, or none now, or the name belongs to a different request.
    pub(crate) fn type_in(&self, bytes: Vec<u8>, once: Option<Once>) -> Result<(), TerminalError> {
        let mut state = self.state.lock();
        if let Some(once) = &once {
            match state.remembered.iter().find(|known| known.id == once.id) {
                Some(known) if known == once => return Ok(()),
                Some(_) => return Err(TerminalError::RequestIdReused(once.id.clone())),
                None => {}
            }
        }
        let id = &self.facts.id;
        let refused = |why: &str| Err(TerminalError::Invalid(format!("The terminal {id} {why}.")));
        if state.end.status != TerminalStatus::Running {
            return refused("has ended");
        }
        let Some(typed) = &state.typed else {
            return refused("has no standard input: its command was not started in the background");
        };
        match typed.try_send(bytes) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                return refused("does not read what was typed before; try again later");
            }
            Err(mpsc::error::TrySendError::Closed(_)) => return refused("does not read its input any more"),
        }
        state.touched = Instant::now();
        if let Some(once) = once {
            if state.remembered.len() == REMEMBERED {
                state.remembered.pop_front();
            }
            state.remembered.push_back(once);
        }
        Ok(())
    }

    /// Stops the command; the first reason counts.
    pub(crate) fn end_because(&self, why: Why) {
        self.state.lock().why.get_or_insert(why);
        self.stop.cancel();
    }

    /// Stops the command and calls `reply` once it is gone. Returns `reply` if it has ended already.
    pub(crate) fn stop(
        &self,
        reply: TerminalReply<Result<Terminal, TerminalError>>,
    ) -> Option<TerminalReply<Result<Terminal, TerminalError>>> {
        let mut state = self.state.lock();
        if state.end.status != TerminalStatus::Running {
            return Some(reply);
        }
        state.waiting.push(reply);
        state.why.get_or_insert(Why::Stopped);
        drop(state);
        self.stop.cancel();
        None
    }

    /// Returns why the server stops it, if it does.
    pub(crate) fn why(&self) -> Option<Why> {
        self.state.lock().why
    }

    /// Notes its end, which is already recorded, and answers the waiting clients with `shown`.
    pub(crate) fn ends(&self, end: End, shown: impl FnOnce(&Self) -> Terminal) -> Terminal {
        let waiting = {
            let mut state = self.state.lock();
            state.end = end;
            state.typed = None;
            std::mem::take(&mut state.waiting)
        };
        let terminal = shown(self);
        self.state.lock().buffer = None;
        for reply in waiting {
            reply(Ok(terminal.clone()));
        }
        terminal
    }

    /// Notifies its readers of the end.
    pub(crate) fn announce_end(&self) {
        self.ended.send_replace(true);
    }
}
