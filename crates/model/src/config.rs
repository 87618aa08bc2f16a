//! A Thread's configuration: typed members that the server acts on; all other members unchanged.

use serde::{Deserialize, Serialize};

use crate::{ApprovalPolicy, Effort};

/// Which kind of work the agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// All tools, under the approval rules.
    #[default]
    Agent,
    /// Reading and planning only.
    Plan,
}

/// Configuration of one Thread (AppServer protocol 02 §2.4). Stored whole: the server returns members that it does
/// not know unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfig {
    /// Agent or plan mode; takes effect with the next Turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Model for this Thread instead of the workspace's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another agent that runs the Turns of this Thread: the name of an engine of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// How much the model reasons before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// How Approvals are decided here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// `true`: ask about paths outside the workspace; `false`: refuse them without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_approval_outside_workspace: Option<bool>,
    /// Another root for the file tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_override: Option<String>,
    /// The worktree of git that the Thread works in. Only the server sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Box<Worktree>>,
    /// The only tools allowed; an empty list allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_allow_list: Option<Vec<String>>,
    /// Tools that are never allowed, whatever the other settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_deny_list: Option<Vec<String>>,
    /// Members that the server does not know.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl ThreadConfig {
    /// Returns the mode in force.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// Whether this Thread may use a tool.
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|name| name.trim().eq_ignore_ascii_case(tool));
        let allowed = self.tool_allow_list.as_deref().unwrap_or_default();
        let denied = self.tool_deny_list.as_deref().unwrap_or_default();
        (allowed.is_empty() || listed(allowed)) && !listed(denied)
    }
}

/// A worktree of git that the server made for a Thread (AppServer protocol 07 §8.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Its id, which names its directory.
    pub id: String,
    /// The Thread that was copied, or the Thread itself.
    pub source_thread_id: String,
    /// The folder that the Thread works in: the worktree, or the folder in it that corresponds to the workspace.
    pub workspace_path: String,
    /// The workspace.
    pub source_workspace_path: String,
    /// The worktree.
    pub path: String,
    /// The branch that was made with it.
    pub branch_name: String,
    /// The branch, tag or commit that it started from, as it was named.
    pub base_ref: String,
    /// The commit of that, in hexadecimal.
    pub base_head: String,
    /// The commit that was checked out, in hexadecimal. `worktree/status` has the present one.
    pub head: String,
    /// When it was made, in RFC 3339.
    pub created_at: String,
    /// The uncommitted changes that were copied into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_handoff: Option<DirtyHandoff>,
}

/// The uncommitted changes that were copied into a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DirtyHandoff {
    /// Whether the client asked for them.
    pub requested: bool,
    /// `applied` if there were changes, `clean` if there were none, `skipped` if they were not asked for.
    pub status: String,
    /// Files that were copied.
    pub copied_file_count: u32,
    /// Files that are deleted in the workspace, and now here too.
    pub deleted_file_count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_filtered_by_both_lists() {
        let table = [
            ("{}", true),
            (r#"{"toolAllowList":[]}"#, true),
            (r#"{"toolAllowList":["ReadFile"," exec "]}"#, true),
            (r#"{"toolAllowList":["ReadFile"]}"#, false),
            (r#"{"toolDenyList":["ReadFile"]}"#, true),
            (r#"{"toolDenyList":["EXEC"]}"#, false),
            (r#"{"toolAllowList":["Exec"],"toolDenyList":["Exec"]}"#, false),
        ];
        for (text, offered) in table {
            let config: ThreadConfig = serde_json::from_str(text).unwrap();
            assert_eq!(config.offers("Exec"), offered, "{text}");
            assert_eq!(serde_json::to_string(&config).unwrap(), text);
        }
    }
}
