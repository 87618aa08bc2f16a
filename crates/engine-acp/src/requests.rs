//! The requests of an agent during a prompt: permissions, files, commands, forms.
//!
//! Rules, approvals, sandbox and undo apply to files and commands as to calls of our own agent. An answer of a
//! user covers the file, or the command line, that the question showed. Whatever still runs ends with the prompt.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::{
    CreateTerminalParams, CreateTerminalResult, ElicitationAction, ElicitationMode, ElicitationParams,
    ElicitationResult, Empty, PermissionOutcome, ReadTextFileParams, ReadTextFileResult,
    RequestPermissionParams, RequestPermissionResult, TerminalParams, ToolCall, ToolCallContent,
    ToolCallStatus, ToolKind, WriteTextFileParams, code,
};
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::elicitation::{Elicit, ElicitAction, Elicitation};
use bobbin_agent_api::permission::permission_of;
use bobbin_agent_api::policy::Judgement;
use bobbin_agent_api::tool::{
    OutputSink, Permission, PreparedCall, ToolEnvironment, ToolOutput, ToolRefusal, Touches,
};
use bobbin_core::engine::{Ask, TurnContext};
use bobbin_files::read_text_unlinked;
use bobbin_model::{Json, Mode};
use bobbin_peer::{ErrorObject, Responder};
use bobbin_tools::{Access, CommandRequest, Commands, ToolSet, locate};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::TerminalRequest;
use crate::items::{NotShown, Shown, text_content, tool_name};
use crate::permission::{self, Allowed};
use crate::settings::EngineConfig;
use crate::terminal::{Terminal, command_line, run_command};

/// Most requests that wait; a further one is refused.
const MAX_RUNNING: usize = 64;
/// Most terminals of one prompt.
const MAX_TERMINALS: usize = 32;
/// Largest file that an agent reads.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Most bytes of a command's output for the agent, which may ask for fewer.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// How long a command may run. The end of the Turn ends it too.
const MAX_TIME: Duration = Duration::from_hours(24);

/// The tool that writes files.
const WRITE_FILE: &str = "WriteFile";
/// The tool that runs commands, in rules.
const EXEC: &str = "Exec";

/// The tools that requests use.
#[derive(Clone)]
pub(crate) struct AgentTools {
    pub(crate) files: ToolSet,
    pub(crate) commands: Commands,
}

/// The end of a request that changes the record.
enum Done {
    Nothing,
    /// The user has allowed this.
    Allowed(Allowed),
    /// A call that we have made has ended.
    Ended(ToolCall),
}

/// The requests of one prompt.
pub(crate) struct Requests {
    turn: TurnContext,
    config: EngineConfig,
    tools: AgentTools,
    /// Whether the agent reaches its hosts through a proxy and nothing else of the network.
    has_proxy: bool,
    /// Ends all of them.
    stop: CancellationToken,
    running: FuturesUnordered<BoxFuture<'static, Done>>,
    terminals: BTreeMap<String, Arc<Terminal>>,
    /// Number of calls that we have made for the agent.
    made: u32,
}

impl Requests {
    pub(crate) fn new(
        turn: &TurnContext,
        config: &EngineConfig,
        tools: &AgentTools,
        has_proxy: bool,
    ) -> Self {
        Self {
            turn: turn.clone(),
            config: config.clone(),
            tools: tools.clone(),
            has_proxy,
            stop: turn.cancelled().child_token(),
            running: FuturesUnordered::new(),
            terminals: BTreeMap::new(),
            made: 0,
        }
    }

    /// Waits for one request to end; for ever if there is none.
    ///
    /// # Errors
    /// [`NotShown`].
    pub(crate) async fn next(&mut self, shown: &mut Shown) -> Result<(), NotShown> {
        match self.running.next().await {
            Some(done) => note(done, shown).await,
            None => std::future::pending().await,
        }
    }

    /// Ends what still runs.
    pub(crate) async fn end(mut self, shown: &mut Shown) -> Result<(), NotShown> {
        self.stop.cancel();
        let mut noted = Ok(());
        while let Some(done) = self.running.next().await {
            noted = noted.and(note(done, shown).await);
        }
        noted
    }

