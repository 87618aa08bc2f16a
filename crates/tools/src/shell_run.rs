//! Runs a command line that may run, and reports its end to the model.
//!
//! The text for the model is the end of the command, a line break, and its output. If the output is too long, the text
//! names a file that has all of it. If the command outlives its call, the text names its terminal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::policy::{Policy, WritableProgram};
use bobbin_agent_api::tool::{
    CallContext, CommandEnd, CommandLine, IN_BACKGROUND, Permission, PreparedCall, ToolOutput, Touches,
};
use bobbin_children::{ChildError, Exit, Outcome, ProcessSpec};
use bobbin_files::shown;
use bobbin_model::{BackgroundReason, CommandStatus, Terminal};
use bobbin_sandbox::{Files, Network, Outer, Plan};
use bobbin_terminals::{CommandOrder, Ended, NotLeft, Running, Terminals};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use super::bubblewrap::Bubblewrap;
use super::editor::{EditorOf, TerminalLimits};
use super::sandbox::Sandbox;
use bobbin_agent_api::cut::head_and_tail;

/// Time between the first signal and SIGKILL; an interrupted Turn does not wait much longer.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes of output for the terminal view.
pub(super) const CAPTURED_BYTES: usize = 1 << 20;
/// Bytes of output for the model.
const MODEL_BYTES: usize = 64 << 10;
/// Default time of a command in a terminal of the editor.
const IN_EDITOR: Duration = Duration::from_mins(2);
/// The note on the network of a command without bubblewrap.
const NO_SOCKETS: &str = " Without bubblewrap it has no sockets, not even on 127.0.0.1.";
/// The advice to the user for that case.
const INSTALL: &str = " The user can install it: `apt install bubblewrap` or `dnf install bubblewrap`.";

/// Parts of the messages of programs that reach no other machine.
const NO_NETWORK: [&str; 14] = [
    // From the C library's resolver, and so from most programs.
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    // curl and git, ssh, wget, apt.
    "Could not resolve host",
    "unable to resolve host address",
    "Temporary failure resolving",
    // Node.js and its package managers.
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    // Go, Rust, Python, Java.
    "no such host",
    "failed to lookup address information",
    "nodename nor servname provided",
    "Failed to establish a new connection",
    "UnknownHostException",
];
/// Programs that fail without a network, sometimes without a message.
const NETWORK_PROGRAMS: [&str; 9] = [
    "curl", "wget", "ssh", "scp", "sftp", "ping", "dig", "nslookup", "host",
];

/// How long a Turn waits for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// The time after which the command is killed.
    pub(super) limit: Option<Duration>,
    /// The time after which the command is left in the background, and the reason.
    pub(super) leave: Option<(Duration, BackgroundReason)>,
}

impl Patience {
    /// Returns whether the command goes to the background from the start.
    pub(super) fn is_short(self) -> bool {
        matches!(self.leave, Some((_, BackgroundReason::Requested)))
    }
}

/// The programs of a line.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    /// Their names, as far as they are known.
    pub(super) names: Vec<String>,
    /// The programs that the agent may write.
    pub(super) writable: Vec<WritableProgram>,
}

impl Programs {
    /// Returns whether the names still start the same files, with the same content, as when the line was judged.
    async fn are_as_judged(self, policy: Arc<dyn Policy>, root: PathBuf) -> bool {
        let look = move || policy.programs(&self.names, &root) == self.writable;
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }
}

/// The limit that may have made a sandboxed command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SandboxLimit {
    /// The bounds of the sandbox's profile.
    Profile,
    /// Files with secrets, which a search does not see.
    Secrets,
    /// Plan mode, in which it can write temporary files only.
    PlanMode,
}

