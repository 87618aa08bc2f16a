//! Subagents of Claude Code, as profiles of ours: a head with `name`, `description`, `tools` and `model`, and instructions.

use bobbin_agent_api::tool_name;
use bobbin_prompts::front_matter_and_reading;
use serde_json::{Map, Value, json};

use crate::brought::{Translation, shown};
use crate::tools::ours;

/// A member that is for the eye only.
const COLOR: &str = "color";
/// Members that restrain an agent.
const GUARDS: &[&str] = &["tools", "disallowedTools", "permissionMode", "hooks"];

/// Reads the file `stem.md`.
pub(crate) fn read(stem: &str, text: &str, made: &mut Translation<'_>) {
    let (mut head, reading, body) = front_matter_and_reading(text);
    let name = head
        .remove("name")
        .and_then(|name| name.as_str().map(str::to_owned));
    let name = name.unwrap_or_else(|| stem.to_owned());
    let place = shown(&name);
    // Whether it could do more than its author meant is unknown.
    if reading.may_lack(GUARDS) {
        return made.unused_guard(format!(
            "the agent {place}: its head is no YAML, not closed or too long"
        ));
    }
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
        let Some(denied) = denied(&tools) else {
            return made.unused_guard(format!("the agent {place}: it denies tools that are not here"));
        };
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

/// Returns the tools of ours that an agent must not call; `None` if one of theirs has no counterpart.
fn denied(tools: &Value) -> Option<Vec<String>> {
    let is_text = |list: &Vec<Value>| list.iter().all(Value::is_string);
    if !(tools.is_null() || tools.is_string() || tools.as_array().is_some_and(is_text)) {
        return None;
    }
    let mut denied = Vec::new();
    for tool in words(tools) {
        // An agent that must not make some calls of a tool makes none.
        let tool = tool.split('(').next().unwrap_or(&tool);
        let counterparts = counterparts(tool);
        if counterparts.is_empty() || tool.contains('*') {
            return None;
        }
        denied.extend(counterparts.into_iter().map(str::to_owned));
    }
    Some(denied)
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
            "---\nname: careful-critic\ndescription: Reads a change.\ntools: Read, Grep, Bash(git:*), \
             NotebookEdit, mcp__pantry__pour\nmodel: sonnet\ncolor: red\nskills: a\n---\n\nLook hard.\n",
        );
        assert_eq!(
            profiles,
            json!({ "careful-critic": {
                "description": "Reads a change.",
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
            "disallowedTools: [Bash, mcp__pantry]",
            "disallowedTools: mcp__pantry__*",
            "disallowedTools: '*'",
            "disallowedTools: [1]",
            "disallowedTools: { Bash: true }",
            "argument-hint: [a] [b]\ndisallowedTools: [Bash, Write]",
            "description: Use it: now\ntools: Read",
        ] {
            let (profiles, unused) = made(&format!("---\n{head}\n---\nLook."));
            assert_eq!(profiles, json!({}), "{head}");
            assert!(
                unused.last().is_some_and(|what| what.contains("\"critic\"")),
                "{unused:?}"
            );
        }
    }

    #[test]
    fn an_agent_whose_head_is_in_doubt_is_not_taken() {
        let long = format!(
            "---\ndisallowedTools: Bash\nnote: {}\n---\nLook.",
            "x".repeat(8 << 10)
        );
        for text in [&long, "---\ndisallowedTools: Bash\nLook."] {
            let mut made = Translation::new(Author::User, None);
            read("critic", text, &mut made);
            assert_eq!(
                made.named(),
                [(
                    "the agent \"critic\": its head is no YAML, not closed or too long",
                    true
                )]
            );
            assert!(made.profiles.is_empty());
        }
        // Nothing restrains it.
        let (profiles, unused) = made("---\ndescription: Use it: now\n---\nLook.");
        assert_eq!(profiles["critic"]["description"], "Use it: now");
        assert_eq!(unused, [""; 0]);
    }
}
