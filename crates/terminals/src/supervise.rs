//! The task of one command: takes its output, leaves it in the background when asked, and reports its end.
//!
//! One task does these steps in order, so that each report on a terminal follows the earlier ones and comes after its
//! record is on disk. The task ends with its command.

use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Captured, ChildError, Exit, Limits, Outcome, ProcessSpec, output_channel};
use bobbin_model::{Terminal, TerminalChange, TerminalFacts, TerminalStatus, UnixMillis};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::announcer::{Pending, Silence};
use crate::entry::{BackgroundTerminal, Why};
use crate::output_buffer::{OutputBuffer, Writer};
use crate::record::{End, Record};
use crate::running::{CommandOrder, Ended, Leave, NotLeft};
use crate::terminals::Inner;

/// The time limit of a command without one: longer than any machine runs.
const FOREVER: Duration = Duration::from_hours(10 * 365 * 24);
/// Approximate size of a report on a terminal, without its texts.
const NOTICE_BYTES: usize = 512;

/// Both ends of a standard input.
type Typed = (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>);

/// The input of a command's task.
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) spec: ProcessSpec,
    pub(crate) order: CommandOrder,
    pub(crate) stop: CancellationToken,
    /// Its standard input, when it stays open.
    pub(crate) typed: Option<Typed>,
    pub(crate) listener: mpsc::Sender<String>,
    pub(crate) leave: mpsc::Receiver<Leave>,
    pub(crate) ended: oneshot::Sender<Ended>,
}

/// Runs a command to its end.
pub(crate) async fn supervise(inner: Arc<Inner>, task: Task) {
    let Task {
        id,
        spec,
        order,
        stop,
        typed,
        listener,
        leave,
        ended,
    } = task;
    let bounds = &inner.bounds;
    let buffer = Arc::new(OutputBuffer::new(bounds.tail_bytes));
    let (typed, to_write) = typed.unzip();
    let mut command = Command {
        writer: Writer::new(
            buffer.clone(),
            inner.output_files.clone(),
            order.origin.thread.to_string(),
            id.clone(),
            bounds.tail_bytes,
            bounds.file_bytes,
        ),
        started_at: inner.clock.now(),
        inner: inner.clone(),
        id,
        order,
        stop: stop.clone(),
        buffer,
        typed,
        listener: Some(listener),
        leave,
        background: None,
    };
    let order = &command.order;
    let thread = order.origin.thread.clone();
    let limits = Limits {
        wall_clock: order.time_limit.unwrap_or(FOREVER),
        grace: order.grace,
        captured_bytes: order.captured_bytes,
    };
    let (sink, chunks) = output_channel();
    let run = async {
        let joined = inner.networks.join(&inner.children, &thread, spec);
        let (spec, _network) = tokio::select! {
            joined = joined => joined,
            () = stop.cancelled() => {
                let outcome = Outcome {
                    exit: Exit::Cancelled,
                    duration: Duration::ZERO,
                    output: Captured::default(),
                };
                return Ok(outcome);
            }
        };
        match to_write {
            Some(typed) => {
                inner
                    .children
                    .run_typed(spec, &limits, Some(sink), typed, &stop)
                    .await
            }
            None => inner.children.run(spec, &limits, Some(sink), &stop).await,
        }
    };
    // When the run is over, it drops its end of the channel, which ends the pump.
    let (outcome, ()) = tokio::join!(run, command.pump(chunks));
    command.end(outcome, ended).await;
}

/// A running command.
struct Command {
    inner: Arc<Inner>,
    id: String,
    order: CommandOrder,
    stop: CancellationToken,
    started_at: UnixMillis,
    buffer: Arc<OutputBuffer>,
    writer: Writer,
    typed: Option<mpsc::Sender<Vec<u8>>>,
    listener: Option<mpsc::Sender<String>>,
    leave: mpsc::Receiver<Leave>,
    /// Set once the command was left in the background.
    background: Option<BackgroundState>,
}

/// The state of reports on a command in the background.
struct BackgroundState {
    entry: Arc<BackgroundTerminal>,
    pending: Pending,
    silence: Silence,
}