pub(super) struct Prepared {
    pub(super) command: String,
    /// Whether it can change nothing of the workspace.
    pub(super) only_reads: bool,
    pub(super) limit: SandboxLimit,
    pub(super) root: PathBuf,
    pub(super) permission: Permission,
    pub(super) patience: Patience,
    /// Most bytes of output in the outcome.
    pub(super) captured: usize,
    /// Its plan and its sandbox, if it is sandboxed.
    pub(super) confinement: Option<(Plan, Sandbox)>,
    pub(super) spec: ProcessSpec,
    pub(super) terminals: Terminals,
    /// The editor that runs it in a terminal instead.
    pub(super) editor: Option<EditorOf>,
    /// Finds the programs of names.
    pub(super) policy: Arc<dyn Policy>,
    /// The programs at the time of the judgement.
    pub(super) judged: Programs,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn command(&self) -> Option<CommandLine> {
        let confinement = self.confinement.as_ref().filter(|_| self.editor.is_none());
        Some(CommandLine {
            command: self.command.clone(),
            working_directory: self.root.clone(),
            sandboxed: confinement.is_some(),
            sandboxed_by: confinement
                .map(|(plan, _)| plan.sandboxed_by())
                .unwrap_or_default(),
        })
    }

    fn touches(&self) -> Touches {
        if self.only_reads {
            Touches::Nothing
        } else {
            Touches::Anything
        }
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            command,
            root,
            patience,
            captured,
            mut confinement,
            spec,
            terminals,
            editor,
            policy,
            judged,
            limit,
            permission: _,
            only_reads: _,
        } = *self;
        async move {
            let refusing = policy.clone();
            let is_for_network = judged
                .names
                .iter()
                .any(|name| NETWORK_PROGRAMS.contains(&name.as_str()));
            if !judged.are_as_judged(policy, root.clone()).await {
                return not_run(
                    "did not run: a program that it starts has changed since the line was judged; make the call again"
                        .to_owned(),
                );
            }
            if let Some(editor) = editor {
                let patient = patience.leave.map(|(after, _)| after);
                let limits = TerminalLimits {
                    time: patience.limit.or(patient).unwrap_or(IN_EDITOR),
                    captured: CAPTURED_BYTES,
                    for_model: MODEL_BYTES,
                };
                if let Some(output) = editor.run(&command, &root, limits, &context.cancel).await {
                    return output;
                }
            }
            let requested = patience.is_short();
            if requested && let Err(why) = terminals.has_room(&context.origin.thread) {
                return not_run(format!("did not run: {why}"));
            }
            if context.cancel.is_cancelled() {
                return cancelled();
            }
            let sandboxed = confinement.is_some();
            if let Some((plan, _)) = &mut confinement
                && let Err(why) = mask(plan, refusing, root.clone()).await
            {
                return not_run(format!(
                    "did not run: rules refuse files that could not all be hidden from it: {why}. Write these rules for \
                     fewer directories, or remove files that they name; outsideSandbox asks a person."
                ));
            }
            let confined = match &confinement {
                Some((plan, sandbox)) => sandbox.confined(plan, spec),
                None => Ok(spec),
            };
            let spec = match confined {
                Ok(spec) => spec,
                Err(why) => return not_run_unconfined(&why),
            };
            let order = CommandOrder {
                origin: context.origin.clone(),
                command,
                working_directory: root.clone(),
                sandboxed,
                time_limit: patience.limit,
                grace: GRACE,
                captured_bytes: if requested { MODEL_BYTES } else { captured },
                typed: requested,
            };
            let running = terminals.run(spec, order);
            let (ended, not_left) = match follow(running, patience, &context).await {
                End::Left(terminal) => return left(&terminal),
                End::Ended(ended, not_left) => (ended, not_left),
            };
            let bubblewrap = confinement.as_ref().filter(|(plan, _)| plan.outer == Outer::Bubblewrap);
            let bubblewrap = bubblewrap.map(|(_, sandbox)| &sandbox.bubblewrap);
            let outcome = match ended.outcome {
                Ok(outcome) => outcome,
                Err(error) if sandboxed => return not_confined(&error, bubblewrap),
                Err(error) => return not_started(&error),
            };
            let path = ended.output_path.map(|path| (path, ended.left_out));
            let mut output = result_of(outcome, path, &root, patience, not_left, bubblewrap.is_some());
            if let Some((plan, sandbox)) = &confinement {
                if is_without_network(&output, plan, is_for_network) {
                    add_network_hint(&mut output, limit);
                } else {
                    add_hint(&mut output, limit, plan, sandbox.bubblewrap.may_work());
                }
            }
            output
        }
        .boxed()
    }
}

