//! The tool contract, for built-in tools and tools of other programs.
//!
//! A call has two steps, so that nothing happens before its intent is on disk. [`Tool::prepare`] checks the arguments and
//! returns the needed permission, without any effect. [`PreparedCall::run`] has the effect. The engine does all work between
//! them, such as asking and recording, in the same way for every tool.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::item::CommandExecution;
use bobbin_model::{
    ApprovalPolicy, CallPreview, CommandStatus, DynamicTool, Inquiry, Json, Mode, Plan, PlanChange,
    QuestionAnswer, SandboxProfile, Scope, SeenFile, Sender, ThreadConfig, ThreadId, ToolAnswer, TurnId,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use tokio_util::sync::CancellationToken;

use crate::client::ThreadClients;
use crate::elicitation::{Elicitation, Elicited, NotElicited};
use crate::policy::Policy;
use crate::sub_agent::{NoSubAgents, SubAgents};

/// A tool as a model sees it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Function name, `[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters.
    pub name: Arc<str>,
    /// Its purpose and use, for the model.
    pub description: Arc<str>,
    /// JSON Schema of the arguments, an object.
    pub input_schema: Json,
    /// Whether it can change something; plan mode withholds such tools.
    pub effect: Effect,
}

/// The tools that a server brings, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInTools(pub Vec<BuiltInTool>);

/// A tool that a server brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInTool {
    /// Its name.
    pub name: Arc<str>,
    /// Its purpose, as models read it.
    pub description: Arc<str>,
    /// Whether plan mode has it.
    pub in_plan_mode: bool,
}

/// Effect of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It may change files, run programs or reach beyond the machine.
    Writes,
    /// It runs command lines, which can change nothing in plan mode.
    Commands,
}

/// Directory and rules of the calls of a Turn.
#[derive(Debug, Clone)]
pub struct ToolEnvironment {
    /// Root of the file tools, absolute and free of symbolic links.
    pub root: PathBuf,
    /// The agent's mode.
    pub mode: Mode,
    /// Treatment of paths outside of the root.
    pub outside_workspace: OutsideWorkspace,
    /// The Thread's configuration.
    pub config: Arc<ThreadConfig>,
    /// The user's rules.
    pub policy: Arc<dyn Policy>,
    /// Whether and how a user is asked.
    pub approvals: ApprovalPolicy,
    /// The clients that work for the Thread.
    pub clients: ThreadClients,
}

/// Treatment of a path outside of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideWorkspace {
    /// A user is asked.
    Ask,
    /// The path is refused without asking.
    Refuse,
}

/// Reason why a call is not run. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolRefusal {
    /// Its arguments are invalid.
    #[error("{0}")]
    Unusable(String),
    /// A rule, a mode or a path forbids it; [`ToolOutput::refused`] is set then.
    #[error("refused: {0}")]
    Denied(String),
}

impl ToolRefusal {
    /// Returns a refusal because a rule, a mode or a path forbids the call.
    pub fn denied(why: impl std::fmt::Display) -> Self {
        Self::Denied(why.to_string())
    }
}

/// Permission that a prepared call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Nothing.
    Free,
    /// A user's answer, perhaps an earlier one that still applies.
    Ask {
        /// The scope of the Approval.
        scope: Scope,
        /// Sentence for the user.
        reason: String,
    },
}

/// The command line of a call, for its terminal view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The line.
    pub command: String,
    /// Its working directory.
    pub working_directory: PathBuf,
    /// Whether the kernel sandboxes it.
    pub sandboxed: bool,
    /// Names of its sandboxes, the outermost first.
    pub sandboxed_by: Vec<String>,
}

impl CommandLine {
    /// Returns the terminal view of a call whose command starts.
    pub fn started(&self, call_id: &str) -> CommandExecution {
        CommandExecution {
            command: self.command.clone(),
            working_directory: self.working_directory.to_string_lossy().into_owned(),
            status: CommandStatus::InProgress,
            aggregated_output: String::new(),
            exit_code: None,
            duration_ms: None,
            call_id: call_id.to_owned(),
            original_output_chars: None,
            truncated: false,
            sandboxed: self.sandboxed,
            held_by: self.sandboxed_by.clone(),
            session_id: None,
            output_path: None,
            background_reason: None,
        }
    }

