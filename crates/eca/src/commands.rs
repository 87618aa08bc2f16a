//! Commands that a user types with a slash (sections 6.3 and 13). They answer from what is known; no model is
//! asked and nothing is recorded.

use std::fmt::Write as _;

use crate::methods::Client;
use crate::wire::chat::CommandInfo;

const COMMANDS: [(&str, &str); 3] = [
    ("config", "Shows which configuration is in force."),
    ("costs", "Shows the tokens this chat has used."),
    ("doctor", "Shows what works here."),
];

/// Returns the commands that match a query: part of the name or the description, whatever the case.
pub(crate) fn matching(query: &str) -> Vec<CommandInfo> {
    let query = query.trim().to_lowercase();
    let info = |&(name, description): &(&'static str, &'static str)| CommandInfo {
        name,
        description,
        kind: "native",
        arguments: [],
    };
    COMMANDS
        .iter()
        .filter(|(name, description)| name.contains(&query) || description.to_lowercase().contains(&query))
        .map(info)
        .collect()
}

/// Returns the name of the command that a message is, if it is one.
pub(crate) fn named(message: &str) -> Option<&'static str> {
    let word = message.strip_prefix('/')?.split_whitespace().next()?;
    COMMANDS.iter().map(|(name, _)| *name).find(|name| *name == word)
}

/// Runs a command; returns what to show.
pub(crate) fn run(name: &str, client: &Client, session_tokens: u64) -> String {
    let offer = &client.offer;
    let mut text = String::from("\n");
    // Writing to a String cannot fail.
    let _ = match name {
        "costs" if session_tokens == 0 => writeln!(text, "This chat has used no tokens that are known here."),
        "costs" => writeln!(
            text,
            "This chat has used {session_tokens} tokens that are known here."
        ),
        "config" if offer.config_files.is_empty() => {
            writeln!(
                text,
                "No configuration file was found; the defaults are in force."
            )
        }
        "config" => {
            let files = offer
                .config_files
                .iter()
                .map(|file| format!("- {}\n", file.display()));
            write!(text, "Read, later over earlier:\n{}", files.collect::<String>())
        }
        _ => writeln!(
            text,
            "Workspace: {}\nModel: {}\nTools: {}\nLive chats: {}",
            client.root().display(),
            offer.default_model,
            offer
                .tools
                .iter()
                .map(|tool| &*tool.name)
                .collect::<Vec<_>>()
                .join(", "),
            client.offer.hub.stats().live_threads,
        ),
    };
    text
}
