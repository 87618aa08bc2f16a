//! Threads, Turns, Items and Approvals as values, and the rules for changing them.
//!
//! Nothing here does IO, reads a clock, draws a random number or is `async`. Times and fresh ids are arguments, so
//! every rule is a function from (state, command) to events or a refusal, and is tested as a table.
//!
//! Start with [`state::ThreadState`]: `decide_*` methods turn commands into [`event::Event`]s, `apply` turns events
//! into state. [`event::Event`] is also the stored form, see [`event::PAYLOAD_VERSION`].

pub mod actor;
pub mod approval;
pub mod client_keys;
pub mod config;
pub mod context;
pub mod dynamic_tool;
pub mod effort;
pub mod event;
pub mod given;
pub mod id;
pub mod input;
pub mod item;
pub mod json;
pub mod model_list;
pub mod plan;
pub mod question;
pub mod refusal;
pub mod sandbox_profile;
pub mod state;
pub mod sub_agent;
pub mod terminal;
pub mod thread;
pub mod tool_server;
pub mod turn;
pub mod visible;

pub use actor::{Actor, Need, Person, Role};
pub use approval::{
    Approval, ApprovalKind, ApprovalPolicy, Coverage, DecidedBy, Decision, Judgement, Scope, StandingAnswer,
};
pub use client_keys::ClientKeys;
pub use config::{DirtyHandoff, Mode, ThreadConfig, Worktree};
pub use context::{ContextNote, ContextUsage, ContextWindow};
pub use dynamic_tool::{
    DynamicApproval, DynamicOperation, DynamicTool, DynamicToolCall, DynamicToolError, ToolAnswer,
    ToolContent,
};
pub use effort::Effort;
pub use event::{Delta, DeltaChannel, Event};
pub use given::{GivenCall, GivenMessage};
pub use id::{ApprovalId, ItemId, QueuedInputId, Seq, ThreadId, TurnId, UnixMillis};
pub use input::{InputPart, QueueStatus, QueuedInput, Sender};
pub use item::{
    CommandStatus, Compaction, CompactionTrigger, DeliveryMode, ExecutionStatus, Item, ItemBody, ItemStatus,
    SeenFile, Trigger, TriggerKind, UserInputRequest, called_tool,
};
pub use json::Json;
pub use model_list::{ModelListErrorCode, ProviderProtocol};
pub use plan::{Plan, PlanChange, Todo, TodoPriority, TodoStatus};
pub use question::{Choice, Inquiry, Question, QuestionAnswer};
pub use refusal::Refusal;
pub use sandbox_profile::SandboxProfile;
pub use state::{LiveTurn, ThreadState};
pub use sub_agent::{Edge, EdgeStatus, SubAgentProfile, SubAgentProgress, SubAgentRuntime, SubAgentSource};
pub use terminal::{BackgroundReason, Terminal, TerminalChange, TerminalFacts, TerminalStatus};
pub use thread::{HistoryMode, Identity, Runtime, ThreadHeader, ThreadSource, ThreadStatus, title_of_input};
pub use tool_server::{OfferedTool, Reach, ServerOrigin, ServerState, ToolHints, ToolServer};
pub use turn::{
    CallPreview, FileChange, Outcome, RevertAction, RevertedFile, Spent, TokenUsage, Turn, TurnDiff,
    TurnFeatures, TurnStatus,
};
pub use visible::{Lines, marked, visible};
