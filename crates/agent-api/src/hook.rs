//! Hooks: programs of users that run at certain events of a Turn.
//!
//! A hook can stop a call, require a question to the user, and add text for the model. It never allows a call that rules or
//! users would refuse.

use std::path::PathBuf;

use bobbin_model::{Mode, ThreadId};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// An event at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// The first Turn of a Thread starts.
    SessionStart,
    /// A user's message starts a Turn.
    UserPromptSubmit,
    /// A tool call is about to be prepared.
    PreToolUse,
    /// A tool call has ended.
    PostToolUse,
    /// A user is asked to approve a call.
    Notification,
    /// The conversation is about to be compacted.
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

    /// Returns its name in configurations.
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

/// Input of hooks for an event.
#[derive(Debug, Clone)]
pub struct HookInput {
    /// The event.
    pub event: HookEvent,
    /// Text that matchers are compared with: a tool's name or the kind of the event. Empty if the event has none.
    pub subject: String,
    /// The Thread.
    pub thread: ThreadId,
    /// The Thread's folder.
    pub root: PathBuf,
    /// The agent's mode.
    pub mode: Mode,
    /// Further members of the input.
    pub members: Map<String, Value>,
}

/// Text of a hook, with the hook's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSaid {
    /// The hook.
    pub hook: String,
    /// Its text.
    pub text: String,
}

/// Combined result of the hooks of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReport {
    /// A hook blocks the event; its reason.
    pub blocked: Option<HookSaid>,
    /// A hook requires a question to the user about the call; its reason.
    pub asks: Option<HookSaid>,
    /// A hook ends the Turn; its reason.
    pub ends: Option<HookSaid>,
    /// Texts for the model.
    pub context: Vec<HookSaid>,
    /// Texts for the user: failures, and messages of hooks.
    pub notes: Vec<String>,
}

/// The hooks of a workspace and its user.
pub trait Hooks: Send + Sync + 'static {
    /// Whether a hook matches an event and its subject. Cheap.
    fn has(&self, event: HookEvent, subject: &str) -> bool;

    /// Runs the hooks of an event concurrently. Bounded in time and size. Dropping the future ends them.
    fn run(&self, input: HookInput) -> BoxFuture<'static, HookReport>;
}
