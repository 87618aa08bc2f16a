//! `Permissions.Rules` of both configuration files: rules for commands, paths and tools.
//!
//! Rules of both files apply together; the stricter one wins. A workspace is often another author's work, so its
//! `allow` rules count only once the user trusts exactly that rule.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use bobbin_rules::{RuleSet, RuleText};
use bobbin_tools::built_in_names;

use crate::check::nearest;
use crate::file::Rule;
use crate::gate::Gate;

/// Tools that had other names in earlier versions.
const RENAMED: [(&str, &str); 4] = [
    ("shell", "Exec"),
    ("search", "GrepFiles"),
    ("listFiles", "FindFiles"),
    ("fetchUrl", "WebFetch"),
];

/// The rules as the files have them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules(Vec<RuleText>);

impl Rules {
    /// Adds the rules of one file. The user's file comes first.
    pub(crate) fn add(&mut self, file: &Path, rules: Vec<Rule>, gate: &mut Gate<'_>) {
        let source = file.display().to_string();
        for (index, rule) in rules.into_iter().enumerate() {
            let mut rule = RuleText {
                action: rule.action,
                tool: rule.tool,
                command: rule.command,
                path: rule.path,
                operation: rule.operation,
                reason: rule.reason,
                source: source.clone(),
            };
            let is_strict = rule.action != "allow";
            let value = &gate.file()["Permissions"]["Rules"][index];
            let is_trusted = if is_strict {
                gate.trusts_texts()
            } else {
                gate.passes_shown(name(&rule), value, value.to_string())
            };
            if !is_trusted {
                // An untrusted folder must not speak to the model or the user.
                rule.reason = None;
            }
            if is_strict || is_trusted {
                self.0.push(rule);
            }
        }
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the rules in force.
    ///
    /// # Errors
    /// A rule cannot be used. It is not skipped, since it may be one that refuses.
    pub fn compile(&self, home: Option<&Path>) -> anyhow::Result<RuleSet> {
        // Rules compare paths with all links resolved.
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        RuleSet::new(self.0.iter().cloned(), home.as_deref()).context("Permissions.Rules")
    }
}

/// Returns a warning for each rule with a tool that is similar to a built-in one or has an old name. Other names may
/// be tools of MCP servers and of clients.
pub(crate) fn unknown_tools(rules: &[Rule]) -> impl Iterator<Item = String> {
    let tools = rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((index, rule.tool.as_deref()?)));
    tools.filter_map(|(index, tool)| {
        // `WebFetch:HOST` means one host, `Web*` all tools with that prefix.
        let name = tool.split(':').next().unwrap_or(tool);
        if name.ends_with('*') || built_in_names().any(|known| known == name) {
            return None;
        }
        let renamed = RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        let near = || nearest(built_in_names(), name);
        let meant = renamed.or_else(near)?;
        Some(format!(
            "Permissions.Rules[{index}].Tool: no tool is named {name}; did you mean {meant}?"
        ))
    })
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
    use serde_json::{Value, json};

    use super::*;
    use crate::check::{Checked, check};
    use bobbin_workspace::TrustRecord;

    fn file(rules: &Value) -> Checked {
        check(json!({ "permissions": { "rules": rules } })).unwrap()
    }

    fn add(rules: &mut Rules, name: &str, file: &Checked, mut gate: Gate<'_>) -> Vec<TrustItem> {
        rules.add(Path::new(name), file.file.permissions.rules.clone(), &mut gate);
        gate.into_items()
    }

    #[test]
    fn rules_of_both_files_count_and_a_workspace_allows_nothing_by_itself() {
        let user = file(&json!([{ "action": "allow", "command": "make *" }]));
        let workspace = file(&json!([
            { "Action": "Allow", "Command": "curl *" },
            { "Action": "deny", "Path": "secrets", "Reason": "no" },
        ]));
        let added = |record: &TrustRecord| {
            let mut rules = Rules::default();
            add(&mut rules, "u.json", &user, Gate::of_user(&user.value));
            let gate = Gate::of_folder(&workspace.value, record);
            let items = add(&mut rules, "w.json", &workspace, gate);
            (rules, items)
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
        let rules = file(&json!([
            { "Action": "deny", "Tool": "shell" },
            { "Action": "deny", "Tool": "webfetch:a.test" },
            { "Action": "ask", "Tool": "Exec" },
            { "Action": "ask", "Tool": "Web*" },
            { "Action": "ask", "Tool": "mcp__pantry__pour" },
        ]));
        let warnings: Vec<_> = unknown_tools(&rules.file.permissions.rules).collect();
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
        let both = file(&json!([{ "Action": "deny", "Command": "x", "Path": "y" }]));
        let mut rules = Rules::default();
        add(&mut rules, "w.json", &both, Gate::of_user(&both.value));
        let error = format!("{:#}", rules.compile(None).unwrap_err());
        assert!(
            error.contains("Permissions.Rules") && error.contains("w.json"),
            "{error}"
        );
    }
}