    fn is_full(&self) -> bool {
        self.running.len() >= MAX_RUNNING
    }

    fn start(&self, work: impl Future<Output = Done> + Send + 'static) {
        self.running.push(work.boxed());
    }

    /// Answers whether a call may run: by rules, then by earlier answers, the policy or a user.
    ///
    /// # Errors
    /// [`NotShown`].
    pub(crate) async fn permission(
        &mut self,
        asked: RequestPermissionParams,
        responder: Responder,
        shown: &mut Shown,
    ) -> Result<(), NotShown> {
        if self.is_full() {
            cancel_permission(responder);
            return Ok(());
        }
        let RequestPermissionParams {
            tool_call, options, ..
        } = asked;
        let call = shown.asked(tool_call).await?;
        let (turn, config, stop) = (self.turn.clone(), self.config.clone(), self.stop.clone());
        let covered = Allowed::of(&call, &self.turn.environment().root);
        self.start(async move {
            let allows = tokio::select! {
                biased;
                () = stop.cancelled() => Err(TurnGone),
                allows = allows(&turn, &config, call) => allows,
            };
            let outcome = allows.map_or(PermissionOutcome::Cancelled, |answer| {
                permission::outcome(&options, answer != Answer::No)
            });
            responder.ok(RequestPermissionResult { outcome });
            match allows {
                Ok(Answer::ByUser) => Done::Allowed(covered),
                // A rule that allows is asked again when the agent uses a file or runs a command.
                Ok(Answer::ByRule | Answer::No) | Err(TurnGone) => Done::Nothing,
            }
        });
        Ok(())
    }

    /// Reads a file for the agent. A file that is not there is empty: some agents read a file before they make it, and
    /// take every error as a failure.
    pub(crate) fn read(&mut self, asked: ReadTextFileParams, responder: Responder, shown: &Shown) {
        if self.is_full() {
            return responder.err(too_many());
        }
        let (environment, allowed) = (self.turn.environment().clone(), shown.allowed().to_vec());
        self.start(async move {
            let read = tokio::task::spawn_blocking(move || read_file(&environment, &asked, &allowed)).await;
            match read {
                Ok(Ok(content)) => responder.ok(ReadTextFileResult { content }),
                Ok(Err(why)) => responder.err(invalid(why)),
                Err(error) => responder.err(failed(error.to_string())),
            }
            Done::Nothing
        });
    }

    /// Writes a file for the agent.
    ///
    /// # Errors
    /// [`NotShown`].
    pub(crate) async fn write(
        &mut self,
        asked: WriteTextFileParams,
        responder: Responder,
        shown: &mut Shown,
    ) -> Result<(), NotShown> {
        if self.is_full() {
            responder.err(too_many());
            return Ok(());
        }
        let prepared = match self.prepare_write(&asked).await {
            Ok(prepared) => prepared,
            Err(why) => {
                responder.err(invalid(why));
                return Ok(());
            }
        };
        let touched = match prepared.touches() {
            Touches::Files(mut files) => files.pop(),
            Touches::Nothing | Touches::Anything => None,
        };
        let file = touched.unwrap_or_else(|| PathBuf::from(&asked.path));
        let mut permission = permission_of(self.turn.environment(), WRITE_FILE, &*prepared);
        if shown.allowed().iter().any(|allowed| allowed.changes(&file)) {
            permission = Permission::Free;
        }
        let own = shown.open_call(|call, root| permission::paths(call, root).contains(&file));
        let is_asked = permission != Permission::Free && own.is_none();
        let call_id = own.unwrap_or_else(|| self.new_id("write"));
        if is_asked {
            let call = ToolCall {
                tool_call_id: call_id.clone(),
                title: Some(format!("Write {}", asked.path)),
                kind: Some(ToolKind::Edit),
                content: Some(vec![ToolCallContent::Diff {
                    path: asked.path.clone(),
                    old_text: None,
                    new_text: asked.content.clone(),
                }]),
                ..ToolCall::default()
            };
            shown.asked(call).await?;
        }
        let (turn, stop) = (self.turn.clone(), self.stop.child_token());
        self.start(async move {
            let output = if is_granted(&turn, &call_id, permission, &stop).await {
                let context = turn.call_context(&call_id, stop, Arc::new(NoOutput));
                prepared.run(context).await
            } else {
                refused("the user refused it")
            };
            let ended = ended(call_id, &output);
            if output.success {
                responder.ok(Empty {});
            } else {
                responder.err(failed(output.text));
            }
            if is_asked {
                Done::Ended(ended)
            } else {
                Done::Nothing
            }
        });
        Ok(())
    }

