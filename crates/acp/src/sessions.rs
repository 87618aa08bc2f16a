//! The sessions that one connection has open, with their views and the client's prompts without an answer.
//!
//! A session is a Thread, under the Thread's id. At most [`MAX_OPEN`] are open on a connection; a client closes one to
//! open another. Prompts are bounded by the requests in flight.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bobbin_acp_wire::{Meta, PromptResult, SessionNotification, SessionUpdate, StopReason, method};
use bobbin_agent_api::engines::EngineCommand;
use bobbin_agent_api::session_servers::StartedServers;
use bobbin_core::{Frame, FrameBody, SubagentQuestion, WireMessage};
use bobbin_model::{Approval, ApprovalId, Event, QueuedInputId, Seq, ThreadId, TurnId};
use bobbin_peer::Responder;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::errors;
use crate::options::Choices;
use crate::view::{End, View};

/// Most open sessions of a connection (a guess: more than a user opens in a day).
pub(crate) const MAX_OPEN: usize = 256;

/// The namespace of our additions to messages.
const NAMESPACE: &str = "bobbin";

/// How far a prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its attachments are being read, or it waits for an earlier one.
    Reading,
    /// It waits for its Turn.
    Queued(QueuedInputId),
    /// It is the input of this Turn, or was given to it.
    Runs(TurnId),
}

/// A prompt without an answer.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The number of its request.
    ordinal: i64,
    stage: Stage,
    responder: Responder,
    tokens: Tokens,
}

/// The moments in the life of a prompt, each a token that is cancelled then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    /// Its client no longer wants it.
    pub(crate) stop: CancellationToken,
    /// It is recorded, or will not be.
    pub(crate) recorded: CancellationToken,
    /// It is answered.
    pub(crate) over: CancellationToken,
}

/// An open session.
pub(crate) struct Open {
    pub(crate) view: View,
    /// The choices that the client knows.
    pub(crate) choices: Choices,
    /// The MCP servers that the client brought along.
    pub(crate) servers: Option<Arc<dyn StartedServers>>,
    /// The commands of another agent that the client knows.
    pub(crate) agents: Vec<EngineCommand>,
    prompts: VecDeque<Prompt>,
    /// Number of prompts without an answer.
    prompting: watch::Sender<usize>,
}

impl Open {
    pub(crate) fn new(view: View, choices: Choices) -> Self {
        Self {
            view,
            choices,
            servers: None,
            agents: Vec::new(),
            prompts: VecDeque::new(),
            prompting: watch::Sender::default(),
        }
    }

    /// Adds a prompt. Returns its moments, and when the prompt before it is recorded.
    pub(crate) fn add(&mut self, ordinal: i64, responder: Responder) -> (Tokens, Option<CancellationToken>) {
        let tokens = Tokens::default();
        let before = self.prompts.back().map(|prompt| prompt.tokens.recorded.clone());
        self.prompts.push_back(Prompt {
            ordinal,
            stage: Stage::Reading,
            responder,
            tokens: tokens.clone(),
        });
        self.prompting.send_modify(|count| *count += 1);
        (tokens, before)
    }

    /// Sets how far a prompt is.
    pub(crate) fn reach(&mut self, ordinal: i64, stage: Stage) {
        if let Some(prompt) = self.prompts.iter_mut().find(|prompt| prompt.ordinal == ordinal) {
            prompt.stage = stage;
        }
    }

    /// Whether a prompt of this client is a Turn's input.
    pub(crate) fn runs(&self, turn: TurnId) -> bool {
        self.prompts
            .iter()
            .any(|prompt| prompt.stage == Stage::Runs(turn))
    }

    /// Returns the count of prompts without an answer.
    pub(crate) fn prompting(&self) -> watch::Receiver<usize> {
        self.prompting.subscribe()
    }

    /// Stops the prompts that have no Turn. Returns the entries of the queue to remove.
    pub(crate) fn stop(&mut self) -> Vec<QueuedInputId> {
        let mut queued = Vec::new();
        for prompt in &self.prompts {
            prompt.tokens.stop.cancel();
            if let Stage::Queued(id) = &prompt.stage {
                queued.push(id.clone());
            }
        }
        queued
    }

