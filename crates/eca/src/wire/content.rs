//! Contents of a chat (sections 7 and 8), and its other messages (20.1, 20.2).

use std::borrow::Cow;
use std::sync::Arc;

use bobbin_editor_kit::Limit;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{ChatId, Notification};

/// The author of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    User,
    System,
    Assistant,
}

/// The status of a chat (20.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Running,
    Idle,
    Stopping,
}

/// The progress of a turn (7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProgressState {
    Running,
    Finished,
}

/// The reason why a call was rejected (8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reason {
    /// The user refused it, or stopped the turn.
    UserChoice,
    /// A rule refused it.
    UserConfig,
}

/// One content.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Content {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content_id: Option<String>,
    },
    Progress {
        state: ProgressState,
        text: Cow<'static, str>,
    },
    Usage {
        session_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_message_cost: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_cost: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    ReasonStarted {
        id: String,
    },
    ReasonText {
        id: String,
        text: String,
    },
    ReasonFinished {
        id: String,
        total_time_ms: u64,
    },
    ToolCallPrepare {
        #[serde(flatten)]
        call: CallHead,
        arguments_text: String,
    },
    ToolCallRun {
        #[serde(flatten)]
        call: CallHead,
        arguments: Arguments,
        manual_approval: bool,
    },
    ToolCallRunning {
        #[serde(flatten)]
        call: CallHead,
        arguments: Arguments,
    },
    ToolCalled {
        #[serde(flatten)]
        call: CallHead,
        arguments: Arguments,
        error: bool,
        outputs: Vec<Output>,
        total_time_ms: u64,
    },
    ToolCallRejected {
        #[serde(flatten)]
        call: CallHead,
        arguments: Arguments,
        reason: Reason,
    },
    Metadata {
        title: String,
    },
    Url {
        title: String,
        url: String,
    },
    Flag {
        text: String,
        content_id: String,
    },
}

impl Content {
    /// Returns the author of a content of this kind. Only texts can have different authors.
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Progress { .. } | Self::Usage { .. } | Self::Metadata { .. } | Self::Flag { .. } => {
                Role::System
            }
            _ => Role::Assistant,
        }
    }
}

impl Content {
    /// Returns the id with which a client may name this content.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Text { content_id, .. } => content_id.as_deref(),
            Self::ReasonStarted { id } | Self::ReasonText { id, .. } | Self::ReasonFinished { id, .. } => {
                Some(id)
            }
            Self::ToolCallPrepare { call, .. }
            | Self::ToolCallRun { call, .. }
            | Self::ToolCallRunning { call, .. }
            | Self::ToolCalled { call, .. }
            | Self::ToolCallRejected { call, .. } => Some(&call.id),
            Self::Progress { .. }
            | Self::Usage { .. }
            | Self::Metadata { .. }
            | Self::Url { .. }
            | Self::Flag { .. } => None,
        }
    }
}

/// The members that all contents of a call have.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CallHead {
    pub(crate) origin: &'static str,
    pub(crate) server: Arc<str>,
    pub(crate) id: String,
    pub(crate) name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Details>,
}

/// More about a call (8.4).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Details {
    FileChange {
        path: String,
        diff: String,
        lines_added: u64,
        lines_removed: u64,
    },
}

/// Arguments of a call, an object as the model wrote it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Arguments(pub(crate) Arc<RawValue>);

/// One output of a call.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Output {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

impl Output {
    /// Returns a text.
    pub(crate) fn text(text: String) -> Self {
        Self { kind: "text", text }
    }
}

/// A message about a chat.
#[derive(Debug, Clone)]
pub(crate) enum ChatContent {
    /// A content.
    Content(Role, Content),
    /// The status of the chat.
    Status(Status),
    /// The chat is open (20.1).
    Opened(Option<String>),
    /// The client must drop the chat's contents (20.4).
    Cleared,
    /// The chat is gone.
    Deleted,
}

impl From<Content> for ChatContent {
    fn from(content: Content) -> Self {
        Self::Content(content.role(), content)
    }
}

impl ChatContent {
    /// Returns the progress of a running turn.
    pub(crate) fn running(text: impl Into<Cow<'static, str>>) -> Self {
        Content::Progress {
            state: ProgressState::Running,
            text: text.into(),
        }
        .into()
    }

    /// Returns the progress of a finished turn.
    pub(crate) fn finished() -> Self {
        Content::Progress {
            state: ProgressState::Finished,
            text: Cow::Borrowed(""),
        }
        .into()
    }

    /// Returns a notice of ours.
    pub(crate) fn system(text: impl Into<String>) -> Self {
        let content = Content::Text {
            text: text.into(),
            content_id: None,
        };
        Self::Content(Role::System, content)
    }

    /// Returns the echo of the user's words (7.1).
    pub(crate) fn echo(words: &str, content_id: String) -> Self {
        let content = Content::Text {
            text: format!("{words}\n"),
            content_id: Some(content_id),
        };
        Self::Content(Role::User, content)
    }

    /// Returns a piece of the model's text.
    pub(crate) fn assistant(text: String) -> Self {
        let content = Content::Text {
            text,
            content_id: None,
        };
        Self::Content(Role::Assistant, content)
    }

    /// Returns it as a notification about a chat.
    pub(crate) fn notification(&self, chat_id: &ChatId) -> Option<Notification> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a, T: Serialize> {
            chat_id: &'a ChatId,
            #[serde(flatten)]
            rest: T,
        }
        #[derive(Serialize)]
        struct Received<'a> {
            role: Role,
            content: &'a Content,
        }
        #[derive(Serialize)]
        struct StatusChanged {
            status: Status,
        }
        #[derive(Serialize)]
        struct Opened<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
        }
        #[derive(Serialize)]
        struct Cleared {
            messages: bool,
        }
        #[derive(Serialize)]
        struct Nothing {}
        match self {
            Self::Content(role, content) => {
                let rest = Received { role: *role, content };
                Notification::new("chat/contentReceived", &Params { chat_id, rest })
            }
            Self::Status(status) => {
                let rest = StatusChanged { status: *status };
                Notification::new("chat/statusChanged", &Params { chat_id, rest })
            }
            Self::Opened(title) => {
                let title = title.as_deref();
                let rest = Opened { title };
                Notification::new("chat/opened", &Params { chat_id, rest })
            }
            Self::Cleared => {
                let rest = Cleared { messages: true };
                Notification::new("chat/cleared", &Params { chat_id, rest })
            }
            Self::Deleted => Notification::new(
                "chat/deleted",
                &Params {
                    chat_id,
                    rest: Nothing {},
                },
            ),
        }
    }
}
