//! A Thread's configuration: the members the server acts on, typed, and every other member kept.

use serde::{Deserialize, Serialize};

use crate::ApprovalPolicy;

/// What the agent may do at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// All tools, under the approval rules.
    #[default]
    Agent,
    /// Reading and planning only.
    Plan,
}

/// Configuration of one Thread (AppServer protocol 02 §2.4). Stored whole: members that the server does
/// not know are given back as they came.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfig {
    /// Agent or plan mode; takes effect with the next Turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Model for this Thread instead of the workspace's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How Approvals are decided here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// `true`: ask about paths outside the workspace; `false`: refuse them without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_approval_outside_workspace: Option<bool>,
    /// Another root for the file tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_override: Option<String>,
    /// Only these tools; an empty list is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_allow_list: Option<Vec<String>>,
    /// Not these tools, whatever else says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_deny_list: Option<Vec<String>>,
    /// Everything else, kept.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl ThreadConfig {
    /// Returns the mode in force.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// Whether a tool is one of those that this Thread may have.
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|name| name.trim().eq_ignore_ascii_case(tool));
        let allowed = self.tool_allow_list.as_deref().unwrap_or_default();
        let denied = self.tool_deny_list.as_deref().unwrap_or_default();
        (allowed.is_empty() || listed(allowed)) && !listed(denied)
    }
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
