//! `Exec`: one command line, run by bash, or by the system's shell without it, in the workspace.
//!
//! A command needs an approval unless the rules allow it. It runs in the [sandbox](super::sandbox), or outside of it with a
//! user's approval of exactly this command. The text for the model is the end of the command, a line break, and its
//! output. Snapshots before and after show the files that a command changes, unless the rules have proved that the command
//! only reads.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::policy::{CommandRuling, Judgement};
use bobbin_agent_api::tool::{
    Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolRefusal, ToolSpec,
};
use bobbin_children::{Environment, Input, ProcessSpec, Shell};
use bobbin_model::{
    ApprovalKind, ApprovalPolicy, BackgroundReason, Coverage, Json, Mode, SandboxProfile, Scope,
};
use bobbin_sandbox::{Files, GitSettings, Network, Outer, Plan};
use bobbin_terminals::Terminals;
use serde::Deserialize;

use super::arguments::{decode, spec};
use super::editor::EditorOf;
use super::paths::upper_first;
use super::sandbox::{CommandSandbox, Sandbox, WhenMissing};
use super::shell_run::{CAPTURED_BYTES, Patience, Prepared, Programs, SandboxLimit};
use bobbin_policy::repository;

/// Name of the tool.
pub(super) const EXEC: &str = "Exec";
/// Longest command line, bytes: half of what Linux accepts as one argument.
const MAX_COMMAND_BYTES: usize = 64 << 10;
/// Time of a command when the model names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// Longest time that the model may request.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// Time in which a command for the background may fail at once.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The tool's description of the background, where available.
const BACKGROUND: &str = " Set runInBackground for servers, watchers and whatever should go on while you do other things; \
                          ReadTerminal, WriteTerminal and StopTerminal are for those.";

/// The condition of an answer about a command that should be confined and is not.
const UNCONFINED: &str = "without a sandbox";
/// The condition of an answer about a command that has no network, whatever other commands have.
const NO_NETWORK: &str = "without network";
/// The condition of an answer about a command that leaves a sandbox.
const OUTSIDE: &str = "outside of the sandbox";
/// The note on a lasting answer about such a command.
const LASTING: &str = " A lasting answer covers this exact command only. Scripts and hooks that it calls run outside of the \
                       sandbox too, even if the agent edits them later.";

/// The note in the approval request of a command that may write git's settings.
const GIT_SETTINGS: &str = " It may change the settings of git repositories in the workspace, which name programs that your own git runs.";

/// The note in the approval request of a command that removes files which an undo cannot restore.
const LOSES: &str = " Undo cannot bring back what it removes.";

/// A command line that the server runs for an agent, judged and confined as a command of `Exec`.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    /// The line.
    pub command: String,
    /// Further variables.
    pub variables: Vec<(String, OsString)>,
    /// Its standard input.
    pub input: Option<Vec<u8>>,
    /// Whether it is to run outside of the sandbox, which needs a user's approval of exactly this line.
    pub outside_sandbox: bool,
    /// The time after which it is killed.
    pub time_limit: Duration,
    /// Bytes of output for its caller.
    pub captured_bytes: usize,
}

/// Prepares command lines that no model has written. Cheap to clone.
#[derive(Clone)]
pub struct Commands(Arc<ShellTool>);

impl Commands {
    /// Returns a value that runs commands in `terminals` with the variables of `environment`, confined by `sandbox`.
    pub fn new(terminals: Terminals, environment: Environment, shell: Shell, sandbox: Sandbox) -> Self {
        Self(Arc::new(ShellTool::new(terminals, environment, shell, sandbox)))
    }

    /// Returns the same with the sandbox `profile`, for a Turn that does not use the configured one.
    #[must_use]
    pub fn in_sandbox(self, profile: Option<SandboxProfile>) -> Self {
        match profile {
            Some(profile) => Self(Arc::new(self.0.with_profile(profile))),
            None => self,
        }
    }