    /// Returns the terminal view of a call whose command has ended; `None`: the call failed without an end of its own.
    pub fn ended(&self, call_id: &str, end: Option<&CommandEnd>) -> CommandExecution {
        let base = self.started(call_id);
        match end {
            Some(end) => CommandExecution {
                status: end.status,
                aggregated_output: end.output.clone(),
                exit_code: end.exit_code,
                duration_ms: Some(u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX)),
                original_output_chars: end.truncated.then_some(end.output_chars),
                truncated: end.truncated,
                output_path: end.output_path.clone(),
                session_id: end.background.as_ref().map(|(session, _)| session.clone()),
                background_reason: end.background.as_ref().map(|(_, reason)| *reason),
                ..base
            },
            None => CommandExecution {
                status: CommandStatus::Failed,
                ..base
            },
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Exit code, if it exited.
    pub exit_code: Option<i32>,
    /// Kind of its end.
    pub status: CommandStatus,
    /// The first and last part of its output.
    pub output: String,
    /// Characters of its whole output.
    pub output_chars: u64,
    /// Whether `output` is cut.
    pub truncated: bool,
    /// Its duration.
    pub duration: std::time::Duration,
    /// File with more of its output.
    pub output_path: Option<String>,
    /// Id of the background terminal in which it goes on, and the reason.
    pub background: Option<(String, bobbin_model::BackgroundReason)>,
}

/// Files that a call may change, which are recorded before it runs for undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// No files.
    Nothing,
    /// Only these files, absolute.
    Files(Vec<PathBuf>),
    /// Unknown files.
    Anything,
}

/// Result of a call.
#[derive(Debug, Clone, Default)]
pub struct ToolOutput {
    /// Text for the model.
    pub text: String,
    /// Whether it succeeded.
    pub success: bool,
    /// Whether a user or a rule refused it. `text` is for the model only then.
    pub refused: bool,
    /// Change of the Thread's plan.
    pub plan: Option<PlanChange>,
    /// Files it changed, with their earlier content.
    pub changed: Vec<ChangedFile>,
    /// Files whose present content the model knows.
    pub seen: Vec<SeenFile>,
    /// Files in the workspace with pictures for the model.
    pub pictures: Vec<String>,
    /// The end of its command.
    pub command: Option<CommandEnd>,
    /// The client's answer, if a client ran it.
    pub answer: Option<Box<ToolAnswer>>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Content before the call; `None` if the file did not exist.
    pub before: Option<Vec<u8>>,
}

/// Thread, Turn and id of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOrigin {
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn.
    pub turn: TurnId,
    /// The call's id in the Turn.
    pub call: String,
}

/// Most bytes of a result that a model with a large window gets.
pub const MAX_RESULT_BYTES: usize = 50 << 10;

/// Context of a running call.
#[derive(Clone)]
pub struct CallContext {
    /// The call.
    pub origin: CallOrigin,
    /// Cancelled with the Turn.
    pub cancel: CancellationToken,
    /// Reads the Thread's plan.
    pub plan: Arc<dyn PlanNow>,
    /// The subagents of the Turn.
    pub agents: Arc<dyn SubAgents>,
    /// Asks the users of the Turn.
    pub questions: Arc<dyn Questions>,
    /// Takes output as it appears; waits only for the Thread's owner.
    pub output: Arc<dyn OutputSink>,
    /// Most bytes of the result for the model. The engine cuts the middle out of a longer result. A tool whose rest can be
    /// requested should end its result earlier.
    pub max_bytes: usize,
}