/// Adds the paths that a rule hides, as they are on disk now, to a plan, if bubblewrap can mask them.
///
/// # Errors
/// Not all paths were found: the reason, as half a sentence.
pub(super) async fn mask(plan: &mut Plan, policy: Arc<dyn Policy>, root: PathBuf) -> Result<(), String> {
    if plan.outer == Outer::Bubblewrap && plan.profile.files != Files::Full {
        let search = move || policy.refused(&root);
        let refused = tokio::task::spawn_blocking(search).await;
        let refused = refused.map_err(|error| format!("the search for them failed: {error}"))?;
        let mut refused = refused.map_err(|bound| bound.to_string())?;
        // The same files give the same plan, in whatever order a directory lists them.
        refused.sort_unstable();
        plan.blank.extend(refused);
    }
    Ok(())
}

enum End {
    Left(Terminal),
    /// With the reason why it was not left in the background, if it should have been.
    Ended(Ended, Option<NotLeft>),
}

/// Forwards a command's output until the command ends or is left in the background.
async fn follow(mut running: Running, patience: Patience, context: &CallContext) -> End {
    let started = Instant::now();
    let cancel = &context.cancel;
    let mut stopped = false;
    loop {
        let leave = patience.leave.filter(|_| !stopped);
        let at = started + leave.map_or(Duration::ZERO, |(after, _)| after);
        let piece = tokio::select! {
            biased;
            () = cancel.cancelled(), if !stopped => {
                running.stop();
                stopped = true;
                continue;
            }
            () = sleep_until(at), if leave.is_some() => {
                let reason = leave.map_or(BackgroundReason::Requested, |(_, reason)| reason);
                match running.leave(reason).await {
                    Ok(terminal) => return End::Left(terminal),
                    Err(NotLeft::Ended) => return End::Ended(running.ended().await, None),
                    Err(why) => {
                        running.stop();
                        return End::Ended(running.ended().await, Some(why));
                    }
                }
            }
            piece = running.output() => piece,
        };
        let Some(piece) = piece else {
            return End::Ended(running.ended().await, None);
        };
        let mut write = context.output.write(piece);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !stopped => {
                    running.stop();
                    stopped = true;
                }
                () = &mut write => break,
            }
        }
    }
}

/// Returns the result for a command that was left in the background.
fn left(terminal: &Terminal) -> ToolOutput {
    let facts = &terminal.facts;
    let why = match facts.reason {
        BackgroundReason::Requested => String::new(),
        BackgroundReason::TimeLimit => format!(", since it takes longer than {} ms", terminal.wall_time_ms),
    };
    let output = head_and_tail(&terminal.output, MODEL_BYTES);
    let command = CommandEnd {
        exit_code: None,
        status: CommandStatus::Backgrounded,
        output: terminal.output.clone(),
        output_chars: terminal.output_chars,
        truncated: terminal.truncated,
        duration: Duration::from_millis(terminal.wall_time_ms),
        output_path: Some(facts.output_path.clone()),
        background: Some((facts.id.clone(), facts.reason)),
    };
    ToolOutput {
        text: format!("{IN_BACKGROUND}{}{why}\n{output}", facts.id),
        success: true,
        command: Some(command),
        ..ToolOutput::default()
    }
}

