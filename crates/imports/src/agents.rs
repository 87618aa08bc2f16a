//! Subagents of Claude Code, as profiles of ours: a head with `name`, `description`, `tools` and `model`, and instructions.

use bobbin_agent_api::tool_name;
use bobbin_prompts::front_matter;
use serde_json::{Map, Value, json};

use crate::brought::{Translation, shown};
use crate::tools::ours;

/// A member that is for the eye only.
const COLOR: &str = "color";

/// Reads the file `stem.md`.
pub(crate) fn read(stem: &str, text: &str, made: &mut Translation<'_>) {
    let (mut head, body) = front_matter(text);
    let name = head
        .remove("name")
        .and_then(|name| name.as_str().map(str::to_owned));
    let name = name.unwrap_or_else(|| stem.to_owned());
    let place = shown(&name);
    let mut profile = Map::new();
    let description = head.remove("description");
    if let Some(Value::String(description)) = description {
        profile.insert("description".to_owned(), description.into());
    }
    let body = body.trim();
    if !body.is_empty() {
        profile.insert("instructions".to_owned(), body.into());
    }
    // Without these it could do more than its author meant.
    let plans = head.get("permissionMode").and_then(Value::as_str) == Some("plan");
    if plans || head.contains_key("hooks") {
        return made.unused_guard(format!("the agent {place}: it has hooks, or only plans"));
    }
    let named = head.remove("tools").map(|tools| words(&tools));
    // No list, and `*`, are all tools.
    if let Some(named) = named.filter(|named| named != &["*"]) {
        let mut allowed: Vec<&str> = Vec::new();
        for tool in &named {
            let counterparts = counterparts(tool);
            if counterparts.is_empty() {
                made.unused(format!("the tool {} of the agent {place}", shown(tool)));
            }
            allowed.extend(counterparts);
        }
        // An empty list would give all tools.
        if allowed.is_empty() {
            return made.unused(format!("the agent {place}: there is none of its tools here"));
        }
        profile.insert("toolAllowList".to_owned(), json!(allowed));
    }
    if let Some(tools) = head.remove("disallowedTools") {
        // An agent that must not make some calls of a tool makes none.
        let named = words(&tools);
        let tools = named.iter().map(|tool| tool.split('(').next().unwrap_or(tool));
        let denied: Vec<&str> = tools.flat_map(counterparts).collect();
        profile.insert("toolDenyList".to_owned(), json!(denied));
    }
    match head.remove("model") {
        Some(Value::String(model)) if model.contains('/') => {
            drop(profile.insert("model".to_owned(), model.into()));
        }
        None => {}
        Some(model) if model == "inherit" => {}
        Some(model) => made.unused(format!(
            "the model {} of the agent {place}: it gets the default",
            model.as_str().map_or_else(|| shown(&model.to_string()), shown)
        )),
    }
    for member in head.keys().filter(|member| *member != COLOR) {
        made.unused(format!("{} of the agent {place}", shown(member)));
    }
    made.profiles.insert(name, Value::Object(profile));
}

/// Returns the tools of ours for one of theirs.
fn counterparts(tool: &str) -> Vec<&str> {
    match tool_name::parts(tool) {
        Some(_) => vec![tool],
        None => ours(tool).to_vec(),
    }
}

/// Returns the names in a list, or in a text with commas between them.
fn words(value: &Value) -> Vec<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split(',').collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let texts = texts.into_iter().map(|text| text.trim().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brought::Author;

    fn made(text: &str) -> (Value, Vec<String>) {
        let mut made = Translation::new(Author::User, None);
        read("critic", text, &mut made);
        let unused = made.named().into_iter();
        let unused = unused.map(|(what, _)| what.to_owned()).collect();
        (Value::Object(made.profiles), unused)
    }

    #[test]
    fn an_agent_is_a_profile_with_our_tools() {
        let (profiles, unused) = made(
            "---\nname: careful-critic\ndescription: Reads a change: says what is wrong.\ntools: Read, Grep, Bash(git:*), \
             NotebookEdit, mcp__pantry__pour\nmodel: sonnet\ncolor: red\nskills: a\n---\n\nLook hard.\n",
        );
        assert_eq!(
            profiles,
            json!({ "careful-critic": {
                "description": "Reads a change: says what is wrong.",
                "instructions": "Look hard.",
                "toolAllowList": ["ReadFile", "ViewImage", "GrepFiles", "mcp__pantry__pour"],
            } })
        );
        assert_eq!(
            unused,
            [
                "the tool \"Bash(git:*)\" of the agent \"careful-critic\"",
                "the tool \"NotebookEdit\" of the agent \"careful-critic\"",
                "the model \"sonnet\" of the agent \"careful-critic\": it gets the default",
                "\"skills\" of the agent \"careful-critic\"",
            ]
        );
    }

    #[test]
    fn a_model_of_ours_stays_and_what_is_denied_in_part_is_denied() {
        let (profiles, unused) =
            made("---\nmodel: openai/gpt-5.2\ntools: '*'\ndisallowedTools: [Bash(rm:*), Write]\n---\nLook.");
        assert_eq!(
            profiles,
            json!({ "critic": {
                "instructions": "Look.",
                "model": "openai/gpt-5.2",
                "toolDenyList": ["Exec", "WriteTerminal", "WriteFile", "ApplyPatch"],
            } })
        );
        assert_eq!(unused, [""; 0]);
        assert_eq!(made("---\nmodel: inherit\n---\n").1, [""; 0]);
    }

    #[test]
    fn an_agent_that_would_be_looser_is_not_taken() {
        for head in [
            "tools: NotebookEdit",
            "tools:",
            "hooks:\n  Stop: []",
            "permissionMode: plan",
        ] {
            let (profiles, unused) = made(&format!("---\n{head}\n---\nLook."));
            assert_eq!(profiles, json!({}), "{head}");
            assert!(
                unused.last().is_some_and(|what| what.contains("\"critic\"")),
                "{unused:?}"
            );
        }
    }
}
