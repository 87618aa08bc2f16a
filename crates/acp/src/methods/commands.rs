//! Slash commands: their list for menus, and those that are answered without a Turn.

use bobbin_acp_wire::{AvailableCommand, CommandInput, SessionUpdate};
use bobbin_agent_api::engines::EngineCommand;
use bobbin_editor_kit::{Command, CommandInfo, CommandKind, config, costs, doctor, matching};
use bobbin_model::ThreadId;

use super::Client;

/// The command that lists earlier chats: clients of this protocol have lists of their own.
const RESUME: &str = "resume";

/// Sends the commands of a session. Reads the disk.
pub(super) async fn offer(client: &Client, thread: &ThreadId) {
    let agents = agents(client, thread).await;
    send(client, thread, agents).await;
}

/// Sends the commands again if another agent runs the session and has changed its own.
pub(super) async fn offer_changed(client: &Client, thread: &ThreadId) {
    let agents = agents(client, thread).await;
    let known = client.acp.sessions.with(thread, |open| open.agents.clone());
    if known.is_some_and(|known| known != agents) {
        send(client, thread, agents).await;
    }
}

async fn agents(client: &Client, thread: &ThreadId) -> Vec<EngineCommand> {
    let services = &client.offer.services;
    client.threads().engine_commands(services, thread).await
}

async fn send(client: &Client, thread: &ThreadId, agents: Vec<EngineCommand>) {
    let (prompts, files) = (client.prompts(), client.offer.services.prompts.clone());
    let sent = agents.clone();
    client.acp.sessions.with(thread, |open| open.agents = sent);
    let listed = tokio::task::spawn_blocking(move || matching("", agents, prompts, files.as_deref()));
    let Ok(listed) = listed.await else {
        return tracing::error!("listing commands ended badly");
    };
    let listed = listed.into_iter().filter(|info| info.name != RESUME);
    let update = SessionUpdate::AvailableCommandsUpdate {
        available_commands: listed.map(available).collect(),
    };
    client.send(thread, vec![update]).await;
}

fn what_to_do() -> String {
    "what to do".to_owned()
}

fn available(info: CommandInfo) -> AvailableCommand {
    let hint = match info.kind {
        CommandKind::Own => None,
        CommandKind::Server(arguments) => {
            let names: Vec<String> = arguments.into_iter().map(|argument| argument.name).collect();
            (!names.is_empty()).then(|| names.join(" "))
        }
        CommandKind::File(hint) => Some(hint.unwrap_or_else(what_to_do)),
        CommandKind::Skill => Some(what_to_do()),
        CommandKind::Agent(hint) => hint,
    };
    AvailableCommand {
        name: info.name,
        description: info.description,
        input: hint.map(|hint| CommandInput { hint }),
    }
}

/// Runs a command that needs no Turn. Returns the text to show.
pub(super) async fn run(command: Command, client: &Client, thread: &ThreadId) -> String {
    match command {
        Command::Costs => costs(client.threads(), thread).await,
        Command::Config => config(&client.offer),
        Command::Doctor => {
            let tools: Vec<&str> = client.offer.tools.iter().map(|tool| &*tool.name).collect();
            doctor(&client.offer, &tools)
        }
        Command::Resume(_) => "\nOpen earlier sessions from the list of your editor.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_file_says_itself_what_follows_it() {
        let hint = |hint: Option<&str>| {
            let kind = CommandKind::File(hint.map(str::to_owned));
            let info = CommandInfo {
                name: "boil".to_owned(),
                description: String::new(),
                kind,
            };
            available(info).input.map(|input| input.hint)
        };
        assert_eq!(hint(Some("[pot]")).as_deref(), Some("[pot]"));
        assert_eq!(hint(None).as_deref(), Some("what to do"));
    }
}
