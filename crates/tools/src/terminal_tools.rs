//! `ListTerminals`, `ReadTerminal`, `WriteTerminal`, `StopTerminal`: commands that were left in the background.
//!
//! A call reaches only terminals of its own Thread. A program may interpret input in any way, so every input needs an
//! approval, and input that reads like a refused command is refused (docs/design/terminals.md).

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::terminal::{TerminalError, Terminals as _, Wait};
use bobbin_agent_api::tool::{
    CallContext, CallOrigin, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec,
};
use bobbin_model::{ApprovalKind, ApprovalPolicy, Json, SandboxProfile, Scope, Terminal, TerminalStatus};
use bobbin_sandbox::Profile;
use bobbin_terminals::Terminals;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::arguments::{decode, done, failed, spec};
use super::sandbox::profile_of;

/// Default time for a command to react to its input.
const USUAL_YIELD: Duration = Duration::from_secs(1);
/// Longest command line in a list of terminals, characters.
const LISTED_COMMAND_CHARS: usize = 200;

/// Names of the tools, in their order.
pub(super) const NAMES: [&str; 4] = ["ListTerminals", "ReadTerminal", "WriteTerminal", "StopTerminal"];

/// Returns the tools. `profile` is the profile of commands.
pub(super) fn all(terminals: &Terminals, profile: Profile) -> [Arc<dyn Tool>; 4] {
    let id = json!({ "type": "string", "description": "As Exec or ListTerminals said." });
    let chars = json!({ "type": "integer", "minimum": 1, "description": "10,000 when left out." });
    let millis =
        |text: &str| json!({ "type": "integer", "minimum": 0, "maximum": 30_000, "description": text });
    let tool = |name, effect, description: &str, required: &[&str], properties: &Value, action| {
        Arc::new(TerminalTool {
            spec: spec(name, effect, description, required, properties),
            terminals: terminals.clone(),
            profile,
            action,
        }) as Arc<dyn Tool>
    };
    [
        tool(
            NAMES[0],
            Effect::Reads,
            "Lists the commands of this conversation that run, or ran, in the background.",
            &[],
            &json!({}),
            Action::List,
        ),
        tool(
            NAMES[1],
            Effect::Reads,
            "Returns how a command in the background is and the end of its output.",
            &["sessionId"],
            &json!({
                "sessionId": id.clone(),
                "waitMs": millis("Wait so long for its end."),
                "maxOutputChars": chars.clone(),
            }),
            Action::Read,
        ),
        tool(
            NAMES[2],
            Effect::Writes,
            "Writes to the standard input of a command in the background and returns the end of its output. A line \
             needs its line break.",
            &["sessionId", "input"],
            &json!({
                "sessionId": id.clone(),
                "input": { "type": "string" },
                "yieldTimeMs": millis("Time for it to answer; 1,000 when left out."),
                "maxOutputChars": chars,
            }),
            Action::Write,
        ),
        tool(
            NAMES[3],
            Effect::Writes,
            "Ends a command in the background with everything that it started.",
            &["sessionId"],
            &json!({ "sessionId": id }),
            Action::Stop,
        ),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    Read,
    Write,
    Stop,
}

struct TerminalTool {
    spec: ToolSpec,
    terminals: Terminals,
    profile: Profile,
    action: Action,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    wait_ms: Option<u64>,
    #[serde(default)]
    yield_time_ms: Option<u64>,
    #[serde(default)]
    max_output_chars: Option<usize>,
}

impl Tool for TerminalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn in_sandbox(&self, profile: SandboxProfile) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self {
            spec: self.spec.clone(),
            terminals: self.terminals.clone(),
            profile: profile_of(profile, self.profile.network),
            action: self.action,
        }))
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        if self.action != Action::List && arguments.session_id.is_empty() {
            return Err(ToolRefusal::Unusable("sessionId is missing".to_owned()));
        }
        let permission = match (self.action, &arguments.input) {
            (Action::Write, Some(input)) => self.may_type(&arguments.session_id, input, environment)?,
            (Action::Write, None) => return Err(ToolRefusal::Unusable("input is missing".to_owned())),
            (Action::List | Action::Read | Action::Stop, _) => Permission::Free,
        };
        Ok(Box::new(Prepared {
            terminals: self.terminals.clone(),
            action: self.action,
            arguments,
            permission,
        }))
    }
}