impl CallContext {
    /// Returns the context of a call without a Turn, whose Thread has no plan.
    pub fn alone(cancel: CancellationToken, output: Arc<dyn OutputSink>) -> Self {
        Self {
            origin: CallOrigin {
                thread: ThreadId::new(""),
                turn: TurnId(0),
                call: String::new(),
            },
            cancel,
            plan: Arc::new(NoPlan),
            agents: Arc::new(NoSubAgents),
            questions: Arc::new(NobodyAsked),
            output,
            max_bytes: MAX_RESULT_BYTES,
        }
    }
}

/// The plan of a call without a Thread.
struct NoPlan;

impl PlanNow for NoPlan {
    fn plan(&self) -> BoxFuture<'_, Option<Plan>> {
        std::future::ready(None).boxed()
    }
}

/// Asks the users of a Turn while one of its calls runs.
pub trait Questions: Send + Sync {
    /// Asks a question. `None` if no user can be asked or none answers in time.
    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>>;

    /// Whether a user can be asked now.
    fn can_ask(&self) -> bool {
        false
    }

    /// Puts a question of an MCP server to one client. The answer fits the question. A stopped call gets
    /// [`Elicited::CANCELLED`].
    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Elicited, NotElicited>> {
        drop(asked);
        ready(Err(NotElicited::Nobody)).boxed()
    }
}

/// Questions of a call without clients.
struct NobodyAsked;

impl Questions for NobodyAsked {
    fn ask(&self, _: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
        ready(None).boxed()
    }
}

/// Reads a Thread's plan.
pub trait PlanNow: Send + Sync {
    /// Returns the recorded plan, if there is one.
    fn plan(&self) -> BoxFuture<'_, Option<Plan>>;
}

/// Takes a call's output as it appears.
pub trait OutputSink: Send + Sync {
    /// Takes one piece of text.
    fn write(&self, text: String) -> BoxFuture<'_, ()>;
}

/// A tool that an engine may call.
pub trait Tool: Send + Sync + 'static {
    /// Returns its name, description and schema for the model.
    fn spec(&self) -> &ToolSpec;

    /// Whether the model gets it now. A tool that the model does not get can still be called, and its result says why it
    /// cannot run.
    fn is_there(&self) -> bool {
        true
    }

    /// Returns the client's declaration, if a client runs it. Its call and result are one Item.
    fn declared(&self) -> Option<&DynamicTool> {
        None
    }

    /// Returns the arguments with which it is called automatically after a Turn has changed files; `None` if it is not. The
    /// user has allowed such a call in advance if [`PreparedCall::allowed_in_advance`] says so. If the call fails, the model
    /// is asked again.
    fn after_edits(&self) -> Option<&Json> {
        None
    }

    /// Returns the tool with another sandbox than the configured one. `None` if the tool runs no commands.
    fn in_sandbox(&self, profile: SandboxProfile) -> Option<Arc<dyn Tool>> {
        let _ = profile;
        None
    }

    /// Whether its calls run alone, although they only read.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Whether a stopped Turn must wait for its call, although it only reads files: the call has an effect that only its
    /// result reports.
    fn must_end(&self) -> bool {
        false
    }

    /// Describes a call that a stop of the server interrupted, without repeating anything. `None` for the usual text, that
    /// the call may have had its effect.
    fn found_interrupted(
        &self,
        _arguments: &Json,
        _call: &str,
        _agents: Arc<dyn SubAgents>,
    ) -> Option<BoxFuture<'static, String>> {
        None
    }

    /// Checks a call without any effect. May read the disk and block; call it where blocking is allowed.
    ///
    /// # Errors
    /// The arguments are invalid or break a rule; the text is the call's result.
    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal>;
}

/// The facts of a Turn that decide which tools clients have for it.
#[derive(Debug, Clone, Copy)]
pub struct TurnScope<'a> {
    /// The Thread.
    pub thread: &'a ThreadId,
    /// The channel that the Thread was started through.
    pub channel: &'a str,
    /// The Thread's scope in that channel.
    pub channel_context: Option<&'a str>,
    /// The sender of the message that started the Turn.
    pub sender: Option<&'a Sender>,
}

