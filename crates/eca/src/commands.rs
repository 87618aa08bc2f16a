//! What a user types with a slash (sections 6.3 and 13): commands of ours, and prompts of MCP servers.
//!
//! `config`, `costs`, `doctor` and `resume` answer from what is known; no model is asked and nothing is recorded. `init`
//! and the prompts of servers go to the model.

use std::fmt::Write as _;

use bobbin_agent_api::tool_server::ServerPrompt;
use bobbin_core::{CoreError, ThreadSummary};
use bobbin_model::{Spent, ThreadId};

use crate::far::{self, Filling};
use crate::methods::{self, Client, Found};
use crate::view::money;
use crate::wire::ChatId;
use crate::wire::chat::{CommandArgument, CommandInfo, Context};
use crate::{errors, replay};

const COMMANDS: [(&str, &str); 5] = [
    ("config", "Shows which configuration is in force."),
    ("costs", "Shows the tokens this chat has used and what they cost."),
    ("doctor", "Shows what works here."),
    (
        "init",
        "Has the model write AGENTS.md, a guide to this workspace.",
    ),
    ("resume", "Lists earlier chats, or opens one again: /resume ID."),
];
/// What `/init` asks for.
const INIT: &str = "Look through this workspace and write the file AGENTS.md at its root, or improve the one that is there: \
    what the project is, how it is laid out, how it is built and tested, and the conventions its code follows. Keep it \
    short; write what you have seen, not what is usual.";
/// Chats listed by `/resume`.
const LISTED: usize = 10;

/// What a message asks for.
pub(crate) enum Asked {
    /// The model, with this besides.
    Model(Option<Context>),
    /// A prompt of a server.
    Fill(Filling),
    /// An answer of ours.
    Say(Command),
    /// Nothing that can be done; a sentence says why.
    Refuse(String),
}

/// A command of ours, as it was typed.
pub(crate) struct Command {
    name: &'static str,
    argument: String,
}

/// Returns the commands that match a query: part of the name or the description, whatever the case.
pub(crate) fn matching(query: &str, prompts: &[ServerPrompt], is_current: bool) -> Vec<CommandInfo> {
    let query = query.trim().to_lowercase();
    let own = COMMANDS.iter().map(|&(name, description)| CommandInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        kind: "native",
        arguments: Vec::new(),
    });
    let servers = prompts.iter().map(|prompt| CommandInfo {
        name: format!("{}:{}", prompt.server, prompt.name),
        description: prompt.description.clone(),
        // Clients of the first version read its spelling, later ones that of every server there was.
        kind: if is_current { "mcpPrompt" } else { "mcp-prompt" },
        arguments: prompt.arguments.iter().map(CommandArgument::new).collect(),
    });
    own.chain(servers)
        .filter(|info| {
            info.name.to_lowercase().contains(&query) || info.description.to_lowercase().contains(&query)
        })
        .collect()
}

/// Returns what a message asks for.
pub(crate) fn asked(client: &Client, message: &str) -> Asked {
    let Some(typed) = message.strip_prefix('/') else {
        return Asked::Model(None);
    };
    let (word, argument) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let name = COMMANDS.iter().map(|(name, _)| *name).find(|name| *name == word);
    match name {
        Some("init") => Asked::Model(Some(Context::Text {
            label: Some("/init".to_owned()),
            content: INIT.to_owned(),
        })),
        Some(name) => Asked::Say(Command {
            name,
            argument: argument.trim().to_owned(),
        }),
        None => match far::filling(message, &client.prompts()) {
            Some(Ok(filling)) => Asked::Fill(filling),
            Some(Err(why)) => Asked::Refuse(why),
            None => Asked::Model(None),
        },
    }
}

impl Command {
    /// Runs it in a chat; returns what to show.
    pub(crate) async fn run(self, client: &Client, thread: &ThreadId) -> String {
        match self.name {
            "costs" => costs(client, thread).await,
            "config" => config(client),
            "resume" if self.argument.is_empty() => earlier(client).await,
            "resume" => open(client, self.argument).await,
            _ => doctor(client),
        }
    }
}

async fn costs(client: &Client, thread: &ThreadId) -> String {
    let spent = match spent(client, thread).await {
        Ok(spent) => spent,
        Err(error) => {
            return format!(
                "\nWhat this chat has used cannot be read: {}\n",
                errors::sentence(&error)
            );
        }
    };
    match (spent.tokens, money(spent.cost_micros)) {
        (0, _) => "\nThis chat has used no tokens.\n".to_owned(),
        (tokens, None) => {
            format!(
                "\nThis chat has used {tokens} tokens. What they cost is not known: its models have no price.\n"
            )
        }
        (tokens, Some(cost)) => format!("\nThis chat has used {tokens} tokens, which cost {cost}.\n"),
    }
}

async fn spent(client: &Client, thread: &ThreadId) -> Result<Spent, CoreError> {
    let handle = client.hub().thread(thread).await?;
    let snapshot = client.hub().snapshot(&handle).await?;
    client.hub().spent(&snapshot).await
}

fn config(client: &Client) -> String {
    let files = &client.offer.config_files;
    if files.is_empty() {
        return "\nNo configuration file was found; the defaults are in force.\n".to_owned();
    }
    let files = files.iter().map(|file| format!("- {}\n", file.display()));
    format!("\nRead, later over earlier:\n{}", files.collect::<String>())
}

fn doctor(client: &Client) -> String {
    let tools: Vec<&str> = client.tools().map(|tool| &*tool.name).collect();
    format!(
        "\nWorkspace: {}\nModel: {}\nTools: {}\nLive chats: {}\n",
        client.root().display(),
        client.offer.default_model,
        tools.join(", "),
        client.offer.hub.stats().live_threads,
    )
}

async fn earlier(client: &Client) -> String {
    let found = match client.hub().list(methods::listed_chats(client)).await {
        Ok(found) => found,
        Err(error) => return format!("\nThe chats cannot be listed: {}\n", errors::sentence(&error)),
    };
    // One that is being asked in has nothing yet.
    let with_turns = |chat: &&ThreadSummary| chat.turn_count > 0;
    let mut text = String::from("\nEarlier chats, newest first; open one with /resume ID:\n");
    for chat in found.iter().filter(with_turns).take(LISTED) {
        let title = chat.header.display_name.as_deref().unwrap_or("without a title");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {title} ({})", client.id_of(&chat.header).text());
    }
    text
}

async fn open(client: &Client, id: String) -> String {
    let found = client.find(&ChatId::Text(id.clone())).await;
    let shown = match found {
        Ok(Found::Chat(handle)) => replay::show(client, &handle, None).await.map(drop),
        Ok(Found::Free | Found::Bad) => {
            return format!("\nThere is no chat {id}; /resume lists those there are.\n");
        }
        Err(error) => Err(error),
    };
    match shown {
        Ok(()) => format!("\nOpened {id}.\n"),
        Err(error) => format!("\n{id} cannot be shown: {}\n", errors::sentence(&error)),
    }
}
