//! What an engine may call: the seam that built-in tools and hosted children implement.
//!
//! A call goes through two steps so that nothing happens before its intent is on disk: [`Tool::prepare`]
//! checks the arguments and says what permission the call needs, touching nothing; the prepared call's
//! [`PreparedCall::run`] has the effect. Everything between the two (asking, recording, the Items) is the
//! engine's work and the same for every tool.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::{
    ApprovalPolicy, CallPreview, DynamicTool, Inquiry, Json, Mode, Plan, PlanChange, QuestionAnswer,
    SandboxProfile, Scope, SeenFile, Sender, ThreadConfig, ThreadId, ToolAnswer, TurnId,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use tokio_util::sync::CancellationToken;

use crate::client::ThreadClients;
use crate::policy::Policy;
use crate::sub_agent::{NoSubAgents, SubAgents};

/// A tool, as a model gets it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Function name, `[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters.
    pub name: Arc<str>,
    /// What it does and when to use it, for the model.
    pub description: Arc<str>,
    /// JSON Schema of the arguments, an object.
    pub input_schema: Json,
    /// Whether it can change anything: withheld in plan mode.
    pub effect: Effect,
}

/// Whether a tool changes the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It may change files, run programs or reach beyond the machine.
    Writes,
    /// It runs command lines. In plan mode, these can change nothing.
    Commands,
}

/// Where and under which rules the calls of one Turn run.
#[derive(Debug, Clone)]
pub struct ToolEnvironment {
    /// Root of the file tools, absolute and free of symbolic links.
    pub root: PathBuf,
    /// What the agent may do at all.
    pub mode: Mode,
    /// Paths outside the root: ask about them, or refuse.
    pub outside_workspace: OutsideWorkspace,
    /// The Thread's configuration.
    pub config: Arc<ThreadConfig>,
    /// What the rules say.
    pub policy: Arc<dyn Policy>,
    /// What happens to questions: whether a user is asked.
    pub approvals: ApprovalPolicy,
    /// The clients that do things for the Thread.
    pub clients: ThreadClients,
}

/// What happens to a path outside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideWorkspace {
    /// A user is asked.
    Ask,
    /// It is refused without asking.
    Refuse,
}

/// Why a call is not run. The text goes to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolRefusal {
    /// Its arguments cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A rule, a mode or a place says no: [`ToolOutput::refused`] is set then.
    #[error("refused: {0}")]
    Denied(String),
}

impl ToolRefusal {
    /// Returns a refusal because a rule, a mode or a place says no.
    pub fn denied(why: impl std::fmt::Display) -> Self {
        Self::Denied(why.to_string())
    }
}

/// What a prepared call needs before it may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Nothing.
    Free,
    /// A user's answer, or a standing one.
    Ask {
        /// What would be done.
        scope: Scope,
        /// Sentence for the user.
        reason: String,
    },
}

/// A command line a call will run, for its terminal view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The line.
    pub command: String,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// Whether the kernel confines it.
    pub sandboxed: bool,
    /// What confines it, by name, the outermost first.
    pub sandboxed_by: Vec<String>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// How it ended.
    pub status: bobbin_model::CommandStatus,
    /// The beginning and end of its output.
    pub output: String,
    /// Characters it wrote.
    pub output_chars: u64,
    /// Whether `output` is less than that.
    pub truncated: bool,
    /// How long it ran.
    pub duration: std::time::Duration,
    /// File with more of its output than is here.
    pub output_path: Option<String>,
    /// The background terminal it goes on in, and why.
    pub background: Option<(String, bobbin_model::BackgroundReason)>,
}

/// Which files a call may change: what is recorded before it runs, so that it can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// None.
    Nothing,
    /// These and no others, absolute.
    Files(Vec<PathBuf>),
    /// Not known.
    Anything,
}