impl TerminalTool {
    /// Returns the permission to send an input.
    ///
    /// # Errors
    /// There is no such terminal, or no user may give the permission.
    fn may_type(
        &self,
        id: &str,
        input: &str,
        environment: &ToolEnvironment,
    ) -> Result<Permission, ToolRefusal> {
        let facts = self.terminals.facts(id);
        let facts = facts.ok_or_else(|| ToolRefusal::Unusable(format!("there is no terminal {id}")))?;
        // The program that reads the input may be a shell. Each line is judged alone, and then all of them, since a
        // line may change the shell's directory for later ones.
        let lines = std::iter::once(input).chain(input.lines());
        let mut is_open = false;
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let ruled = environment.policy.command(line, &environment.root);
            is_open |= ruled.rule_asks || ruled.unseen.is_some();
            if let Some(why) = ruled.refusal(environment.approvals) {
                return Err(ToolRefusal::Denied(format!("{why}; it was not written")));
            }
        }
        let outside = !facts.sandboxed && self.profile.restricts_something();
        if outside && environment.approvals == ApprovalPolicy::AutoApprove {
            return Err(ToolRefusal::Denied(
                "writing to a command outside of the sandbox needs a person's approval, and this thread asks nobody"
                    .to_owned(),
            ));
        }
        let (kind, place) = if outside {
            (
                ApprovalKind::RemoteResource,
                ", which runs outside of the sandbox",
            )
        } else {
            (ApprovalKind::Shell, "")
        };
        let reason = format!(
            "The agent wants to write to the running command `{}`{place}.",
            facts.command
        );
        // No answer given for a command line covers it.
        let operation = format!("write to `{}`: {input}", facts.command);
        let scope = Scope::new(kind, operation, facts.working_directory.clone());
        let scope = if outside || is_open { scope.once() } else { scope };
        let scope = Scope {
            sandboxed: facts.sandboxed && !is_open,
            of_owner: !facts.sandboxed,
            ..scope
        };
        Ok(Permission::Ask { scope, reason })
    }
}

struct Prepared {
    terminals: Terminals,
    action: Action,
    arguments: Arguments,
    permission: Permission,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => failed("cancelled"),
                output = self.act(&context.origin) => output,
            }
        }
        .boxed()
    }
}

impl Prepared {
    async fn act(&self, origin: &CallOrigin) -> ToolOutput {
        let Arguments {
            session_id,
            input,
            wait_ms,
            yield_time_ms,
            max_output_chars,
        } = &self.arguments;
        if self.action == Action::List {
            return listed(&self.terminals.list(Some(&origin.thread)).await);
        }
        let own = self
            .terminals
            .facts(session_id)
            .is_some_and(|facts| facts.thread == origin.thread);
        if !own {
            return failed(TerminalError::NotFound(session_id.clone()).to_string());
        }
        let shown = match self.action {
            Action::List | Action::Read => {
                let wait = Wait::End(Duration::from_millis(wait_ms.unwrap_or(0)));
                self.terminals.read(session_id, wait, *max_output_chars).await
            }
            Action::Write => {
                let wait = yield_time_ms.map_or(USUAL_YIELD, Duration::from_millis);
                let input = input.clone().unwrap_or_default();
                self.terminals
                    .write(session_id, input, wait, *max_output_chars, None)
                    .await
            }
            Action::Stop => {
                let (reply, stopped) = oneshot::channel();
                self.terminals
                    .stop(session_id, Box::new(|terminal| drop(reply.send(terminal))));
                let gone = || TerminalError::NotFound(session_id.clone());
                stopped.await.unwrap_or_else(|_| Err(gone()))
            }
        };
        match shown {
            Ok(terminal) => done(result_of(&terminal)),
            Err(error) => failed(error.to_string()),
        }
    }
}

fn listed(terminals: &[Terminal]) -> ToolOutput {
    if terminals.is_empty() {
        return done("no command runs, or ran, in the background");
    }
    let line = |terminal: &Terminal| {
        let command: String = terminal
            .facts
            .command
            .chars()
            .take(LISTED_COMMAND_CHARS)
            .collect();
        format!("{}: {}", headline(terminal), command.replace('\n', " "))
    };
    let lines: Vec<String> = terminals.iter().map(line).collect();
    done(lines.join("\n"))
}

/// Returns the state of a terminal and the end of its output.
fn result_of(terminal: &Terminal) -> String {
    let cut = if terminal.truncated {
        let characters = terminal.output.chars().count() as u64;
        format!(
            "[{} characters before this are in {}]\n",
            terminal.output_chars.saturating_sub(characters),
            terminal.facts.output_path
        )
    } else {
        String::new()
    };
    format!("{}\n{cut}{}", headline(terminal), terminal.output)
}

fn headline(terminal: &Terminal) -> String {
    let seconds = terminal.wall_time_ms / 1000;
    let how = match (terminal.status, terminal.exit_code) {
        (TerminalStatus::Running, _) => format!("has been running for {seconds} s"),
        (TerminalStatus::Completed | TerminalStatus::Failed, Some(code)) => {
            format!("ended with exit code {code} after {seconds} s")
        }
        (TerminalStatus::Completed | TerminalStatus::Failed, None) => format!("failed after {seconds} s"),
        (TerminalStatus::Killed, _) => format!("was stopped after {seconds} s"),
        (TerminalStatus::TimedOut, _) => format!("was ended by a time limit after {seconds} s"),
        (TerminalStatus::Lost, _) => {
            "was lost: the server stopped while it ran, and the command with it".to_owned()
        }
    };
    format!("{} {how}", terminal.facts.id)
}

#[cfg(test)]
#[path = "terminal_tools_tests.rs"]
mod tests;