    /// Returns the same without the network of commands.
    #[must_use]
    pub fn without_network(self) -> Self {
        Self(Arc::new(self.0.without_network()))
    }

    /// Prepares a command, as [`Tool::prepare`] does.
    ///
    /// # Errors
    /// The line is not usable, or may not run.
    pub fn prepare(
        &self,
        request: CommandRequest,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        self.0.prepare_command(request, None, environment)
    }

    /// Returns the path of the directory for temporary files in the view of a command in `root`, and its path on disk.
    /// `None` if the command may write no such directory.
    pub fn temporary(&self, root: &Path, outside_sandbox: bool) -> Option<(PathBuf, PathBuf)> {
        let sandbox = &self.0.sandbox;
        let here = sandbox.temporary.clone()?;
        match sandbox.of_command(root) {
            CommandSandbox::Confined(_) if outside_sandbox => Some((here.clone(), here)),
            CommandSandbox::Confined(plan) if plan.profile.files == Files::ReadOnly => None,
            CommandSandbox::Confined(plan) if plan.is_apart() => Some((PathBuf::from("/tmp"), here)),
            _ => Some((here.clone(), here)),
        }
    }

    /// Returns the search path of commands.
    pub fn search_path(&self) -> Option<&OsStr> {
        self.0.environment.get("PATH")
    }
}

pub(super) struct ShellTool {
    spec: ToolSpec,
    terminals: Terminals,
    environment: Environment,
    shell: Shell,
    sandbox: Sandbox,
    /// The file rights of a profile that one Turn has set.
    of_turn: Option<Files>,
    /// Whether its commands have no network, whatever other commands have.
    without_network: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    command: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
    #[serde(default)]
    run_in_background: bool,
}

impl ShellTool {
    /// Returns the tool; commands get the variables of `environment`, and some that stop programs from waiting for
    /// input.
    pub(super) fn new(
        terminals: Terminals,
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
        if sandbox.profile.restricts_something() {
            properties["outsideSandbox"] = serde_json::json!({
                "type": "boolean",
                "description": "The command needs more than the sandbox lets it do. A person is asked.",
            });
        }
        let mut description = format!(
            "Runs a command line in the workspace with {} and returns its output. There is no terminal and no standard \
             input.{}",
            shell.name(),
            sandbox.description()
        );
        if terminals.can_run_in_background() {
            properties["timeoutMs"]["description"] = serde_json::json!(
                "The command is killed after that. When left out, one that takes longer than 120,000 goes on in the background."
            );
            properties["runInBackground"] = serde_json::json!({
                "type": "boolean",
                "description": "Goes on in the background after a second, with a standard input that can be written to.",
            });
            description.push_str(BACKGROUND);
        }
        let spec = spec(EXEC, Effect::Commands, &description, &["command"], &properties);
        Self {
            spec,
            terminals,
            environment,
            shell,
            sandbox,
            of_turn: None,
            without_network: false,
        }
    }

    /// Returns the tool of a Turn that has a profile of its own.
    fn with_profile(&self, profile: SandboxProfile) -> Self {
        let sandbox = self.sandbox.with_profile(profile);
        Self {
            of_turn: Some(sandbox.profile.files),
            ..self.with_sandbox(sandbox)
        }
    }

    /// Returns the tool whose commands have no network.
    fn without_network(&self) -> Self {
        let mut sandbox = self.sandbox.clone();
        sandbox.profile.network = Network::Off;
        Self {
            of_turn: self.of_turn,
            without_network: true,
            ..self.with_sandbox(sandbox)
        }
    }

    fn with_sandbox(&self, sandbox: Sandbox) -> Self {
        Self::new(
            self.terminals.clone(),
            self.environment.clone(),
            self.shell.clone(),
            sandbox,
        )
    }
}