    /// Takes the prompts that satisfy `which`, to be answered.
    fn take(&mut self, which: impl Fn(&Prompt) -> bool) -> Vec<Prompt> {
        let prompts = std::mem::take(&mut self.prompts);
        let (taken, left): (Vec<_>, Vec<_>) = prompts.into_iter().partition(which);
        self.prompts = left.into();
        let count = self.prompts.len();
        self.prompting.send_modify(|open| *open = count);
        taken
    }

    /// Takes one prompt, to be answered.
    pub(crate) fn take_one(&mut self, ordinal: i64) -> Option<Prompt> {
        self.take(|prompt| prompt.ordinal == ordinal).pop()
    }

    /// Shows a frame: its updates, then the answers of prompts that it ends.
    fn frame(&mut self, frame: &Frame) -> Vec<WireMessage> {
        if !self.view.is_new(frame) {
            return Vec::new();
        }
        let turn = turn_of(frame).or(self.view.live());
        let mut gone = Vec::new();
        if let FrameBody::Recorded(event) = &frame.body {
            gone = self.follow_queue(event);
        }
        let (mut out, prompts) = (Vec::new(), &self.prompts);
        let is_own = |turn| prompts.iter().any(|prompt| prompt.stage == Stage::Runs(turn));
        let ended = self.view.frame(frame, is_own, &mut out);
        let mut messages = encoded(&frame.thread, turn, Some(frame.seq), out);
        let gone = gone.into_iter().filter_map(|ordinal| self.take_one(ordinal));
        let gone: Vec<Prompt> = gone.collect();
        messages.extend(
            gone.into_iter()
                .filter_map(|prompt| prompt.message(Ok(StopReason::Cancelled))),
        );
        if let Some((turn, end)) = ended {
            let ended = self.take(|prompt| prompt.stage == Stage::Runs(turn));
            messages.extend(ended.into_iter().filter_map(|prompt| prompt.message(end.clone())));
        }
        messages
    }

    /// Follows what becomes of queued prompts. Returns those that will not run.
    fn follow_queue(&mut self, event: &Event) -> Vec<i64> {
        let mut gone = Vec::new();
        match event {
            Event::TurnStarted {
                turn,
                from_queue: Some(entry),
                ..
            } => {
                for prompt in &mut self.prompts {
                    if prompt.stage == Stage::Queued(entry.clone()) {
                        prompt.stage = Stage::Runs(*turn);
                    }
                }
            }
            Event::QueueChanged { queue } => {
                let live = self.view.live();
                for prompt in &mut self.prompts {
                    let Stage::Queued(id) = &prompt.stage else {
                        continue;
                    };
                    if queue.iter().any(|entry| entry.id == *id) {
                        continue;
                    }
                    // The running Turn has taken it, or it was taken out.
                    match live {
                        Some(turn) if !prompt.tokens.stop.is_cancelled() => prompt.stage = Stage::Runs(turn),
                        _ => gone.push(prompt.ordinal),
                    }
                }
            }
            _ => {}
        }
        gone
    }
}

impl Prompt {
    /// Returns the answer as a message, to be sent with the updates before it.
    fn message(self, end: End) -> Option<WireMessage> {
        self.tokens.over.cancel();
        let json = self.responder.into_message(end.map(result))?;
        Some(WireMessage {
            method: method::SESSION_PROMPT,
            json,
        })
    }

    /// Answers at once.
    pub(crate) fn answer(self, end: End) {
        self.tokens.over.cancel();
        match end {
            Ok(reason) => self.responder.ok(result(reason)),
            Err(error) => self.responder.err(error),
        }
    }
}

fn result(stop_reason: StopReason) -> PromptResult {
    PromptResult {
        stop_reason,
        meta: None,
    }
}

/// The open sessions of one connection.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<ThreadId, Open>>);

impl Sessions {
    /// Adds a session, or replaces what is known of it except for its prompts. Returns whether there was room.
    pub(crate) fn open(&self, thread: &ThreadId, view: View, choices: Choices) -> bool {
        let mut sessions = self.0.lock();
        if let Some(open) = sessions.get_mut(thread) {
            (open.view, open.choices) = (view, choices);
            return true;
        }
        let has_room = sessions.len() < MAX_OPEN;
        if has_room {
            sessions.insert(thread.clone(), Open::new(view, choices));
        }
        has_room
    }

    /// Runs `work` on a session, if it is open. `work` must not wait.
    pub(crate) fn with<T>(&self, thread: &ThreadId, work: impl FnOnce(&mut Open) -> T) -> Option<T> {
        self.0.lock().get_mut(thread).map(work)
    }

