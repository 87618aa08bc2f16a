//! The sections `Permissions` and `Approvals` of configuration files.
//!
//! Rules of both files apply together; the stricter one wins. A workspace is often another author's work, so its
//! `allow` rules count only once the user trusts exactly that rule.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use bobbin_model::ApprovalPolicy;
use bobbin_rules::{RuleSet, RuleText};
use bobbin_settings::{Source, nearest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Tools that had other names in earlier versions.
const RENAMED: [(&str, &str); 4] = [
    ("shell", "Exec"),
    ("search", "GrepFiles"),
    ("listFiles", "FindFiles"),
    ("fetchUrl", "WebFetch"),
];

/// The sections about what is allowed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Calls that are allowed, asked about and refused.
    #[serde(default)]
    permissions: Permissions,
    /// Questions to the user.
    #[serde(default)]
    approvals: Approvals,
}

/// Calls that are allowed, asked about and refused.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
struct Permissions {
    /// The policy for calls that no rule speaks of, in Threads that do not say otherwise. Not set: as `automatic`, and a
    /// first start on the page or a terminal asks.
    default_approval_policy: Option<Policy>,
    /// Rules for commands, paths and tools. `deny` beats `ask` beats `allow`.
    #[serde(default)]
    #[schemars(length(max = 500))]
    rules: Vec<RuleText>,
    /// Not used any more: run `bobbin trust` in a folder that you trust.
    #[schemars(extend("deprecated" = true))]
    trust_workspace_rules: Option<Value>,
}

/// The policy for calls that no rule speaks of.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Policy {
    /// They are asked about, plain reads aside.
    Default,
    /// As `default`, and each change of a file in the workspace is asked about.
    AskWrites,
    /// Calls that `askWrites` asks about are refused.
    Refuse,
    /// Calls that the sandbox confines run, the rest is asked about.
    Sandboxed,
    /// As `sandboxed` in Turns that a person starts in a trusted folder with bubblewrap; else as `default`.
    Automatic,
    /// They run.
    AutoApprove,
}

/// Longest wait for an answer: ten years, which clients are shown where there is no limit.
const LONGEST_WAIT: Duration = Duration::from_hours(10 * 365 * 24);

/// Questions to the user.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Approvals {
    /// How long a question waits before it is declined, in seconds; 0 for as long as it takes.
    #[schemars(extend("default" = 86400))]
    max_wait_seconds: Option<u64>,
}

/// The settings of both configuration files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionSettings {
    /// The policy for calls that match no rule; `None`: it depends on who starts a Turn.
    pub approval_policy: Option<ApprovalPolicy>,
    /// Whether a file sets that policy.
    pub is_policy_set: bool,
    /// Longest time that a call waits for an answer.
    pub approval_max_wait: Option<Duration>,
    /// The rules as the files have them.
    pub rules: Vec<RuleText>,
}

impl PermissionSettings {
    /// Adds the settings of one file. The user's file comes first. `tools` are the names of the built-in tools.
    ///
    /// # Errors
    /// A rule cannot be used.
    pub fn add(&mut self, section: Section, tools: &[&str], source: &mut Source<'_>) -> anyhow::Result<()> {
        let Section {
            permissions,
            approvals,
        } = section;
        if permissions.trust_workspace_rules.is_some() && !source.is_of_folder() {
            source.warnings.push(
                "Permissions.TrustWorkspaceRules is not used any more: run `bobbin trust` in a folder that you trust"
                    .to_owned(),
            );
        }
        source.warnings.extend(unknown_tools(&permissions.rules, tools));
        self.add_rules(permissions.rules, source);
        self.compile(source.home)?;
        if let Some(policy) = permissions.default_approval_policy {
            let policy = match policy {
                Policy::Default => Some(ApprovalPolicy::Default),
                Policy::AskWrites => Some(ApprovalPolicy::AskWrites),
                Policy::Refuse => Some(ApprovalPolicy::Refuse),
                Policy::Sandboxed => Some(ApprovalPolicy::Sandboxed),
                Policy::Automatic => None,
                Policy::AutoApprove => Some(ApprovalPolicy::AutoApprove),
            };
            // Any file may make it stricter.
            let before = self.approval_policy.unwrap_or_default();
            let is_strict = policy.is_some_and(|policy| policy.stricter(before) == policy);
            if is_strict || source.passes("Permissions.DefaultApprovalPolicy") {
                self.approval_policy = policy;
                self.is_policy_set = true;
            }
        }
        let wait = approvals.max_wait_seconds.map(|seconds| match seconds {
            0 => Some(LONGEST_WAIT),
            seconds => Some(Duration::from_secs(seconds).min(LONGEST_WAIT)),
        });
        let shorter = |known: &Option<_>, wait: &Option<_>| known.is_some() && wait <= known;
        source.set(
            &mut self.approval_max_wait,
            wait,
            "Approvals.MaxWaitSeconds",
            shorter,
        );
        Ok(())
    }

