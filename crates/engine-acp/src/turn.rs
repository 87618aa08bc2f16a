//! One Turn with an agent: its process, its session, the prompt, the end.
//!
//! The input of a Turn is sent once. Before it is sent, that is on disk, so that no crash repeats it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::{
    ContentBlock, LoadSessionParams, NewSessionParams, NewSessionResult, OpenedSession, PromptParams,
    PromptResult, SessionParams, StopReason, code, method,
};
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::cut::head;
use bobbin_agent_api::tool::Touches;
use bobbin_agent_api::undo::{FileChanges, OpenCall, RecordedTurn, Undo};
use bobbin_children::Exit;
use bobbin_core::engine::{EngineFailure, TurnContext};
use bobbin_model::{Item, ItemBody};
use bobbin_peer::{CallError, ErrorObject};
use bobbin_supervise::Ended;
use bobbin_undo::Changes;
use bobbin_web::Refusal;
use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agent::{Agent, AgentStart, Event, OPENING, Session, cancel, handle, last_words, login};
use crate::choices::{Choices, Named, choices};
use crate::hosts;
use crate::idle::IdleAgents;
use crate::items::{NotShown, Shown};
use crate::prompt;
use crate::requests::{AgentTools, Requests};
use crate::settings::{DeclaredEngine, EngineConfig, fingerprint};
use crate::stored::{SentTurn, SessionFile, StoredSession};

/// How long an agent may take to end a cancelled turn by itself. It is less than the core waits for an engine.
const CANCEL_GRACE: Duration = Duration::from_millis(1500);
/// How long a Turn waits for the files that have changed.
const CHANGES: Duration = Duration::from_secs(1);
/// How long the last messages of an agent that has ended may take to be read.
const LAST_NEWS: Duration = Duration::from_millis(500);
/// Most characters of the reason of an agent's error.
const MAX_REASON: usize = 500;
/// Ended Turns that are compared with the session, and of which a new session gets the text.
const TURNS: u32 = 64;

/// One Turn.
pub(crate) struct AgentTurn {
    pub(crate) declared: DeclaredEngine,
    pub(crate) start: AgentStart,
    pub(crate) sessions: PathBuf,
    pub(crate) undo: Option<Arc<dyn Undo>>,
    pub(crate) tools: AgentTools,
    pub(crate) idle: IdleAgents<Agent>,
    pub(crate) turn: TurnContext,
}

/// Why the Turn does not go on.
enum Failure {
    /// It was stopped.
    Gone,
    /// The agent is gone.
    Lost,
    /// The end of a sentence for the user.
    Failed(EngineFailure),
}

impl From<TurnGone> for Failure {
    fn from(_: TurnGone) -> Self {
        Self::Gone
    }
}

