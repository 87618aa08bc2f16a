//! Tools that a client declares with a Thread and runs itself (AppServer protocol 02 §5.1.1, 04 §7).
//!
//! Holds the client's declaration and the recorded call. A recorded call is one Item that is call and result at
//! once.

use serde::{Deserialize, Serialize};

use crate::{ApprovalKind, Json};

/// A tool as its client declared it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicTool {
    /// Its name, unique with its namespace.
    pub name: String,
    /// The group it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The external channel that it is of, as its calls name it. `None` for a tool that came with its Thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_id: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub input_schema: Json,
    /// What the user is asked before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<DynamicApproval>,
}

/// What the user is asked before a dynamic tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicApproval {
    /// Kind of thing the tool touches.
    pub kind: ApprovalKind,
    /// The argument that names it.
    pub target_argument: String,
    /// What it does to the target.
    pub operation: DynamicOperation,
}

/// Where the text of a dynamic tool's operation comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DynamicOperation {
    /// Always this text.
    Fixed(String),
    /// This argument of the call.
    Argument(String),
}

/// A call of a dynamic tool, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCall {
    /// The tool's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The external channel that the tool is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_id: Option<String>,
    /// The tool's own name.
    pub tool_name: String,
    /// The name under which the model knows it.
    pub offered_as: String,
    /// The call; begins with [`CALL_ID`], or with [`CHANNEL_CALL_ID`].
    pub call_id: String,
    /// The number of the model's reply that it is of, among those with calls; older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<usize>,
    /// The arguments; absent when the model wrote no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// The client's answer; absent while the tool runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ToolAnswer>,
    /// Opaque data for the model's provider, which wants it back with the reply. Stored with the first call of that
    /// reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Json>,
}

/// Prefix of the id of every call of a tool that came with its Thread.
pub const CALL_ID: &str = "dyntool_";
/// Prefix of the id of every call of a tool of an external channel.
pub const CHANNEL_CALL_ID: &str = "exttool_";

/// The result of a call, as the client reports it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    /// Whether the tool succeeded.
    pub success: bool,
    /// The result, to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
    /// The result, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
    /// Stable error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Error message for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// A piece of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToolContent {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Its media type.
        media_type: String,
        /// The picture, Base64.
        data_base64: String,
    },
}

/// Why a call of a dynamic tool failed (AppServer protocol 04 §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DynamicToolError {
    /// Its client is not connected or no longer serves the tool.
    Unavailable,
    /// The client answered with an error.
    ClientError,
    /// The answer does not have the protocol's shape, or is too large.
    InvalidResponse,
    /// No answer came in time.
    Timeout,
    /// The tool failed and gave no error code.
    Failed,
    /// The arguments do not fit the schema; the call was not sent.
    InvalidArguments,
    /// The user or a rule refused; the call was not sent.
    AccessDenied,
    /// The Turn ended first. Not a code of the protocol.
    Cancelled,
    /// The server stopped while the call ran; it was not repeated. Not a code of the protocol.
    Interrupted,
}

impl DynamicToolError {
    /// Returns the error's code on the wire.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unavailable => "DynamicToolUnavailable",
            Self::ClientError => "DynamicToolClientError",
            Self::InvalidResponse => "DynamicToolInvalidResponse",
            Self::Timeout => "DynamicToolTimeout",
            Self::Failed => "DynamicToolFailed",
            Self::InvalidArguments => "InvalidArguments",
            Self::AccessDenied => "AccessDenied",
            Self::Cancelled => "Cancelled",
            Self::Interrupted => "InterruptedByRestart",
        }
    }

    /// Returns the error's code for a tool of an external channel (AppServer protocol 06 §B5).
    pub fn channel_code(self) -> &'static str {
        match self {
            Self::Unavailable => "AdapterDisconnected",
            Self::ClientError | Self::Failed => "AdapterToolCallFailed",
            Self::InvalidResponse => "AdapterProtocolViolation",
            Self::Timeout => "ExternalChannelToolTimeout",
            Self::InvalidArguments | Self::AccessDenied | Self::Cancelled | Self::Interrupted => self.code(),
        }
    }
}

impl ToolAnswer {
    /// Returns the answer of a call that failed before its client answered.
    pub fn failed(error: DynamicToolError, message: impl Into<String>) -> Self {
        Self {
            error_code: Some(error.code().to_owned()),
            error_message: Some(message.into()),
            ..Self::default()
        }
    }

