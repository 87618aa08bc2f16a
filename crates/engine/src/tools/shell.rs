//! `shell`: one command line, run by the system's shell in the workspace.
//!
//! Asked about unless the rules say otherwise. The text for the model is how the command ended,
//! a line break, and its output. File changes that a command makes are not followed (see `diff`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{
    ChildError, Children, Environment, Exit, Limits, Outcome, ProcessSpec, Shell, output_channel,
};
use bobbin_core::policy::{Judgement, command_scope};
use bobbin_core::tool::{
    CallContext, CommandEnd, CommandLine, Effect, OutputSink, Permission, PreparedCall, Tool,
    ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{CommandStatus, Json};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, spec};
use super::cut::head_and_tail;

/// Longest command line, bytes: half of what Linux takes as one argument.
const MAX_COMMAND_BYTES: usize = 64 << 10;
/// Time a command gets when the model does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// Most time it may ask for.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// Time between the polite signal and the last one; an interrupted Turn does not wait much longer.
const GRACE: Duration = Duration::from_secs(1);
/// Output kept for the terminal view.
const CAPTURED_BYTES: usize = 1 << 20;
/// Output given to the model.
const MODEL_BYTES: usize = 64 << 10;

pub(super) struct ShellTool {
    spec: ToolSpec,
    children: Children,
    environment: Environment,
    shell: Shell,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

impl ShellTool {
    /// Returns the tool; commands get the variables of `environment` and some that keep them from waiting
    /// for a person.
    pub(super) fn new(children: Children, mut environment: Environment, shell: Shell) -> Self {
        for (name, value) in [
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("TERM", "dumb"),
        ] {
            environment.set(name, value);
        }
        let spec = spec(
            "shell",
            Effect::Writes,
            "Runs a command line in the workspace with the system's shell and returns its output. There is \
             no terminal and no standard input.",
            &["command"],
            &serde_json::json!({
                "command": { "type": "string" },
                "timeoutMs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 600_000,
                    "description": "120,000 when left out.",
                },
            }),
        );
        Self {
            spec,
            children,
            environment,
            shell,
        }
    }
}

impl Tool for ShellTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let command = arguments.command.trim();
        if command.is_empty() || command.len() > MAX_COMMAND_BYTES || command.contains('\0') {
            return Err(ToolRefusal(format!(
                "a command has 1 to {MAX_COMMAND_BYTES} bytes and no zero byte"
            )));
        }
        let ruling = environment.policy.command(command, &environment.root).ruling;
        let permission = match ruling.judgement {
            Judgement::Allow => Permission::Free,
            Judgement::Ask => Permission::Ask {
                scope: command_scope(command, &environment.root),
                reason: format!("The agent wants to run a command: {}.", ruling.reason),
            },
            Judgement::Deny => {
                return Err(ToolRefusal(format!("refused: {}; it was not run", ruling.reason)));
            }
        };
        let timeout = arguments
            .timeout_ms
            .map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        Ok(Box::new(Prepared {
            command: command.to_owned(),
            root: environment.root.clone(),
            permission,
            timeout: timeout.clamp(Duration::from_millis(1), MAX_TIMEOUT),
            spec: ProcessSpec::shell(&self.shell, command, &environment.root, self.environment.clone()),
            children: self.children.clone(),
        }))
    }
}

struct Prepared {
    command: String,
    root: PathBuf,
    permission: Permission,
    timeout: Duration,
    spec: ProcessSpec,
    children: Children,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn command(&self) -> Option<CommandLine> {
        Some(CommandLine {
            command: self.command.clone(),
            working_directory: self.root.clone(),
        })
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            timeout,
            spec,
            children,
            ..
        } = *self;
        async move {
            let limits = Limits {
                wall_clock: timeout,
                grace: GRACE,
                captured_bytes: CAPTURED_BYTES,
            };
            let (sink, chunks) = output_channel();
            let run = children.run(spec, &limits, Some(sink), &context.cancel);
            // The run drops its end of the channel when it is over, which ends the other half.
            let (outcome, ()) = tokio::join!(run, forward(chunks, context.output));
            match outcome {
                Ok(outcome) => ended(outcome, timeout),
                Err(error) => not_run(&error),
            }
        }
        .boxed()
    }
}

async fn forward(mut chunks: tokio::sync::mpsc::Receiver<String>, output: Arc<dyn OutputSink>) {
    while let Some(chunk) = chunks.recv().await {
        output.write(chunk).await;
    }
}

