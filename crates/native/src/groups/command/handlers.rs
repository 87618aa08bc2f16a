//! `command/*`: slash commands (AppServer protocol 05 §6). A custom command becomes a text that the client sends; a
//! built-in command acts itself.
//!
//! `/stop` is for administrators in a shared conversation: a sender must have that role. A request without a sender
//! comes from the user of the workspace, who could interrupt as well.

use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_agent_api::engines::EngineCommand;
use bobbin_agent_api::slash::{SlashCommand, SlashCommands};
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_core::{Command, CoreError, Reply, Snapshot, StartedTurn, ThreadHandle};
use bobbin_model::state::{NewThread, StatusChange};
use bobbin_model::{Identity, InputPart, Need, Refusal as Refused, Sender, ThreadId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::command::types::{
    CommandCategory, CommandExecuteParams, CommandExecuteResult, CommandInfo, CommandListParams,
    CommandListResult,
};
use bobbin_native_wire::thread::types::Thread;
use bobbin_peer::Responder;
use bobbin_prompts::{COMPACT, OwnCommand, PromptError, Prompts};
use tokio::sync::oneshot;

use crate::call::forbidden;
use crate::client::{Client, fail, handle, refuse};
use crate::groups::turn::input::{BUILT_IN as BUILT_IN_NAMES, filled_prompt};
use crate::{convert, errors};

/// Role of a sender who may run commands for administrators.
const ADMIN: &str = "admin";

const STOP: &str = "/stop";
const NEW: &str = "/new";

/// A built-in command.
struct BuiltIn {
    name: &'static str,
    description: &'static str,
    requires_admin: bool,
}

/// The built-in commands by name.
const BUILT_IN: [BuiltIn; 3] = [
    BuiltIn {
        name: "/help",
        description: "Lists the commands",
        requires_admin: false,
    },
    BuiltIn {
        name: NEW,
        description: "Puts this conversation away and begins a new one",
        requires_admin: false,
    },
    BuiltIn {
        name: STOP,
        description: "Stops what the agent is doing",
        requires_admin: true,
    },
];

/// Commands of features that a server may not have.
const OF_SERVICES: [&str; 2] = ["/heartbeat", "/cron"];

pub(super) fn list(
    client: &Client,
    prompts: &Arc<Prompts>,
    CommandListParams {
        include_builtins,
        thread_id,
        ..
    }: CommandListParams,
    responder: Responder,
) {
    let (prompts, asking) = (prompts.clone(), client.clone());
    client.spawn(async move {
        let agents = match thread_id {
            Some(id) => of_agent(&asking, &ThreadId::new(id)).await,
            None => Vec::new(),
        };
        let built_in = include_builtins.unwrap_or(true);
        match all(prompts, asking.services(), agents, built_in).await {
            Ok(commands) => responder.ok(CommandListResult { commands }),
            Err(error) => refuse(responder, error),
        }
    });
}

/// Returns the commands of the other agent that runs a Thread. Bobbin's own names stay its own.
pub(crate) async fn of_agent(client: &Client, thread: &ThreadId) -> Vec<EngineCommand> {
    let mut commands = client.threads().engine_commands(client.services(), thread).await;
    commands.retain(|command| !BUILT_IN_NAMES.contains(&command.name.as_str()));
    commands
}

/// Lists the commands: those of another agent, Bobbin's own, then the custom ones, each by name, then the prompts of MCP
/// servers.
async fn all(
    prompts: Arc<Prompts>,
    services: &Services,
    agents: Vec<EngineCommand>,
    built_in: bool,
) -> Result<Vec<CommandInfo>, RpcError> {
    let servers = services.tool_servers.as_deref();
    let custom = blocking(move || Ok(prompts.commands())).await?;
    let of_features = services.slash.iter().flat_map(|slash| slash.list());
    let of_features = of_features.filter(|_| built_in).map(|own| CommandInfo {
        name: own.name.to_owned(),
        aliases: Vec::new(),
        description: own.description.to_owned(),
        category: CommandCategory::Builtin,
        requires_admin: false,
    });
    let own = BUILT_IN.iter().filter(|_| built_in).map(|own| CommandInfo {
        name: own.name.to_owned(),
        aliases: Vec::new(),
        description: own.description.to_owned(),
        category: CommandCategory::Builtin,
        requires_admin: own.requires_admin,
    });
    let runs = |name: &str| !BUILT_IN_NAMES.contains(&name);
    let (custom, prompts): (Vec<_>, Vec<_>) = custom
        .into_iter()
        .filter(|custom| runs(&custom.name))
        .partition(|command| command.source.is_some());
    let info = |category| {
        move |command: bobbin_prompts::Command| CommandInfo {
            name: format!("/{}", command.name),
            aliases: Vec::new(),
            description: command.description,
            category,
            requires_admin: false,
        }
    };
    let prompts = prompts.into_iter().filter(|_| built_in);
    let prompts = prompts.map(info(CommandCategory::Builtin));
    let mut own: Vec<CommandInfo> = own.chain(of_features).chain(prompts).collect();
    own.sort_by(|one, other| one.name.cmp(&other.name));
    own.extend(custom.into_iter().map(info(CommandCategory::Custom)));
    let of_servers = servers.map(ToolServers::prompts).unwrap_or_default();
    own.extend(of_servers.into_iter().map(|prompt| CommandInfo {
        name: format!("/{}:{}", prompt.server, prompt.name),
        aliases: Vec::new(),
        description: prompt.description,
        category: CommandCategory::Custom,
        requires_admin: false,
    }));
    let agents: Vec<CommandInfo> = agents.into_iter().map(info_of_agent).collect();
    own.retain(|own| !agents.iter().any(|agents| agents.name == own.name));
    Ok(agents.into_iter().chain(own).collect())
}

fn info_of_agent(command: EngineCommand) -> CommandInfo {
    CommandInfo {
        name: format!("/{}", command.name),
        aliases: Vec::new(),
        description: command.description,
        category: CommandCategory::Custom,
        requires_admin: false,
    }
}

pub(super) async fn execute(
    client: &Client,
    prompts: &Arc<Prompts>,
    asked: CommandExecuteParams,
    responder: Responder,
) {
    let prompts = prompts.clone();
    let Some((thread, responder)) = handle(client, &asked.thread_id, responder).await else {
        return;
    };
    let (name, rest) = split(&asked.command);
    let task = client.clone();
    let in_order = name == STOP;
    let work = async move {
        let done = run(&task, prompts, &thread, (&name, &rest), asked).await;
        match done {
            Ok(result) => responder.ok(result),
            Err(refusal) => refusal.answer(responder),
        }
    };
    if in_order {
        // The connection's next request may be the Turn after the stopped one.
        work.await;
    } else {
        // The connection's next request does not wait for these steps.
        client.spawn(work);
    }
}

/// Returns a command's name with its slash, and the rest of the text.
fn split(typed: &str) -> (String, String) {
    let typed = typed.trim();
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let name = format!("/{}", name.trim_start_matches('/'));
    // Phones start a message with a capital letter. Commands in files are found by their reader.
    let compact = format!("/{COMPACT}");
    let own = BUILT_IN.iter().map(|own| own.name).chain(OF_SERVICES);
    let own = own.chain([&*compact]).find(|own| own.eq_ignore_ascii_case(&name));
    (
        own.map_or_else(|| name.clone(), str::to_owned),
        rest.trim().to_owned(),
    )
}

/// Why a command was not executed.
pub(crate) enum Refusal {
    Wire(RpcError),
    Core(CoreError),
}

impl Refusal {
    pub(crate) fn answer(self, responder: Responder) {
        match self {
            Self::Wire(error) => refuse(responder, error),
            Self::Core(error) => fail(responder, &error),
        }
    }
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Wire(error)
    }
}