/// What a call gave.
#[derive(Debug, Clone, Default)]
pub struct ToolOutput {
    /// Text for the model.
    pub text: String,
    /// Whether it went well.
    pub success: bool,
    /// Whether it did not run because a user or a rule refused it; what `text` says of that is for the model only.
    pub refused: bool,
    /// What becomes of the Thread's plan.
    pub plan: Option<PlanChange>,
    /// Files it changed, as they were before (`None`: not there).
    pub changed: Vec<ChangedFile>,
    /// Files whose content the model knows now.
    pub seen: Vec<SeenFile>,
    /// Files with pictures that the model is to see, in the workspace.
    pub pictures: Vec<String>,
    /// The command it ran.
    pub command: Option<CommandEnd>,
    /// What a client said, when one ran it.
    pub answer: Option<Box<ToolAnswer>>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Content before the call, `None` when the file was not there.
    pub before: Option<Vec<u8>>,
}

/// Whose call it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOrigin {
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn.
    pub turn: TurnId,
    /// The call's id in it.
    pub call: String,
}

/// Most bytes of a result that a model with a large window gets.
pub const MAX_RESULT_BYTES: usize = 50 << 10;

/// What a running call is given.
#[derive(Clone)]
pub struct CallContext {
    /// Whose call it is.
    pub origin: CallOrigin,
    /// Cancelled when the Turn is.
    pub cancel: CancellationToken,
    /// Says what the Thread's plan is.
    pub plan: Arc<dyn PlanNow>,
    /// The subagents of the Turn.
    pub agents: Arc<dyn SubAgents>,
    /// Asks the users of the Turn.
    pub questions: Arc<dyn Questions>,
    /// Takes output while it appears; never blocks longer than the Thread's owner needs.
    pub output: Arc<dyn OutputSink>,
    /// Most bytes of the result that the model gets. The engine cuts the middle out of a longer one, so a tool that can
    /// be asked for the rest ends its result before.
    pub max_bytes: usize,
}

impl CallContext {
    /// Returns the context of a call that no Turn made, and whose Thread has no plan.
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

/// No Thread, no plan.
struct NoPlan;

impl PlanNow for NoPlan {
    fn plan(&self) -> BoxFuture<'_, Option<Plan>> {
        std::future::ready(None).boxed()
    }
}

/// Asks the users of a Turn while one of its calls runs.
pub trait Questions: Send + Sync {
    /// Asks a question. `None` where nobody can be asked, or nobody answers in time.
    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>>;
}

/// No client, no answer.
struct NobodyAsked;

impl Questions for NobodyAsked {
    fn ask(&self, _: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
        ready(None).boxed()
    }
}

/// Says what a Thread's plan is.
pub trait PlanNow: Send + Sync {
    /// Returns the plan as it is recorded, if there is one.
    fn plan(&self) -> BoxFuture<'_, Option<Plan>>;
}

/// Takes a call's output while it appears.
pub trait OutputSink: Send + Sync {
    /// Hands over one piece of text.
    fn write(&self, text: String) -> BoxFuture<'_, ()>;
}

/// Something an engine may call.
pub trait Tool: Send + Sync + 'static {
    /// Returns its name, description and schema for the model.
    fn spec(&self) -> &ToolSpec;

    /// Whether the model gets it just now. One that is not can be called all the same, and says why it
    /// cannot run.
    fn is_there(&self) -> bool {
        true
    }

    /// Returns what its client declared, if a client runs it: a call of it is one Item, which has the result too.
    fn declared(&self) -> Option<&DynamicTool> {
        None
    }

    /// Returns the arguments with which it is called by itself once a Turn has changed files; `None` if it is not. Its user
    /// has allowed that in advance, as far as [`PreparedCall::allowed_in_advance`] says. Such a call that fails has
    /// something to say to the model.
    fn after_edits(&self) -> Option<&Json> {
        None
    }

    /// Returns the tool for a Turn whose commands have another sandbox than the configured one. `None` if it runs none.
    fn in_sandbox(&self, profile: SandboxProfile) -> Option<Arc<dyn Tool>> {
        let _ = profile;
        None
    }

    /// Whether its calls are not run at the same time as others, although they only read.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Whether a call of it, although it only reads files, has done something that only its result tells of: a Turn that
    /// is stopped does not let go of it.
    fn must_end(&self) -> bool {
        false
    }

    /// Says what is known of a call that ran when the server stopped, without doing anything again. `None` leaves it at
    /// the word that it may have had its effect.
    fn found_interrupted(
        &self,
        _arguments: &Json,
        _call: &str,
        _agents: Arc<dyn SubAgents>,
    ) -> Option<BoxFuture<'static, String>> {
        None
    }

    /// Checks a call without any effect. May look at the disk and wait for it: called where that is allowed.
    ///
    /// # Errors
    /// The arguments are not usable or break a rule; the text is the call's result.
    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal>;
}

