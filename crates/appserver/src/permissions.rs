//! `Permissions.Rules` of both configuration files: rules for commands, paths and tools.
//!
//! Rules of both files count together; the higher judgement wins. A workspace is often somebody else's work, so a
//! rule in it that allows something counts only once its user trusts exactly this rule.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use bobbin_rules::{RuleSet, RuleText};
use serde_json::Value;

use crate::config::at;
use crate::trust::Gate;

/// Most rules in one file.
const MAX_RULES: usize = 500;
/// What a rule can have.
const MEMBERS: &[&str] = &["Action", "Command", "Path", "Tool", "Operation", "Reason"];

/// The rules as they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Permissions {
    pub(crate) rules: Vec<RuleText>,
}

impl Permissions {
    /// Adds the rules of one file. Those of the user come first.
    ///
    /// # Errors
    /// A rule cannot be read. None is left out quietly: it may be the one that refuses.
    pub(crate) fn add(&mut self, file: &Path, value: &Value, gate: &mut Gate<'_>) -> anyhow::Result<()> {
        let source = file.display().to_string();
        let rules = match at(value, "Permissions.Rules") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(rules)) if rules.len() <= MAX_RULES => rules,
            Some(Value::Array(_)) => bail!("Permissions.Rules of {source} has more than {MAX_RULES} rules"),
            Some(_) => bail!("Permissions.Rules of {source} is no list"),
        };
        for (number, value) in (1..).zip(rules) {
            let mut rule = read(value, &source)
                .with_context(|| format!("rule {number} of Permissions.Rules in {source}"))?;
            // What is neither `ask` nor `deny` may allow.
            let strict = ["ask", "deny"]
                .iter()
                .any(|strict| rule.action.eq_ignore_ascii_case(strict));
            let is_trusted = if strict {
                gate.trusts_texts()
            } else {
                gate.passes(name(&rule), value)
            };
            if !is_trusted {
                // It would be a text of the folder for the model and for the user.
                rule.reason = None;
            }
            if strict || is_trusted {
                self.rules.push(rule);
            }
        }
        Ok(())
    }

    /// Returns the rules in force.
    ///
    /// # Errors
    /// A rule cannot be used.
    pub(crate) fn compile(&self, home: Option<&Path>) -> anyhow::Result<RuleSet> {
        // What rules speak of is found with every link followed.
        let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
        RuleSet::new(self.rules.iter().cloned(), home.as_deref()).context("Permissions.Rules")
    }
}

/// Returns what a rule is called when its user is asked about it.
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

fn read(rule: &Value, source: &str) -> anyhow::Result<RuleText> {
    let Value::Object(members) = rule else {
        bail!("it is not an object");
    };
    for (name, value) in members {
        if !MEMBERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            bail!("{name} is not part of a rule; there are {}", MEMBERS.join(", "));
        }
        if !value.is_string() {
            bail!("{name} is not a text");
        }
    }
    let text = |name: &str| at(rule, name).and_then(Value::as_str).map(str::to_owned);
    Ok(RuleText {
        action: text("Action").unwrap_or_default(),
        tool: text("Tool"),
        command: text("Command"),
        path: text("Path"),
        operation: text("Operation"),
        reason: text("Reason"),
        source: source.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trust::TrustRecord;

    fn file(rules: &Value) -> Value {
        json!({ "permissions": { "rules": rules } })
    }

    #[test]
    fn rules_of_both_files_count_and_a_workspace_allows_nothing_by_itself() {
        let user = file(&json!([{ "action": "allow", "command": "make *" }]));
        let workspace = file(&json!([
            { "Action": "Allow", "Command": "curl *" },
            { "Action": "deny", "Path": "secrets", "Reason": "no" },
        ]));
        let added = |record: &TrustRecord| {
            let mut permissions = Permissions::default();
            permissions
                .add(Path::new("u.json"), &user, &mut Gate::of_user())
                .unwrap();
            let mut gate = Gate::of_folder(record);
            permissions
                .add(Path::new("w.json"), &workspace, &mut gate)
                .unwrap();
            (permissions, gate.into_items())
        };
        let mut record = TrustRecord::default();
        let (permissions, items) = added(&record);
        assert_eq!(permissions.compile(None).unwrap().rules().len(), 2);
        assert_eq!(items[0].name, "the rule Allow command `curl *`");
        record.add(items[0].fingerprint.as_deref().unwrap());
        let (permissions, items) = added(&record);
        assert_eq!(permissions.compile(None).unwrap().rules().len(), 3);
        assert!(items[0].trusted);
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told_with_its_place() {
        for (rules, part) in [
            (json!({}), "no list"),
            (json!(["x"]), "rule 1 of Permissions.Rules in w.json"),
            (
                json!([{ "Action": "deny", "Comand": "x" }]),
                "Comand is not part of a rule",
            ),
            (json!([{ "Action": "deny", "Command": ["x"] }]), "not a text"),
        ] {
            let added = Permissions::default().add(Path::new("w.json"), &file(&rules), &mut Gate::of_user());
            let error = format!("{:#}", added.unwrap_err());
            assert!(error.contains(part), "{error}");
        }
        let mut permissions = Permissions::default();
        let rules = file(&json!([{ "Action": "forbid", "Command": "x" }]));
        permissions
            .add(Path::new("w.json"), &rules, &mut Gate::of_user())
            .unwrap();
        let error = format!("{:#}", permissions.compile(None).unwrap_err());
        assert!(error.contains("forbid"), "{error}");
    }
}