impl Command {
    async fn pump(&mut self, mut chunks: mpsc::Receiver<String>) {
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                Some(leave) = self.leave.recv(), if self.background.is_none() => self.be_left(leave).await,
                chunk = chunks.recv() => match chunk {
                    Some(text) => self.take(text).await,
                    None => return,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.tick(),
            }
        }
    }

    async fn take(&mut self, text: String) {
        self.writer.push(&text).await;
        if let Some(background) = &mut self.background {
            background.pending.add(&text);
            background.silence.end(Instant::now());
            background.entry.touch();
            self.tick();
        } else if let Some(listener) = &self.listener
            && listener.send(text).await.is_err()
        {
            self.listener = None;
        }
    }

    /// Returns when the task must act even without new output.
    fn due(&self) -> Option<Instant> {
        let background = self.background.as_ref()?;
        let idle = background.entry.touched() + self.inner.bounds.idle_after;
        let idle = background.entry.why().is_none().then_some(idle);
        [background.pending.due(), background.silence.due(), idle]
            .into_iter()
            .flatten()
            .min()
    }

    fn tick(&mut self) {
        let Some(background) = &mut self.background else {
            return;
        };
        let now = Instant::now();
        let beside = NOTICE_BYTES + background.entry.facts.command.len();
        let delta = background.pending.take_due(&self.inner.budget, beside, now);
        let stalled = background.silence.is_newly_due(now);
        if now >= background.entry.touched() + self.inner.bounds.idle_after {
            background.entry.end_because(Why::Idle);
        }
        let entry = background.entry.clone();
        if let Some(delta) = delta {
            self.announce(TerminalChange::Output(delta), &entry);
        }
        if stalled {
            self.announce(TerminalChange::Stalled, &entry);
        }
    }

    /// Sends a broadcast with the change and the new output.
    fn announce(&self, change: TerminalChange, entry: &BackgroundTerminal) {
        let (_, chars) = self.buffer.last(0);
        let terminal = entry.shown(String::new(), chars, self.inner.clock.now());
        self.inner.announce(change, terminal);
    }

    async fn be_left(&mut self, leave: Leave) {
        let left = self.become_terminal(&leave).await;
        let entry = left.as_ref().ok().map(|(entry, _)| entry.clone());
        if let Some(entry) = &entry {
            let (output, chars) = self.buffer.last(self.inner.bounds.usual_chars);
            let terminal = entry.shown(output, chars, self.inner.clock.now());
            self.inner.announce(TerminalChange::Started, terminal);
        }
        // If the caller is gone, the terminal exists all the same and is in the list.
        drop(leave.reply.send(left.map(|(_, terminal)| terminal)));
    }

    async fn become_terminal(
        &mut self,
        leave: &Leave,
    ) -> Result<(Arc<BackgroundTerminal>, Terminal), NotLeft> {
        if !self.writer.open().await {
            return Err(NotLeft::NoPlace);
        }
        let order = &self.order;
        let facts = Arc::new(TerminalFacts {
            id: self.id.clone(),
            thread: order.origin.thread.clone(),
            turn: order.origin.turn,
            call: order.origin.call.clone(),
            command: order.command.clone(),
            working_directory: order.working_directory.to_string_lossy().into_owned(),
            sandboxed: order.sandboxed,
            started_at: self.started_at,
            reason: leave.reason,
            output_path: self.writer.path().unwrap_or_default(),
        });
        let (stop, buffer, typed) = (self.stop.clone(), self.buffer.clone(), self.typed.clone());
        let entry = Arc::new(BackgroundTerminal::running(facts.clone(), stop, buffer, typed));
        self.inner.add(entry.clone())?;
        let end = End {
            status: TerminalStatus::Running,
            exit_code: None,
            completed_at: None,
            output_chars: 0,
        };
        // Recorded before any broadcast: after a crash now, the next server finds the record and reports the terminal
        // as lost.
        if !self.inner.save(Record::new(facts, end)).await {
            self.inner.take_out(&self.id);
            return Err(NotLeft::NoPlace);
        }
        self.listener = None;
        // Input arrives through the entry only, so the input closes with it.
        self.typed = None;
        let now = Instant::now();
        let bounds = &self.inner.bounds;
        self.background = Some(BackgroundState {
            entry: entry.clone(),
            pending: Pending::new(bounds.notify_every, now),
            silence: Silence::new(bounds.stall_after, now),
        });
        let (output, chars) = self.buffer.last(usize::MAX);
        let terminal = entry.shown(output, chars, self.inner.clock.now());
        Ok((entry, terminal))
    }

    async fn end(mut self, outcome: Result<Outcome, ChildError>, ended: oneshot::Sender<Ended>) {
        let left_out = self.writer.finish().await;
        let had_file = self.writer.has_file();
        if let Some(background) = self.background.take() {
            self.end_terminal(background, outcome).await;
        } else {
            let output_path = self.writer.path();
            // The receiver is gone if the command's Turn is gone.
            drop(ended.send(Ended {
                outcome,
                output_path,
                left_out,
            }));
        }
        self.inner.let_go(&self.id);
        if had_file {
            self.inner.tidy().await;
        }
    }

    async fn end_terminal(&self, mut background: BackgroundState, outcome: Result<Outcome, ChildError>) {
        let entry = background.entry;
        let exit = outcome.map(|outcome| outcome.exit);
        if let Err(error) = &exit {
            tracing::warn!(%error, id = self.id, "a terminal's end is not known");
        }
        let (status, exit_code) = match (entry.why(), exit) {
            (_, Ok(Exit::Exited(0))) => (TerminalStatus::Completed, Some(0)),
            (_, Ok(Exit::Exited(code))) => (TerminalStatus::Failed, Some(code)),
            (Some(Why::Idle), _) | (None, Ok(Exit::TimedOut)) => (TerminalStatus::TimedOut, None),
            (Some(Why::Stopped), _) | (None, Ok(Exit::Cancelled)) => (TerminalStatus::Killed, None),
            (None, Ok(Exit::Signaled(_) | Exit::OverMemory(_)) | Err(_)) => (TerminalStatus::Failed, None),
        };
        let (_, output_chars) = self.buffer.last(0);
        let now = self.inner.clock.now();
        let end = End {
            status,
            exit_code,
            completed_at: Some(now),
            output_chars,
        };
        self.inner.save(Record::new(entry.facts.clone(), end)).await;
        let usual = self.inner.bounds.usual_chars;
        let terminal = entry.ends(end, |entry| {
            let (output, chars) = self.buffer.last(usual);
            entry.shown(output, chars, now)
        });
        let rest = background.pending.rest();
        if !rest.is_empty() {
            self.announce(TerminalChange::Output(rest), &entry);
        }
        self.inner.announce(TerminalChange::Completed, terminal);
        entry.announce_end();
    }
}
