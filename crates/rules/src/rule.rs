//! One rule: its subject, its judgement, and its source.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::pattern::{CommandPattern, PathPattern};
use crate::{Judgement, PathUse};

/// Longest text of a rule's pattern, bytes.
const MAX_PATTERN_BYTES: usize = 4096;

/// A rule: one of `Command`, `Path` and `Tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct RuleText {
    /// The judgement.
    #[schemars(extend("enum" = ["allow", "ask", "deny"]))]
    pub action: String,
    /// A pattern of words; `**`, and `*` as the last word, stand for any number of words.
    pub command: Option<String>,
    /// A pattern of paths; `**` crosses directories.
    pub path: Option<String>,
    /// For `Path`: which use of it; both when left out.
    #[schemars(extend("enum" = ["read", "write"]))]
    pub operation: Option<String>,
    /// A tool's name; with `*` at its end all that start so.
    pub tool: Option<String>,
    /// Why, for users and for the model.
    pub reason: Option<String>,
    /// The file and place of the rule.
    #[serde(skip)]
    pub source: String,
}

/// A rule after parsing.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its judgement.
    pub judgement: Judgement,
    /// Its subject.
    pub subject: Subject,
    /// The reason, as its author wrote it.
    pub reason: Option<String>,
    /// The file and place of the rule.
    pub source: String,
}

/// The subject of a rule.
#[derive(Debug, Clone)]
pub struct Subject(pub(crate) Kind);

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Command(CommandPattern),
    Path(Option<PathUse>, PathPattern),
    Tool(String),
}

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The action is none of the three.
    #[error("a rule's Action is {0:?}; it can be allow, ask or deny")]
    Action(String),
    /// The operation is none of the two.
    #[error("a rule's Operation is {0:?}; it can be read or write")]
    Operation(String),
    /// It names no subject, or more than one.
    #[error("a rule has one of Command, Path and Tool; the one for {0} has none or several")]
    Subject(String),
    /// The pattern is empty, too long, or invalid.
    #[error("{0:?} is no pattern")]
    Pattern(String),
    /// There are more rules than the limit.
    #[error("there are more than {0} rules")]
    TooMany(usize),
}

impl RuleText {
    /// Returns the rule that `--allow` means: `tool:NAME`, `path:PATTERN`, or a pattern of commands.
    pub fn allowing(text: &str) -> Self {
        let (mut tool, mut path, mut command) = (None, None, None);
        match text.split_once(':') {
            Some(("tool", name)) => tool = Some(name.to_owned()),
            Some(("path", pattern)) => path = Some(pattern.to_owned()),
            Some(("command", pattern)) => command = Some(pattern.to_owned()),
            _ => command = Some(text.to_owned()),
        }
        Self {
            action: "allow".to_owned(),
            tool,
            command,
            path,
            operation: None,
            reason: None,
            source: "--allow".to_owned(),
        }
    }
}

impl Rule {
    /// Reads a rule; `home` replaces `~`.
    ///
    /// # Errors
    /// Any [`RuleError`] but [`RuleError::TooMany`].
    pub fn new(text: RuleText, home: Option<&Path>) -> Result<Self, RuleError> {
        let judgement = match text.action.to_ascii_lowercase().as_str() {
            "allow" => Judgement::Allow,
            "ask" => Judgement::Ask,
            "deny" => Judgement::Deny,
            _ => return Err(RuleError::Action(text.action)),
        };
        let operation = match text.operation.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("read") => Some(PathUse::Read),
            Some("write") => Some(PathUse::Write),
            Some(_) => return Err(RuleError::Operation(text.operation.unwrap_or_default())),
        };
        let whole = |pattern: &String| !pattern.trim().is_empty() && pattern.len() <= MAX_PATTERN_BYTES;
        let kind = match (&text.command, &text.path, &text.tool) {
            (Some(command), None, None) if operation.is_none() => {
                let pattern = Some(command)
                    .filter(|text| whole(text))
                    .and_then(|text| CommandPattern::new(text));
                Kind::Command(pattern.ok_or_else(|| RuleError::Pattern(command.clone()))?)
            }
            (None, Some(path), None) => {
                let pattern = Some(path)
                    .filter(|text| whole(text))
                    .and_then(|text| PathPattern::new(text, home));
                Kind::Path(
                    operation,
                    pattern.ok_or_else(|| RuleError::Pattern(path.clone()))?,
                )
            }
            (None, None, Some(tool)) if operation.is_none() && whole(tool) => Kind::Tool(tool.clone()),
            _ => return Err(RuleError::Subject(format!("{judgement} in {}", text.source))),
        };
        Ok(Self {
            judgement,
            subject: Subject(kind),
            reason: text.reason,
            source: text.source,
        })
    }
}

impl std::fmt::Display for Rule {
    /// Writes the rule in one line, as users see it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let judgement = self.judgement;
        match &self.subject.0 {
            Kind::Command(pattern) => write!(f, "{judgement} command `{}`", pattern.text()),
            Kind::Path(None, pattern) => write!(f, "{judgement} path `{}`", pattern.text()),
            Kind::Path(Some(PathUse::Read), pattern) => write!(f, "{judgement} reading `{}`", pattern.text()),
            Kind::Path(Some(PathUse::Write), pattern) => {
                write!(f, "{judgement} writing `{}`", pattern.text())
            }
            Kind::Tool(name) => write!(f, "{judgement} tool `{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_pattern_of_commands_unless_it_says_otherwise() {
        let rule = RuleText::allowing;
        assert_eq!(rule("git log *").command.as_deref(), Some("git log *"));
        assert_eq!(rule("echo a:b").command.as_deref(), Some("echo a:b"));
        assert_eq!(rule("tool:mcp__a__b").tool.as_deref(), Some("mcp__a__b"));
        assert_eq!(rule("path:docs").path.as_deref(), Some("docs"));
    }
}