    fn add_rules(&mut self, rules: Vec<RuleText>, source: &mut Source<'_>) {
        for (index, mut rule) in rules.into_iter().enumerate() {
            rule.source = source.path.display().to_string();
            let is_strict = rule.action != "allow";
            let value = &source.value()["Permissions"]["Rules"][index];
            let is_trusted = if is_strict {
                source.trusts_texts()
            } else {
                source.passes_shown(name(&rule), value, value.to_string())
            };
            if !is_trusted {
                // An untrusted folder must not speak to the model or the user.
                rule.reason = None;
            }
            if is_strict || is_trusted {
                self.rules.push(rule);
            }
        }
    }

    /// Returns the rules in force.
    ///
    /// # Errors
    /// A rule cannot be used. It is not skipped, since it may be one that refuses.
    pub fn compile(&self, home: Option<&Path>) -> anyhow::Result<RuleSet> {
        // Rules compare paths with all links resolved.
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        RuleSet::new(self.rules.iter().cloned(), home.as_deref()).context("Permissions.Rules")
    }
}

/// Returns a warning for each rule with a tool that is similar to a built-in one or has an old name. Other names may
/// be tools of MCP servers and of clients.
fn unknown_tools(rules: &[RuleText], known: &[&str]) -> Vec<String> {
    let rules = rules.iter().enumerate();
    let warnings = rules.filter_map(|(index, rule)| {
        let tool = rule.tool.as_deref()?;
        // `WebFetch:HOST` means one host, `Web*` all tools with that prefix.
        let name = tool.split(':').next().unwrap_or(tool);
        if name.ends_with('*') || known.contains(&name) {
            return None;
        }
        let renamed = RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        let near = || nearest(known.iter().copied(), name);
        let meant = renamed.or_else(near)?;
        Some(format!(
            "Permissions.Rules[{index}].Tool: no tool is named {name}; did you mean {meant}?"
        ))
    });
    warnings.collect()
}

/// Returns the name of a rule's trust item.
fn name(rule: &RuleText) -> String {
    let mut name = format!("the rule {}", rule.action);
    for (member, value) in [
        ("tool", &rule.tool),
        ("command", &rule.command),
        ("path", &rule.path),
        ("operation", &rule.operation),
    ] {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(name, " {member} `{value}`");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::trust::TrustItem;
    use bobbin_settings::{Checked, check, schema};
    use bobbin_workspace::TrustRecord;
    use serde_json::json;

    use super::*;

    /// Adds the rules of the user's file, or of a workspace's file with this record.
    fn add(
        settings: &mut PermissionSettings,
        rules: &Value,
        record: Option<&TrustRecord>,
    ) -> anyhow::Result<(Vec<TrustItem>, Vec<String>)> {
        let file = json!({ "permissions": { "rules": rules } });
        let Checked { file, value, .. } = check(&schema::<Section>(), file)?;
        let mut source = match record {
            None => Source::of_user(Path::new("u.json"), Path::new("/"), &value),
            Some(record) => Source::of_folder(Path::new("w.json"), Path::new("/"), None, &value, record),
        };
        settings.add(file, &["Exec", "WebFetch"], &mut source)?;
        Ok(source.into_parts())
    }

    #[test]
    fn rules_of_both_files_count_and_a_workspace_allows_nothing_by_itself() {
        let user = json!([{ "action": "allow", "command": "make *" }]);
        let workspace = json!([
            { "Action": "Allow", "Command": "curl *" },
            { "Action": "deny", "Path": "secrets", "Reason": "no" },
        ]);
        let added = |record: &TrustRecord| {
            let mut settings = PermissionSettings::default();
            add(&mut settings, &user, None).unwrap();
            let (items, _) = add(&mut settings, &workspace, Some(record)).unwrap();
            (settings, items)
        };
        let mut record = TrustRecord::default();
        let (rules, items) = added(&record);
        assert_eq!(rules.compile(None).unwrap().rules().len(), 2);
        assert_eq!(items[0].name, "the rule allow command `curl *`");
        record.add(items[0].fingerprint.as_deref().unwrap());
        let (rules, items) = added(&record);
        assert_eq!(rules.compile(None).unwrap().rules().len(), 3);
        assert!(items[0].trusted);
    }

    #[test]
    fn a_rule_for_a_tool_that_is_not_there_is_reported_with_the_nearest_name() {
        let rules = json!([
            { "Action": "deny", "Tool": "shell" },
            { "Action": "deny", "Tool": "webfetch:a.test" },
            { "Action": "ask", "Tool": "Exec" },
            { "Action": "ask", "Tool": "Web*" },
            { "Action": "ask", "Tool": "mcp__pantry__pour" },
        ]);
        let (_, warnings) = add(&mut PermissionSettings::default(), &rules, None).unwrap();
        assert_eq!(
            warnings,
            [
                "Permissions.Rules[0].Tool: no tool is named shell; did you mean Exec?",
                "Permissions.Rules[1].Tool: no tool is named webfetch; did you mean WebFetch?",
            ]
        );
    }

    #[test]
    fn a_rule_that_cannot_be_used_is_an_error_that_names_its_file() {
        let both = json!([{ "Action": "deny", "Command": "x", "Path": "y" }]);
        let record = TrustRecord::default();
        let added = add(&mut PermissionSettings::default(), &both, Some(&record));
        let error = format!("{:#}", added.unwrap_err());
        assert!(
            error.contains("Permissions.Rules") && error.contains("w.json"),
            "{error}"
        );
    }
}
