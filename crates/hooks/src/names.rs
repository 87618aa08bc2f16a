//! The names that hooks of other agents have for our tools, and for their arguments.
//!
//! For the hooks of commands, text that the agent types into a running command is a command line.

use std::path::Path;

use bobbin_agent_api::hook::HookInput;
use bobbin_tools::patch_paths;
use serde_json::{Map, Value};

/// Our tools and what others call them.
const TOOLS: &[(&str, &[&str])] = &[
    ("Exec", &["Bash"]),
    ("WriteTerminal", &["Exec", "Bash"]),
    ("ReadFile", &["Read"]),
    ("WriteFile", &["Write"]),
    ("EditFile", &["Edit", "MultiEdit"]),
    ("ApplyPatch", &["Edit", "Write", "MultiEdit"]),
    ("GrepFiles", &["Grep"]),
    ("FindFiles", &["Glob"]),
    ("SpawnAgent", &["Task", "Agent"]),
];
/// Our arguments and what others call them.
const ARGUMENTS: &[(&str, &str)] = &[
    ("path", "file_path"),
    ("oldText", "old_string"),
    ("newText", "new_string"),
    // What `WriteTerminal` types.
    ("input", "command"),
];

/// Returns a tool's names, ours first.
pub(crate) fn of_tool(tool: &str) -> impl Iterator<Item = &str> {
    let others = TOOLS.iter().find(|(ours, _)| *ours == tool);
    let others = others.into_iter().flat_map(|(_, others)| others.iter().copied());
    std::iter::once(tool).chain(others.filter(move |other| *other != tool))
}

/// Returns the files that a patch changes, as it names them; none for other calls, and where it cannot be read.
pub(crate) fn files(input: &HookInput) -> Vec<String> {
    if input.subject != "ApplyPatch" {
        return Vec::new();
    }
    let arguments = input.members.get("tool_input");
    let patch = arguments.and_then(|arguments| arguments.get("patch").or_else(|| arguments.get("input")));
    patch.and_then(Value::as_str).map(patch_paths).unwrap_or_default()
}

/// Adds the names that others have for arguments. A file's path is absolute there.
pub(crate) fn add_to_arguments(arguments: &mut Map<String, Value>, root: &Path) {
    for (ours, theirs) in ARGUMENTS {
        let Some(value) = arguments.get(*ours).cloned() else {
            continue;
        };
        let value = match value {
            Value::String(path) if *ours == "path" => root.join(path).to_string_lossy().into(),
            other => other,
        };
        arguments.entry(*theirs).or_insert(value);
    }
}
