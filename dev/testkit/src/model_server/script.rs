//! What the server does, as values that a file can hold.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A script. As a file, JSON:
///
/// ```json
/// { "replies": [
///   { "parts": [{ "reasoning": "Let me look." }, { "call": { "id": "c1", "tool": "list_files", "arguments": {} } }] },
///   { "status": 429, "headers": { "retry-after": "1" }, "error": { "kind": "rate_limit_error", "message": "slow down" } },
///   { "parts": [{ "text": "Done." }], "usage": { "input": 12, "output": 3 } }
/// ] }
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Script {
    /// One a request, in order; the last one stays. Without any, the prompt says what to do.
    pub replies: Vec<Reply>,
    /// The answer to requests that offer no tools, which then take none of `replies`: a summary, a title.
    pub aside: Option<Reply>,
    /// Whether replies without `usage` report the tokens of their requests, four bytes each.
    pub counts: bool,
    /// What the list of models has.
    pub models: Vec<String>,
    /// The key to ask for; any when left out.
    pub key: Option<String>,
}

/// What one request gets.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Reply {
    /// Status; anything but 200 is an error without a stream.
    pub status: Option<u16>,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// The error of such a status.
    pub error: Option<ErrorPart>,
    /// The body of such a status as it is, instead of the wire's form.
    pub body: Option<String>,
    /// The stream.
    pub parts: Vec<Part>,
    /// Tokens, told in the wire's way.
    pub usage: Option<Usage>,
    /// Whether the reply is cut at its limit of tokens.
    pub length: bool,
    /// Bytes of one piece on the wire; one event a piece when left out.
    pub piece_bytes: Option<usize>,
    /// Milliseconds between pieces.
    pub pace_ms: u64,
}

/// One step of a stream.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Speech, a piece a word.
    Text(String),
    /// Thoughts, likewise.
    Reasoning(String),
    /// A call, its arguments in several pieces.
    Call(ScriptedCall),
    /// Calls whose pieces alternate, where the wire lets them.
    Calls(Vec<ScriptedCall>),
    /// The wire's error in the middle of a stream; nothing follows.
    Error(ErrorPart),
    /// A comment, as providers send them to keep a connection open.
    Comment(String),
    /// Bytes as they are.
    Raw(String),
    /// Waits.
    PauseMs(u64),
    /// Sends nothing more and keeps the connection open.
    Stall,
    /// Breaks the connection off.
    Cut,
    /// Ends the body in order, but without what ends a reply.
    Close,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// An object, or a text that is sent as it is.
    pub arguments: Value,
}

impl ScriptedCall {
    /// Returns the arguments as they are sent.
    pub(super) fn text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ErrorPart {
    /// Code or type.
    pub kind: String,
    /// Words.
    pub message: String,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Those of `input` that come from a cache.
    #[serde(default)]
    pub cached: u64,
    /// Those of `output` that are reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Script {
    /// Returns a script of these replies.
    pub fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            replies: replies.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Reads a script's file.
    ///
    /// # Errors
    /// It is not JSON or not a script; the text says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

impl Reply {
    /// Returns a stream.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns an error.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self {
            status: Some(status),
            error: Some(ErrorPart {
                kind: kind.to_owned(),
                message: message.to_owned(),
            }),
            ..Self::default()
        }
    }
}