/// Returns the result for a command that has ended.
fn result_of(
    outcome: Outcome,
    file: Option<(String, u64)>,
    root: &std::path::Path,
    patience: Patience,
    not_left: Option<NotLeft>,
    through_bubblewrap: bool,
) -> ToolOutput {
    let Outcome {
        exit,
        duration,
        output,
    } = outcome;
    let (status, how) = match (exit, not_left) {
        (Exit::Exited(0), _) => (CommandStatus::Completed, "exit code 0".to_owned()),
        // Bubblewrap ends with such a code when a signal ended its command.
        (Exit::Exited(code @ 129..=192), _) if through_bubblewrap => (
            CommandStatus::Failed,
            format!(
                "exit code {code}, that of a command ended by signal {}",
                code - 128
            ),
        ),
        (Exit::Exited(code), _) => (CommandStatus::Failed, format!("exit code {code}")),
        (Exit::Signaled(signal), _) => (CommandStatus::Failed, format!("ended by signal {signal}")),
        (Exit::Cancelled, Some(why)) => (
            CommandStatus::Killed,
            format!(
                "killed after {} ms: it could not go on in the background, {why}",
                duration.as_millis()
            ),
        ),
        (Exit::OverMemory(most), _) => (
            CommandStatus::Killed,
            format!(
                "killed after {} ms: with all that it started it had more than {} MiB of memory (Sandbox.Limits.MemoryMiB)",
                duration.as_millis(),
                most >> 20
            ),
        ),
        (Exit::TimedOut, _) => {
            let limit = patience.limit.unwrap_or(duration).as_millis();
            (
                CommandStatus::Killed,
                format!("killed after {limit} ms, its time limit"),
            )
        }
        (Exit::Cancelled, None) => (CommandStatus::Cancelled, "cancelled".to_owned()),
    };
    let mut text = format!("{how}\n{}", head_and_tail(&output.text, MODEL_BYTES));
    if let Some((path, left_out)) = &file {
        let (place, total) = (shown(root, path.as_ref()), output.total_bytes);
        let what = match left_out {
            0 => format!("All {total} bytes of it are"),
            _ => format!("It has {total} bytes; all but {left_out} from its middle are"),
        };
        text = format!("{text}\n[{what} in {place}, for ReadFile and GrepFiles]");
    }
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
        output_path: file.map(|(path, _)| path),
        background: None,
    };
    ToolOutput {
        text,
        success: status == CommandStatus::Completed,
        command: Some(command),
        ..ToolOutput::default()
    }
}

/// Returns whether a command may have failed because the sandbox has no network. `is_for_network`: its line starts a
/// program that always needs one.
fn is_without_network(output: &ToolOutput, plan: &Plan, is_for_network: bool) -> bool {
    let failed = !output.success && plan.profile.network == Network::Off;
    failed && (is_for_network || NO_NETWORK.iter().any(|said| output.text.contains(said)))
}

/// Adds a note that the sandbox has no network.
fn add_network_hint(output: &mut ToolOutput, limit: SandboxLimit) {
    output.text.push_str(match limit {
        SandboxLimit::Profile => {
            "\n[The sandbox has no network, which may be why. outsideSandbox asks a person for more.]"
        }
        SandboxLimit::Secrets | SandboxLimit::PlanMode => "\n[The sandbox has no network, which may be why.]",
    });
}

/// Adds a note about the sandbox if it may be why a command failed.
fn add_hint(output: &mut ToolOutput, limit: SandboxLimit, plan: &Plan, is_installed: bool) {
    let refusals = [
        "Permission denied",
        "Operation not permitted",
        "PermissionDenied",
        "Read-only file system",
        "ReadOnlyFilesystem",
        // From git, about the settings of a repository.
        "Device or resource busy",
        // From ssh and git, which see root's files as another user's in the sandbox.
        "Bad owner or permissions",
        "dubious ownership",
    ];
    if !output.success && refusals.iter().any(|refusal| output.text.contains(refusal)) {
        let how = match limit {
            SandboxLimit::Profile => "\n[It ran in a sandbox, which may be why.",
            SandboxLimit::Secrets => {
                return output
                    .text
                    .push_str("\n[A search does not see files that usually have secrets in them.]");
            }
            SandboxLimit::PlanMode => {
                return output
                    .text
                    .push_str("\n[In plan mode a command can write temporary files only.]");
            }
        };
        output.text.push_str(how);
        if plan.outer == Outer::Nothing && plan.profile.network == Network::Off {
            output.text.push_str(NO_SOCKETS);
            if !is_installed {
                output.text.push_str(INSTALL);
            }
        }
        output.text.push_str(" outsideSandbox asks a person for more.]");
    }
}

