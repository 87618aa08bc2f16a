//! The protocol's errors: every code of AppServer protocol 01 §10.1, with its exact message.
//!
//! One table makes the codes, their messages and the list in `proto-schema/index.json`. `native` decides in one
//! exhaustive match which situation gets which code.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use bobbin_model::{Need, Role};

use crate::DecodeError;

/// Longest id or name that a message quotes. Clients choose them, and they have no limit of their own.
const MAX_SUBJECT_CHARS: usize = 200;

macro_rules! error_codes {
    ($($(#[doc = $when:literal])+ $variant:ident = $code:literal, $message:literal;)+) => {
        /// A code of the protocol's error table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i64)]
        pub enum ErrorCode {
            $($(#[doc = $when])+ $variant = $code,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the code with this number.
            pub const fn from_code(code: i64) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the message; `{}` is the place of the id, name or detail that it quotes.
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$variant => $message,)+
                }
            }

            /// Returns a camelCase name.
            pub fn name(self) -> String {
                let name = match self {
                    $(Self::$variant => stringify!($variant),)+
                };
                name[..1].to_ascii_lowercase() + &name[1..]
            }

            /// Returns the situations in which the code is used, in one or a few sentences.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($when),+).trim_ascii(),)+
                }
            }
        }
    };
}

error_codes! {
    /// The message is not JSON. The connection stays open.
    ParseError = -32700, "Parse error";
    /// Not a JSON-RPC object, the handshake is incomplete, or the feature is not usable in this workspace.
    InvalidRequest = -32600, "Invalid request";
    /// Unknown method, or a family that is not available.
    MethodNotFound = -32601, "Method not found: {}";
    /// Missing or ill-typed members, or a broken constraint.
    InvalidParams = -32602, "Invalid params";
    /// Unexpected failure, or a domain rule without its own code.
    InternalError = -32603, "Internal error";
    /// Too many requests in flight; safe to retry.
    Overloaded = -32001, "Server overloaded; retry later.";
    /// A request before `initialize`.
    NotInitialized = -32002, "Not initialized";
    /// A second `initialize`.
    AlreadyInitialized = -32003, "Already initialized";
    /// Extension: the role of the client's user does not cover the method, or a member that the message names. `data.need` is
    /// the right that is missing, `data.role` the role.
    Forbidden = -32004, "Forbidden: {}";
    /// Unknown Thread; also used for unknown queued inputs and terminal sessions.
    ThreadNotFound = -32010, "Thread not found: {}";
    /// The Thread is paused or archived where an active one is needed.
    ThreadNotActive = -32011, "Thread is not active: {}";
    /// A Turn is running or waiting for an approval.
    TurnInProgress = -32012, "A turn is already in progress on thread: {}";
    /// Unknown Turn.
    TurnNotFound = -32013, "Turn not found: {}";
    /// The Turn has already ended.
    TurnNotRunning = -32014, "Turn is not running: {}";
    /// Reserved: an approval that nobody answered is declined and the Turn goes on.
    ApprovalTimeout = -32020, "Approval request timed out";
    /// The channel adapter is unknown or disabled.
    ChannelRejected = -32030, "Channel adapter rejected: '{}' is not registered in server configuration";
    /// Unknown cron job.
    CronJobNotFound = -32031, "Cron job not found: {}";
    /// Unknown skill.
    SkillNotFound = -32040, "Skill not found: {}";
    /// Unknown automation task.
    TaskNotFound = -32051, "Task not found: {}";
    /// The task's state does not allow this; the message says why.
    TaskStateInvalid = -32052, "{}";
    /// The task's id is taken.
    TaskExists = -32054, "Task already exists: {}";
    /// The Thread that a task is bound to is unknown or archived.
    BindingInvalid = -32055, "Thread binding is invalid: {}";
    /// The automation has changed since the client read it.
    AutomationVersionConflict = -32056, "The automation has changed: {}";
    /// Unknown command.
    CommandNotFound = -32060, "Command not found: {}";
    /// The command is for administrators.
    CommandDenied = -32061, "Permission denied for command: {}";
    /// The service behind the command is not running.
    CommandServiceMissing = -32062, "Service unavailable for command: {}";
    /// Unknown MCP server.
    McpServerNotFound = -32070, "MCP server not found: {}";
    /// The MCP server's configuration is not valid.
    McpInvalid = -32072, "MCP server validation failed";
    /// Reserved: `mcp/test` reports failures in its result.
    McpTestFailed = -32073, "MCP server test failed";
    /// The MCP server's name is taken.
    McpNameConflict = -32074, "MCP server name conflict";
    /// The MCP server belongs to a plugin.
    McpReadOnly = -32075, "MCP server is read-only: {}";
    /// Unknown external channel.
    ChannelNotFound = -32080, "External channel not found: {}";
    /// The external channel's configuration is not valid.
    ChannelInvalid = -32081, "External channel validation failed";
    /// The external channel's name is that of a built-in one.
    ChannelNameConflict = -32082, "External channel name conflict";
    /// Unknown subagent profile.
    ProfileNotFound = -32083, "SubAgent profile not found: {}";
    /// The subagent profile is not valid.
    ProfileInvalid = -32084, "SubAgent profile validation failed";
    /// The subagent profile may not be changed in this way.
    ProfileProtected = -32085, "SubAgent profile is protected";
}