impl Tool for ShellTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn in_sandbox(&self, profile: SandboxProfile) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(self.with_profile(profile)))
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let patience = self.patience(&arguments);
        let request = CommandRequest {
            command: arguments.command.trim().to_owned(),
            variables: Vec::new(),
            // The input of a terminal comes from `WriteTerminal`.
            input: patience.is_short().then(Vec::new),
            outside_sandbox: arguments.outside_sandbox,
            time_limit: Duration::MAX,
            captured_bytes: CAPTURED_BYTES,
        };
        self.prepare_command(request, Some(patience), environment)
    }
}

impl ShellTool {
    /// Prepares a command. `patience` is `None` for a command that is not a model's: such a command is killed at its time
    /// limit, and never runs in the editor.
    fn prepare_command(
        &self,
        request: CommandRequest,
        patience: Option<Patience>,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let command = request.command.as_str();
        if command.is_empty() || command.len() > MAX_COMMAND_BYTES || command.contains('\0') {
            return Err(ToolRefusal::Unusable(format!(
                "a command has 1 to {MAX_COMMAND_BYTES} bytes and no zero byte"
            )));
        }
        let mut ruled = environment.policy.command(command, &environment.root);
        if let Some(why) = ruled.refusal(environment.approvals) {
            return Err(ToolRefusal::Denied(format!("{why}; it was not run")));
        }
        // Hooks and runners of the user's run as ever.
        let is_plan = environment.mode == Mode::Plan && patience.is_some();
        let (hold, sandbox) = if is_plan {
            self.planned(&request, &ruled, environment)?
        } else {
            self.sandbox.settle_now();
            (self.sandbox.of_command(&environment.root), self.sandbox.clone())
        };
        let hold = match hold {
            CommandSandbox::Confined(_) if request.outside_sandbox => None,
            CommandSandbox::Confined(mut plan) => {
                if may_change_git_settings(&ruled, environment.approvals) {
                    plan.git_settings = GitSettings::Writable;
                }
                hide_reserved(&mut ruled, &mut plan, environment);
                Some(CommandSandbox::Confined(plan))
            }
            hold => Some(hold),
        };
        let terminal = EditorOf::find(&environment.clients, |can| can.terminals);
        // The server runs a background command itself, because it stores the output for later reads. It also runs an
        // allowed line itself, because only here the names start the judged programs.
        let may_leave = patience.is_some_and(|patience| !patience.is_short())
            && !is_plan
            && ruled.ruling.judgement != Judgement::Allow
            && self.may_leave(hold.as_ref(), environment);
        let terminal = terminal.filter(|_| may_leave);
        let permission = match (&terminal, &hold) {
            (Some(_), Some(CommandSandbox::Confined(_))) => leaving(command, &ruled),
            (_, hold) => permission(command, &ruled, hold.as_ref(), &sandbox, environment)?,
        };
        let permission = self.bound(permission, hold.as_ref());
        let mut spec = ProcessSpec::shell(&self.shell, command, &environment.root, self.environment.clone());
        for (name, value) in &request.variables {
            spec.env.set(name, value);
        }
        // This search path has no places that the agent may write. A line that runs without approval gets it, so that
        // its names start the judged programs. Outside of the sandbox, the programs must stay the same after the answer,
        // whatever else the agent runs meanwhile.
        let is_fixed = permission == Permission::Free || (hold.is_none() && ruled.programs.is_empty());
        if let Some(search) = environment
            .policy
            .search_path(&environment.root)
            .filter(|_| is_fixed)
        {
            spec.env.set("PATH", search);
        }
        spec.limits = self.sandbox.limits;
        if permission == Permission::Free && reads_by_git(&ruled) {
            for (name, value) in repository::read_variables(&environment.root) {
                spec.env.set(name, value);
            }
        }
        let spec = match request.input {
            Some(input) => spec.input(Input::Bytes(input)),
            None => spec,
        };
        let confinement = match hold {
            Some(CommandSandbox::Confined(plan)) => Some((plan, sandbox)),
            _ => None,
        };
        let limit = match (is_plan, ruled.shows_reserved) {
            (true, _) => SandboxLimit::PlanMode,
            (false, true) if ruled.only_reads() => SandboxLimit::Secrets,
            (false, _) => SandboxLimit::Profile,
        };
        Ok(Box::new(Prepared {
            command: command.to_owned(),
            only_reads: is_plan || ruled.only_reads(),
            limit,
            root: environment.root.clone(),
            permission,
            patience: patience.unwrap_or(Patience {
                limit: Some(request.time_limit),
                leave: None,
            }),
            captured: request.captured_bytes,
            confinement,
            spec,
            terminals: self.terminals.clone(),
            editor: terminal,
            policy: environment.policy.clone(),
            judged: Programs {
                names: ruled.names,
                writable: ruled.programs,
            },
        }))
    }

