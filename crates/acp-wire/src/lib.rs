//! The messages of the Agent Client Protocol, version 1, for both of its ends.
//!
//! These are values alone: no logic, no connection. The agent's end (`acp`) and the client's end use the same types, so
//! every type is written and read. A reader ignores members that it
//! does not know, and reads an unknown discriminator as `Unknown`; the programs of this protocol send many of both.
//! Names of methods are in [`method`], codes of errors in [`code`].

pub mod code;
mod content;
mod elicitation;
mod files;
mod initialize;
mod mcp;
pub mod method;
mod options;
mod permission;
mod prompt;
mod session;
mod terminal;
mod tool_call;
mod update;

pub use content::{ContentBlock, EmbeddedResource};
pub use elicitation::{
    Choice, ElicitationAction, ElicitationCompleteNotification, ElicitationMode, ElicitationParams,
    ElicitationResult, ElicitationScope, FormSchema, FormType, ItemSchema, Property, PropertyKind,
};
pub use files::{ReadTextFileParams, ReadTextFileResult, WriteTextFileParams};
pub use initialize::{
    AgentAuth, AgentCapabilities, AuthKind, AuthMethod, AuthenticateParams, ClientAuth, ClientCapabilities,
    ConfigOptionSupport, ElicitationCapabilities, FileCapabilities, Implementation, InitializeParams,
    InitializeResult, McpCapabilities, PromptCapabilities, SessionCapabilities, SessionSupport, Supported,
    VERSION,
};
pub use mcp::{McpServer, Pair, RemoteServer, RemoteTransport, StdioServer};
pub use options::{
    ConfigOption, ModelInfo, ModelState, OptionCategory, OptionGroup, OptionKind, OptionValue, SelectChoice,
    SelectEntry, SessionMode, SessionModeState, SetConfigOptionParams, SetConfigOptionResult, SetModeParams,
    SetModelParams,
};
pub use permission::{
    OptionKind as PermissionOptionKind, PermissionOption, PermissionOutcome, RequestPermissionParams,
    RequestPermissionResult,
};
pub use prompt::{CancelRequestNotification, PromptParams, PromptResult, StopReason};
pub use session::{
    Empty, ListSessionsParams, ListSessionsResult, LoadSessionParams, NewSessionParams, NewSessionResult,
    OpenedSession, SessionInfo, SessionParams,
};
pub use terminal::{
    CreateTerminalParams, CreateTerminalResult, ExitStatus, TerminalOutputResult, TerminalParams,
};
pub use tool_call::{Location, ToolCall, ToolCallContent, ToolCallStatus, ToolKind};
pub use update::{
    AvailableCommand, CommandInput, CompactionStatus, Cost, PlanEntry, PlanPriority, PlanStatus,
    SessionNotification, SessionUpdate, Severity,
};

/// The `_meta` member of an object: what programs add, under names of their own.
pub type Meta = serde_json::Map<String, serde_json::Value>;