/// The result of a command that was to be confined and was not started as planned.
fn not_confined(error: &ChildError, bubblewrap: Option<&Bubblewrap>) -> ToolOutput {
    let why = match error {
        ChildError::Confinement(why) => why.clone(),
        ChildError::NotStarted(_) => error.to_string(),
        _ => return not_started(error),
    };
    let Some(bubblewrap) = bubblewrap else {
        return not_run_unconfined(&why);
    };
    // The next command causes a new trial.
    bubblewrap.has_failed();
    not_run_unconfined(&why)
}

/// The result of a command that should be sandboxed and cannot be. No part of it has run.
fn not_run_unconfined(why: &str) -> ToolOutput {
    not_run(format!("did not run: it cannot be confined as planned: {why}."))
}

/// The result of a command that was interrupted before it was started.
fn cancelled() -> ToolOutput {
    let mut output = not_run("did not run: cancelled".to_owned());
    if let Some(command) = &mut output.command {
        command.status = CommandStatus::Cancelled;
    }
    output
}

fn not_started(error: &ChildError) -> ToolOutput {
    let mut text = format!("did not run: {error}");
    if let Some(cause) = std::error::Error::source(error) {
        text = format!("{text}: {cause}");
    }
    not_run(text)
}

fn not_run(text: String) -> ToolOutput {
    let command = CommandEnd {
        exit_code: None,
        status: CommandStatus::Failed,
        output: String::new(),
        output_chars: 0,
        truncated: false,
        duration: Duration::ZERO,
        output_path: None,
        background: None,
    };
    ToolOutput {
        text,
        command: Some(command),
        ..ToolOutput::default()
    }
}

#[cfg(test)]
mod tests {
    use bobbin_sandbox::Profile;

    use super::*;

    #[test]
    fn a_command_that_failed_for_want_of_a_network_says_so() {
        let plan = |network| Plan {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network,
            },
            ..Plan::default()
        };
        let output = |text: &str, success| ToolOutput {
            text: text.to_owned(),
            success,
            ..ToolOutput::default()
        };
        let off = plan(Network::Off);
        for text in [
            "exit code 6\ncurl: (6) Could not resolve host: example.org\n",
            "exit code 1\nnpm error code EAI_AGAIN\n",
            "exit code 1\ngo: lookup proxy.golang.org: no such host\n",
        ] {
            let mut output = output(text, false);
            assert!(is_without_network(&output, &off, false), "{text}");
            add_network_hint(&mut output, SandboxLimit::Profile);
            assert!(output.text.ends_with("outsideSandbox asks a person for more.]"));
            assert!(output.text.contains("The sandbox has no network"));
        }
        // `curl -s` prints nothing.
        assert!(is_without_network(&output("exit code 6\n", false), &off, true));
        assert!(!is_without_network(&output("exit code 6\n", false), &off, false));
        assert!(!is_without_network(&output("ENOTFOUND", true), &off, true));
        let on = plan(Network::On);
        assert!(!is_without_network(&output("ENOTFOUND", false), &on, true));
        let mut planned = output("exit code 1\nENOTFOUND", false);
        add_network_hint(&mut planned, SandboxLimit::PlanMode);
        assert!(!planned.text.contains("outsideSandbox"));
    }
}