    async fn prepare_write(&mut self, asked: &WriteTextFileParams) -> Result<Box<dyn PreparedCall>, String> {
        let environment = self.turn.environment().clone();
        if environment.mode == Mode::Plan {
            return Err("This thread is in plan mode, where no file is written.".to_owned());
        }
        let arguments = json!({ "path": asked.path, "content": asked.content });
        let arguments = Json::of(&arguments).map_err(|error| error.to_string())?;
        let tool = self.tools.files.get(WRITE_FILE).cloned();
        let tool = tool.ok_or("no file can be written")?;
        let prepared = tokio::task::spawn_blocking(move || tool.prepare(&arguments, &environment)).await;
        let prepared = prepared.map_err(|error| error.to_string())?;
        prepared.map_err(|refusal| refusal.to_string())
    }

    /// Runs a command for the agent, in the sandbox of commands.
    ///
    /// # Errors
    /// [`NotShown`].
    pub(crate) async fn run(
        &mut self,
        asked: CreateTerminalParams,
        responder: Responder,
        shown: &mut Shown,
    ) -> Result<(), NotShown> {
        if self.is_full() || self.terminals.len() >= MAX_TERMINALS {
            responder.err(too_many());
            return Ok(());
        }
        let line = command_line(&asked);
        let limit = asked
            .output_byte_limit
            .and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
        let prepared = match self.prepare_command(&asked, &line).await {
            Ok(prepared) => prepared,
            Err(why) => {
                responder.err(invalid(why));
                return Ok(());
            }
        };
        let mut permission = permission_of(self.turn.environment(), EXEC, &*prepared);
        // The permission named a line of the workspace's folder.
        let is_here = asked
            .cwd
            .as_deref()
            .is_none_or(|cwd| Path::new(cwd) == self.turn.environment().root);
        if is_here && shown.allowed().iter().any(|allowed| allowed.runs(&line)) {
            permission = Permission::Free;
        }
        let own = shown.open_call(|call, _| call.kind == Some(ToolKind::Execute));
        let is_ours = own.is_none();
        let call_id = own.unwrap_or_else(|| self.new_id("command"));
        if is_ours {
            let call = ToolCall {
                tool_call_id: call_id.clone(),
                title: Some(line.clone()),
                kind: Some(ToolKind::Execute),
                raw_input: Some(json!({ "command": line })),
                ..ToolCall::default()
            };
            shown.asked(call).await?;
        }
        self.made += 1;
        let terminal_id = format!("terminal_{}", self.made);
        let terminal = Arc::new(Terminal::new(self.stop.child_token(), limit));
        self.terminals.insert(terminal_id.clone(), terminal.clone());
        let turn = self.turn.clone();
        self.start(async move {
            let output = if is_granted(&turn, &call_id, permission, &terminal.stop).await {
                responder.ok(CreateTerminalResult { terminal_id });
                run_command(&turn, &call_id, prepared, &terminal).await
            } else {
                responder.err(failed("The user refused this command."));
                Ok(refused("the user refused it"))
            };
            let output = output.unwrap_or_else(|TurnGone| refused("the turn was stopped"));
            terminal.end(output.command.as_ref());
            if is_ours {
                Done::Ended(ended(call_id, &output))
            } else {
                Done::Nothing
            }
        });
        Ok(())
    }