/// A Turn, as far as that decides which tools clients have for it.
#[derive(Debug, Clone, Copy)]
pub struct TurnScope<'a> {
    /// The Thread.
    pub thread: &'a ThreadId,
    /// The channel that the Thread was started through.
    pub channel: &'a str,
    /// The Thread's scope in that channel.
    pub channel_context: Option<&'a str>,
    /// Who sent the message that started the Turn.
    pub sender: Option<&'a Sender>,
}

/// Tools that a client declared for more than one Thread, and that client.
#[derive(Debug, Clone)]
pub struct DeclaredTools {
    /// The tools, sound by the rules of [`dynamic_tool`](crate::dynamic_tool).
    pub tools: Arc<[DynamicTool]>,
    /// The client, for the Turn's Thread.
    pub clients: ThreadClients,
}

/// Tools that come and go while the server runs: those of other programs.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the tools there are now. Asked before each request to a model, so it is cheap, never waits, and
    /// bounds how many there are.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Returns the tools there are now for one Thread: by default those of every Thread.
    fn tools_of(&self, thread: &ThreadId) -> Vec<Arc<dyn Tool>> {
        let _ = thread;
        self.tools()
    }

    /// Returns the tools that a client has declared for Turns like this one. Asked once, when the Turn starts: the Turn keeps
    /// the client that it gets here.
    fn declared_for(&self, turn: &TurnScope<'_>) -> Option<DeclaredTools> {
        let _ = turn;
        None
    }

    /// Returns what the programs behind the tools say of themselves for models, with their names. Each is bounded.
    fn instructions(&self) -> Vec<(String, Arc<str>)> {
        Vec::new()
    }

    /// Returns the names of what is just starting: its tools are not there yet.
    fn starting(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns once what is just starting has started or failed, or has had its time. With a tool's name, only what
    /// could have that tool is waited for, and longer.
    fn settled<'a>(&'a self, tool: Option<&'a str>) -> BoxFuture<'a, ()> {
        let _ = tool;
        ready(()).boxed()
    }
}

/// A call that may be run once.
pub trait PreparedCall: Send {
    /// Returns what it needs first.
    fn permission(&self) -> Permission;

    /// Returns the command line it will run, if it runs one.
    fn command(&self) -> Option<CommandLine> {
        None
    }

    /// Returns what it would do to a file, as things are now; for users, before they are asked. Touches nothing.
    fn preview(&self) -> BoxFuture<'_, Option<CallPreview>> {
        ready(None).boxed()
    }

    /// Returns whether a call that the tool makes by itself ([`Tool::after_edits`]) runs without a question.
    fn allowed_in_advance(&self) -> bool {
        false
    }

    /// Returns the file that it changes only if the conversation has the file's present content. A new file has none.
    fn must_know(&self) -> Option<PathBuf> {
        None
    }

    /// Returns which files it may change. Not asked of tools that only read.
    fn touches(&self) -> Touches {
        Touches::Anything
    }

    /// Returns what a user is asked instead of a run: the answer is the call's result. Such a call has no effect.
    fn inquiry(&self) -> Option<Inquiry> {
        None
    }

    /// Runs it. Failures are outputs with `success: false`: the model decides what to do about them.
    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput>;
}

/// How the result of a command begins that goes on in the background; its terminal's id follows.
pub const IN_BACKGROUND: &str = "goes on in the background as ";

/// Splits the text of a command's result into how the command ended and its output; `None` when it was not run.
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

/// Returns a result of `ReadFile` without the numbers of its lines.
pub fn without_numbers(read: &str) -> String {
    let text = |line| match str::split_once(line, '\t') {
        Some((number, text)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => line,
    };
    read.split_inclusive('\n').map(text).collect()
}
