//! The client side: handshake, Thread, one Turn or two, notifications, approvals.

use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bobbin_client::{Answer, Client, Event, Events, Question as Asked, ThreadState};
use bobbin_framing::Transport;
use bobbin_model::{Decision, Effort, SandboxProfile};
use bobbin_native_wire::item::approval::ApprovalRequestParams;
use bobbin_native_wire::item::usage::TokenUsage;
use bobbin_prompts::OwnCommand;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::question::{Question, Reply};
use super::render::{Output, Record, Screen, TICK, TurnEnd, change_of};
use super::schema::OutputSchema;
use crate::call::{Once, asking};
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
    pub(super) usage: Option<TokenUsage>,
    pub(super) cost: Option<f64>,
    pub(super) end: End,
}

/// How long an interrupted Turn may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// Runs the request and returns how it ended.
///
/// # Errors
/// The server refuses the request, or the connection ends before the Turn does.
pub(super) async fn run(
    transport: Transport,
    request: Request,
    signals: &mut Signals,
) -> anyhow::Result<Ended> {
    let mut options = asking("bobbin-exec");
    let capabilities = &mut options.capabilities;
    capabilities.approval_support = request.approvals != Approvals::Nobody;
    capabilities.command_execution_streaming = true;
    capabilities.streaming_support = request.output == Output::Text;
    capabilities.person = Some(request.approvals == Approvals::AskHere);
    let (client, events) = Client::start(Once(Some(transport)), options);
    let mut run = Run {
        client: client.clone(),
        events,
        early: VecDeque::new(),
        state: ThreadState::default(),
        signals,
        screen: Screen::new(request.output),
        request,
    };
    let ended = run.run().await;
    client.close().await;
    run.events.ended().await;
    ended
}

/// Why a Turn is being interrupted by this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    Keyboard,
    Timeout,
}

struct Run<'a> {
    client: Client,
    events: Events,
    /// Events that came while a request waited for its answer.
    early: VecDeque<Event>,
    /// The Turns that this run starts.
    state: ThreadState,
    signals: &'a mut Signals,
    screen: Screen,
    request: Request,
}