/// Tools that a client declared for several Threads, and that client.
#[derive(Debug, Clone)]
pub struct DeclaredTools {
    /// The tools, valid by the rules of [`dynamic_tool`](crate::dynamic_tool).
    pub tools: Arc<[DynamicTool]>,
    /// The client, for the Turn's Thread.
    pub clients: ThreadClients,
}

/// Tools of other programs, which come and go while the server runs.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the present tools. The engine calls this before each request to a model, so it must be cheap, must not block,
    /// and must bound the number of tools.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Returns the present tools for a Thread; by default those of every Thread.
    fn tools_of(&self, thread: &ThreadId) -> Vec<Arc<dyn Tool>> {
        let _ = thread;
        self.tools()
    }

    /// Returns the tools that a client has declared for Turns like this one. Called once, when the Turn starts; the Turn
    /// uses the returned client until its end.
    fn declared_for(&self, turn: &TurnScope<'_>) -> Option<DeclaredTools> {
        let _ = turn;
        None
    }

    /// Returns the names of the programs behind the tools, with their instructions for models. Each is bounded.
    fn instructions(&self) -> Vec<(String, Arc<str>)> {
        Vec::new()
    }

    /// Returns the names of programs that are starting and have no tools yet.
    fn starting(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until starting programs have started, failed, or exceeded their time. With a tool's name, waits longer, but
    /// only for programs that may have this tool.
    fn settled<'a>(&'a self, tool: Option<&'a str>) -> BoxFuture<'a, ()> {
        let _ = tool;
        ready(()).boxed()
    }
}

/// A call that can be run once.
pub trait PreparedCall: Send {
    /// Returns the needed permission.
    fn permission(&self) -> Permission;

    /// Returns its command line, if it runs one.
    fn command(&self) -> Option<CommandLine> {
        None
    }

    /// Returns the change that it would make to a file now, for users who are asked. Has no effect.
    fn preview(&self) -> BoxFuture<'_, Option<CallPreview>> {
        ready(None).boxed()
    }

    /// Returns whether an automatic call ([`Tool::after_edits`]) runs without a question.
    fn allowed_in_advance(&self) -> bool {
        false
    }

    /// Returns a file that it changes only if the conversation has the file's present content, or the file does not exist.
    fn must_know(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the files that it may change. Not called for tools that only read.
    fn touches(&self) -> Touches {
        Touches::Anything
    }

    /// Returns a question that replaces the run: the user's answer is the call's result. Such a call has no effect.
    fn inquiry(&self) -> Option<Inquiry> {
        None
    }

    /// Runs the call. A failure is an output with `success: false`, so that the model decides what to do.
    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput>;

    /// Runs the call for a client, which gets the whole answer of the tool's server. `meta` goes with the call. `None` if
    /// the tool is of no server; it is not run then.
    fn run_whole(
        self: Box<Self>,
        meta: Option<Json>,
        context: CallContext,
    ) -> BoxFuture<'static, Option<Result<WholeAnswer, String>>> {
        drop((meta, context));
        ready(None).boxed()
    }
}

/// The answer of a tool's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeAnswer {
    /// The answer as the server wrote it, an object.
    pub json: Json,
    /// The answer as a model reads it.
    pub text: String,
    /// Whether the call succeeded.
    pub success: bool,
}

/// First words of the result of a command that goes on in the background; its terminal's id follows.
pub const IN_BACKGROUND: &str = "goes on in the background as ";

/// Splits the text of a command's result into the kind of its end and its output; `None` if the command did not run.
pub fn split_status(result: &str) -> Option<(&str, &str)> {
    let (how, output) = result.split_once('\n')?;
    let ran = [
        "exit code ",
        "ended by signal ",
        "killed after ",
        "cancelled",
        IN_BACKGROUND,
    ];
    ran.iter()
        .any(|start| how.starts_with(start))
        .then_some((how, output))
}

/// Returns a result of `ReadFile` without its line numbers.
pub fn without_numbers(read: &str) -> String {
    let text = |line| match str::split_once(line, '\t') {
        Some((number, text)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => line,
    };
    read.split_inclusive('\n').map(text).collect()
}