impl ErrorCode {
    /// Returns the number on the wire.
    pub const fn code(self) -> i64 {
        self as i64
    }

    /// Returns the name in `data.code` (07 §10).
    fn word(self) -> String {
        let word = match self {
            Self::Overloaded => "ServerOverloaded",
            Self::TaskStateInvalid => "TaskInvalidStatus",
            Self::TaskExists => "TaskAlreadyExists",
            Self::BindingInvalid => "ThreadBindingInvalid",
            Self::AutomationVersionConflict => "automation.versionConflict",
            Self::CommandDenied => "CommandPermissionDenied",
            Self::CommandServiceMissing => "CommandServiceUnavailable",
            Self::McpInvalid => "McpServerValidationFailed",
            Self::McpTestFailed => "McpServerTestFailed",
            Self::McpNameConflict => "McpServerNameConflict",
            Self::McpReadOnly => "McpServerReadOnly",
            Self::ChannelNotFound => "ExternalChannelNotFound",
            Self::ChannelInvalid => "ExternalChannelValidationFailed",
            Self::ChannelNameConflict => "ExternalChannelNameConflict",
            Self::ProfileNotFound => "SubAgentProfileNotFound",
            Self::ProfileInvalid => "SubAgentProfileValidationFailed",
            Self::ProfileProtected => "SubAgentProfileProtected",
            _ => {
                let name = self.name();
                return name[..1].to_ascii_uppercase() + &name[1..];
            }
        };
        word.to_owned()
    }

    /// Returns the name in `data.params` of what the message quotes.
    const fn param(self) -> Option<&'static str> {
        match self {
            Self::MethodNotFound => Some("method"),
            Self::ThreadNotFound | Self::ThreadNotActive | Self::TurnInProgress => Some("threadId"),
            Self::TurnNotFound | Self::TurnNotRunning => Some("turnId"),
            Self::ChannelRejected => Some("channelName"),
            Self::CronJobNotFound => Some("jobId"),
            Self::SkillNotFound
            | Self::McpServerNotFound
            | Self::McpReadOnly
            | Self::ChannelNotFound
            | Self::ProfileNotFound => Some("name"),
            Self::CommandNotFound | Self::CommandDenied | Self::CommandServiceMissing => Some("command"),
            _ => None,
        }
    }
}

/// An error answer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind of error; see [`ErrorCode`].
    pub code: i64,
    /// One line.
    pub message: String,
    /// More, where the table has more.
    pub data: Option<Box<ErrorData>>,
}

