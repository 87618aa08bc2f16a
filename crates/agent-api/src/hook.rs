//! Hooks: programs of users that are asked at certain moments of a Turn.
//!
//! A hook can stop a call, have a user asked about it, and say something to the model. It never allows what rules and users
//! would not: its word is taken beside theirs.

use std::path::PathBuf;

use bobbin_model::{Mode, ThreadId};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// A moment at which hooks are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// The first Turn of a Thread begins.
    SessionStart,
    /// A message of a user begins a Turn.
    UserPromptSubmit,
    /// A call of a tool is to be prepared.
    PreToolUse,
    /// A call of a tool has ended.
    PostToolUse,
    /// A user is asked to approve a call.
    Notification,
    /// The conversation is to be compacted.
    PreCompact,
    /// The agent has finished.
    Stop,
    /// A subagent has finished.
    SubagentStop,
}

impl HookEvent {
    /// All events.
    pub const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Notification,
        Self::PreCompact,
        Self::Stop,
        Self::SubagentStop,
    ];

    /// Returns its name, as configurations have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Notification => "Notification",
            Self::PreCompact => "PreCompact",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
        }
    }
}

/// What hooks get about a moment.
#[derive(Debug, Clone)]
pub struct HookInput {
    /// The event.
    pub event: HookEvent,
    /// What matchers are compared with: a tool's name, or the kind of the moment. Empty where there is nothing.
    pub subject: String,
    /// The Thread.
    pub thread: ThreadId,
    /// The Thread's folder.
    pub root: PathBuf,
    /// What the agent may do.
    pub mode: Mode,
    /// What else is said of the moment.
    pub members: Map<String, Value>,
}

/// What a hook says, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSaid {
    /// The hook.
    pub hook: String,
    /// Its text.
    pub text: String,
}

/// What came of the hooks of a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReport {
    /// A hook does not let the moment pass: why.
    pub blocked: Option<HookSaid>,
    /// A hook wants a user to be asked about the call: why.
    pub asks: Option<HookSaid>,
    /// A hook ends the Turn: why.
    pub ends: Option<HookSaid>,
    /// What the model is to know.
    pub context: Vec<HookSaid>,
    /// What the user is to know: failures, and messages of hooks.
    pub notes: Vec<String>,
}

/// The hooks of a workspace and its user.
pub trait Hooks: Send + Sync + 'static {
    /// Whether a hook is there for an event and what matchers are compared with. Cheap.
    fn has(&self, event: HookEvent, subject: &str) -> bool;

    /// Asks the hooks of a moment, at the same time. Bounded in time and size. Dropping the future ends them.
    fn run(&self, input: HookInput) -> BoxFuture<'static, HookReport>;
}