impl Run<'_> {
    /// Makes a request, and takes events meanwhile: the connection waits for both.
    async fn call<R: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> anyhow::Result<R> {
        let request = self.client.send(method, params);
        let mut request = std::pin::pin!(request);
        loop {
            tokio::select! {
                biased;
                result = &mut request => return Ok(result?),
                event = self.events.next() => match event {
                    Some(Event::Closed { why }) => bail!(why),
                    Some(event) => self.early.push_back(event),
                    None => bail!("the client has ended"),
                },
            }
        }
    }

    async fn run(&mut self) -> anyhow::Result<Ended> {
        let thread = self.open().await?;
        self.note_default_model(&thread).await;
        let mut input = self.request.input.take();
        self.name_command(&thread, &mut input).await?;
        let mut repeated = false;
        loop {
            let turn = self.start(&thread, &input).await?;
            if self.request.detach {
                return Ok(Ended {
                    thread,
                    turn,
                    usage: None,
                    cost: None,
                    end: End::Detached,
                });
            }
            let (end, record) = self.follow(&thread, &turn).await?;
            let (usage, cost) = (record.usage, record.cost);
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

    /// Opens the Thread; returns its id.
    async fn open(&mut self) -> anyhow::Result<String> {
        if let Some(fingerprints) = self.request.trusted.take() {
            // A server that runs already puts it into effect.
            let params = json!({ "trusted": true, "fingerprints": fingerprints });
            self.call::<Value>("workspace/trust/set", &params).await?;
        }
        let request = &self.request;
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
                let own = request.own_default.clone().filter(|_| request.model.is_none());
                if let Some(own) = own {
                    // The server may have been started by a program without these variables.
                    let defaults: Value = self.call("workspace/defaults/read", &json!({})).await?;
                    if defaults["model"] != own.as_str() {
                        config["model"] = own.as_str().into();
                    }
                }
                let params = json!({ "identity": identity, "config": config });
                let started: Value = self.call("thread/start", &params).await?;
                return text(&started, "/thread/id");
            }
            ThreadChoice::Last => threads::last(&self.client, &request.workspace).await?,
            ThreadChoice::Id(id) => id.clone(),
        };
        if config != json!({}) {
            self.configure(&thread, &config).await?;
        }
        Ok(thread)
    }

    /// Notes which model answers where no setting and no flag names one.
    async fn note_default_model(&mut self, thread: &str) {
        let request = &self.request;
        if request.model.is_some() || request.agent.is_some() || request.output == Output::Json {
            return;
        }
        let read = self
            .call::<Value>("thread/read", &json!({ "threadId": thread }))
            .await;
        if read.is_ok_and(|read| read["thread"]["configuration"]["model"].is_string()) {
            return;
        }
        // A server of an earlier version has no such method.
        let defaults = self.call::<Value>("workspace/defaults/read", &json!({})).await;
        if let Ok(defaults) = defaults
            && let Some(notice) = defaults["notice"].as_str()
        {
            console::note(notice);
        }
    }

    /// Notes which MCP servers were missing in the Turn, and why.
    async fn note_tool_servers(&mut self) {
        if self.request.output == Output::Json {
            return;
        }
        // A server of Bobbin without this method has no such servers.
        let Ok(status) = self.call::<Value>("mcp/status/list", &json!({})).await else {
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
    async fn name_command(&mut self, thread: &str, input: &mut Value) -> anyhow::Result<()> {
        let Some(text) = input[0]["text"].as_str().filter(|text| text.starts_with('/')) else {
            return Ok(());
        };
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let listed: Value = self.call("command/list", &json!({ "threadId": thread })).await?;
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

    async fn start(&mut self, thread: &str, input: &Value) -> anyhow::Result<String> {
        let mut params =
            json!({ "threadId": thread, "input": input, "reasoningEffort": self.request.effort });
        if !self.request.allow.is_empty() {
            params["allow"] = json!(self.request.allow);
        }
        if let Some(profile) = self.request.sandbox {
            params["sandbox"] = json!(profile);
        }
        let started: Value = self.call("turn/start", &params).await?;
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
                event = next(&mut self.early, &mut self.events) => {
                    match event {
                        None if interrupt.is_some() => return Ok(self.interrupted(turn, interrupt, "the server ended")),
                        None => bail!("the connection to the server ended before the turn did"),
                        Some(Event::Asked(Asked::Approval(params))) => {
                            let decision = self.decide(&params, deadline).await;
                            if let Err(by) = decision {
                                interrupt.get_or_insert((by, Instant::now() + ENDING));
                            }
                            let decision = decision.unwrap_or(Decision::Cancel);
                            cancelled_here |= decision == Decision::Cancel;
                            self.client.answer(&params.request_id, Answer::Decision(decision)).await;
                        }
                        Some(Event::Notification(news)) if news.thread.as_deref() == Some(thread) => {
                            self.state.apply(&news);
                            let end = self.screen.show(&news, self.state.turn(turn));
                            let Some(end) = end else { continue };
                            let end = match end {
                                TurnEnd::Completed => End::Done(String::new()),
                                TurnEnd::Failed(error) => End::Failed(error),
                                TurnEnd::Cancelled(_) if cancelled_here && interrupt.is_none() => {
                                    End::Refused(self.state.turn(turn).map(Record::last_asked).unwrap_or_default())
                                }
                                TurnEnd::Cancelled(reason) => return Ok(self.interrupted(turn, interrupt, &reason)),
                            };
                            return Ok((end, self.record(turn)));
                        }
                        Some(_) => {}
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
                return Ok(self.interrupted(turn, interrupt, "it was not waited for"));
            }
            interrupt = Some((wanted, Instant::now() + ENDING));
            let params = json!({ "threadId": thread, "turnId": turn });
            // The Turn may be over by now; its end is on its way then.
            drop(self.call::<Value>("turn/interrupt", &params).await);
        }
    }

    fn record(&self, turn: &str) -> Record {
        self.state.turn(turn).map(Record::of).unwrap_or_default()
    }

    fn interrupted(&mut self, turn: &str, by: Option<(Interrupt, Instant)>, reason: &str) -> (End, Record) {
        self.screen.break_line();
        let end = match by {
            Some((Interrupt::Timeout, _)) => End::TimedOut,
            Some((Interrupt::Keyboard, _)) => End::Interrupted("from the keyboard".to_owned()),
            None => End::Interrupted(format!("by another client or by a server that stops: {reason}")),
        };
        (end, self.record(turn))
    }

    /// Returns the decision, or why the Turn ends instead of one.
    async fn decide(
        &mut self,
        params: &ApprovalRequestParams,
        deadline: Option<Instant>,
    ) -> Result<Decision, Interrupt> {
        let reply = match self.request.approvals {
            Approvals::AcceptAll => return Ok(Decision::Accept),
            Approvals::Nobody => return Ok(Decision::Decline),
            Approvals::AskHere => {
                self.screen.break_line();
                let turn = self.state.turn(&params.turn_id);
                let question = Question::new(params, turn.and_then(|turn| change_of(turn, params)));
                // Blocks a thread of its own: the user may take as long as they like.
                let answer = tokio::task::spawn_blocking(move || question.ask());
                tokio::select! {
                    answer = answer => answer.unwrap_or(Reply::Decided(Decision::Decline)),
                    () = self.signals.next() => return Err(Interrupt::Keyboard),
                    () = until(deadline) => return Err(Interrupt::Timeout),
                }
            }
        };
        let Reply::Decided(decision) = reply else {
            let change = json!({ "defaultApprovalPolicy": "sandboxed" });
            match self.call::<Value>("workspace/config/update", &change).await {
                Ok(_) => console::note(
                    "what the sandbox confines runs unasked in this workspace from now on; \
                     `bobbin config set --folder Permissions.DefaultApprovalPolicy default` takes that back",
                ),
                Err(error) => console::complain(&format!("the setting was not stored: {error:#}")),
            }
            return Ok(Decision::Accept);
        };
        Ok(decision)
    }

    /// Changes members of a Thread's configuration; the rest of it stays.
    async fn configure(&mut self, thread: &str, members: &Value) -> anyhow::Result<()> {
        let params = json!({ "threadId": thread, "includeTurns": false });
        let read: Value = self.call("thread/read", &params).await?;
        let mut config = match &read["thread"]["configuration"] {
            Value::Object(config) => Value::Object(config.clone()),
            _ => json!({}),
        };
        for (name, value) in members.as_object().into_iter().flatten() {
            config[name] = value.clone();
        }
        let params = json!({ "threadId": thread, "config": config });
        self.call::<Value>("thread/config/update", &params).await?;
        Ok(())
    }
}

/// Returns the next event; `None` when the server is gone.
async fn next(early: &mut VecDeque<Event>, events: &mut Events) -> Option<Event> {
    let event = match early.pop_front() {
        Some(event) => Some(event),
        None => events.next().await,
    };
    event.filter(|event| !matches!(event, Event::Closed { .. }))
}

/// Waits for a moment, if there is one.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .with_context(|| format!("the server's answer has no {pointer}"))
}