fn ended(outcome: Outcome, timeout: Duration) -> ToolOutput {
    let Outcome {
        exit,
        duration,
        output,
    } = outcome;
    let (status, how) = match exit {
        Exit::Exited(0) => (CommandStatus::Completed, "exit code 0".to_owned()),
        Exit::Exited(code) => (CommandStatus::Failed, format!("exit code {code}")),
        Exit::Signaled(signal) => (CommandStatus::Failed, format!("ended by signal {signal}")),
        Exit::TimedOut => (
            CommandStatus::Killed,
            format!("killed after {} ms, its time limit", timeout.as_millis()),
        ),
        Exit::Cancelled => (CommandStatus::Cancelled, "cancelled".to_owned()),
    };
    let text = head_and_tail(&output.text, MODEL_BYTES);
    let command = CommandEnd {
        exit_code: if let Exit::Exited(code) = exit {
            Some(code)
        } else {
            None
        },
        status,
        output_chars: output.total_chars,
        truncated: output.is_truncated(),
        output: output.text,
        duration,
    };
    ToolOutput {
        text: format!("{how}\n{text}"),
        success: status == CommandStatus::Completed,
        command: Some(command),
        ..ToolOutput::default()
    }
}

fn not_run(error: &ChildError) -> ToolOutput {
    let command = CommandEnd {
        exit_code: None,
        status: CommandStatus::Failed,
        output: String::new(),
        output_chars: 0,
        truncated: false,
        duration: Duration::ZERO,
    };
    let mut text = format!("did not run: {error}");
    if let Some(cause) = std::error::Error::source(error) {
        text = format!("{text}: {cause}");
    }
    ToolOutput {
        text,
        command: Some(command),
        ..ToolOutput::default()
    }
}

/// Splits a result of this tool into how the command ended and its output; `None` when it was not run.
pub(crate) fn split_status(result: &str) -> Option<(&str, &str)> {
    let (how, output) = result.split_once('\n')?;
    let ran = ["exit code ", "ended by signal ", "killed after ", "cancelled"];
    ran.iter()
        .any(|start| how.starts_with(start))
        .then_some((how, output))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::tools::testing::Workspace;

    fn tool() -> ShellTool {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        ShellTool::new(Children::new(None).unwrap(), environment, Shell::Posix)
    }

    #[tokio::test]
    async fn a_command_gives_its_output_and_its_end() {
        let workspace = Workspace::new();
        workspace.write("a", "hello\n");
        let output = workspace
            .call(&tool(), json!({ "command": " cat a; exit 3 " }))
            .await;
        assert_eq!(output.text, "exit code 3\nhello\n");
        let end = output.command.unwrap();
        assert_eq!(
            (end.exit_code, end.status, output.success),
            (Some(3), CommandStatus::Failed, false)
        );
        assert_eq!(split_status(&output.text), Some(("exit code 3", "hello\n")));
    }

    #[tokio::test]
    async fn a_command_runs_no_longer_than_it_may() {
        let output = Workspace::new()
            .call(&tool(), json!({ "command": "sleep 60", "timeoutMs": 50 }))
            .await;
        assert_eq!(output.command.unwrap().status, CommandStatus::Killed);
        assert_eq!(output.text, "killed after 50 ms, its time limit\n");
    }

    #[tokio::test]
    async fn a_cancelled_command_ends_and_its_output_was_streamed() {
        struct Ears(Mutex<String>, CancellationToken);
        impl OutputSink for Ears {
            fn write(&self, text: String) -> BoxFuture<'_, ()> {
                self.0.lock().unwrap().push_str(&text);
                self.1.cancel();
                std::future::ready(()).boxed()
            }
        }
        let workspace = Workspace::new();
        let arguments = Workspace::json(&json!({ "command": "echo begun; sleep 60" }));
        let call = tool().prepare(&arguments, &workspace.environment()).unwrap();
        let cancel = CancellationToken::new();
        let ears = Arc::new(Ears(Mutex::default(), cancel.clone()));
        let output = call
            .run(CallContext {
                cancel,
                output: ears.clone(),
            })
            .await;
        assert_eq!(output.command.unwrap().status, CommandStatus::Cancelled);
        assert_eq!(*ears.0.lock().unwrap(), "begun\n");
    }

    #[test]
    fn commands_are_asked_about_with_their_text_and_place() {
        let workspace = Workspace::new();
        workspace.write("a", "");
        let permission = |command: &str| {
            let arguments = Workspace::json(&json!({ "command": command }));
            tool()
                .prepare(&arguments, &workspace.environment())
                .unwrap()
                .permission()
        };
        assert_eq!(permission("cat a"), Permission::Free);
        let Permission::Ask { scope, reason } = permission("  rm a ") else {
            panic!("free")
        };
        assert_eq!(reason, "The agent wants to run a command: no rule allows it.");
        assert_eq!(scope.operation, "rm a");
        assert_eq!(scope.target, workspace.root().to_str().unwrap());
    }

    #[test]
    fn what_is_no_command_is_refused() {
        let workspace = Workspace::new();
        for command in ["", " \n", "a\0b"] {
            let arguments = Workspace::json(&json!({ "command": command }));
            assert!(
                tool().prepare(&arguments, &workspace.environment()).is_err(),
                "{command:?}"
            );
        }
    }
}
