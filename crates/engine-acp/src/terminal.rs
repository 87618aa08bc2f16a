//! A command of an agent: its line, its run with a terminal view, and the end of its output.

use std::sync::Arc;

use bobbin_acp_wire::{CreateTerminalParams, ExitStatus, TerminalOutputResult};
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::{CommandEnd, OutputSink, PreparedCall, ToolOutput};
use bobbin_core::engine::TurnContext;
use bobbin_model::ItemBody;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Most bytes of a command's output that clients are shown while it runs.
const MAX_STREAMED_BYTES: usize = 1 << 20;
/// Pieces of output on their way to the record; a full queue slows the command down.
const OUTPUT_QUEUE: usize = 16;

/// Returns the line of a command. What a shell is given as its line is the line.
pub(crate) fn command_line(asked: &CreateTerminalParams) -> String {
    let name = asked.command.rsplit('/').next().unwrap_or_default();
    if let ("sh" | "bash", [flag, line]) = (name, asked.args.as_slice())
        && matches!(flag.as_str(), "-c" | "-lc")
    {
        return line.clone();
    }
    if asked.args.is_empty() {
        return asked.command.clone();
    }
    let words = std::iter::once(&asked.command).chain(&asked.args);
    shell_words::join(words)
}

/// Runs a command, with its terminal view.
pub(crate) async fn run_command(
    turn: &TurnContext,
    call_id: &str,
    prepared: Box<dyn PreparedCall>,
    terminal: &Terminal,
) -> Result<ToolOutput, TurnGone> {
    turn.start_call(call_id).await?;
    let view = match prepared.command() {
        Some(line) if turn.at_start().features.command_execution => {
            let started = ItemBody::CommandExecution(line.started(call_id));
            Some((turn.open(started).await?, line))
        }
        _ => None,
    };
    let (pieces, mut queue) = mpsc::channel(OUTPUT_QUEUE);
    let context = turn.call_context(call_id, terminal.stop.clone(), Arc::new(Pieces(pieces)));
    let mut running = prepared.run(context);
    let mut room = MAX_STREAMED_BYTES;
    let mut output = None;
    loop {
        let piece = tokio::select! {
            biased;
            Some(piece) = queue.recv() => piece,
            ended = &mut running, if output.is_none() => {
                output = Some(ended);
                continue;
            }
            else => break,
        };
        terminal.add(&piece);
        let shown = &piece[..piece.floor_char_boundary(room)];
        room -= shown.len();
        if let Some((item, _)) = &view {
            // The command runs on where the Turn is gone; its end follows from the stop.
            let _ = item.text(shown).await;
        }
    }
    let output = output.unwrap_or_default();
    if let Some((item, line)) = view {
        let body = line.ended(call_id, output.command.as_ref());
        item.complete(Some(ItemBody::CommandExecution(body))).await?;
    }
    Ok(output)
}

struct Pieces(mpsc::Sender<String>);

impl OutputSink for Pieces {
    fn write(&self, text: String) -> BoxFuture<'_, ()> {
        self.0.send(text).map(drop).boxed()
    }
}

/// A command of an agent.
pub(crate) struct Terminal {
    pub(crate) stop: CancellationToken,
    output: Mutex<Tail>,
    exit: watch::Sender<Option<ExitStatus>>,
}

/// The end of an output.
#[derive(Default)]
struct Tail {
    text: String,
    limit: usize,
    truncated: bool,
}

impl Terminal {
    pub(crate) fn new(stop: CancellationToken, limit: usize) -> Self {
        Self {
            stop,
            output: Mutex::new(Tail {
                limit,
                ..Tail::default()
            }),
            exit: watch::Sender::new(None),
        }
    }

    fn add(&self, piece: &str) {
        let mut output = self.output.lock();
        output.text.push_str(piece);
        // Not with each piece, which would copy the rest each time.
        if output.text.len() > 2 * output.limit {
            output.cut();
        }
    }

    pub(crate) fn output(&self) -> TerminalOutputResult {
        let mut output = self.output.lock();
        output.cut();
        TerminalOutputResult {
            output: output.text.clone(),
            truncated: output.truncated,
            exit_status: self.exit.borrow().clone(),
        }
    }

    pub(crate) fn end(&self, end: Option<&CommandEnd>) {
        let exit_code = end.and_then(|end| end.exit_code);
        let exit_code = exit_code.and_then(|code| u32::try_from(code).ok());
        let signal = exit_code.is_none().then(|| "SIGKILL".to_owned());
        self.exit.send_replace(Some(ExitStatus { exit_code, signal }));
    }

    /// Waits for the end of the command.
    pub(crate) async fn ended(&self) -> ExitStatus {
        let mut exit = self.exit.subscribe();
        let ended = exit.wait_for(Option::is_some).await;
        ended.ok().and_then(|status| status.clone()).unwrap_or_default()
    }
}

impl Tail {
    fn cut(&mut self) {
        let more = self.text.len().saturating_sub(self.limit);
        if more > 0 {
            self.text.drain(..self.text.ceil_char_boundary(more));
            self.truncated = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(command: &str, args: &[&str]) -> CreateTerminalParams {
        serde_json::from_value(json!({ "sessionId": "s", "command": command, "args": args })).unwrap()
    }

    #[test]
    fn a_command_is_one_line() {
        for (command, args, line) in [
            ("ls -l | wc", &[][..], "ls -l | wc"),
            ("/bin/sh", &["-lc", "ls | wc"], "ls | wc"),
            (
                "git",
                &["commit", "-m", "it's tea"],
                r"git commit -m 'it'\''s tea'",
            ),
            ("bash", &["run.sh"], "bash run.sh"),
            ("echo", &[""], "echo ''"),
        ] {
            assert_eq!(command_line(&asked(command, args)), line);
        }
    }

    #[test]
    fn the_start_of_a_long_output_is_cut_at_a_letter() {
        let terminal = Terminal::new(CancellationToken::new(), 5);
        for piece in ["one", "two", "thrée"] {
            terminal.add(piece);
        }
        let output = terminal.output();
        assert_eq!((output.output.as_str(), output.truncated), ("hrée", true));
        assert_eq!(output.exit_status, None);
        terminal.end(None);
        assert_eq!(
            terminal.output().exit_status.unwrap().signal.as_deref(),
            Some("SIGKILL")
        );
    }
}
