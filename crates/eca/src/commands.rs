//! Slash commands of the user, answered in the chat (sections 6.3 and 13).

use std::fmt::Write as _;

use bobbin_core::ThreadSummary;
use bobbin_editor_kit::{Command, config, costs, doctor, sentence};
use bobbin_model::ThreadId;

use crate::methods::{self, Client, Found};
use crate::replay;
use crate::wire::ChatId;

/// Number of chats that `/resume` lists.
const LISTED: usize = 10;

/// Runs a command in a chat. Returns the text to show.
pub(crate) async fn run(command: Command, client: &Client, thread: &ThreadId) -> String {
    match command {
        Command::Costs => costs(client.threads(), thread).await,
        Command::Config => config(&client.offer),
        Command::Doctor => {
            let tools: Vec<&str> = client.tools().map(|tool| &*tool.name).collect();
            doctor(&client.offer, &tools)
        }
        Command::Resume(None) => earlier(client).await,
        Command::Resume(Some(id)) => open(client, id).await,
    }
}

async fn earlier(client: &Client) -> String {
    let found = match client.threads().list(methods::listed_chats(client)).await {
        Ok(found) => found,
        Err(error) => return format!("\nThe chats cannot be listed: {}\n", sentence(&error)),
    };
    // A new chat with a first prompt has no Turn yet.
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
        Ok(Found::Chat(handle)) => replay::show(client, &handle).await,
        Ok(Found::Free | Found::Bad) => {
            return format!("\nThere is no chat {id}; /resume lists those there are.\n");
        }
        Err(error) => Err(error),
    };
    match shown {
        Ok(()) => format!("\nOpened {id}.\n"),
        Err(error) => format!("\n{id} cannot be shown: {}\n", sentence(&error)),
    }
}
