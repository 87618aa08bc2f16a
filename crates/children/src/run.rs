//! Runs one command from start to end: output, time-out, cancellation, and the end of the whole group.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::children::{Ours, Streams};
use crate::output::Output;
use crate::running::Running;
use crate::{Captured, ChildError, Children, Exit, Input, Limits, Outcome, OutputSink, ProcessSpec};

/// How long the output must be quiet before a group without its leader is killed (a guess: far longer than
/// a pipeline's last writer needs, far shorter than a user notices).
const QUIET: Duration = Duration::from_millis(200);

/// The longest wait for that quiet while a process goes on writing.
const DRAIN: Duration = Duration::from_secs(1);

/// The longest wait for a killed leader. Only a process stuck in the kernel takes longer.
pub(crate) const REAP: Duration = Duration::from_secs(2);

impl Children {
    /// Runs a command until it exits, or until `limits` or `cancel` ends it.
    ///
    /// Its output goes to `sink` while it runs. The leader's exit ends the command: other members of its group may
    /// finish writing, then they are killed. To end it early, the group gets TERM and, after the grace period,
    /// KILL. A sink without a reader blocks the command, but not its end.
    ///
    /// # Errors
    ///
    /// Any [`ChildError`]; all but [`ChildError::Wait`] mean that nothing was run.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future kills the group at once and loses the outcome.
    pub async fn run(
        &self,
        spec: ProcessSpec,
        limits: &Limits,
        sink: Option<OutputSink>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ChildError> {
        self.run_with(spec, limits, sink, None, cancel).await
    }

    /// Runs a command as [`Children::run`] does, with a standard input that stays open. Text from `typed` is
    /// written to it, in order, until the sender is dropped. The spec's own input is not used. A command that does
    /// not read only fills the channel.
    ///
    /// # Errors
    ///
    /// As [`Children::run`].
    ///
    /// # Cancel safety
    ///
    /// As [`Children::run`].
    pub async fn run_typed(
        &self,
        spec: ProcessSpec,
        limits: &Limits,
        sink: Option<OutputSink>,
        typed: mpsc::Receiver<Vec<u8>>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ChildError> {
        // An empty input, so that there is a pipe.
        let spec = spec.input(Input::Bytes(Vec::new()));
        self.run_with(spec, limits, sink, Some(typed), cancel).await
    }

    async fn run_with(
        &self,
        spec: ProcessSpec,
        limits: &Limits,
        sink: Option<OutputSink>,
        typed: Option<mpsc::Receiver<Vec<u8>>>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ChildError> {
        let start = Instant::now();
        if cancel.is_cancelled() {
            let output = Captured::default();
            return Ok(Outcome {
                exit: Exit::Cancelled,
                duration: start.elapsed(),
                output,
            });
        }
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            started = self.start(spec, Streams::Together) => Some(started),
        };
        let Some(started) = started else {
            return Ok(Outcome {
                exit: Exit::Cancelled,
                duration: start.elapsed(),
                output: Captured::default(),
            });
        };
        let (mut running, ours) = started?;
        let Ours { output, input, .. } = ours;
        // Its time starts now.
        let start = Instant::now();
        let mut time_out = pin!(sleep(limits.wall_clock));
        let mut output = Output::new(output, sink, limits.captured_bytes);
        let ended_by_us = until_exit(
            &mut running,
            &mut output,
            feed(input, typed),
            time_out.as_mut(),
            cancel,
        )
        .await;
        if ended_by_us.is_some() {
            output.never_wait();
            end(&mut running, &mut output, limits.grace).await;
        } else {
            until_quiet(&mut output, Instant::now() + DRAIN, cancel).await;
        }
        let exit = timeout(REAP, running.end()).await;
        flush(&mut output, time_out, cancel).await;

        let exit = match (ended_by_us, exit) {
            (Some(exit), _) => exit,
            (None, Ok(exit)) => exit?,
            (None, Err(elapsed)) => return Err(ChildError::Wait(elapsed.into())),
        };
        let duration = start.elapsed();
        tracing::debug!(process = running.id(), ?exit, ?duration, "child ended");
        Ok(Outcome {
            exit,
            duration,
            output: output.into_captured(),
        })
    }
}

/// Moves output and input until the leader exits (`None`) or has to be ended.
async fn until_exit(
    running: &mut Running,
    output: &mut Output,
    feed: impl Future<Output = ()>,
    mut time_out: Pin<&mut Sleep>,
    cancel: &CancellationToken,
) -> Option<Exit> {
    let mut feed = pin!(feed);
    let mut fed = false;
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Some(Exit::Cancelled),
            () = &mut time_out => return Some(Exit::TimedOut),
            _ = running.exited() => return None,
            () = &mut feed, if !fed => fed = true,
            () = output.pump(), if !output.ended() => {}
        }
    }
}

/// Asks the group to end and waits up to `grace`, reading its output meanwhile.
async fn end(running: &mut Running, output: &mut Output, grace: Duration) {
    running.terminate();
    let limit = Instant::now() + grace;
    loop {
        tokio::select! {
            biased;
            () = sleep_until(limit) => return,
            _ = running.exited() => break,
            () = output.pump(), if !output.ended() => {}
        }
    }
    // The leader is gone. Other members may still clean up, which ends with the output or in silence.
    until_quiet(output, limit, &CancellationToken::new()).await;
}

/// Moves output until its end, until none came for [`QUIET`], or until `limit`.
async fn until_quiet(output: &mut Output, limit: Instant, cancel: &CancellationToken) {
    let start = Instant::now();
    while !output.ended() {
        let now = Instant::now();
        let quiet = output.last_read().max(start) + QUIET;
        if now >= quiet || now >= limit {
            return;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = output.pump() => {}
            () = sleep_until(quiet.min(limit)) => {}
        }
    }
}

/// Moves the rest of the output of the killed group. The sink may be as slow as the command's limits allow.
async fn flush(output: &mut Output, time_out: Pin<&mut Sleep>, cancel: &CancellationToken) {
    let in_time = tokio::select! {
        biased;
        () = output.flush() => true,
        () = cancel.cancelled() => false,
        () = time_out => false,
    };
    if !in_time {
        output.never_wait();
        output.flush().await;
    }
}

/// Writes a child's input, then the typed text, and closes the pipe.
async fn feed(input: Option<(pipe::Sender, Vec<u8>)>, typed: Option<mpsc::Receiver<Vec<u8>>>) {
    let Some((mut stdin, mut bytes)) = input else {
        return;
    };
    let mut typed = typed;
    loop {
        if let Err(error) = stdin.write_all(&bytes).await {
            tracing::debug!(%error, "a child did not read all of its input");
            return;
        }
        let next = match &mut typed {
            Some(typed) => typed.recv().await,
            None => None,
        };
        match next {
            Some(next) => bytes = next,
            None => return,
        }
    }
}