impl AgentTurn {
    pub(crate) async fn run(self) -> Result<(), EngineFailure> {
        let config = &self.declared.config;
        let name = &config.name;
        let file = SessionFile::of(&self.sessions, self.turn.thread());
        let reading = file.clone();
        let stored = blocking(move || reading.read()).await?;
        let this = SentTurn::of(&self.turn.at_start().turn);
        if let Some(stored) = stored.as_ref().filter(|stored| stored.sent == Some(this)) {
            self.show_changes(self.interrupted_changes().await).await?;
            if stored.answered {
                return Ok(());
            }
            return Err(EngineFailure::Stopped {
                code: "interrupted_by_restart",
                text: format!(
                    "The server ended while the agent {name} worked on this. The Thread shows its work so far; it may have done \
                     more. Your message is not sent again by itself: send another to go on."
                ),
            });
        }
        self.check_unchanged().await?;
        let mut agent = tokio::select! {
            biased;
            () = self.turn.cancelled().cancelled() => return Err(TurnGone.into()),
            agent = self.agent() => agent.map_err(EngineFailure::Failed)?,
        };
        let recording = self.record().await;
        let driven = self.drive(&mut agent, stored, &file).await;
        while let Some(Some(refusal)) = hosts::refusal(&mut agent.proxy).now_or_never() {
            // A stopped Turn accepts no more.
            let _ = self.show_refusal(&refusal).await;
        }
        let ended = if driven.is_ok() && self.turn.header().source.sub_agent().is_none() {
            self.idle.put(self.turn.thread().clone(), agent);
            Ended::default()
        } else {
            agent.end(driven.is_err()).await
        };
        if let Some(recording) = recording
            && let Ok(changes) = timeout(CHANGES, recording.end()).await
        {
            // A stopped Turn accepts no diff; its changes can be undone all the same.
            let _ = self.show_changes(changes).await;
        }
        driven.map_err(|failure| match failure {
            Failure::Gone => TurnGone.into(),
            Failure::Failed(failure) => failure,
            Failure::Lost => {
                let why = match (ended.flood, ended.exit) {
                    (Some(stream), _) => format!("was ended, since it flooded its {stream}"),
                    (None, Some(Exit::Exited(code))) => {
                        format!("ended in the middle of its work, with exit code {code}")
                    }
                    (None, Some(Exit::Signaled(signal))) => {
                        format!("ended in the middle of its work, by signal {signal}")
                    }
                    (None, Some(Exit::OverMemory(limit))) => {
                        format!("was ended, since it used more than {} MiB", limit >> 20)
                    }
                    (None, Some(Exit::TimedOut | Exit::Cancelled) | None) => {
                        "ended in the middle of its work".to_owned()
                    }
                };
                EngineFailure::Failed(format!(
                    "The agent {name} {why}. The Thread shows its work so far. Your message is not sent again by itself: send \
                     another to go on.{}",
                    last_words(&ended)
                ))
            }
        })
    }

    /// Returns the agent that waits for this Turn, or starts one.
    async fn agent(&self) -> Result<Agent, String> {
        let (config, root) = (&self.declared.config, &self.turn.environment().root);
        if let Some(agent) = self.idle.take(self.turn.thread()).await {
            let leaves_open = agent.named.leaves_open(&self.turn.environment().config);
            if agent.is_of(config, root) && !leaves_open && self.start.still_confines(&agent).await {
                return Ok(agent);
            }
            agent.end(false).await;
        }
        self.start.start(config, root).await
    }

    /// Refuses an engine of the folder that has changed since its user trusted it.
    async fn check_unchanged(&self) -> Result<(), EngineFailure> {
        let (declared, root) = (self.declared.clone(), self.turn.workspace().to_owned());
        let is_unchanged =
            blocking(move || declared.is_unchanged(|config| fingerprint(config, &root))).await?;
        if is_unchanged {
            return Ok(());
        }
        Err(EngineFailure::Failed(format!(
            "The agent {} does not start: its files in this folder have changed since you trusted them. Read them, then run \
             `bobbin trust`.",
            self.declared.config.name
        )))
    }

