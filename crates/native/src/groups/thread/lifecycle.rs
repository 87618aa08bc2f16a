//! The life of a Thread: start, resume, rename, pause, archive, delete, configuration.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_core::Beforehand;
use bobbin_core::{Command, CoreError, Reply, Snapshot};
use bobbin_model::state::{NewThread, StatusChange};
use bobbin_model::{DynamicTool, Identity, Mode, Need, Refusal, ThreadConfig, ThreadId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{
    ThreadConfigUpdateParams, ThreadModeSetParams, ThreadRenameParams, ThreadResult, ThreadResumeParams,
    ThreadStartParams, ThreadTargetParams,
};
use bobbin_native_wire::thread::types::{SessionIdentity, Thread};
use bobbin_peer::Responder;
use bobbin_session::{Held, Lifetime, Start, SubscribeOptions};

use crate::client::{Client, fail, handle, refuse};
use crate::convert;
use crate::groups::serving::connection::Tools;
use crate::groups::serving::dynamic;
use crate::groups::thread::instructions;

pub(super) async fn start(client: &Client, params: ThreadStartParams, responder: Responder) {
    let (request, tools) = match requested(client, params).await {
        Ok(requested) => requested,
        Err(error) => return refuse(responder, error),
    };
    let settings = client.threads().settings();
    let moved = request
        .config
        .as_ref()
        .and_then(|config| config.workspace_override.as_ref());
    let folder = moved.or(request.identity.workspace_path.as_ref());
    let folder = folder.map_or_else(|| settings.workspace.clone(), PathBuf::from);
    let instruction_sources = instructions::sources(client, folder).await;
    let native = client.native.clone();
    let (serving, threads) = (client.serving.clone(), client.threads().clone());
    let reply: Reply<Snapshot> = Box::new(move |started| match started {
        Ok(snapshot) => {
            serving.serve(threads.clients(), &snapshot.state, Tools::Brought);
            let header = &snapshot.state.header;
            native
                .channels()
                .started(header.id.clone(), header.origin_channel.clone());
            let thread = Thread {
                turns: Some(Vec::new()),
                ..native.thread(&snapshot.state)
            };
            responder.ok(ThreadResult {
                thread,
                instruction_sources,
            });
        }
        Err(error) => fail(responder, &error),
    });
    let once = client.once.clone();
    client
        .threads()
        .start_thread_with(request, tools, once, reply)
        .await;
}

/// Reads the params of a new Thread.
pub(crate) async fn requested(
    client: &Client,
    params: ThreadStartParams,
) -> Result<(NewThread, Arc<[DynamicTool]>), RpcError> {
    let tools = dynamic::declared_in(params.dynamic_tools.unwrap_or_default())?;
    let config = params.config.as_ref().map(config_of).transpose()?;
    let mut identity = identity(client, params.identity);
    if let Some(path) = identity.workspace_path.take() {
        identity.workspace_path = Some(client.threads().normal_path_in_time(path).await);
    }
    let request = NewThread {
        id: client.threads().fresh_thread_id(),
        identity,
        config,
        history_mode: params.history_mode.unwrap_or_default(),
        display_name: params.display_name,
    };
    Ok((request, tools))
}

pub(super) async fn resume(client: &Client, params: ThreadResumeParams, responder: Responder) {
    let tools = match params.dynamic_tools.map(dynamic::declared_in).transpose() {
        Ok(tools) => tools,
        Err(error) => return refuse(responder, error),
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let instruction_sources = match client.threads().snapshot(&thread).await {
        Ok(snapshot) => instructions::sources(client, convert::cwd(&snapshot.state.header).into()).await,
        Err(error) => return fail(responder, &error),
    };
    let (serving, threads) = (client.serving.clone(), client.threads().clone());
    let (session, attached) = (client.session.clone(), thread.clone());
    let native = client.native.clone();
    let is_today = client.capabilities().is_today();
    let tools_are = if tools.is_some() {
        Tools::Brought
    } else {
        Tools::Known
    };
    let reply: Reply<_> = Box::new(move |resumed: Result<bobbin_core::Resumed, _>| match resumed {
        Ok(resumed) => {
            serving.serve(threads.clients(), &resumed.snapshot.state, tools_are);
            let thread = native.thread(&resumed.snapshot.state);
            responder.ok(ThreadResult {
                thread,
                instruction_sources,
            });
            // The client has not subscribed: it receives `thread/resumed` once, after the answer.
            let mut lifetimes = vec![Lifetime::Seq(resumed.last)];
            // A client of today is asked what the running Turn asks, and sees its end (07 §5).
            if is_today && let Some(turn) = resumed.snapshot.state.live_turn() {
                lifetimes.push(Lifetime::TurnEnds(turn));
            }
            for lifetime in lifetimes {
                session.subscribe(&SubscribeOptions {
                    handle: attached.clone(),
                    start: Start::At(resumed.first),
                    lifetime,
                });
            }
            session.ask_again(attached.id());
        }
        Err(error) => fail(responder, &error),
    });
    let by = client.native.name().to_owned();
    client
        .command(&thread, Command::Resume { by, tools, reply })
        .await;
}

pub(super) async fn rename(client: &Client, params: ThreadRenameParams, responder: Responder) {
    let display_name = params.display_name;
    change(client, &params.thread_id, responder, |reply| Command::Rename {
        display_name,
        reply,
    })
    .await;
}

pub(super) async fn pause(client: &Client, params: ThreadTargetParams, responder: Responder) {
    set_status(client, params, responder, StatusChange::Pause).await;
}

pub(super) async fn archive(client: &Client, params: ThreadTargetParams, responder: Responder) {
    set_status(client, params, responder, StatusChange::Archive).await;
}

pub(super) async fn unarchive(client: &Client, params: ThreadTargetParams, responder: Responder) {
    set_status(client, params, responder, StatusChange::Unarchive).await;
}

async fn set_status(client: &Client, params: ThreadTargetParams, responder: Responder, to: StatusChange) {
    let status = move |reply| Command::Status { change: to, reply };
    let beforehand = match to {
        StatusChange::Pause => return change(client, &params.thread_id, responder, status).await,
        StatusChange::Archive => Beforehand::Stop,
        StatusChange::Unarchive => Beforehand::Nothing,
    };
    with_below(client, params.thread_id, responder, beforehand, status).await;
}

pub(super) async fn delete(client: &Client, params: ThreadTargetParams, responder: Responder) {
    let delete = |reply| Command::Delete { reply };
    with_below(client, params.thread_id, responder, Beforehand::Stop, delete).await;
}

/// Applies a command to a Thread after its subagents. If there are subagents, later requests do not wait, since this
/// takes time.
async fn with_below(
    client: &Client,
    thread: String,
    responder: Responder,
    beforehand: Beforehand,
    command: impl Fn(Reply<()>) -> Command + Copy + Send + Sync + 'static,
) {
    // The answer precedes the end of the Turn and the news of subagents (01 §8.1).
    let held = (beforehand == Beforehand::Stop).then(|| client.session.hold());
    if !client
        .threads()
        .has_descendants(&ThreadId::new(thread.as_str()))
        .await
    {
        return change_held(client, &thread, responder, held, command).await;
    }
    let of = client.clone();
    client.reads.spawn(async move {
        if let Some(responder) = below(&of, &thread, responder, beforehand, command).await {
            change_held(&of, &thread, responder, held, command).await;
        }
    });
}

/// Applies a command to the subagents of a Thread, or answers with the error (02 §3). A repeated request skips the
/// subagents.
async fn below(
    client: &Client,
    thread: &str,
    responder: Responder,
    beforehand: Beforehand,
    command: impl Fn(Reply<()>) -> Command + Send + Sync,
) -> Option<Responder> {
    let id = ThreadId::new(thread);
    if let Some(once) = &client.once {
        match client.threads().carried_out(Some(&id), once).await {
            Ok(Some(_)) => return Some(responder),
            Ok(None) => {}
            // A request that is refused in the end must not have stopped or deleted anything.
            Err(error) => {
                fail(responder, &error);
                return None;
            }
        }
    }
    match client.threads().for_descendants(&id, beforehand, command).await {
        // The look-up of the Thread answers errors of the Thread itself.
        Ok(()) | Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Some(responder),
        Err(error) => {
            fail(responder, &error);
            None
        }
    }
}

pub(super) async fn set_mode(client: &Client, params: ThreadModeSetParams, responder: Responder) {
    let mode = match mode_of(&params.mode) {
        Ok(mode) => mode,
        Err(error) => return refuse(responder, error),
    };
    change(client, &params.thread_id, responder, |reply| Command::SetMode {
        mode,
        reply,
    })
    .await;
}

pub(super) async fn configure(client: &Client, params: ThreadConfigUpdateParams, responder: Responder) {
    let mut config = match config_of(&params.config) {
        Ok(config) => config,
        Err(error) => return refuse(responder, error),
    };
    if !client.actor().may(Need::Own)
        && let Some(error) = take_owned_members(client, &params.thread_id, &mut config).await
    {
        return fail(responder, &error);
    }
    change(client, &params.thread_id, responder, |reply| Command::Configure {
        config,
        reply,
    })
    .await;
}

/// Takes the members of a Thread's configuration that only owners set from the present one: another person who replaces the
/// rest of it must not drop them either.
async fn take_owned_members(client: &Client, thread: &str, config: &mut ThreadConfig) -> Option<CoreError> {
    let snapshot = async {
        let thread = client.threads().thread(&ThreadId::new(thread)).await?;
        client.threads().snapshot(&thread).await
    };
    match snapshot.await {
        Ok(snapshot) => {
            let present = snapshot.state.header.config.clone().unwrap_or_default();
            config.engine = present.engine;
            config.approval_policy = present.approval_policy;
            config.require_approval_outside_workspace = present.require_approval_outside_workspace;
            config.workspace_override = present.workspace_override;
            config.tool_allow_list = present.tool_allow_list;
            config.tool_deny_list = present.tool_deny_list;
            let others = ["mcpServers", "agentControlToolAccess", "allowedAgentControlTools"];
            let others = present
                .extra
                .into_iter()
                .filter(|(name, _)| others.contains(&name.as_str()));
            config.extra.extend(others);
            None
        }
        Err(error) => Some(error),
    }
}

/// Sends a command whose answer is empty.
pub(crate) async fn change(
    client: &Client,
    thread: &str,
    responder: Responder,
    command: impl FnOnce(Reply<()>) -> Command,
) {
    change_held(client, thread, responder, None, command).await;
}

/// As [`change`]; the frames that a pause has delayed follow the answer.
async fn change_held(
    client: &Client,
    thread: &str,
    responder: Responder,
    held: Option<Held>,
    command: impl FnOnce(Reply<()>) -> Command,
) {
    let id = ThreadId::new(thread);
    if let Some(once) = &client.once
        && let Ok(Some(_)) = client.threads().carried_out(Some(&id), once).await
    {
        // Done before, whatever has happened to the Thread since.
        return responder.ok(EmptyResult {});
    }
    let Some((thread, responder)) = handle(client, thread, responder).await else {
        return;
    };
    let reply: Reply<()> = Box::new(move |done| {
        match done {
            Ok(()) => responder.ok(EmptyResult {}),
            Err(error) => fail(responder, &error),
        }
        drop(held);
    });
    client.command(&thread, command(reply)).await;
}

fn mode_of(mode: &str) -> Result<Mode, RpcError> {
    match mode {
        "agent" => Ok(Mode::Agent),
        "plan" => Ok(Mode::Plan),
        _ => Err(RpcError::invalid_params("'mode' must be \"agent\" or \"plan\".")),
    }
}

pub(crate) fn config_of(config: &ThreadConfiguration) -> Result<bobbin_model::ThreadConfig, RpcError> {
    if let Some(mode) = &config.mode {
        mode_of(mode)?;
    }
    convert::config_in(config).ok_or_else(|| RpcError::invalid_params("'config' cannot be used."))
}

/// Returns the identity of a new Thread. Only owners name another folder: answers say which instructions lie there.
pub(crate) fn identity(client: &Client, identity: SessionIdentity) -> Identity {
    let is_owner = client.actor().may(Need::Own);
    Identity {
        channel_name: identity.channel_name,
        user_id: identity.user_id,
        channel_context: identity.channel_context,
        workspace_path: identity.workspace_path.filter(|_| is_owner),
    }
}