/// What an error says besides code and message.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// The kind of error as a word; two kinds may share a number.
    #[serde(default)]
    pub code: String,
    /// The key of its text in a table of translations: `errors.` and the word.
    #[serde(default)]
    pub message_key: String,
    /// The values that such a text quotes, by name.
    pub params: Option<BTreeMap<String, String>>,
    /// The text where there is no table.
    #[serde(default)]
    pub fallback_text: String,
    /// A sentence for the user, free of secrets.
    pub detail: Option<String>,
    /// A stable word for programs where the code alone does not tell the cases apart.
    pub reason: Option<String>,
    /// Extension, with the reason `filesChanged`: the files that have been changed since the Turn.
    pub files: Option<Vec<String>>,
    /// Of a change of configuration files: `configLayerReadonly`, `configVersionConflict`, `configValidationError` or
    /// `configSchemaUnknownKey`.
    pub config_write_error_code: Option<String>,
    /// Extension, on `-32004`: the right that the request needs, `prompt`, `approve` or `own`.
    pub need: Option<String>,
    /// Extension, on `-32004`: the role of the client's user.
    pub role: Option<Role>,
    /// Extension, on `-32001`: milliseconds after which a retry is worth it.
    pub retry_after_ms: Option<u64>,
}

impl RpcError {
    fn new(code: ErrorCode, message: String) -> Self {
        let word = code.word();
        let data = ErrorData {
            message_key: format!("errors.{}{}", word[..1].to_ascii_lowercase(), &word[1..]),
            code: word,
            fallback_text: message.clone(),
            ..ErrorData::default()
        };
        Self {
            code: code.code(),
            message,
            data: Some(Box::new(data)),
        }
    }

    /// An error whose message is fixed.
    fn plain(code: ErrorCode) -> Self {
        Self::new(code, code.message().to_owned())
    }

    /// An error whose message quotes an id or a name.
    fn about(code: ErrorCode, subject: &str) -> Self {
        let subject: String = subject.chars().take(MAX_SUBJECT_CHARS).collect();
        let mut error = Self::new(code, code.message().replace("{}", &subject));
        if let Some(name) = code.param() {
            let params = BTreeMap::from([(name.to_owned(), subject)]);
            error.data.get_or_insert_default().params = Some(params);
        }
        error
    }

    /// An error that explains itself in `data.detail`.
    fn detailed(code: ErrorCode, detail: impl Into<String>) -> Self {
        let mut error = Self::plain(code);
        let data = error.data.get_or_insert_default();
        let detail = detail.into();
        data.fallback_text.clone_from(&detail);
        data.detail = Some(detail);
        error
    }

    /// Adds `data.reason`, a stable word for programs.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.data.get_or_insert_default().reason = Some(reason.into());
        self
    }

    /// A Turn cannot be undone without losing later changes to these files.
    pub fn files_changed(detail: impl Into<String>, files: Vec<String>) -> Self {
        let mut error = Self::internal_error(detail).with_reason("filesChanged");
        error.data.get_or_insert_default().files = Some(files);
        error
    }

    /// A configuration file was not changed.
    pub fn config_write(detail: impl Into<String>, code: &str) -> Self {
        let mut error = Self::invalid_request(detail);
        error.data.get_or_insert_default().config_write_error_code = Some(code.to_owned());
        error
    }

    /// `-32004`: a role does not cover a method or a member of its params.
    pub fn forbidden(what: &str, need: Need, role: Role) -> Self {
        let mut error = Self::about(ErrorCode::Forbidden, what);
        let data = error.data.get_or_insert_default();
        let (least, own) = (need.role().word(), role.word());
        let detail = format!(
            "'{what}' needs the role {least}, and yours is {own}. The owner of the server can give it to you: \
             `bobbin people add NAME --role {least}`."
        );
        data.fallback_text.clone_from(&detail);
        data.detail = Some(detail);
        data.need = Some(need.word().to_owned());
        data.role = Some(role);
        error
    }

    /// Returns the code as a row of the table; `None` for a foreign code.
    pub fn error_code(&self) -> Option<ErrorCode> {
        ErrorCode::from_code(self.code)
    }

    /// Returns `data.detail`, or the message if there is no detail.
    pub fn detail(&self) -> &str {
        self.data
            .as_ref()
            .and_then(|data| data.detail.as_deref())
            .unwrap_or(&self.message)
    }

    /// `-32001` with the time after which to retry.
    pub fn overloaded(retry_after_ms: u64) -> Self {
        let mut error = Self::plain(ErrorCode::Overloaded);
        error.data.get_or_insert_default().retry_after_ms = Some(retry_after_ms);
        error
    }

    /// `-32602` for a `clientRequestId` that was used before with another body (extension).
    pub fn client_request_id_reused() -> Self {
        Self::invalid_params("'clientRequestId' was already used for a different request.")
            .with_reason("clientRequestIdReused")
    }
}