    async fn prepare_command(
        &mut self,
        asked: &CreateTerminalParams,
        line: &str,
    ) -> Result<Box<dyn PreparedCall>, String> {
        let environment = self.turn.environment().clone();
        if environment.mode == Mode::Plan {
            return Err("This thread is in plan mode, where no command of yours is run.".to_owned());
        }
        let elsewhere = asked
            .cwd
            .as_deref()
            .filter(|cwd| Path::new(cwd) != environment.root);
        let command = match elsewhere {
            Some(cwd) => format!("cd {} && {line}", shell_words::quote(cwd)),
            None => line.to_owned(),
        };
        let variables = asked.env.iter();
        let request = CommandRequest {
            command,
            variables: variables
                .map(|pair| (pair.name.clone(), OsString::from(&pair.value)))
                .collect(),
            input: Some(Vec::new()),
            outside_sandbox: false,
            time_limit: MAX_TIME,
            captured_bytes: MAX_OUTPUT_BYTES,
        };
        let profile = self.turn.at_start().features.sandbox;
        let mut commands = self.tools.commands.clone().in_sandbox(profile);
        if self.has_proxy {
            // Its commands would reach other hosts for it.
            commands = commands.without_network();
        }
        let prepared = tokio::task::spawn_blocking(move || commands.prepare(request, &environment)).await;
        let prepared = prepared.map_err(|error| error.to_string())?;
        prepared.map_err(|refusal| refusal.to_string())
    }

    /// Answers a request about a terminal.
    pub(crate) fn terminal(
        &mut self,
        request: TerminalRequest,
        asked: &TerminalParams,
        responder: Responder,
    ) {
        let Some(terminal) = self.terminals.get(&asked.terminal_id).cloned() else {
            return responder.err(ErrorObject::new(
                code::NOT_FOUND,
                format!("There is no terminal {}.", asked.terminal_id),
            ));
        };
        match request {
            TerminalRequest::Output => responder.ok(terminal.output()),
            TerminalRequest::WaitForExit if self.is_full() => responder.err(too_many()),
            TerminalRequest::WaitForExit => self.start(async move {
                responder.ok(terminal.ended().await);
                Done::Nothing
            }),
            TerminalRequest::Kill => {
                terminal.stop.cancel();
                responder.ok(Empty {});
            }
            TerminalRequest::Release => {
                terminal.stop.cancel();
                self.terminals.remove(&asked.terminal_id);
                responder.ok(Empty {});
            }
        }
    }

    /// Puts a form of the agent to a user.
    pub(crate) fn form(&mut self, asked: ElicitationParams, responder: Responder) {
        let ElicitationMode::Form { requested_schema } = asked.mode else {
            return responder.err(invalid("Only forms can be asked here."));
        };
        if self.is_full() {
            return responder.err(too_many());
        }
        let schema = match serde_json::to_value(requested_schema) {
            Ok(schema) => schema,
            Err(error) => return responder.err(invalid(error.to_string())),
        };
        let asked_of_user = Elicitation {
            server: self.config.name.clone(),
            thread: self.turn.thread().clone(),
            turn: Some(self.turn.turn()),
            message: asked.message,
            ask: Elicit::Form { schema },
            meta: None,
        };
        let call = asked.scope.tool_call_id.unwrap_or_default();
        let stop = self.stop.child_token();
        let context = self.turn.call_context(&call, stop.clone(), Arc::new(NoOutput));
        self.start(async move {
            let answer = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                answer = context.questions.elicit(asked_of_user) => answer
                    .inspect_err(|error| tracing::info!(%error, "a form of an agent has no answer"))
                    .ok(),
            };
            let action = answer
                .as_ref()
                .map_or(ElicitAction::Cancel, |answer| answer.action);
            let content = answer.and_then(|answer| answer.content);
            responder.ok(ElicitationResult {
                action: match action {
                    ElicitAction::Accept => ElicitationAction::Accept,
                    ElicitAction::Decline => ElicitationAction::Decline,
                    ElicitAction::Cancel => ElicitationAction::Cancel,
                },
                content: content.and_then(|content| content.as_object().cloned()),
            });
            Done::Nothing
        });
    }

    /// Returns the id of a call that the agent has not announced.
    fn new_id(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}_{}_{}", self.turn.turn(), self.made)
    }
}

async fn note(done: Done, shown: &mut Shown) -> Result<(), NotShown> {
    match done {
        Done::Nothing => Ok(()),
        Done::Allowed(allowed) => {
            shown.allow(allowed);
            Ok(())
        }
        Done::Ended(call) => shown.call(call).await,
    }
}

/// Answers a permission as cancelled.
pub(crate) fn cancel_permission(responder: Responder) {
    let outcome = PermissionOutcome::Cancelled;
    responder.ok(RequestPermissionResult { outcome });
}