    /// Opens the session and sends the input, and what users add to the running Turn.
    async fn drive(
        &self,
        agent: &mut Agent,
        stored: Option<StoredSession>,
        file: &SessionFile,
    ) -> Result<(), Failure> {
        let config = &self.declared.config;
        let before = self.turn.history(self.turn.turn(), TURNS).await;
        let before = before.map_err(|error| Failure::Failed(EngineFailure::Failed(error.to_string())))?;
        let known = stored
            .filter(|stored| stored.engine == config.name)
            .filter(|stored| stored.sent.is_some_and(|sent| sent.is_last_of(&before)));
        let mut blocks = Vec::new();
        let cost = known.as_ref().map_or(0, |known| known.cost_micros);
        let commands = known.as_ref().map(|known| known.commands.clone());
        let is_known = match known {
            Some(known) if known.session == agent.session.id => true,
            Some(known) => self.reopen(agent, &known.session).await?,
            None => false,
        };
        let is_new = !is_known;
        if is_new {
            self.open(agent).await?;
        }
        let session = agent.session.id.clone();
        let mut shown = Shown::new(&self.turn, if is_new { 0 } else { cost });
        let unknown = self.choose(agent).await?;
        if let Some(unknown) = unknown.filter(|_| is_new) {
            shown.note("engine_model_unknown", unknown).await?;
        }
        if is_new && let Some(history) = prompt::history(&before) {
            let text = format!(
                "The agent {} does not remember this conversation. A new session of it got the conversation as text.",
                config.name
            );
            shown.note("engine_session_new", text).await?;
            blocks.push(history);
        }
        let takes_pictures = agent.info.agent_capabilities.prompt_capabilities.image;
        let input = self.blocks(self.turn.at_start().turn.items.clone(), takes_pictures);
        blocks.extend(input.await?);
        let mut record = StoredSession {
            engine: config.name.clone(),
            session: session.clone(),
            sent: Some(SentTurn::of(&self.turn.at_start().turn)),
            answered: false,
            cost_micros: shown.cost_micros,
            commands: commands.unwrap_or_default(),
        };
        loop {
            if let Some(commands) = &agent.commands {
                record.commands.clone_from(commands);
            }
            self.write(file, &record).await?;
            let stop = self.prompt(agent, &session, blocks, &mut shown).await?;
            shown.end().await?;
            if let Some(failure) = stopped(config, stop) {
                return Err(Failure::Failed(failure));
            }
            let added = self.turn.guidance().await?;
            blocks = self.blocks(added, takes_pictures).await?;
            record.cost_micros = shown.cost_micros;
            if blocks.is_empty() {
                record.answered = true;
                if let Some(commands) = &agent.commands {
                    record.commands.clone_from(commands);
                }
                // Everything is recorded before the Turn counts as answered.
                self.turn.commit().await?;
                return self.write(file, &record).await;
            }
        }
    }

    async fn write(&self, file: &SessionFile, record: &StoredSession) -> Result<(), Failure> {
        let (file, record) = (file.clone(), record.clone());
        let written = blocking(move || file.write(&record))
            .await
            .map_err(Failure::Failed)?;
        written.map_err(|error| {
            Failure::Failed(EngineFailure::Failed(format!(
                "The session of the agent {} cannot be stored, so nothing more is sent: {error}. Free some space, then send \
                 your message again.",
                self.declared.config.name
            )))
        })
    }

    /// Returns users' messages as blocks of a prompt.
    async fn blocks(&self, items: Vec<Item>, takes_pictures: bool) -> Result<Vec<ContentBlock>, Failure> {
        let root = self.turn.environment().root.clone();
        let blocks = blocking(move || prompt::blocks(&items, takes_pictures.then_some(&*root)));
        blocks.await.map_err(Failure::Failed)
    }

    /// Sets the session's options to the Thread's. Returns a sentence about a model that the agent does not have.
    async fn choose(&self, agent: &mut Agent) -> Result<Option<String>, Failure> {
        agent.named = Named::by(&self.turn.environment().config);
        let Session { id, opened } = &agent.session;
        let Choices { wanted, unknown } = choices(id, opened, &self.turn.environment().config);
        for choose in wanted {
            match self.call::<Value>(agent, choose.method(), &choose).await? {
                Ok(answer) => choose.note(&mut agent.session.opened, answer),
                Err(error) => {
                    tracing::info!(%error, method = choose.method(), "an agent does not take a choice");
                }
            }
        }
        Ok(unknown)
    }

    /// Opens the agent's session again, without its replay. Returns whether the agent has it.
    async fn reopen(&self, agent: &mut Agent, session: &str) -> Result<bool, Failure> {
        let capabilities = &agent.info.agent_capabilities;
        let resumes = capabilities.session_capabilities.resume.is_some();
        let loads = capabilities.load_session;
        let params = LoadSessionParams {
            session_id: session.to_owned(),
            cwd: self.cwd(),
            mcp_servers: Vec::new(),
            additional_directories: Vec::new(),
            meta: None,
        };
        let ways = [(resumes, method::SESSION_RESUME), (loads, method::SESSION_LOAD)];
        for (_, way) in ways.into_iter().filter(|(offered, _)| *offered) {
            match self.call::<OpenedSession>(agent, way, &params).await? {
                Ok(opened) => {
                    let id = session.to_owned();
                    agent.session = Session { id, opened };
                    return Ok(true);
                }
                Err(error) => tracing::debug!(%error, way, "an agent does not open a session again"),
            }
        }
        Ok(false)
    }

