//! File tools and commands that use the Thread's editor (AppServer protocol 04 §8).
//!
//! Checks and approvals come first and are the same as without an editor; only the last step differs. The editor reads
//! text files with their unsaved changes, writes files visibly to the user, and runs commands in its terminals. If the
//! editor is gone or fails, the tool does the step itself, unless the editor may have done it. The tool first checks a
//! file that the editor may have written (see [`editor_write`](super::editor_write)). Each terminal has a task that ends
//! and releases it, whatever happens to the call.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::client::{
    Answered, ClientFailure, Editor, EditorCan, Service, ThreadClient, ThreadClients,
};
use bobbin_agent_api::tool::{CommandEnd, ToolOutput};
use bobbin_model::{CommandStatus, ThreadId};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use bobbin_agent_api::cut::head_and_tail;

/// How long an editor has for each request about a command that has ended or was cancelled. An interrupted Turn waits at
/// most for the sum.
const ENDING: Duration = Duration::from_millis(800);
/// How long an abandoned terminal may take to open (guess: twice the time limit of such a request).
const STARTING: Duration = Duration::from_mins(1);

/// The editor of a Thread, found when needed.
#[derive(Clone)]
pub(super) struct EditorOf {
    client: Arc<dyn ThreadClient>,
    clients: ThreadClients,
    thread: ThreadId,
}

impl EditorOf {
    /// Returns the Thread's editor if it is connected and has the capability.
    pub(super) fn find(clients: &ThreadClients, can: impl FnOnce(EditorCan) -> bool) -> Option<Self> {
        let client = clients.who(Service::Editor)?;
        let able = client.editor().is_some_and(|editor| can(editor.can()));
        let thread = clients.thread()?.clone();
        let clients = clients.clone();
        able.then_some(Self {
            client,
            clients,
            thread,
        })
    }

    fn editor(&self) -> Answered<&dyn Editor> {
        self.client.editor().ok_or(ClientFailure::Gone)
    }

    /// Reads lines of a file; `None` when the editor does not return them.
    pub(super) async fn read(&self, path: &Path, first: Option<u64>, limit: Option<u64>) -> Option<String> {
        let read = match (self.editor(), path.to_str()) {
            (Ok(editor), Some(path)) => editor.read(&self.thread, path, first, limit).await,
            _ => return None,
        };
        read.inspect_err(
            |error| tracing::debug!(thread = %self.thread, %error, "an editor does not read a file"),
        )
        .ok()
    }

    /// Writes a whole file.
    pub(super) async fn write(&self, path: &Path, content: &str) -> Written {
        let written = match (self.editor(), path.to_str()) {
            (Ok(editor), Some(path)) => editor.write(&self.thread, path, content).await,
            (Err(gone), _) => return Written::No(gone),
            (_, None) => return Written::No(ClientFailure::Refused("the path is not UTF-8".to_owned())),
        };
        match written {
            Ok(()) => Written::Yes,
            Err(error) => {
                tracing::debug!(thread = %self.thread, %error, "an editor does not write a file");
                if may_have_started(&error) {
                    Written::Unknown(error)
                } else {
                    Written::No(error)
                }
            }
        }
    }

    /// Runs a command in a terminal; `None` when the editor has not started it.
    ///
    /// # Cancel safety
    /// Dropping the future ends and releases the terminal, even one that the editor is still opening.
    pub(super) async fn run(
        &self,
        command: &str,
        directory: &Path,
        limits: TerminalLimits,
        cancel: &CancellationToken,
    ) -> Option<ToolOutput> {
        let order = Order {
            editor: self.clone(),
            command: command.to_owned(),
            directory: directory.to_str()?.to_owned(),
            limits,
            stop: cancel.child_token(),
        };
        let _stop = order.stop.clone().drop_guard();
        let (sender, ended) = oneshot::channel();
        if !self.clients.spawn(order.run(sender)) {
            tracing::warn!(thread = %self.thread, "too many terminals of editors are being closed; a command runs here");
            return None;
        }
        // The sender is dropped silently only when the server ends.
        ended.await.unwrap_or_else(|_| Some(lost(&ClientFailure::Gone)))
    }
}

/// Returns whether an editor may have done a request despite this failure.
fn may_have_started(failure: &ClientFailure) -> bool {
    matches!(
        failure,
        ClientFailure::Late(_) | ClientFailure::Gone | ClientFailure::Unusable(_)
    )
}

/// Whether an editor has written a file.
pub(super) enum Written {
    /// The editor has answered that it has.
    Yes,
    /// The editor has not.
    No(ClientFailure),
    /// Unknown.
    Unknown(ClientFailure),
}

/// One command for a terminal of an editor, from its start until the terminal is released.
struct Order {
    editor: EditorOf,
    command: String,
    directory: String,
    limits: TerminalLimits,
    /// The Turn no longer waits for the command.
    stop: CancellationToken,
}