    /// Binds a question to the sandbox of this tool: an answer given here covers nothing in another one.
    fn bound(&self, permission: Permission, hold: Option<&CommandSandbox>) -> Permission {
        let Permission::Ask { mut scope, reason } = permission else {
            return permission;
        };
        let of_turn = self.of_turn;
        let of_turn = of_turn.map(|files| format!("in the sandbox {} of one run", files.name()));
        let is_confined = matches!(hold, Some(CommandSandbox::Confined(_)));
        let no_network = (self.without_network && is_confined).then(|| NO_NETWORK.to_owned());
        scope.conditions.extend(of_turn.into_iter().chain(no_network));
        Permission::Ask { scope, reason }
    }

    /// Returns the confinement of a command of plan mode, and its sandbox.
    ///
    /// # Errors
    /// The command may change something; the text is for the model.
    fn planned(
        &self,
        request: &CommandRequest,
        ruled: &CommandRuling,
        environment: &ToolEnvironment,
    ) -> Result<(CommandSandbox, Sandbox), ToolRefusal> {
        if request.outside_sandbox {
            return Err(ToolRefusal::denied(
                "running a command outside of the sandbox is not available in plan mode",
            ));
        }
        let (hold, sandbox) = self.sandbox.of_reading(&environment.root);
        match &hold {
            CommandSandbox::Missing(why) | CommandSandbox::Refused(why) if !ruled.only_reads() => {
                Err(ToolRefusal::denied(format!(
                    "a command that may write is not available in plan mode: nothing here can prevent it from writing \
                     ({why}). Commands that only read are"
                )))
            }
            _ => Ok((hold, sandbox)),
        }
    }

    /// Returns how long a Turn waits for a command, and whether the command is then killed or left in the background.
    fn patience(&self, arguments: &Arguments) -> Patience {
        let shortest = Duration::from_millis(1);
        let limit = arguments.timeout_ms.map(Duration::from_millis);
        let limit = limit.map(|limit| limit.clamp(shortest, MAX_TIMEOUT));
        let (leave, limit) = match limit {
            _ if !self.terminals.can_run_in_background() => (None, limit.or(Some(DEFAULT_TIMEOUT))),
            _ if arguments.run_in_background => (Some((AT_ONCE, BackgroundReason::Requested)), limit),
            None => (Some((DEFAULT_TIMEOUT, BackgroundReason::TimeLimit)), None),
            Some(_) => (None, limit),
        };
        Patience { limit, leave }
    }

    /// Returns whether a command may run in a terminal of the editor, without a sandbox. That needs an approval, whatever
    /// rules allow. If no user is asked or a sandbox is required, the server runs the command.
    fn may_leave(&self, hold: Option<&CommandSandbox>, environment: &ToolEnvironment) -> bool {
        match hold {
            None | Some(CommandSandbox::NotNeeded) => true,
            Some(CommandSandbox::Confined(_)) => {
                self.sandbox.when_missing() == WhenMissing::Ask
                    && !matches!(
                        environment.approvals,
                        ApprovalPolicy::AutoApprove | ApprovalPolicy::Sandboxed
                    )
            }
            Some(CommandSandbox::Missing(_)) => self.sandbox.when_missing() == WhenMissing::Ask,
            Some(CommandSandbox::Refused(_)) => false,
        }
    }
}

