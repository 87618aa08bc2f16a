//! The slash commands of an agent, within bounds.

use bobbin_acp_wire::AvailableCommand;
use bobbin_agent_api::engines::EngineCommand;
use bobbin_model::visible::acts;

/// Most commands of an agent.
const MOST: usize = 128;
/// Most characters of a name.
const MAX_NAME: usize = 64;
/// Most characters of a description, and of a hint.
const MAX_TEXT: usize = 200;

/// Returns the commands that can be listed and typed, in their order.
pub(crate) fn listed(sent: &[AvailableCommand]) -> Vec<EngineCommand> {
    let commands = sent.iter().map(|command| EngineCommand {
        name: command.name.trim_start_matches('/').to_owned(),
        description: line(&command.description),
        hint: command.input.as_ref().map(|input| line(&input.hint)),
    });
    let can_be_typed = |command: &EngineCommand| {
        let name = &command.name;
        !name.is_empty() && name.chars().count() <= MAX_NAME && name.trim() == name && !name.chars().any(acts)
    };
    commands.filter(can_be_typed).take(MOST).collect()
}

/// Returns the first line of a text.
fn line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !acts(*c)).take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_listed_within_bounds() {
        let long = "x".repeat(MAX_TEXT + 1);
        let mut sent = vec![
            json!({ "name": "/init", "description": "Makes a file.\nAnd more.", "input": { "hint": "where" } }),
            json!({ "name": "memory show", "description": long, "input": null }),
            json!({ "name": "", "description": "" }),
            json!({ "name": "a\u{202e}b", "description": "" }),
            json!({ "name": "x".repeat(MAX_NAME + 1), "description": "" }),
        ];
        sent.extend((0..MOST).map(|number| json!({ "name": format!("c{number}") })));
        let sent: Vec<AvailableCommand> = serde_json::from_value(json!(sent)).unwrap();
        let listed = listed(&sent);
        assert_eq!(listed.len(), MOST);
        assert_eq!(
            listed[0],
            EngineCommand {
                name: "init".to_owned(),
                description: "Makes a file.".to_owned(),
                hint: Some("where".to_owned()),
            }
        );
        assert_eq!(
            (listed[1].name.as_str(), listed[1].description.len()),
            ("memory show", MAX_TEXT)
        );
        assert_eq!(listed[2].name, "c0");
    }
}
