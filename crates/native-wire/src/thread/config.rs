//! Configuration of one Thread: the protocol's members, typed, and every other member unchanged.
//!
//! AppServer protocol 02 §2.4. Clients read the object, change one member and send it back whole, so no member may be
//! lost.

use std::collections::BTreeMap;
use std::fmt;

use bobbin_model::{ApprovalPolicy, Effort, Json};
use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

/// Configuration of one Thread. Stored and replaced whole.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfiguration {
    /// `agent` or `plan`. Default `agent`.
    pub mode: Option<String>,
    /// Model for this Thread instead of the workspace's.
    pub model: Option<String>,
    /// Another agent that runs the Turns of this Thread: the name of an engine of the configuration.
    pub engine: Option<String>,
    /// How much the model reasons before it answers; by the model when left out.
    pub reasoning_effort: Option<Effort>,
    /// How Approvals are decided here.
    pub approval_policy: Option<ApprovalPolicy>,
    /// `true`: ask about paths outside the workspace; `false`: refuse them without asking.
    pub require_approval_outside_workspace: Option<bool>,
    /// Another root for the file tools.
    pub workspace_override: Option<String>,
    /// More MCP servers for this Thread, in the shape of `mcp/upsert`.
    pub mcp_servers: Option<Vec<Json>>,
    /// A named set of tools.
    pub tool_profile: Option<String>,
    /// Offer the tools of `toolProfile` and no others.
    pub use_tool_profile_only: Option<bool>,
    /// Names of further tools.
    pub custom_tools: Option<Vec<String>>,
    /// When given, only these tools are offered.
    pub tool_allow_list: Option<Vec<String>>,
    /// These tools are not offered.
    pub tool_deny_list: Option<Vec<String>>,
    /// Prefixes of the ACP extensions in use.
    pub extensions: Option<Vec<String>>,
    /// Appended to the instructions.
    pub agent_instructions: Option<String>,
    /// A named base prompt, for subagent roles.
    pub prompt_profile: Option<String>,
    /// Instructions of the role.
    pub role_instructions: Option<String>,
    /// `roleInstructions` replace the base prompt.
    pub override_base_prompt: Option<bool>,
    /// Whether the agent may start and steer others.
    pub agent_control_tool_access: Option<AgentControlToolAccess>,
    /// The tools for that, with `allowList`.
    pub allowed_agent_control_tools: Option<Vec<String>>,
    /// Directory of the task, in automation runs.
    pub automation_task_directory: Option<String>,
    /// Every other member, as it came.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Json>,
}

/// Whether an agent may start and steer other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentControlToolAccess {
    /// No.
    Disabled,
    /// Yes, with every tool there is.
    Full,
    /// Yes, with the tools named in `allowedAgentControlTools`.
    AllowList,
}

/// Reads each listed member into its field, and all others into `extra`.
macro_rules! read_members {
    ($map:ident, $($name:literal => $field:ident),+ $(,)?) => {{
        const KNOWN: &[&str] = &[$($name),+];
        let mut config = ThreadConfiguration::default();
        while let Some(key) = $map.next_key::<String>()? {
            match KNOWN.iter().copied().find(|name| name.eq_ignore_ascii_case(&key)) {
                $(Some($name) => config.$field = $map.next_value()?,)+
                _ => drop(config.extra.insert(key, $map.next_value()?)),
            }
        }
        Ok(config)
    }};
}

// A derived `flatten` would buffer the other members and lose their text. It would also store `Model` as an unknown
// member beside `model`.
impl<'de> Deserialize<'de> for ThreadConfiguration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl<'de> Visitor<'de> for MemberVisitor {
            type Value = ThreadConfiguration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ThreadConfiguration, A::Error> {
                read_members! { map,
                    "mode" => mode,
                    "model" => model,
                    "engine" => engine,
                    "reasoningEffort" => reasoning_effort,
                    "approvalPolicy" => approval_policy,
                    "requireApprovalOutsideWorkspace" => require_approval_outside_workspace,
                    "workspaceOverride" => workspace_override,
                    "mcpServers" => mcp_servers,
                    "toolProfile" => tool_profile,
                    "useToolProfileOnly" => use_tool_profile_only,
                    "customTools" => custom_tools,
                    "toolAllowList" => tool_allow_list,
                    "toolDenyList" => tool_deny_list,
                    "extensions" => extensions,
                    "agentInstructions" => agent_instructions,
                    "promptProfile" => prompt_profile,
                    "roleInstructions" => role_instructions,
                    "overrideBasePrompt" => override_base_prompt,
                    "agentControlToolAccess" => agent_control_tool_access,
                    "allowedAgentControlTools" => allowed_agent_control_tools,
                    "automationTaskDirectory" => automation_task_directory,
                }
            }
        }

        deserializer.deserialize_map(MemberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::lenient;

    fn read(text: &str) -> ThreadConfiguration {
        lenient::lenient(serde_json::from_str::<&RawValue>(text).unwrap()).unwrap()
    }

    #[test]
    fn unknown_members_come_back_as_they_came() {
        let text = r#"{"mode":"plan","approvalPolicy":"autoApprove","budget":{"usd":1.50,"B":1e2,"a":null}}"#;
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
    }

    #[test]
    fn known_members_match_without_case_and_null_counts_as_absent() {
        let config = read(r#"{"Model":"m-1","APPROVALPOLICY":"interrupt","toolProfile":null}"#);
        assert_eq!(config.model.as_deref(), Some("m-1"));
        assert_eq!(config.approval_policy, Some(ApprovalPolicy::Interrupt));
        assert_eq!(config.extra, BTreeMap::new());
    }

    #[test]
    fn policies_of_today_are_read_as_the_nearest_of_ours() {
        let policy = |name: &str| read(&format!(r#"{{"approvalPolicy":"{name}"}}"#)).approval_policy;
        assert_eq!(policy("prompt"), Some(ApprovalPolicy::Ask));
        assert_eq!(policy("deny"), Some(ApprovalPolicy::Refuse));
    }

    #[test]
    fn mcp_servers_keep_their_text() {
        let text = r#"{"mcpServers":[{"Name":"x","startupTimeoutSec":10.0}]}"#;
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
    }

    #[test]
    fn every_field_that_is_written_is_also_read_into_its_field() {
        let schema = schemars::schema_for!(ThreadConfiguration);
        let names = schema
            .get("properties")
            .and_then(|names| names.as_object())
            .unwrap();
        assert_eq!(names.len(), 21);
        for name in names.keys() {
            let given = format!(r#"{{"{name}":null}}"#);
            assert_eq!(
                read(&given).extra,
                BTreeMap::new(),
                "{name} is not in the list of members"
            );
        }
    }
}
