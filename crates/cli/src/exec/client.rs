//! The client side: handshake, Thread, one Turn or two, notifications, approvals.

use std::future::pending;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bobbin_model::{Effort, SandboxProfile};
use bobbin_peer::{Handlers, Mode, Peer, PeerHandle, PeerOptions, Responder, Transport};
use bobbin_prompts::OwnCommand;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::question::{ASK_LESS, Question};
use super::render::{Output, Record, Screen, TICK, TurnEnd};
use super::schema::OutputSchema;
use crate::call::{call, initialize};
use crate::threads;
use bobbin_server::console;
use bobbin_server::signals::Signals;

/// The request of a run, and its options.
pub(super) struct Request {
    /// Parts of the input.
    pub(super) input: Value,
    pub(super) thread: ThreadChoice,
    pub(super) model: Option<String>,
    /// The engine of the Thread.
    pub(super) agent: Option<String>,
    /// The model of a new Thread that this process's environment chooses, where nothing else names one.
    pub(super) own_default: Option<String>,
    pub(super) effort: Option<Effort>,
    /// `agent` or `plan`.
    pub(super) mode: Option<&'static str>,
    pub(super) approvals: Approvals,
    /// Rules that allow in this run alone.
    pub(super) allow: Vec<String>,
    /// The sandbox of commands in this run.
    pub(super) sandbox: Option<SandboxProfile>,
    /// The items of the folder that its user trusts since this run.
    pub(super) trusted: Option<Vec<String>>,
    pub(super) output: Output,
    pub(super) schema: Option<OutputSchema>,
    /// When the Turn is interrupted.
    pub(super) deadline: Option<Instant>,
    /// Whether the Turn goes on without this process.
    pub(super) detach: bool,
    pub(super) workspace: String,
}

/// Which Thread the Turn is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ThreadChoice {
    New,
    /// The one that was active last, whichever client it belongs to.
    Last,
    Id(String),
}

/// The source of answers to the agent's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approvals {
    /// The user of this terminal.
    AskHere,
    /// Everything is accepted.
    AcceptAll,
    /// Nobody: the server knows, and refuses.
    Nobody,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    /// The answer, as the user wants it.
    Done(String),
    /// The Turn completed without this operation, or ended for it.
    Refused(String),
    NotUnderstood,
    /// The answer is not of the form that was wanted.
    WrongForm(String),
    Failed(String),
    /// Ctrl-C, another client or a server that stops.
    Interrupted(String),
    TimedOut,
    /// The Turn goes on without this process.
    Detached,
}

/// A run that came to an end.
pub(super) struct Ended {
    pub(super) thread: String,
    pub(super) turn: String,
    pub(super) usage: Value,
    pub(super) cost: Value,
    pub(super) end: End,
}

/// Notifications that may wait to be shown; the connection waits beyond.
const WAITING: usize = 1024;
/// How long an interrupted Turn may take to end.
const ENDING: Duration = Duration::from_secs(10);

enum Arrived {
    Notification(String, Value),
    Approval(Value, Responder),
}

/// Hands over what arrives, in order.
fn handlers(arrived: mpsc::Sender<Arrived>) -> Handlers {
    let approvals = arrived.clone();
    Handlers::new()
        .on_call_deferred(
            "item/approval/request",
            Mode::ordered("in"),
            move |cx, responder| {
                let approvals = approvals.clone();
                async move {
                    let params = value(cx.params.as_deref());
                    drop(approvals.send(Arrived::Approval(params, responder)).await);
                }
            },
        )
        .fallback_notification_deferred(Mode::ordered("in"), move |cx| {
            let arrived = arrived.clone();
            let params = value(cx.params.as_deref());
            async move {
                drop(
                    arrived
                        .send(Arrived::Notification(cx.method.to_string(), params))
                        .await,
                );
            }
        })
}