    /// Opens a new session of the agent.
    async fn open(&self, agent: &mut Agent) -> Result<(), Failure> {
        let params = NewSessionParams {
            cwd: self.cwd(),
            mcp_servers: Vec::new(),
            additional_directories: Vec::new(),
            meta: None,
        };
        let opened = self
            .call::<NewSessionResult>(agent, method::SESSION_NEW, &params)
            .await?;
        match opened {
            Ok(NewSessionResult { session_id, opened }) => {
                let id = session_id;
                agent.session = Session { id, opened };
                Ok(())
            }
            Err(error) => Err(self.refused(agent, &error)),
        }
    }

    /// Calls the agent before a prompt; what it says meanwhile is a replay, which the record has.
    async fn call<R: DeserializeOwned>(
        &self,
        agent: &mut Agent,
        method: &str,
        params: &(impl serde::Serialize + Sync),
    ) -> Result<Result<R, CallError>, Failure> {
        let peer = handle(agent);
        let call = peer.call_with_timeout(method, params, OPENING);
        tokio::pin!(call);
        let answer = loop {
            tokio::select! {
                biased;
                () = self.turn.cancelled().cancelled() => return Err(Failure::Gone),
                Some(event) = agent.events.recv() => agent.dismiss(event),
                answer = &mut call => break answer,
                () = agent.child.lost() => return Err(Failure::Lost),
            }
        };
        while !agent.is_read() || !agent.events.is_empty() {
            match agent.events.try_recv() {
                Ok(event) => agent.dismiss(event),
                Err(_) => tokio::task::yield_now().await,
            }
        }
        if matches!(answer, Err(CallError::ShutDown)) {
            return Err(Failure::Lost);
        }
        Ok(answer)
    }

    /// Sends a prompt and records what comes of it.
    async fn prompt(
        &self,
        agent: &mut Agent,
        session: &str,
        blocks: Vec<ContentBlock>,
        shown: &mut Shown,
    ) -> Result<StopReason, Failure> {
        let params = PromptParams {
            session_id: session.to_owned(),
            prompt: blocks,
            meta: None,
        };
        let peer = handle(agent);
        let call = peer.call::<PromptResult>(method::SESSION_PROMPT, params);
        let mut requests = Requests::new(
            &self.turn,
            &self.declared.config,
            &self.tools,
            agent.proxy.is_some(),
        );
        let answer = self.exchange(agent, session, call, shown, &mut requests).await;
        // Nothing that the agent has asked for outlives its turn.
        let ended = requests.end(shown).await;
        let answer = answer?;
        ended.map_err(|why| self.not_shown(&why))?;
        match answer {
            Ok(result) => Ok(result.stop_reason),
            Err(error) => Err(self.refused(agent, &error)),
        }
    }