impl From<CoreError> for Refusal {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

async fn run(
    client: &Client,
    prompts: Arc<Prompts>,
    thread: &Arc<ThreadHandle>,
    (name, rest): (&str, &str),
    asked: CommandExecuteParams,
) -> Result<CommandExecuteResult, Refusal> {
    let is_admin = asked
        .sender
        .as_ref()
        .is_none_or(|sender| sender.sender_role.as_deref() == Some(ADMIN));
    let own = BUILT_IN.iter().find(|own| own.name == name);
    if own.is_some_and(|own| own.requires_admin) && !is_admin {
        return Err(RpcError::command_denied(name).into());
    }
    let feature = of_feature(client.services().slash.as_ref(), name);
    let need = match (&feature, name) {
        (Some(_), _) => Need::Own,
        // They stop and put away what others have started.
        (None, STOP | NEW) => Need::Approve,
        (None, _) => Need::Prompt,
    };
    if !client.actor().may(need) {
        return Err(forbidden(client.actor(), name, need).into());
    }
    let words = [rest.to_owned()].into_iter().filter(|rest| !rest.is_empty());
    let words: Vec<String> = words.chain(asked.arguments.unwrap_or_default()).collect();
    if let Some((slash, own)) = feature {
        let message = Some(slash.run(own.name, &words.join(" ")).await);
        return Ok(CommandExecuteResult {
            is_markdown: true,
            ..handled(message)
        });
    }
    if OF_SERVICES.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return Err(RpcError::command_service_missing(name).into());
    }
    let bare = name.trim_start_matches('/');
    let agents = of_agent(client, thread.id()).await;
    let is_agents = agents.iter().any(|command| command.name == bare);
    match name {
        "/help" => Ok(help(&all(prompts, client.services(), agents, true).await?)),
        NEW => begin_anew(client, thread).await,
        STOP => stop(client, thread).await,
        _ if bare == COMPACT => {
            compact(client, thread, asked.sender).await?;
            Ok(handled(Some("The conversation is being compacted.".to_owned())))
        }
        // The agent reads it as text.
        _ if is_agents => Ok(CommandExecuteResult {
            expanded_prompt: Some([&[name.to_owned()], words.as_slice()].concat().join(" ")),
            ..handled(None)
        }),
        _ => {
            let servers = client.services().tool_servers.as_deref();
            if let Some(filled) = filled_prompt(servers, name, &words.join(" ")).await {
                return Ok(CommandExecuteResult {
                    expanded_prompt: Some(filled?),
                    ..handled(None)
                });
            }
            let bare = bare.to_owned();
            let expanded = blocking(move || prompts.expand(&bare, &words.join(" "))).await?;
            Ok(CommandExecuteResult {
                expanded_prompt: Some(expanded),
                ..handled(None)
            })
        }
    }
}