macro_rules! constructors {
    ($($kind:ident $name:ident($($argument:ident)?) = $variant:ident;)+) => {
        impl RpcError {
            $(constructors!(@one $kind $name($($argument)?) = $variant);)+
        }
    };
    (@one plain $name:ident() = $variant:ident) => {
        #[doc = concat!("[`ErrorCode::", stringify!($variant), "`].")]
        pub fn $name() -> Self {
            Self::plain(ErrorCode::$variant)
        }
    };
    (@one about $name:ident($argument:ident) = $variant:ident) => {
        #[doc = concat!("[`ErrorCode::", stringify!($variant), "`], quoting the ", stringify!($argument), ".")]
        pub fn $name($argument: &str) -> Self {
            Self::about(ErrorCode::$variant, $argument)
        }
    };
    (@one detailed $name:ident($argument:ident) = $variant:ident) => {
        #[doc = concat!("[`ErrorCode::", stringify!($variant), "`] with `data.detail`, a sentence for the user.")]
        pub fn $name($argument: impl Into<String>) -> Self {
            Self::detailed(ErrorCode::$variant, $argument)
        }
    };
}

constructors! {
    plain parse_error() = ParseError;
    detailed invalid_request(detail) = InvalidRequest;
    about method_not_found(method) = MethodNotFound;
    detailed invalid_params(detail) = InvalidParams;
    detailed internal_error(detail) = InternalError;
    plain not_initialized() = NotInitialized;
    plain already_initialized() = AlreadyInitialized;
    about thread_not_found(id) = ThreadNotFound;
    about thread_not_active(id) = ThreadNotActive;
    about turn_in_progress(thread_id) = TurnInProgress;
    about turn_not_found(id) = TurnNotFound;
    about turn_not_running(id) = TurnNotRunning;
    plain approval_timeout() = ApprovalTimeout;
    about channel_rejected(name) = ChannelRejected;
    about cron_job_not_found(id) = CronJobNotFound;
    about skill_not_found(name) = SkillNotFound;
    about task_not_found(id) = TaskNotFound;
    about task_state_invalid(detail) = TaskStateInvalid;
    about task_exists(id) = TaskExists;
    about binding_invalid(thread_id) = BindingInvalid;
    about automation_version_conflict(id) = AutomationVersionConflict;
    about command_not_found(name) = CommandNotFound;
    about command_denied(name) = CommandDenied;
    about command_service_missing(name) = CommandServiceMissing;
    about mcp_server_not_found(name) = McpServerNotFound;
    detailed mcp_invalid(detail) = McpInvalid;
    detailed mcp_test_failed(detail) = McpTestFailed;
    detailed mcp_name_conflict(detail) = McpNameConflict;
    about mcp_read_only(name) = McpReadOnly;
    about channel_not_found(name) = ChannelNotFound;
    detailed channel_invalid(detail) = ChannelInvalid;
    detailed channel_name_conflict(detail) = ChannelNameConflict;
    about profile_not_found(name) = ProfileNotFound;
    detailed profile_invalid(detail) = ProfileInvalid;
    detailed profile_protected(detail) = ProfileProtected;
}

impl From<DecodeError> for RpcError {
    fn from(error: DecodeError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

#[cfg(test)]
mod tests;