    /// Records what the agent sends until it answers a prompt, and serves its requests.
    async fn exchange(
        &self,
        agent: &mut Agent,
        session: &str,
        call: impl Future<Output = Result<PromptResult, CallError>>,
        shown: &mut Shown,
        requests: &mut Requests,
    ) -> Result<Result<PromptResult, CallError>, Failure> {
        let peer = handle(agent);
        tokio::pin!(call);
        let mut give_up: Option<Instant> = None;
        let answer = loop {
            let far = Instant::now() + Duration::from_hours(24);
            tokio::select! {
                biased;
                () = self.turn.cancelled().cancelled(), if give_up.is_none() => {
                    give_up = Some(Instant::now() + CANCEL_GRACE);
                    let params = SessionParams { session_id: session.to_owned() };
                    if peer.notify(method::SESSION_CANCEL, params).await.is_err() {
                        return Err(Failure::Gone);
                    }
                }
                () = sleep_until(give_up.unwrap_or(far)), if give_up.is_some() => return Err(Failure::Gone),
                served = requests.next(shown) => served.map_err(|why| self.not_shown(&why))?,
                Some(refusal) = hosts::refusal(&mut agent.proxy) => self.show_refusal(&refusal).await?,
                Some(event) = agent.events.recv() => match give_up {
                    Some(_) => cancel(event),
                    None => self.event(event, agent, shown, requests).await?,
                },
                answer = &mut call => break answer,
                () = agent.child.lost() => break Err(CallError::ShutDown),
            }
        };
        if give_up.is_some() {
            return Err(Failure::Gone);
        }
        if matches!(answer, Err(CallError::ShutDown)) {
            // What it said before its end may still be in the pipe.
            let closing = timeout(LAST_NEWS, peer.closed());
            tokio::pin!(closing);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = agent.events.recv() => self.event(event, agent, shown, requests).await?,
                    _ = &mut closing => return Err(Failure::Lost),
                }
            }
        }
        // All updates of a turn come before its answer, but may still be on their way through the queue.
        while !agent.is_read() || !agent.events.is_empty() {
            match agent.events.try_recv() {
                Ok(event @ Event::Update(_)) => self.event(event, agent, shown, requests).await?,
                Ok(event) => cancel(event),
                Err(_) => tokio::task::yield_now().await,
            }
        }
        Ok(answer)
    }

    /// Records that the agent wanted a host that it may not reach.
    async fn show_refusal(&self, refusal: &Refusal) -> Result<(), TurnGone> {
        let item = ItemBody::Error {
            message: hosts::sentence(&self.declared.config, refusal),
            code: "engine_host_refused".to_owned(),
            fatal: false,
        };
        self.turn.add(item).await
    }

    async fn event(
        &self,
        event: Event,
        agent: &mut Agent,
        shown: &mut Shown,
        requests: &mut Requests,
    ) -> Result<(), Failure> {
        if of_session(&event) != Some(&agent.session.id) {
            cancel(event);
            return Ok(());
        }
        let done = match event {
            Event::Update(news) => {
                agent.note(&news);
                shown.update(news.update).await
            }
            Event::Permission(asked, responder) => requests.permission(*asked, responder, shown).await,
            Event::Write(asked, responder) => requests.write(asked, responder, shown).await,
            Event::Run(asked, responder) => requests.run(*asked, responder, shown).await,
            Event::Read(asked, responder) => {
                requests.read(asked, responder, shown);
                Ok(())
            }
            Event::Terminal(request, asked, responder) => {
                requests.terminal(request, &asked, responder);
                Ok(())
            }
            Event::Form(asked, responder) => {
                requests.form(*asked, responder);
                Ok(())
            }
        };
        done.map_err(|why| self.not_shown(&why))
    }

    fn not_shown(&self, why: &NotShown) -> Failure {
        match why {
            NotShown::Gone => Failure::Gone,
            NotShown::TooMuch(what) => Failure::Failed(EngineFailure::Stopped {
                code: "engine_flood",
                text: format!(
                    "The agent {} was ended, since it sent {what}. The Thread shows its work so far. Send another message to go on.",
                    self.declared.config.name
                ),
            }),
        }
    }

    /// Returns the failure of a call that the agent has answered with an error, or not in time.
    fn refused(&self, agent: &Agent, error: &CallError) -> Failure {
        let config = &self.declared.config;
        let text = match error {
            CallError::Remote(error) if error.code == code::AUTHENTICATION_REQUIRED => {
                login(config, &agent.info.auth_methods, &self.start.homes)
            }
            CallError::Remote(error) => format!(
                "The agent {} answers: {} Send another message to go on.",
                config.name,
                sentence(&said(error))
            ),
            error => format!(
                "The agent {} cannot go on: {error}. Send another message to try again.",
                config.name
            ),
        };
        Failure::Failed(EngineFailure::Failed(text))
    }

    fn cwd(&self) -> String {
        self.turn.environment().root.to_string_lossy().into_owned()
    }

    fn recorded(&self) -> RecordedTurn {
        RecordedTurn {
            thread: self.turn.thread().clone(),
            turn: self.turn.turn(),
            root: self.turn.environment().root.clone(),
        }
    }

    /// Records the files before the agent works. Without a record, its changes cannot be undone, and the user reads so.
    async fn record(&self) -> Option<Box<dyn OpenCall>> {
        let undo = self.undo.as_ref()?;
        match undo.begin(self.recorded(), Touches::Anything).await {
            Ok(open) => Some(open),
            Err(why) => {
                let text = format!("What this turn changes in files cannot be undone: {why}.");
                let shown = Shown::new(&self.turn, 0);
                let _ = shown.note("undo_unavailable", text).await;
                None
            }
        }
    }

    async fn interrupted_changes(&self) -> FileChanges {
        match &self.undo {
            Some(undo) => undo.resume(self.recorded()).await,
            None => FileChanges::default(),
        }
    }

    /// Shows the diff of the Turn.
    async fn show_changes(&self, changes: FileChanges) -> Result<(), TurnGone> {
        let root = self.turn.environment().root.clone();
        let recorded = self.turn.at_start().diff.clone();
        let FileChanges { changed, unshown } = changes;
        if changed.is_empty() && unshown.is_empty() {
            return Ok(());
        }
        let diff = blocking(move || {
            let mut changes = Changes::new(&root, recorded.as_ref());
            changes.note(changed);
            changes.note_omitted(unshown);
            changes.diff()
        });
        match diff.await {
            Ok(diff) => self.turn.diff(diff).await,
            // The Turn remains valid; only its diff is missing.
            Err(_) => Ok(()),
        }
    }
}

