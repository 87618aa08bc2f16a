//! Handshake and messages to the user (sections 4, 18, 20.3).

use bobbin_editor_kit::NoticeKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Params of `initialize` (4.2). Clients may leave out all members.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams {
    pub(crate) process_id: Option<i64>,
    pub(crate) client_info: Option<ClientInfo>,
    pub(crate) initialization_options: Option<InitializationOptions>,
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) workspace_folders: Option<Vec<WorkspaceFolder>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ClientInfo {
    pub(crate) name: Option<String>,
}

/// The options of the client that are read (4.6).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializationOptions {
    pub(crate) chat_behavior: Option<String>,
    pub(crate) chat_agent: Option<String>,
    pub(crate) pure_config: Option<bool>,
    pub(crate) default_model: Option<String>,
    /// Not decoded, since it may be a whole configuration tree.
    pub(crate) tool_call: Option<Value>,
    pub(crate) providers: Option<Value>,
    pub(crate) mcp_servers: Option<Value>,
    pub(crate) chat: Option<Value>,
}

impl InitializationOptions {
    /// Returns the mode to start with.
    pub(crate) fn mode(&self) -> Option<&str> {
        let of_chat = |name: &str| self.chat.as_ref()?[name].as_str();
        let own = self.chat_agent.as_deref().or(self.chat_behavior.as_deref());
        own.or_else(|| of_chat("defaultAgent"))
            .or_else(|| of_chat("defaultBehavior"))
    }

    /// Returns the default policy for calls (`toolCall.approval.byDefault`).
    pub(crate) fn by_default(&self) -> Option<&str> {
        self.tool_call.as_ref()?["approval"]["byDefault"].as_str()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceFolder {
    pub(crate) uri: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities {
    pub(crate) code_assistant: Option<CodeAssistant>,
}

/// The capabilities of a client. Any value except `false` and `null` means yes (2.2).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeAssistant {
    pub(crate) rewrite: Option<Value>,
    pub(crate) chat_capabilities: Option<Value>,
    pub(crate) editor: Option<EditorCapabilities>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct EditorCapabilities {
    pub(crate) diagnostics: Option<Value>,
    pub(crate) definition: Option<Value>,
    pub(crate) references: Option<Value>,
}

impl Capabilities {
    /// Whether they name a capability that is newer than the first version (20.8).
    pub(crate) fn are_current(&self) -> bool {
        self.code_assistant.as_ref().is_some_and(|code| {
            yes(code.rewrite.as_ref())
                || yes(code.chat_capabilities.as_ref())
                || code
                    .editor
                    .as_ref()
                    .is_some_and(|editor| yes(editor.definition.as_ref()) || yes(editor.references.as_ref()))
        })
    }
}

impl Capabilities {
    /// Whether the editor can ask its user a model's question (21.1).
    pub(crate) fn asks_questions(&self) -> bool {
        let code = self.code_assistant.as_ref();
        let chat = code.and_then(|code| code.chat_capabilities.as_ref());
        chat.is_some_and(|chat| yes(chat.get("askQuestion").filter(|asks| !asks.is_null())))
    }

    /// Whether the editor can be asked for its diagnostics (section 15).
    pub(crate) fn has_diagnostics(&self) -> bool {
        let editor = self.code_assistant.as_ref().and_then(|code| code.editor.as_ref());
        editor.is_some_and(|editor| yes(editor.diagnostics.as_ref()))
    }
}

fn yes(value: Option<&Value>) -> bool {
    value.is_some_and(|value| *value != Value::Bool(false))
}

/// Result of `initialize`. All members are optional for clients.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResult<'a> {
    pub(crate) chat_welcome_message: &'static str,
    pub(crate) models: &'a [String],
    pub(crate) chat_default_model: &'a str,
    pub(crate) chat_behaviors: [&'static str; 2],
    pub(crate) chat_default_behavior: &'static str,
    pub(crate) server_info: ServerInfo<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerInfo<'a> {
    pub(crate) name: &'static str,
    pub(crate) version: &'a str,
}

/// Params of `$/showMessage`.
#[derive(Debug, Serialize)]
pub(crate) struct ShowMessage<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: NoticeKind,
    pub(crate) message: &'a str,
}

/// Params of `$/progress` (20.3).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) task_id: &'static str,
    pub(crate) title: &'static str,
}