/// Finds a command of a feature, without regard to case.
fn of_feature<'a>(
    slash: Option<&'a Arc<dyn SlashCommands>>,
    name: &str,
) -> Option<(&'a Arc<dyn SlashCommands>, &'static SlashCommand)> {
    let slash = slash?;
    let own = slash
        .list()
        .iter()
        .find(|own| own.name.eq_ignore_ascii_case(name))?;
    Some((slash, own))
}

fn handled(message: Option<String>) -> CommandExecuteResult {
    CommandExecuteResult {
        handled: true,
        message,
        is_markdown: false,
        expanded_prompt: None,
        session_reset: None,
        thread: None,
        archived_thread_ids: None,
        created_lazily: None,
    }
}

fn help(commands: &[CommandInfo]) -> CommandExecuteResult {
    let lines = commands
        .iter()
        .map(|command| format!("- `{}`: {}", command.name, command.description));
    CommandExecuteResult {
        is_markdown: true,
        ..handled(Some(lines.collect::<Vec<_>>().join("\n")))
    }
}

async fn stop(client: &Client, thread: &ThreadHandle) -> Result<CommandExecuteResult, Refusal> {
    let state = client.threads().snapshot(thread).await?.state;
    let Some(running) = state.live_turn().map(|turn| turn.to_string()) else {
        return Ok(handled(Some("Nothing is running.".to_owned())));
    };
    let stopped = answer(|reply| client.command(thread, Command::Interrupt { turn: running, reply }));
    let said = match stopped.await {
        Ok(()) => "Stopped.",
        // The Turn has ended by itself meanwhile.
        Err(CoreError::Refused(Refused::TurnNotRunning(_))) => "Nothing is running.",
        Err(error) => return Err(error.into()),
    };
    Ok(handled(Some(said.to_owned())))
}