    /// Whether a session is open.
    pub(crate) fn is_open(&self, thread: &ThreadId) -> bool {
        self.0.lock().contains_key(thread)
    }

    /// Whether one more session can be opened.
    pub(crate) fn has_room(&self) -> bool {
        self.0.lock().len() < MAX_OPEN
    }

    /// Forgets a session. Returns its prompts, to be answered.
    pub(crate) fn close(&self, thread: &ThreadId) -> Option<Vec<Prompt>> {
        let open = self.0.lock().remove(thread);
        open.map(|open| open.prompts.into())
    }

    /// Forgets all sessions, since the client has left. Their servers end.
    pub(crate) fn leave(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        drop(all);
    }

    /// Returns the session at the root of a subagent that asks, if the client knows the question.
    pub(crate) fn root_of(&self, approval: &ApprovalId) -> Option<ThreadId> {
        let sessions = self.0.lock();
        let mut all = sessions.iter();
        all.find(|(_, open)| open.view.knows_question(approval))
            .map(|(thread, _)| thread.clone())
    }

    /// Returns the messages about a frame.
    pub(crate) fn frame(&self, frame: &Frame) -> Vec<WireMessage> {
        let mut messages = self
            .with(&frame.thread, |open| open.frame(frame))
            .unwrap_or_default();
        let is_deleted =
            matches!(&frame.body, FrameBody::Recorded(event) if matches!(**event, Event::ThreadDeleted));
        if is_deleted && let Some(prompts) = self.close(&frame.thread) {
            let gone = || Err(errors::no_session(frame.thread.as_str()));
            messages.extend(prompts.into_iter().filter_map(|prompt| prompt.message(gone())));
        }
        messages
    }

    /// Returns the messages about a question of a subagent.
    pub(crate) fn subagent(&self, root: &ThreadId, question: &SubagentQuestion) -> Vec<WireMessage> {
        let shown = self.with(root, |open| open.view.subagent(question));
        encoded(root, None, None, shown.unwrap_or_default())
    }

    /// Returns the messages about a question of a subagent that was open before the client came.
    pub(crate) fn remind(&self, root: &ThreadId, approval: &Approval) -> Vec<WireMessage> {
        let shown = self.with(root, |open| open.view.asked_by_subagent(approval));
        encoded(root, None, None, shown.unwrap_or_default())
    }
}

/// Encodes updates of a session.
pub(crate) fn encoded(
    thread: &ThreadId,
    turn: Option<TurnId>,
    seq: Option<Seq>,
    updates: Vec<SessionUpdate>,
) -> Vec<WireMessage> {
    let messages = updates.into_iter().filter_map(|update| {
        let news = SessionNotification {
            session_id: thread.to_string(),
            update,
            meta: Some(meta(thread, turn, seq)),
        };
        message(method::SESSION_UPDATE, &news)
    });
    messages.collect()
}

/// Returns our addition to an update: where it belongs in the Thread.
fn meta(thread: &ThreadId, turn: Option<TurnId>, seq: Option<Seq>) -> Meta {
    let mut place = Meta::new();
    place.insert("threadId".to_owned(), json!(thread.as_str()));
    place.extend(turn.map(|turn| ("turnId".to_owned(), json!(turn.to_string()))));
    place.extend(seq.map(|seq| ("seq".to_owned(), json!(seq.0))));
    Meta::from_iter([(NAMESPACE.to_owned(), place.into())])
}

/// Encodes a notification; `None` if it cannot be encoded, which would be a bug.
fn message(method: &'static str, params: &impl Serialize) -> Option<WireMessage> {
    #[derive(Serialize)]
    struct Notification<'a, T> {
        jsonrpc: &'static str,
        method: &'static str,
        params: &'a T,
    }
    let whole = Notification {
        jsonrpc: "2.0",
        method,
        params,
    };
    match serde_json::to_vec(&whole) {
        Ok(json) => Some(WireMessage {
            method,
            json: json.into(),
        }),
        Err(error) => {
            tracing::error!(%error, method, "a notification was left out");
            None
        }
    }
}

fn turn_of(frame: &Frame) -> Option<TurnId> {
    match &frame.body {
        FrameBody::Recorded(event) => event.turn(),
        FrameBody::Delta(delta) => Some(delta.turn),
        FrameBody::Ephemeral(_) => None,
    }
}