    /// Returns the answer of a call of a channel's tool that failed before its adapter answered.
    pub fn failed_on_channel(error: DynamicToolError, message: impl Into<String>) -> Self {
        Self {
            error_code: Some(error.channel_code().to_owned()),
            ..Self::failed(error, message)
        }
    }

    /// Whether the call was not sent because the user or a rule refused.
    pub fn is_refused(&self) -> bool {
        self.error_code.as_deref() == Some(DynamicToolError::AccessDenied.code())
    }

    /// Returns the answer as text for a model that reads no pictures.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        match (&self.error_code, &self.error_message) {
            (Some(code), Some(message)) => parts.push(format!("{code}: {message}")),
            (Some(word), None) | (None, Some(word)) => parts.push(word.clone()),
            (None, None) => {}
        }
        parts.extend(self.content.iter().map(|content| match content {
            ToolContent::Text(text) => text.clone(),
            ToolContent::Image {
                media_type,
                data_base64,
            } => format!(
                "[image, {media_type}, {} bytes: not shown]",
                data_base64.len() / 4 * 3
            ),
        }));
        // Programs often repeat their structured result as text. Where they do not, the structured result is used.
        if self.content.is_empty()
            && let Some(value) = &self.structured
        {
            parts.push(value.get().to_owned());
        }
        parts.retain(|part| !part.is_empty());
        if parts.is_empty() {
            let silence = if self.success {
                "done; nothing was said"
            } else {
                "the tool failed without saying why"
            };
            return silence.to_owned();
        }
        parts.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structured(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_answer_as_text_has_all_that_can_be_read() {
        let image = ToolContent::Image {
            media_type: "image/png".into(),
            data_base64: "AAAAAAAA".into(),
        };
        let said = ToolContent::Text("Timer set.".into());
        let table = [
            (
                ToolAnswer {
                    success: true,
                    content: vec![said, image],
                    structured: Some(structured(r#"{"timer":17}"#)),
                    ..ToolAnswer::default()
                },
                "Timer set.\n[image, image/png, 6 bytes: not shown]",
            ),
            (
                ToolAnswer {
                    success: true,
                    structured: Some(structured(r#"{"timer":17.0}"#)),
                    ..ToolAnswer::default()
                },
                r#"{"timer":17.0}"#,
            ),
            (
                ToolAnswer::failed(DynamicToolError::Timeout, "no answer in 120 s"),
                "DynamicToolTimeout: no answer in 120 s",
            ),
            (
                ToolAnswer {
                    success: true,
                    ..ToolAnswer::default()
                },
                "done; nothing was said",
            ),
            (ToolAnswer::default(), "the tool failed without saying why"),
            (
                ToolAnswer {
                    success: true,
                    content: vec![ToolContent::Text(String::new())],
                    ..ToolAnswer::default()
                },
                "done; nothing was said",
            ),
        ];
        for (answer, text) in table {
            assert_eq!(answer.text(), text);
        }
    }

    #[test]
    fn only_a_call_that_was_denied_is_refused() {
        let refused = |error| ToolAnswer::failed(error, "").is_refused();
        assert!(refused(DynamicToolError::AccessDenied));
        assert!(!refused(DynamicToolError::Timeout) && !refused(DynamicToolError::Cancelled));
        assert!(!ToolAnswer::default().is_refused());
    }

    #[test]
    fn a_call_survives_a_round_trip_with_its_json_as_it_came() {
        let call = DynamicToolCall {
            kept: None,
            namespace: None,
            plugin_id: None,
            tool_name: "set_timer".into(),
            offered_as: "set_timer".into(),
            call_id: "dyntool_1".into(),
            reply: Some(2),
            arguments: Some(structured(r#"{"z":1e2,"a":1.50}"#)),
            answer: Some(ToolAnswer {
                success: true,
                structured: Some(structured(r#"{"n":12345678901234567890123}"#)),
                ..ToolAnswer::default()
            }),
        };
        let text = serde_json::to_string(&crate::ItemBody::DynamicToolCall(Box::new(call.clone()))).unwrap();
        assert!(
            text.contains("1e2") && text.contains("12345678901234567890123"),
            "{text}"
        );
        let back: crate::ItemBody = serde_json::from_str(&text).unwrap();
        assert_eq!(back, crate::ItemBody::DynamicToolCall(Box::new(call)));
    }
}