/// Returns the permission for a command that no rule refuses. `hold` is its confinement, `None` when it is to run
/// outside of an available sandbox.
///
/// # Errors
/// No user may give the permission; the text is for the model.
fn permission(
    command: &str,
    ruled: &CommandRuling,
    hold: Option<&CommandSandbox>,
    sandbox: &Sandbox,
    environment: &ToolEnvironment,
) -> Result<Permission, ToolRefusal> {
    let asks_nobody = environment.approvals == ApprovalPolicy::AutoApprove;
    let ruling = &ruled.ruling;
    let scope = || ruled.scope(command, &environment.root);
    let ask = |scope: Scope, how: &str| {
        let why = &ruling.reason;
        let (written, reach) = (written(ruled), reach(&scope));
        let why = upper_first(why);
        // The specific reason comes first: some clients show only one line.
        let reason = format!("{why}.{written}{how}{reach}");
        Permission::Ask { scope, reason }
    };
    match hold {
        // Rules, and answers about sandboxed commands, do not cover it.
        None if asks_nobody => Err(ToolRefusal::Denied(
            "a command outside of the sandbox needs a person's approval, and this thread asks nobody"
                .to_owned(),
        )),
        None => Ok(outside(command, ruled, &environment.root)),
        Some(CommandSandbox::Refused(why)) => Err(not_confined(why)),
        Some(CommandSandbox::Missing(missing)) => match sandbox.when_missing() {
            WhenMissing::Refuse => Err(not_confined(missing)),
            // A command that only reads in the workspace does what the reading tools do, which are not sandboxed
            // either. Git can start other programs, depending on the repository.
            WhenMissing::Ask if ruled.only_reads() && !starts_git(ruled) => Ok(Permission::Free),
            WhenMissing::Ask if asks_nobody => Err(ToolRefusal::Denied(format!(
                "{missing}, and this thread asks nobody; to run commands without a sandbox, set Sandbox.Profile \
                 to full"
            ))),
            WhenMissing::Ask => {
                let mut scope = scope();
                // An answer given for sandboxed commands covers no others.
                scope.conditions.push(UNCONFINED.to_owned());
                Ok(ask(
                    scope.of_owner(),
                    &format!(" It runs without a sandbox: {missing}."),
                ))
            }
        },
        Some(CommandSandbox::NotNeeded) if ruling.judgement == Judgement::Ask => Ok(ask(scope(), "")),
        Some(CommandSandbox::Confined(plan)) if ruling.judgement == Judgement::Ask => {
            let mut scope = ruled.confined_scope(command, &environment.root);
            scope.sandboxed = ruled.may_run_confined();
            let git = match plan.git_settings {
                GitSettings::Writable => GIT_SETTINGS,
                GitSettings::ReadOnly => "",
            };
            let lost = if ruled.loses { LOSES } else { "" };
            let how = format!("{lost} Sandbox: {} ({}).{git}", plan.profile, plan.holders());
            Ok(ask(scope, &how))
        }
        Some(CommandSandbox::NotNeeded | CommandSandbox::Confined(_)) => Ok(Permission::Free),
    }
}

