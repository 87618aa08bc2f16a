//! Compares the members that the Codex dialect sends with those that an installed client requires.
//!
//! `codex app-server generate-json-schema --experimental --out DIR` prints the client's schema. A member that a new version
//! requires, and that we do not send, breaks the client there.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

/// The version whose requirements are listed here.
const VERSION: &str = "0.169.0";

/// Required members: the file, the definition in it (empty for the file itself), the members.
const REQUIRED: &[(&str, &str, &str)] = &[
    (
        "v1/InitializeResponse",
        "",
        "codexHome platformFamily platformOs userAgent",
    ),
    (
        "v2/ThreadStartResponse",
        "",
        "approvalPolicy approvalsReviewer cwd model modelProvider sandbox thread",
    ),
    (
        "v2/ThreadResumeResponse",
        "",
        "approvalPolicy approvalsReviewer cwd model modelProvider sandbox thread",
    ),
    (
        "v2/ThreadStartedNotification",
        "Thread",
        "cliVersion createdAt cwd ephemeral id modelProvider preview projectId sessionId source status turns updatedAt",
    ),
    ("v2/TurnStartResponse", "", "turn"),
    ("v2/TurnStartedNotification", "", "threadId turn"),
    ("v2/TurnStartedNotification", "Turn", "id items status"),
    ("v2/TurnStartedNotification", "TurnError", "message"),
    ("v2/TurnCompletedNotification", "", "threadId turn"),
    (
        "v2/ItemStartedNotification",
        "",
        "item startedAtMs threadId turnId",
    ),
    (
        "v2/ItemCompletedNotification",
        "",
        "completedAtMs item threadId turnId",
    ),
    (
        "v2/AgentMessageDeltaNotification",
        "",
        "delta itemId threadId turnId",
    ),
    ("v2/ThreadStatusChangedNotification", "", "status threadId"),
    ("v2/ThreadNameUpdatedNotification", "", "threadId"),
    (
        "v2/ThreadTokenUsageUpdatedNotification",
        "ThreadTokenUsage",
        "last total",
    ),
    (
        "v2/ThreadTokenUsageUpdatedNotification",
        "TokenUsageBreakdown",
        "cachedInputTokens inputTokens outputTokens reasoningOutputTokens totalTokens",
    ),
    (
        "v2/ThreadSettingsUpdatedNotification",
        "ThreadSettings",
        "approvalPolicy approvalsReviewer collaborationMode cwd model modelProvider sandboxPolicy",
    ),
    ("v2/TurnPlanUpdatedNotification", "", "plan threadId turnId"),
    ("v2/TurnDiffUpdatedNotification", "", "diff threadId turnId"),
    ("v2/ServerRequestResolvedNotification", "", "requestId threadId"),
    ("v2/ErrorNotification", "", "error threadId turnId willRetry"),
    ("v2/WarningNotification", "", "message"),
    (
        "v2/ModelListResponse",
        "Model",
        "defaultReasoningEffort description displayName hidden id isDefault model supportedReasoningEfforts",
    ),
    ("v2/ThreadListResponse", "", "data"),
    ("v2/ThreadItemsListResponse", "", "data"),
    ("v2/ThreadTurnsListResponse", "", "data"),
    (
        "CommandExecutionRequestApprovalParams",
        "",
        "itemId startedAtMs threadId turnId",
    ),
    (
        "FileChangeRequestApprovalParams",
        "",
        "itemId startedAtMs threadId turnId",
    ),
    (
        "ToolRequestUserInputParams",
        "",
        "isBlocking itemId questions threadId turnId",
    ),
];

/// Required members of the items that are sent.
const ITEMS: &[(&str, &str)] = &[
    ("userMessage", "content id type"),
    ("agentMessage", "id text type"),
    ("reasoning", "id type"),
    ("plan", "id text type"),
    ("commandExecution", "command commandActions cwd id status type"),
    ("fileChange", "changes id status type"),
    ("mcpToolCall", "arguments id server status tool type"),
    ("dynamicToolCall", "arguments id status tool type"),
    ("contextCompaction", "id type"),
];

/// Compares with the schema in a directory.
///
/// # Errors
/// The schema requires other members, or has no such part.
pub(crate) fn run(directory: &Path) -> anyhow::Result<()> {
    let mut changes = Vec::new();
    for (file, definition, members) in REQUIRED {
        let schema = read(directory, file)?;
        let part = match *definition {
            "" => &schema,
            name => &schema["definitions"][name],
        };
        let name = format!("{file} {definition}");
        changes.extend(compared(name.trim(), part, members));
    }
    let schema = read(directory, "v2/ItemStartedNotification")?;
    let items = schema["definitions"]["ThreadItem"]["oneOf"].as_array();
    for (kind, members) in ITEMS {
        let is_it = |item: &&Value| item["properties"]["type"]["enum"][0] == *kind;
        let found = items.and_then(|items| items.iter().find(is_it));
        changes.extend(compared(kind, found.unwrap_or(&Value::Null), members));
    }
    if changes.is_empty() {
        let text = format!("The client requires what version {VERSION} did.\n");
        return write!(std::io::stdout(), "{text}").context("cannot print");
    }
    bail!(
        "the client requires other members than version {VERSION}:\n{}",
        changes.join("\n")
    );
}

fn read(directory: &Path, file: &str) -> anyhow::Result<Value> {
    let path = directory.join(format!("{file}.json"));
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

/// Returns how the required members of a part differ from the known ones.
fn compared(name: &str, part: &Value, known: &str) -> Vec<String> {
    let Some(required) = part["required"].as_array() else {
        return vec![format!("{name}: it is not there any more")];
    };
    let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    let known: Vec<&str> = known.split(' ').collect();
    let new = required.iter().filter(|member| !known.contains(member));
    let new = new.map(|member| format!("{name}: requires `{member}`"));
    let gone = known.iter().filter(|member| !required.contains(member));
    let gone = gone.map(|member| format!("{name}: requires `{member}` no more"));
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_come_and_go_are_named() {
        let part = json!({ "required": ["id", "new"] });
        assert_eq!(
            compared("Turn", &part, "id old"),
            ["Turn: requires `new`", "Turn: requires `old` no more"]
        );
        assert_eq!(compared("Turn", &part, "id new"), [""; 0]);
        assert_eq!(
            compared("Turn", &Value::Null, "id"),
            ["Turn: it is not there any more"]
        );
    }
}
