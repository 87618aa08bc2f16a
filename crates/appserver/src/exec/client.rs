//! The client side: handshake, one Turn, its notifications, its approvals.

use std::process::ExitCode;

use anyhow::{Context, bail};
use bobbin_peer::{Handlers, Mode, Peer, PeerHandle, PeerOptions, Responder, Transport};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::question::Question;
use super::render::{Progress, Screen};
use crate::call::{call, initialize};
use crate::signals::Signals;
use crate::{console, exit};

/// What is asked, and how.
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) thread: Option<String>,
    pub(super) model: Option<String>,
    pub(super) approvals: Approvals,
    /// What of the folder its user trusts since this run.
    pub(super) trusted: Option<Vec<String>>,
    pub(super) json: bool,
    pub(super) workspace: String,
}

/// Who answers what the agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approvals {
    /// The person at this terminal.
    AskHere,
    /// Everything is accepted.
    AcceptAll,
    /// Nobody: the server is told so and refuses.
    Nobody,
}

/// Notifications that may wait to be shown; the connection waits beyond.
const WAITING: usize = 1024;

enum Arrived {
    Told(String, Value),
    Asked(Value, Responder),
}

/// Hands over what arrives, in order.
fn handlers(arrived: mpsc::Sender<Arrived>) -> Handlers {
    let asked = arrived.clone();
    Handlers::new()
        .on_call_deferred(
            "item/approval/request",
            Mode::ordered("in"),
            move |cx, responder| {
                let asked = asked.clone();
                async move {
                    let params = value(cx.params.as_deref());
                    drop(asked.send(Arrived::Asked(params, responder)).await);
                }
            },
        )
        .fallback_notification_deferred(Mode::ordered("in"), move |cx| {
            let arrived = arrived.clone();
            let params = value(cx.params.as_deref());
            async move {
                drop(arrived.send(Arrived::Told(cx.method.to_string(), params)).await);
            }
        })
}

fn value(raw: Option<&serde_json::value::RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Runs the prompt and returns how it ended.
pub(super) async fn run(
    transport: Transport,
    prompt: Prompt,
    signals: &mut Signals,
) -> anyhow::Result<ExitCode> {
    let (arrived, mut inbox) = mpsc::channel(WAITING);
    let peer = Peer::start(transport, PeerOptions::default(), |_| handlers(arrived))?;
    let handle = peer.handle();
    let ended = turn(&handle, &prompt, &mut inbox, signals).await;
    drop(inbox);
    handle.shutdown().await;
    ended
}

async fn turn(
    peer: &PeerHandle,
    prompt: &Prompt,
    inbox: &mut mpsc::Receiver<Arrived>,
    signals: &mut Signals,
) -> anyhow::Result<ExitCode> {
    let (thread, turn) = start(peer, prompt).await?;
    let mut screen = Screen::new(prompt.json);
    let mut interrupted = false;
    loop {
        let arrived = tokio::select! {
            arrived = inbox.recv() => arrived,
            () = signals.next() => {
                if std::mem::replace(&mut interrupted, true) {
                    return Ok(ExitCode::from(exit::INTERRUPTED));
                }
                call(peer, "turn/interrupt", &json!({ "threadId": thread, "turnId": turn })).await?;
                continue;
            }
        };
        match arrived {
            None => bail!("the connection to the server ended before the turn did"),
            Some(Arrived::Asked(params, responder)) => {
                let decision = decide(prompt.approvals, &mut screen, &params).await;
                responder.ok(json!({ "decision": decision }));
            }
            Some(Arrived::Told(method, params)) => {
                let theirs = params["threadId"].as_str().is_some_and(|id| id != thread);
                if theirs {
                    continue;
                }
                match screen.show(&method, &params) {
                    Progress::GoesOn => {}
                    Progress::Completed => {
                        return Ok(screen.refused().map_or(ExitCode::SUCCESS, |operation| {
                            console::complain(&format!("an approval was refused: {operation}"));
                            ExitCode::from(exit::REFUSED)
                        }));
                    }
                    Progress::Failed(error) => {
                        console::complain(&format!("the turn failed: {error}"));
                        return Ok(ExitCode::from(exit::TURN_FAILED));
                    }
                    Progress::Cancelled(reason) => {
                        console::complain(&format!("the turn was cancelled: {reason}"));
                        let code = if interrupted {
                            exit::INTERRUPTED
                        } else {
                            exit::REFUSED
                        };
                        return Ok(ExitCode::from(code));
                    }
                }
            }
        }
    }
}

/// Shakes hands and starts the Turn; returns the ids of Thread and Turn.
async fn start(peer: &PeerHandle, prompt: &Prompt) -> anyhow::Result<(String, String)> {
    let approvals = prompt.approvals != Approvals::Nobody;
    let capabilities =
        json!({ "approvalSupport": approvals, "commandExecutionStreaming": true, "workspaceTrust": true });
    initialize(peer, "bobbin-exec", &capabilities).await?;
    if let Some(fingerprints) = &prompt.trusted {
        // A server that runs already puts it into effect.
        let params = json!({ "trusted": true, "fingerprints": fingerprints });
        call(peer, "workspace/trust/set", &params).await?;
    }
    let thread = if let Some(thread) = &prompt.thread {
        if let Some(model) = &prompt.model {
            choose(peer, thread, model).await?;
        }
        thread.clone()
    } else {
        let identity = json!({ "channelName": "exec", "workspacePath": prompt.workspace });
        let mut request = json!({ "identity": identity });
        if let Some(model) = &prompt.model {
            request["config"] = json!({ "model": model });
        }
        let started = call(peer, "thread/start", &request).await?;
        text(&started, "/thread/id")?
    };
    let input = json!([{ "type": "text", "text": prompt.text }]);
    let started = call(peer, "turn/start", &json!({ "threadId": thread, "input": input })).await?;
    let turn = text(&started, "/turn/id")?;
    if prompt.json {
        console::data(&json!({ "method": "bobbin/exec", "params": { "threadId": thread, "turnId": turn } }));
    }
    Ok((thread, turn))
}

/// Gives a Thread another model; the rest of its configuration stays.
async fn choose(peer: &PeerHandle, thread: &str, model: &str) -> anyhow::Result<()> {
    let read = call(
        peer,
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": false }),
    )
    .await?;
    let mut config = match &read["thread"]["configuration"] {
        Value::Object(config) => Value::Object(config.clone()),
        _ => json!({}),
    };
    config["model"] = model.into();
    call(
        peer,
        "thread/config/update",
        &json!({ "threadId": thread, "config": config }),
    )
    .await?;
    Ok(())
}

fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .with_context(|| format!("the server's answer has no {pointer}"))
}

async fn decide(approvals: Approvals, screen: &mut Screen, params: &Value) -> &'static str {
    match approvals {
        Approvals::AcceptAll => "accept",
        Approvals::Nobody => "decline",
        Approvals::AskHere => {
            screen.break_line();
            let question = Question::new(params);
            // Blocks a thread of its own: the user may take as long as they like.
            tokio::task::spawn_blocking(move || question.ask())
                .await
                .unwrap_or("decline")
        }
    }
}