impl Order {
    /// Runs the command and reports its end at once; `None` when the editor has not started it.
    async fn run(self, sender: oneshot::Sender<Option<ToolOutput>>) {
        let Ok(editor) = self.editor.editor() else {
            drop(sender.send(None));
            return;
        };
        let thread = &self.editor.thread;
        let mut starting = editor.start(thread, &self.command, &self.directory);
        let started = tokio::select! {
            biased;
            () = self.stop.cancelled() => {
                // The Turn no longer waits, so a terminal that still opens must be ended.
                drop(sender.send(Some(report(&Ended::Cancelled, "", Duration::ZERO, &self.limits))));
                if let Ok(Ok(terminal)) = tokio::time::timeout(STARTING, starting).await {
                    brief(editor.kill(thread, &terminal)).await;
                    brief(editor.release(thread, &terminal)).await;
                }
                return;
            }
            started = &mut starting => started,
        };
        let terminal = match started {
            Ok(terminal) => terminal,
            // The command is not run a second time.
            Err(error) if may_have_started(&error) => {
                drop(sender.send(Some(lost(&error))));
                return;
            }
            Err(error) => {
                tracing::debug!(%thread, %error, "an editor opens no terminal");
                drop(sender.send(None));
                return;
            }
        };
        let began = Instant::now();
        let waited = tokio::select! {
            biased;
            () = self.stop.cancelled() => Ended::Cancelled,
            code = editor.wait(thread, &terminal, self.limits.time) => match code {
                Ok(Some(code)) => Ended::Code(code),
                Ok(None) => Ended::Unknown,
                Err(ClientFailure::Late(_)) => Ended::TimedOut,
                Err(error) => Ended::Lost(error),
            },
        };
        let ended = self.settle(editor, &terminal, waited, began).await;
        drop(sender.send(Some(ended)));
    }

    /// Ends the command if it still runs, reads the output and releases the terminal.
    async fn settle(&self, editor: &dyn Editor, terminal: &str, ended: Ended, began: Instant) -> ToolOutput {
        let (thread, limits) = (&self.editor.thread, &self.limits);
        let duration = began.elapsed();
        if !matches!(ended, Ended::Code(_) | Ended::Unknown) {
            brief(editor.kill(thread, terminal)).await;
        }
        let read = tokio::time::timeout(ENDING, editor.output(thread, terminal)).await;
        let (output, code) = match read {
            Ok(Ok((output, code))) => (output, code),
            Ok(Err(_)) | Err(_) => (String::new(), None),
        };
        let ended = match (ended, code) {
            (Ended::Unknown, Some(code)) => Ended::Code(code),
            (Ended::Unknown, None) => {
                // The command may still run.
                brief(editor.kill(thread, terminal)).await;
                if duration >= limits.time {
                    Ended::TimedOut
                } else {
                    Ended::Unknown
                }
            }
            (ended, _) => ended,
        };
        brief(editor.release(thread, terminal)).await;
        report(&ended, &output, duration, limits)
    }
}

/// Waits for an answer, but only for [`ENDING`].
async fn brief(asked: BoxFuture<'_, Answered<()>>) {
    drop(tokio::time::timeout(ENDING, asked).await);
}

/// Bounds of one command.
pub(super) struct TerminalLimits {
    /// How long it may run.
    pub(super) time: Duration,
    /// Bytes of output for the terminal view.
    pub(super) captured: usize,
    /// Bytes of output for the model.
    pub(super) for_model: usize,
}

/// How a command in a terminal ended.
enum Ended {
    Code(i64),
    /// The editor does not report it.
    Unknown,
    TimedOut,
    Cancelled,
    Lost(ClientFailure),
}

fn report(ended: &Ended, output: &str, duration: Duration, limits: &TerminalLimits) -> ToolOutput {
    let (status, how) = match ended {
        Ended::Code(0) => (CommandStatus::Completed, "exit code 0".to_owned()),
        Ended::Code(code) => (CommandStatus::Failed, format!("exit code {code}")),
        Ended::Unknown => (
            CommandStatus::Failed,
            "ended by signal or otherwise: the editor reports no exit code".to_owned(),
        ),
        Ended::TimedOut => (
            CommandStatus::Killed,
            format!("killed after {} ms, its time limit", limits.time.as_millis()),
        ),
        Ended::Cancelled => (CommandStatus::Cancelled, "cancelled".to_owned()),
        Ended::Lost(error) => (
            CommandStatus::Lost,
            format!("its end is not known, and it was not run again: {error}"),
        ),
    };
    let captured = head_and_tail(output, limits.captured);
    let command = CommandEnd {
        exit_code: match ended {
            Ended::Code(code) => i32::try_from(*code).ok(),
            _ => None,
        },
        status,
        output_chars: output.chars().count() as u64,
        truncated: output.len() > limits.captured,
        output: captured,
        duration,
        output_path: None,
        background: None,
    };
    ToolOutput {
        text: format!("{how}\n{}", head_and_tail(output, limits.for_model)),
        success: status == CommandStatus::Completed,
        command: Some(command),
        ..ToolOutput::default()
    }
}

fn lost(error: &ClientFailure) -> ToolOutput {
    let command = CommandEnd {
        exit_code: None,
        status: CommandStatus::Lost,
        output: String::new(),
        output_chars: 0,
        truncated: false,
        duration: Duration::ZERO,
        output_path: None,
        background: None,
    };
    ToolOutput {
        text: format!("it is not known whether the editor ran it, and it was not run again: {error}"),
        command: Some(command),
        ..ToolOutput::default()
    }
}
