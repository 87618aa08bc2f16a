//! The instructions of a prompt, and the tool call for each.

use std::borrow::Cow;

use bobbin_model::plan::TodoStatus;
use serde_json::{Value, json};

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instruction {
    /// Run a command line.
    Run { command: String },
    /// Run a command line in the background.
    Start { command: String },
    /// List a directory, or files everywhere by a glob.
    List {
        path: Option<String>,
        glob: Option<String>,
    },
    /// Show a file.
    Read { path: String },
    /// Find lines.
    Search(Search),
    /// Write a whole file.
    Write { path: String, content: String },
    /// Change a text in a file.
    Replace {
        path: String,
        old: String,
        new: String,
        all: bool,
    },
    /// Show a plan.
    Plan {
        title: String,
        steps: Vec<(String, TodoStatus)>,
    },
    /// Call a tool of a tool server.
    Call { tool: String, arguments: Value },
    /// Reply with this text.
    Say { text: String },
    /// Reply with this text many times.
    Repeat { times: usize, text: String },
    /// Describe this workspace.
    Summarize,
    /// List the possible instructions.
    Help,
}

/// Lines to find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Search {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    pub(super) literal: bool,
}

impl Instruction {
    /// Returns the tool call for the instruction: name and arguments. `None` if it needs none, or several.
    pub(super) fn call(&self) -> Option<(Cow<'static, str>, Value)> {
        let (tool, arguments) = match self {
            Self::Call { tool, arguments } => return Some((tool.clone().into(), arguments.clone())),
            Self::Run { command } => ("Exec", json!({ "command": command })),
            Self::Start { command } => ("Exec", json!({ "command": command, "runInBackground": true })),
            Self::List { path, glob } => ("FindFiles", some(json!({ "path": path, "pattern": glob }))),
            Self::Read { path } => ("ReadFile", json!({ "path": path })),
            Self::Search(search) => (
                "GrepFiles",
                some(json!({
                    "pattern": search.pattern,
                    "path": search.path,
                    "include": search.glob,
                    "literal": search.literal.then_some(true),
                })),
            ),
            Self::Write { path, content } => ("WriteFile", json!({ "path": path, "content": content })),
            Self::Replace { path, old, new, all } => (
                "EditFile",
                some(json!({
                    "path": path,
                    "oldText": old,
                    "newText": new,
                    "replaceAll": all.then_some(true),
                })),
            ),
            Self::Plan { title, steps } => {
                let todo = |(content, status): &(String, TodoStatus)| json!({ "content": content, "status": status });
                let todos: Vec<Value> = steps.iter().map(todo).collect();
                (
                    bobbin_model::plan::CREATE_PLAN,
                    json!({ "title": title, "todos": todos }),
                )
            }
            Self::Say { .. } | Self::Repeat { .. } | Self::Summarize | Self::Help => return None,
        };
        Some((tool.into(), arguments))
    }

    /// Returns a short description, for a list of skipped instructions.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Run { command } => format!("run `{command}`"),
            Self::Start { command } => format!("run `{command}` in the background"),
            Self::List { path, glob } => {
                format!(
                    "list {}",
                    glob.as_ref().or(path.as_ref()).map_or("files", String::as_str)
                )
            }
            Self::Read { path } => format!("read `{path}`"),
            Self::Search(search) => format!("search for `{}`", search.pattern),
            Self::Write { path, .. } => format!("write `{path}`"),
            Self::Replace { path, .. } => format!("change `{path}`"),
            Self::Call { tool, .. } => format!("call `{tool}`"),
            Self::Plan { .. } => "show the plan".to_owned(),
            Self::Say { .. } | Self::Repeat { .. } => "say something".to_owned(),
            Self::Summarize => "summarize the workspace".to_owned(),
            Self::Help => "help".to_owned(),
        }
    }
}

/// Leaves out members that are `null`.
fn some(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}