/// Returns the permission for a command that is to run outside of an available sandbox.
///
/// A lasting answer is possible for a line with one program, if the line names everything that runs. The program may also
/// run files of the workspace; the question warns of that. The answer covers only this line outside of the sandbox.
fn outside(command: &str, ruled: &CommandRuling, root: &Path) -> Permission {
    let asked = "Outside of the sandbox, with your own rights and with network.";
    let may_last =
        ruled.single_program && !ruled.rule_asks && ruled.unseen.is_none() && ruled.programs.is_empty();
    if !may_last {
        let scope = Scope::new(
            ApprovalKind::RemoteResource,
            "run a command outside of the sandbox",
            command,
        );
        return Permission::Ask {
            scope: scope.once().of_owner(),
            reason: format!("{asked}{}", written(ruled)),
        };
    }
    let mut scope = Scope::new(ApprovalKind::Shell, command, root.to_string_lossy());
    scope.conditions.push(OUTSIDE.to_owned());
    Permission::Ask {
        scope: scope.of_owner(),
        reason: format!("{asked}{LASTING}"),
    }
}

/// Returns whether a line may write the settings of git repositories: it changes them visibly, and a rule allows it or a
/// user has to allow it first.
fn may_change_git_settings(ruled: &CommandRuling, approvals: ApprovalPolicy) -> bool {
    let is_allowed = ruled.ruling.judgement == Judgement::Allow || approvals != ApprovalPolicy::AutoApprove;
    ruled.changes_git_settings && is_allowed
}

/// Allows a line that only reads, but could show reserved places, and hides those places from it, if bubblewrap can. A
/// reserved file that appears later is the agent's own.
fn hide_reserved(ruled: &mut CommandRuling, plan: &mut Plan, environment: &ToolEnvironment) {
    if !ruled.shows_reserved || plan.outer != Outer::Bubblewrap || starts_git(ruled) {
        return;
    }
    let Ok(places) = environment.policy.reserved(&environment.root) else {
        return;
    };
    plan.blank.extend(places);
    let rulings = ruled.commands.iter_mut().map(|(_, ruling)| ruling);
    for ruling in rulings.chain([&mut ruled.ruling]) {
        ruling.judgement = Judgement::Allow;
    }
}

fn not_confined(why: &str) -> ToolRefusal {
    ToolRefusal::Denied(format!(
        "commands run only in their sandbox, which cannot be made: {why}"
    ))
}

fn starts_git(ruled: &CommandRuling) -> bool {
    ruled.names.iter().any(|name| name == "git")
}

/// Returns whether a line runs git and was judged to only read, without a rule that allows a part of it.
fn reads_by_git(ruled: &CommandRuling) -> bool {
    let mut commands = ruled.commands.iter();
    starts_git(ruled)
        && commands.all(|(_, ruling)| ruling.judgement == Judgement::Allow && ruling.rule.is_none())
}

/// Returns a text on the other lines that a lasting answer covers.
fn reach(scope: &Scope) -> String {
    match &scope.coverage {
        Coverage::Head(head) => format!(" An answer for this thread covers every `{head} …`."),
        Coverage::Programs(programs) => {
            let each = programs.replace(" && ", " …` and `");
            format!(" A lasting answer covers every `{each} …` in the sandbox.")
        }
        Coverage::Exact | Coverage::Once => String::new(),
    }
}

/// Returns a text on the programs of a line that the agent may write.
fn written(ruled: &CommandRuling) -> String {
    let paths: Vec<String> = ruled
        .programs
        .iter()
        .map(|program| program.path.display().to_string())
        .collect();
    if paths.is_empty() {
        return String::new();
    }
    format!(" It starts {}, which the agent may write.", paths.join(" and "))
}

/// Returns the permission for a command that would be sandboxed here and runs in a terminal of the editor instead.
fn leaving(command: &str, ruled: &CommandRuling) -> Permission {
    // Each such command needs its own approval: rules and earlier answers were given for sandboxed commands.
    Permission::Ask {
        scope: Scope::new(
            ApprovalKind::RemoteResource,
            "run a command in a terminal of the editor",
            command,
        )
        .once()
        .of_owner(),
        reason: format!(
            "In a terminal of the editor, without a sandbox. {}.{}",
            upper_first(&ruled.ruling.reason),
            written(ruled)
        ),
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