fn invalid(why: impl Into<std::borrow::Cow<'static, str>>) -> ErrorObject {
    ErrorObject::new(bobbin_peer::code::INVALID_PARAMS, why)
}

fn failed(why: impl Into<std::borrow::Cow<'static, str>>) -> ErrorObject {
    ErrorObject::new(bobbin_peer::code::INTERNAL_ERROR, why)
}

fn too_many() -> ErrorObject {
    failed("Too many requests are open; wait for the answers of some.")
}

/// The answer to an agent's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    No,
    ByRule,
    ByUser,
}

/// Decides whether a call may run.
async fn allows(turn: &TurnContext, config: &EngineConfig, call: ToolCall) -> Result<Answer, TurnGone> {
    let environment = turn.environment();
    let (policy, root) = (environment.policy.clone(), environment.root.clone());
    let (scope, reason) = permission::question(config, &call, &root);
    let call_id = call.tool_call_id.clone();
    let judged = move || permission::judge(&*policy, &call, &tool_name(&call), &root);
    match tokio::task::spawn_blocking(judged).await {
        Ok(Judgement::Allow) => Ok(Answer::ByRule),
        Ok(Judgement::Deny) => Ok(Answer::No),
        Ok(Judgement::Ask) | Err(_) => {
            let ask = Ask {
                call_id,
                scope,
                reason,
            };
            let is_yes = turn.ask(ask).await?.approves();
            Ok(if is_yes { Answer::ByUser } else { Answer::No })
        }
    }
}

/// Whether a call of ours has its permission; asks a user where it needs one.
async fn is_granted(
    turn: &TurnContext,
    call_id: &str,
    permission: Permission,
    stop: &CancellationToken,
) -> bool {
    let Permission::Ask { scope, reason } = permission else {
        return !stop.is_cancelled();
    };
    let ask = Ask {
        call_id: call_id.to_owned(),
        scope,
        reason,
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        decision = turn.ask(ask) => decision.is_ok_and(bobbin_model::Decision::approves),
    }
}

/// Reads a file, or a part of it. Blocks on the disk.
fn read_file(
    environment: &ToolEnvironment,
    asked: &ReadTextFileParams,
    allowed: &[Allowed],
) -> Result<String, String> {
    let located = locate(environment, &asked.path, Access::Read);
    let (target, permission) = located.map_err(|refusal: ToolRefusal| refusal.to_string())?;
    if let Permission::Ask { reason, .. } = permission
        && !allowed.iter().any(|allowed| allowed.reads(target.path()))
    {
        return Err(format!(
            "{reason} Nobody has allowed it; ask for the permission first."
        ));
    }
    let path = target.confirm()?;
    // The path has no link. One that appears now would lead where the agent itself may not read.
    let text = match read_text_unlinked(path, MAX_FILE_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && has_folder(path, &environment.root) => {
            String::new()
        }
        Err(error) => return Err(format!("{} cannot be read: {error}.", target.shown())),
    };
    if asked.line.is_none() && asked.limit.is_none() {
        return Ok(text);
    }
    let skipped = asked.line.unwrap_or(1).saturating_sub(1) as usize;
    let limit = asked.limit.map_or(usize::MAX, |limit| limit as usize);
    Ok(text.split_inclusive('\n').skip(skipped).take(limit).collect())
}

fn has_folder(path: &Path, root: &Path) -> bool {
    path.starts_with(root) && path.parent().is_some_and(Path::is_dir)
}

fn refused(why: &str) -> ToolOutput {
    ToolOutput {
        text: why.to_owned(),
        refused: true,
        ..ToolOutput::default()
    }
}

/// Returns the end of a call that we have made for the agent.
fn ended(call_id: String, output: &ToolOutput) -> ToolCall {
    ToolCall {
        tool_call_id: call_id,
        status: Some(if output.success {
            ToolCallStatus::Completed
        } else {
            ToolCallStatus::Failed
        }),
        content: Some(vec![text_content(&output.text)]),
        ..ToolCall::default()
    }
}

/// A call without output.
struct NoOutput;

impl OutputSink for NoOutput {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}