fn value(raw: Option<&serde_json::value::RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Runs the request and returns how it ended.
///
/// # Errors
/// The server refuses the request, or the connection ends before the Turn does.
pub(super) async fn run(
    transport: Transport,
    request: Request,
    signals: &mut Signals,
) -> anyhow::Result<Ended> {
    let (arrived, inbox) = mpsc::channel(WAITING);
    let peer = Peer::start(transport, PeerOptions::default(), |_| handlers(arrived))?;
    let handle = peer.handle();
    let mut client = Client {
        peer: handle.clone(),
        inbox,
        signals,
        screen: Screen::new(request.output),
        request,
    };
    let ended = client.run().await;
    drop(client);
    handle.shutdown().await;
    ended
}

/// Why a Turn is being interrupted by this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    Keyboard,
    Timeout,
}

struct Client<'a> {
    peer: PeerHandle,
    inbox: mpsc::Receiver<Arrived>,
    signals: &'a mut Signals,
    screen: Screen,
    request: Request,
}

impl Client<'_> {
    async fn run(&mut self) -> anyhow::Result<Ended> {
        let thread = self.open().await?;
        self.note_default_model(&thread).await;
        let mut input = self.request.input.take();
        self.name_command(&mut input).await?;
        let mut repeated = false;
        loop {
            let turn = self.start(&thread, &input).await?;
            if self.request.detach {
                return Ok(Ended {
                    thread,
                    turn,
                    usage: Value::Null,
                    cost: Value::Null,
                    end: End::Detached,
                });
            }
            let (end, record) = self.follow(&thread, &turn).await?;
            let (usage, cost) = (record.usage.clone(), record.cost.clone());
            let end = match self.judge(end, record) {
                // The model sees what is wrong, once.
                End::WrongForm(fault) if !std::mem::replace(&mut repeated, true) => {
                    console::note(&format!("the answer is asked for again: {fault}"));
                    input = json!([{ "type": "text", "text": OutputSchema::repeat(&fault) }]);
                    continue;
                }
                end => end,
            };
            if !matches!(end, End::Interrupted(_) | End::TimedOut) {
                self.note_tool_servers().await;
            }
            return Ok(Ended {
                thread,
                turn,
                usage,
                cost,
                end,
            });
        }
    }

    fn judge(&self, end: End, record: Record) -> End {
        match end {
            End::Done(_) => {}
            other => return other,
        }
        if let Some(operation) = record.refused {
            return End::Refused(operation);
        }
        if record.not_understood {
            return End::NotUnderstood;
        }
        match &self.request.schema {
            None => End::Done(record.answer),
            Some(schema) => match schema.check(&record.answer) {
                Ok(json) => End::Done(json),
                Err(fault) => End::WrongForm(fault),
            },
        }
    }

    /// Shakes hands and opens the Thread; returns its id.
    async fn open(&mut self) -> anyhow::Result<String> {
        let Self { peer, request, .. } = self;
        let capabilities = json!({
            "approvalSupport": request.approvals != Approvals::Nobody,
            "commandExecutionStreaming": true,
            "streamingSupport": request.output == Output::Text,
            "workspaceTrust": true,
            "person": request.approvals == Approvals::AskHere,
        });
        initialize(peer, "bobbin-exec", &capabilities).await?;
        if let Some(fingerprints) = &request.trusted {
            // A server that runs already puts it into effect.
            let params = json!({ "trusted": true, "fingerprints": fingerprints });
            call(peer, "workspace/trust/set", &params).await?;
        }
        let identity = json!({ "channelName": "exec", "workspacePath": request.workspace });
        let mut config = json!({});
        if let Some(model) = &request.model {
            config["model"] = model.as_str().into();
        }
        if let Some(agent) = &request.agent {
            config["engine"] = agent.as_str().into();
        }
        if let Some(mode) = request.mode {
            config["mode"] = mode.into();
        }
        let thread = match &request.thread {
            ThreadChoice::New => {
                if let (None, Some(own)) = (&request.model, &request.own_default) {
                    // The server may have been started by a program without these variables.
                    let defaults = call(peer, "workspace/defaults/read", &json!({})).await?;
                    if defaults["model"] != own.as_str() {
                        config["model"] = own.as_str().into();
                    }
                }
                let params = json!({ "identity": identity, "config": config });
                let started = call(peer, "thread/start", &params).await?;
                return text(&started, "/thread/id");
            }
            ThreadChoice::Last => threads::last(peer, &request.workspace).await?,
            ThreadChoice::Id(id) => id.clone(),
        };
        if config != json!({}) {
            configure(peer, &thread, &config).await?;
        }
        Ok(thread)
    }

    /// Notes which model answers where no setting and no flag names one.
    async fn note_default_model(&self, thread: &str) {
        let request = &self.request;
        if request.model.is_some() || request.agent.is_some() || request.output == Output::Json {
            return;
        }
        let read = call(&self.peer, "thread/read", &json!({ "threadId": thread })).await;
        if read.is_ok_and(|read| read["thread"]["configuration"]["model"].is_string()) {
            return;
        }
        // A server of an earlier version has no such method.
        let defaults = call(&self.peer, "workspace/defaults/read", &json!({})).await;
        if let Ok(defaults) = defaults
            && let Some(notice) = defaults["notice"].as_str()
        {
            console::note(notice);
        }
    }

    /// Notes which MCP servers were missing in the Turn, and why.
    async fn note_tool_servers(&self) {
        if self.request.output == Output::Json {
            return;
        }
        // A server of Bobbin without this method has no such servers.
        let Ok(status) = call(&self.peer, "mcp/status/list", &json!({})).await else {
            return;
        };
        let servers = status["servers"].as_array();
        for server in servers.into_iter().flatten() {
            if let (Some(name), Some(why)) = (server["name"].as_str(), server["lastError"].as_str())
                && server["startupState"] == "error"
            {
                console::note(&format!("the MCP server {name} does not run: {why}"));
            }
        }
    }

    /// Makes a prompt such as `/review main` the command that it names, if the server has one. Other prompts may start
    /// with a path.
    async fn name_command(&self, input: &mut Value) -> anyhow::Result<()> {
        let Some(text) = input[0]["text"].as_str().filter(|text| text.starts_with('/')) else {
            return Ok(());
        };
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let listed = call(&self.peer, "command/list", &json!({})).await?;
        let is_prompt = |command: &&Value| {
            let own = || OwnCommand::find(&name[1..]).is_some();
            command["name"] == name && (command["category"] == "custom" || own())
        };
        let commands = listed["commands"].as_array();
        if commands.is_some_and(|all| all.iter().any(|command| is_prompt(&command))) {
            input[0] = json!({
                "type": "commandRef",
                "name": name,
                "argsText": arguments.trim(),
                "rawText": text,
            });
        }
        Ok(())
    }

    async fn start(&self, thread: &str, input: &Value) -> anyhow::Result<String> {
        let mut params =
            json!({ "threadId": thread, "input": input, "reasoningEffort": self.request.effort });
        if !self.request.allow.is_empty() {
            params["allow"] = json!(self.request.allow);
        }
        if let Some(profile) = self.request.sandbox {
            params["sandbox"] = json!(profile);
        }
        let started = call(&self.peer, "turn/start", &params).await?;
        let turn = text(&started, "/turn/id")?;
        if self.request.output == Output::Json {
            console::data(
                &json!({ "method": "bobbin/exec", "params": { "threadId": thread, "turnId": turn } }),
            );
        } else {
            console::note(&format!("thread {thread}"));
        }
        Ok(turn)
    }

    /// Follows a Turn to its end.
    async fn follow(&mut self, thread: &str, turn: &str) -> anyhow::Result<(End, Record)> {
        let mut interrupt: Option<(Interrupt, Instant)> = None;
        let mut cancelled_here = false;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let spins = self.screen.spins();
            let deadline = match interrupt {
                Some((_, until)) => Some(until),
                None => self.request.deadline,
            };
            let wanted = tokio::select! {
                arrived = self.inbox.recv() => {
                    match arrived {
                        None if interrupt.is_some() => return Ok(self.interrupted(interrupt, "the server ended")),
                        None => bail!("the connection to the server ended before the turn did"),
                        Some(Arrived::Approval(params, responder)) => {
                            let decision = self.decide(&params, deadline).await;
                            if let Err(by) = decision {
                                interrupt.get_or_insert((by, Instant::now() + ENDING));
                            }
                            let decision = decision.unwrap_or("cancel");
                            cancelled_here |= decision == "cancel";
                            responder.ok(json!({ "decision": decision }));
                        }
                        Some(Arrived::Notification(method, params)) => {
                            if !is_of(thread, &params) {
                                continue;
                            }
                            match self.screen.show(&method, &params) {
                                None => {}
                                Some(TurnEnd::Completed) => return Ok((End::Done(String::new()), self.screen.take_record())),
                                Some(TurnEnd::Failed(error)) => return Ok((End::Failed(error), self.screen.take_record())),
                                Some(TurnEnd::Cancelled(_)) if cancelled_here && interrupt.is_none() => {
                                    let mut record = self.screen.take_record();
                                    return Ok((End::Refused(record.refused.take().unwrap_or_default()), record));
                                }
                                Some(TurnEnd::Cancelled(reason)) => return Ok(self.interrupted(interrupt, &reason)),
                            }
                        }
                    }
                    continue;
                }
                () = self.signals.next() => Interrupt::Keyboard,
                () = until(deadline) => Interrupt::Timeout,
                _ = ticks.tick(), if spins => {
                    self.screen.tick();
                    continue;
                }
            };
            // A second Ctrl-C, or a Turn that does not end, is not waited for.
            if interrupt.is_some() {
                return Ok(self.interrupted(interrupt, "it was not waited for"));
            }
            interrupt = Some((wanted, Instant::now() + ENDING));
            let params = json!({ "threadId": thread, "turnId": turn });
            // The Turn may be over by now; its end is on its way then.
            drop(call(&self.peer, "turn/interrupt", &params).await);
        }
    }

    fn interrupted(&mut self, by: Option<(Interrupt, Instant)>, reason: &str) -> (End, Record) {
        self.screen.break_line();
        let end = match by {
            Some((Interrupt::Timeout, _)) => End::TimedOut,
            Some((Interrupt::Keyboard, _)) => End::Interrupted("from the keyboard".to_owned()),
            None => End::Interrupted(format!("by another client or by a server that stops: {reason}")),
        };
        (end, self.screen.take_record())
    }

    /// Returns the decision, or why the Turn ends instead of one.
    async fn decide(&mut self, params: &Value, deadline: Option<Instant>) -> Result<&'static str, Interrupt> {
        let decision = match self.request.approvals {
            Approvals::AcceptAll => "accept",
            Approvals::Nobody => "decline",
            Approvals::AskHere => {
                self.screen.break_line();
                let question = Question::new(params, self.screen.change_of(params));
                // Blocks a thread of its own: the user may take as long as they like.
                let answer = tokio::task::spawn_blocking(move || question.ask());
                tokio::select! {
                    answer = answer => answer.unwrap_or("decline"),
                    () = self.signals.next() => return Err(Interrupt::Keyboard),
                    () = until(deadline) => return Err(Interrupt::Timeout),
                }
            }
        };
        if decision == "cancel" {
            self.screen.refuse();
        }
        if decision == ASK_LESS {
            let change = json!({ "defaultApprovalPolicy": "sandboxed" });
            match call(&self.peer, "workspace/config/update", &change).await {
                Ok(_) => console::note(
                    "what the sandbox confines runs unasked in this workspace from now on; \
                     `bobbin config set --folder Permissions.DefaultApprovalPolicy default` takes that back",
                ),
                Err(error) => console::complain(&format!("the setting was not stored: {error:#}")),
            }
            return Ok("accept");
        }
        Ok(decision)
    }
}

/// Waits for a moment, if there is one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// Whether a notification is about this Thread.
fn is_of(thread: &str, params: &Value) -> bool {
    let named = params["threadId"]
        .as_str()
        .or_else(|| params["thread"]["id"].as_str());
    named == Some(thread)
}

/// Changes members of a Thread's configuration; the rest of it stays.
async fn configure(peer: &PeerHandle, thread: &str, members: &Value) -> anyhow::Result<()> {
    let params = json!({ "threadId": thread, "includeTurns": false });
    let read = call(peer, "thread/read", &params).await?;
    let mut config = match &read["thread"]["configuration"] {
        Value::Object(config) => Value::Object(config.clone()),
        _ => json!({}),
    };
    for (name, value) in members.as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    let params = json!({ "threadId": thread, "config": config });
    call(peer, "thread/config/update", &params).await?;
    Ok(())
}

fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .with_context(|| format!("the server's answer has no {pointer}"))
}