/// Starts the Turn that compacts the conversation.
pub(crate) async fn compact(
    client: &Client,
    thread: &Arc<ThreadHandle>,
    sender: Option<Sender>,
) -> Result<StartedTurn, Refusal> {
    let agents = of_agent(client, thread.id()).await;
    let part = if agents.iter().any(|command| command.name == COMPACT) {
        let text = format!("/{COMPACT}");
        InputPart::Text { text }
    } else {
        InputPart::CommandRef {
            name: COMPACT.to_owned(),
            args_text: None,
            raw_text: Some(format!("/{COMPACT}")),
            expanded: OwnCommand::find(COMPACT).and_then(|own| own.prompt("")),
        }
    };
    let request = client.turn(thread.id(), vec![part], sender, None)?;
    let started: StartedTurn =
        answer(|reply| client.command(thread, Command::StartTurn { request, reply })).await?;
    client.follow(thread.clone(), &started);
    Ok(started)
}

/// Starts a Thread of the same owner in the same workspace, and archives this one.
async fn begin_anew(client: &Client, thread: &ThreadHandle) -> Result<CommandExecuteResult, Refusal> {
    let header = client.threads().snapshot(thread).await?.state.header.clone();
    let request = NewThread {
        id: client.threads().fresh_thread_id(),
        identity: Identity {
            channel_name: header.origin_channel,
            user_id: header.user_id,
            channel_context: header.channel_context,
            workspace_path: Some(header.workspace_path),
        },
        config: header.config,
        history_mode: header.history_mode,
        display_name: None,
    };
    let once = client.once().cloned();
    let started = answer(|reply: Reply<Snapshot>| {
        client
            .threads()
            .start_thread_with(request, Arc::default(), once, reply)
    })
    .await?;
    let archived = answer(|reply| {
        let command = Command::Status {
            change: StatusChange::Archive,
            reply,
        };
        thread.send(command)
    })
    .await;
    if let Err(error) = &archived {
        // The Thread may be archived already, by another request or by an earlier copy of this one.
        tracing::debug!(%error, "the old thread of a new one is not archived");
    }
    let new = &started.state;
    client.started(new.header.id.clone(), new.header.origin_channel.clone());
    Ok(CommandExecuteResult {
        session_reset: Some(true),
        thread: Some(Thread {
            turns: Some(Vec::new()),
            ..convert::thread(new)
        }),
        archived_thread_ids: Some(archived.map(|()| thread.id().to_string()).into_iter().collect()),
        created_lazily: Some(false),
        ..handled(Some("A new conversation.".to_owned()))
    })
}

/// Sends a command and waits for its answer.
async fn answer<T, F>(send: impl FnOnce(Reply<T>) -> F) -> Result<T, CoreError>
where
    T: Send + 'static,
    F: Future<Output = ()>,
{
    let (tell, told) = oneshot::channel();
    send(Box::new(move |answer| {
        // The receiver is gone if the connection is.
        drop(tell.send(answer));
    }))
    .await;
    told.await.unwrap_or(Err(CoreError::Stopping))
}

/// Runs work that waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PromptError> + Send + 'static,
) -> Result<T, RpcError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| errors::of_prompt(&error)),
        Err(error) => {
            tracing::error!(%error, "work with commands ended badly");
            Err(RpcError::internal_error("The commands could not be worked with."))
        }
    }
}
