//! `shell`: one command line, run by the system's shell in the workspace.
//!
//! Asked about unless the rules say otherwise, held by the [sandbox](super::sandbox), and outside of it only with a
//! person's word for this very command. The text for the model is how the command ended,
//! a line break, and its output. File changes that a command makes are not followed (see `diff`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{
    ChildError, Children, Environment, Exit, Limits, Outcome, ProcessSpec, Shell, output_channel,
};
use bobbin_core::policy::{Judgement, Ruling, command_scope};
use bobbin_core::tool::{
    CallContext, CommandEnd, CommandLine, Effect, OutputSink, Permission, PreparedCall, Tool,
    ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{ApprovalKind, ApprovalPolicy, CommandStatus, Json, Scope};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, spec};
use super::cut::head_and_tail;
use super::sandbox::{Hold, Sandbox, WhenMissing};

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
    sandbox: Sandbox,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
}

impl ShellTool {
    /// Returns the tool; commands get the variables of `environment` and some that keep them from waiting
    /// for a person.
    pub(super) fn new(
        children: Children,
        mut environment: Environment,
        shell: Shell,
        sandbox: Sandbox,
    ) -> Self {
        for (name, value) in [
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("TERM", "dumb"),
        ] {
            environment.set(name, value);
        }
        let mut properties = serde_json::json!({
            "command": { "type": "string" },
            "timeoutMs": {
                "type": "integer",
                "minimum": 1,
                "maximum": 600_000,
                "description": "120,000 when left out.",
            },
        });
        if sandbox.profile.holds_something() {
            properties["outsideSandbox"] = serde_json::json!({
                "type": "boolean",
                "description": "The command needs more than the sandbox lets it do. A person is asked.",
            });
        }
        let description = sandbox.description();
        let spec = spec("shell", Effect::Writes, description, &["command"], &properties);
        Self {
            spec,
            children,
            environment,
            shell,
            sandbox,
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
        let ruled = environment.policy.command(command, &environment.root);
        let ruling = ruled.ruling;
        if ruling.judgement == Judgement::Deny {
            return Err(ToolRefusal(format!("refused: {}; it was not run", ruling.reason)));
        }
        if environment.approvals == ApprovalPolicy::AutoApprove
            && let Some(why) = ruled.unseen
        {
            return Err(ToolRefusal(format!("refused: {why}; it was not run")));
        }
        let hold = self.sandbox.hold(&environment.root);
        let hold = match hold {
            Hold::Held(_) if arguments.outside_sandbox => None,
            hold => Some(hold),
        };
        let permission = permission(command, &ruling, hold.as_ref(), &self.sandbox, environment)?;
        let inner = ProcessSpec::shell(&self.shell, command, &environment.root, self.environment.clone());
        let (spec, sandboxed) = match hold {
            Some(Hold::Held(plan)) => (self.sandbox.wrap(&plan, inner), true),
            _ => (inner, false),
        };
        let timeout = arguments
            .timeout_ms
            .map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        Ok(Box::new(Prepared {
            command: command.to_owned(),
            root: environment.root.clone(),
            permission,
            timeout: timeout.clamp(Duration::from_millis(1), MAX_TIMEOUT),
            sandboxed,
            spec,
            children: self.children.clone(),
        }))
    }
}

/// Returns what a command needs that no rule refuses. `hold` is what holds it, `None` when it is to run outside of a
/// sandbox that could hold it.
///
/// # Errors
/// Nobody may give the permission; the text is for the model.
fn permission(
    command: &str,
    ruling: &Ruling,
    hold: Option<&Hold>,
    sandbox: &Sandbox,
    environment: &ToolEnvironment,
) -> Result<Permission, ToolRefusal> {
    let asks_nobody = environment.approvals == ApprovalPolicy::AutoApprove;
    let ask = |reason: String| Permission::Ask {
        scope: command_scope(command, &environment.root),
        reason,
    };
    let why = &ruling.reason;
    match hold {
        // By itself, whatever rules and earlier answers say: those were given for commands that are held.
        None if asks_nobody => Err(ToolRefusal(
            "refused: nothing runs outside of the sandbox without a person's word, and this thread asks nobody".to_owned(),
        )),
        None => Ok(Permission::Ask {
            scope: Scope {
                kind: ApprovalKind::RemoteResource,
                operation: "run a command outside of the sandbox".to_owned(),
                target: command.to_owned(),
            },
            reason: "The agent wants to run a command outside of the sandbox: with your own rights and with network."
                .to_owned(),
        }),
        Some(Hold::Missing(missing)) => match sandbox.when_missing {
            WhenMissing::Refuse => Err(ToolRefusal(format!(
                "refused: commands run in a sandbox only, and there is none: {missing}"
            ))),
            // What only reads in the workspace is what the reading tools do, which are not held either.
            WhenMissing::Ask if ruling.judgement == Judgement::Allow && ruling.rule.is_none() => Ok(Permission::Free),
            WhenMissing::Ask if asks_nobody => Err(ToolRefusal(format!(
                "refused: {missing}, and this thread asks nobody; to run commands without a sandbox, set Sandbox.Profile \
                 to full"
            ))),
            WhenMissing::Ask => Ok(ask(format!(
                "The agent wants to run a command: {why}. It would run without a sandbox: {missing}."
            ))),
        },
        Some(Hold::Open) if ruling.judgement == Judgement::Ask => {
            Ok(ask(format!("The agent wants to run a command: {why}.")))
        }
        Some(Hold::Held(plan)) if ruling.judgement == Judgement::Ask => Ok(ask(format!(
            "The agent wants to run a command: {why}. It runs in a sandbox: {}.",
            plan.profile
        ))),
        Some(Hold::Open | Hold::Held(_)) => Ok(Permission::Free),
    }
}

struct Prepared {
    command: String,
    root: PathBuf,
    permission: Permission,
    timeout: Duration,
    sandboxed: bool,
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
            sandboxed: self.sandboxed,
        })
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            timeout,
            sandboxed,
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
                Ok(outcome) if sandboxed => with_hint(ended(outcome, timeout)),
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

/// Tells the model of the sandbox where that may be why a command failed.
fn with_hint(mut output: ToolOutput) -> ToolOutput {
    let refusals = ["Permission denied", "Operation not permitted", "PermissionDenied"];
    if !output.success && refusals.iter().any(|refusal| output.text.contains(refusal)) {
        output
            .text
            .push_str("\n[It ran in a sandbox, which may be why. outsideSandbox asks a person for more.]");
    }
    output
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
#[path = "shell_tests.rs"]
mod tests;