/// Returns the session of a message; `None` for a form outside of a session.
fn of_session(event: &Event) -> Option<&str> {
    Some(match event {
        Event::Update(news) => &news.session_id,
        Event::Permission(asked, _) => &asked.session_id,
        Event::Read(asked, _) => &asked.session_id,
        Event::Write(asked, _) => &asked.session_id,
        Event::Run(asked, _) => &asked.session_id,
        Event::Terminal(_, asked, _) => &asked.session_id,
        Event::Form(asked, _) => return asked.scope.session_id.as_deref(),
    })
}

/// Returns the failure that a reason to stop stands for; `None` at an ordinary end.
fn stopped(config: &EngineConfig, reason: StopReason) -> Option<EngineFailure> {
    let name = &config.name;
    let (code, why) = match reason {
        StopReason::EndTurn | StopReason::Unknown => return None,
        StopReason::MaxTokens => ("max_tokens", "its model has reached its bound of tokens"),
        StopReason::MaxTurnRequests => (
            "max_turn_requests",
            "it has asked its model as often as it may in one turn",
        ),
        StopReason::Refusal => ("refusal", "it refuses to go on"),
        StopReason::Cancelled => ("engine_cancelled", "it has cancelled the turn by itself"),
    };
    Some(EngineFailure::Stopped {
        code,
        text: format!("The agent {name} stopped: {why}. Send another message to go on."),
    })
}

/// Returns the message of an agent's error. Some agents have the reason in the data, beside "Internal error".
fn said(error: &ErrorObject) -> String {
    let data = error.data.as_ref();
    let data = data.and_then(|data| serde_json::from_str::<Value>(data.get()).ok());
    let reason = data.and_then(|data| match data {
        Value::String(text) => Some(text),
        Value::Object(members) => {
            let mut known = ["details", "detail", "error", "message"].iter();
            known.find_map(|name| members.get(*name)?.as_str().map(ToOwned::to_owned))
        }
        _ => None,
    });
    match reason.filter(|reason| !error.message.contains(reason.as_str())) {
        Some(reason) => format!("{}: {}", error.message, head(&reason, MAX_REASON).0),
        None => error.message.to_string(),
    }
}

/// Returns a message with a full stop at its end.
fn sentence(message: &str) -> String {
    let message = message.trim();
    if message.ends_with(['.', '!', '?']) {
        message.to_owned()
    } else {
        format!("{message}.")
    }
}

/// Runs work that blocks.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| EngineFailure::Failed("The server is stopping. Send your message again.".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reason_of_an_error_is_said_wherever_it_is() {
        let said = |data: Value| super::said(&ErrorObject::new(-32603, "Internal error").with_data(&data));
        assert_eq!(said(json!("no tea")), "Internal error: no tea");
        assert_eq!(said(json!({ "details": "no tea" })), "Internal error: no tea");
        assert_eq!(said(json!({ "code": 3 })), "Internal error");
        assert_eq!(sentence("no tea "), "no tea.");
    }
}
