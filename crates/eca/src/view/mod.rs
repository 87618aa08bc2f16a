//! A chat as one client sees it: turns events into contents (sections 7, 8, 22).
//!
//! Contents must repeat parts of earlier events. The view remembers these for the open Turn: the calls with their
//! arguments, the sent length of open texts, whether the model has started to answer. It decides nothing.

mod call;
mod items;
mod subagent_questions;

use std::borrow::Cow;
use std::collections::HashMap;

use bobbin_core::{Ephemeral, Frame, FrameBody};
use bobbin_editor_kit::{Limit, money};
use bobbin_model::input::typed_text;
use bobbin_model::item::UserMessage;
use bobbin_model::{
    ApprovalId, ContextNote, DecidedBy, Decision, Event, InputPart, ItemId, Outcome, QueuedInput,
    QueuedInputId, RevertedFile, Seq, Spent, TokenUsage, TurnId, UnixMillis,
};

use crate::wire::content::{ChatContent, Content, Reason, Status};
use call::Call;

pub(crate) use call::wire_id;
pub(crate) use subagent_questions::question_id;

/// Texts of the status line, as clients have always got them (7.2).
pub(crate) const WAITING: &str = "Waiting model";
/// Shown while the attachments of a prompt are read.
pub(crate) const PARSING: &str = "Parsing given context";
/// Shown after a stopped prompt (section 10).
pub(crate) const STOPPED: &str = "\nPrompt stopped\n";
const GENERATING: &str = "Generating";
/// Shown while a conversation is compacted.
const COMPACTING: &str = "Summing up the conversation";
const ASKING: &str = "Waiting for tool call approval";
const CALLING: &str = "Calling tool";

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// It was refused.
    Refused,
}

/// The state of a chat's contents at one client.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Frames up to this Seq were already shown.
    shown: Seq,
    /// The Turn whose start its prompt has shown (7.5).
    begun: Option<TurnId>,
    /// Whether a Turn runs.
    live: bool,
    /// The steering message that the running Turn has not taken yet, with its id in the queue.
    steering: Option<(QueuedInputId, String)>,
    /// The steering message that the user has withdrawn.
    pub(crate) taken_back: Option<QueuedInputId>,
    /// A steering message that has just left the queue.
    lapsed: Option<String>,
    /// The Turn that is being stopped.
    stopping: Option<TurnId>,
    generating: bool,
    /// Number of sent bytes of each open text.
    streamed: HashMap<ItemId, usize>,
    calls: Vec<Call>,
    /// Tokens and costs of the chat; `None` before the chat is followed.
    pub(crate) spent: Option<Spent>,
    /// Tokens in the model's window after its last reply.
    pub(crate) in_window: u64,
    /// How often the Turn has shown its usage.
    usages: u32,
    /// Cost of the newest message, in millionths.
    message_cost: u64,
    /// The limits of the chat's model.
    pub(crate) limit: Option<Limit>,
    /// Whether history is shown, which has neither progress nor status.
    replaying: bool,
}

impl View {
    /// Records that the start of a Turn has been shown.
    pub(crate) fn begun(&mut self, turn: TurnId) {
        self.begun = Some(turn);
        self.forget_turn();
        self.live = true;
    }

    /// Whether a Turn runs, as far as the client knows.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Sets the cost of the open Turn so far.
    pub(crate) fn resume_message(&mut self, cost_micros: u64) {
        self.live = true;
        self.message_cost = cost_micros;
    }

    /// Shows a frame.
    pub(crate) fn frame(&mut self, frame: &Frame) -> Vec<ChatContent> {
        let mut out = Vec::new();
        if frame.seq <= self.shown {
            return out;
        }
        match &frame.body {
            FrameBody::Delta(delta) => self.delta(delta, &mut out),
            FrameBody::Recorded(event) => self.event(event, frame.at, &mut out),
            FrameBody::Ephemeral(Ephemeral::Waiting { call, text, .. }) => {
                let call = call.as_deref().and_then(|call| find(&mut self.calls, call));
                if let Some(call) = call.filter(|call| !call.has_started()) {
                    call.start(frame.at, &mut out);
                }
                self.generating = false;
                out.push(ChatContent::running(text.to_string()));
            }
            FrameBody::Ephemeral(_) => {}
        }
        out
    }

    /// Starts to show history up to a Seq. `spent` and `in_window` are the figures at that Seq.
    pub(crate) fn begin_replay(&mut self, up_to: Seq, spent: Spent, in_window: u64) {
        *self = Self {
            shown: up_to,
            replaying: true,
            spent: Some(spent),
            in_window,
            limit: self.limit,
            ..Self::default()
        };
    }

    /// Ends the history. Later frames are live.
    pub(crate) fn end_replay(&mut self) {
        self.replaying = false;
    }

    /// Forgets the state of a Turn.
    pub(crate) fn forget_turn(&mut self) {
        self.stopping = None;
        self.generating = false;
        self.message_cost = 0;
        self.usages = 0;
        self.streamed.clear();
        self.calls.clear();
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &Event, at: UnixMillis, out: &mut Vec<ChatContent>) {
        // The Turn did not take a message that leaves the queue just before its end.
        let lapsed = self.lapsed.take();
        match event {
            Event::ThreadRenamed { display_name } => out.push(
                Content::Metadata {
                    title: display_name.clone(),
                }
                .into(),
            ),
            Event::ThreadDeleted => out.push(ChatContent::Deleted),
            Event::TurnStarted { turn, .. } => {
                self.live = true;
                if self.begun != Some(*turn) {
                    self.forget_turn();
                    self.progress(WAITING, out);
                }
            }
            Event::ItemStarted { turn, item } => self.opened(*turn, item, out),
            Event::ItemCompleted { turn, item } => self.completed(*turn, item, out),
            Event::ItemAdded { turn, item } => self.added(*turn, item, at, out),
            Event::CallPreviewed { call_id, preview, .. } => {
                if let Some(call) = find(&mut self.calls, call_id) {
                    call.preview(preview);
                }
            }
            Event::CallStarted { call_id, .. } => {
                if let Some(call) = find(&mut self.calls, call_id) {
                    call.start(at, out);
                    self.progress(CALLING, out);
                }
            }
            Event::ApprovalOpened { approval, .. } => {
                if let Some(call) = find(&mut self.calls, &approval.call_id) {
                    call.approval = Some(approval.id.clone());
                    call.announce(true, out);
                    self.progress(ASKING, out);
                }
            }
            Event::ApprovalResolved {
                approval,
                decision,
                by,
                ..
            } => self.resolved(approval, *decision, by, out),
            Event::UsageAdded {
                usage,
                cost_micros,
                context_tokens,
                ..
            } => {
                self.in_window = *context_tokens;
                self.used(*usage, *cost_micros, out);
            }
            // These tokens are in other windows.
            Event::SubAgentUsed {
                usage, cost_micros, ..
            }
            | Event::HelperUsed {
                usage, cost_micros, ..
            } => self.used(*usage, *cost_micros, out),
            Event::TurnCancelling { turn, .. } => {
                self.stopping = Some(*turn);
                self.status(Status::Stopping, out);
            }
            Event::TurnEnded { turn, outcome, .. } => {
                out.extend(lapsed.map(|words| ChatContent::system(too_late(&words))));
                self.ended(*turn, outcome, out);
            }
            Event::QueueChanged { queue } => self.queue_changed(queue),
            Event::ContextNoted { note, message, .. } => match note {
                ContextNote::Compacting => self.progress(COMPACTING, out),
                ContextNote::CompactFailed => out.push(ChatContent::system(format!("\n\n{message}\n"))),
                ContextNote::Compacted
                | ContextNote::CompactSkipped
                | ContextNote::Warning
                | ContextNote::Error => {}
            },
            Event::TurnsRolledBack { count, .. } => {
                let turns = if *count == 1 { "turn was" } else { "turns were" };
                out.push(ChatContent::system(format!(
                    "\nThe last {count} {turns} taken out of this chat. Open it again to see what is left.\n"
                )));
            }
            Event::TurnReverted { files, redone, .. } => {
                out.push(ChatContent::system(undone(files, *redone)));
            }
            Event::ThreadStarted { .. }
            | Event::ThreadResumed { .. }
            | Event::ThreadLabelled { .. }
            | Event::ThreadStatusChanged { .. }
            | Event::ThreadConfigured { .. }
            | Event::EdgeChanged { .. }
            | Event::ToolsDeclared { .. }
            | Event::HistoryGiven { .. }
            | Event::PlanUpdated { .. }
            | Event::TurnRecovered { .. }
            | Event::TurnLeftOpen { .. }
            | Event::DiffUpdated { .. } => {}
        }
    }

    fn queue_changed(&mut self, queue: &[QueuedInput]) {
        let waiting = queue.iter().rfind(|entry| entry.lapses);
        let waiting = waiting.map(|entry| (entry.id.clone(), typed_text(&entry.native)));
        let before = std::mem::replace(&mut self.steering, waiting);
        let left = before.filter(|_| self.steering.is_none());
        let left = left.filter(|(id, _)| self.taken_back.as_ref() != Some(id));
        self.lapsed = left.map(|(_, words)| words);
    }

    /// Ends a call that a user refused, or a rule instead of the user.
    fn resolved(&mut self, id: &ApprovalId, decision: Decision, by: &DecidedBy, out: &mut Vec<ChatContent>) {
        // A stop is shown as such, with the Turn's end.
        if decision.approves() || decision == Decision::Cancel {
            return;
        }
        let asked = |call: &&mut Call| !call.ended && call.approval.as_ref() == Some(id);
        if let Some(call) = self.calls.iter_mut().find(asked) {
            call.reject(reason(by), out);
            self.progress(GENERATING, out);
        }
    }

    fn result(&mut self, call_id: &str, text: &str, end: End, at: UnixMillis, out: &mut Vec<ChatContent>) {
        if self.stopping.is_some() {
            // The call is shown as rejected with the Turn's end, after the notice of the stop (section 10).
            return;
        }
        let replaying = self.replaying;
        let Some(call) = find(&mut self.calls, call_id).filter(|call| !call.ended) else {
            return;
        };
        if end == End::Refused && !call.has_started() {
            call.reject(Reason::UserConfig, out);
        } else {
            if replaying {
                call.start(at, out);
            }
            call.called(text, end == End::Done, at, out);
        }
        self.progress(GENERATING, out);
    }

    fn ended(&mut self, turn: TurnId, outcome: &Outcome, out: &mut Vec<ChatContent>) {
        match outcome {
            Outcome::Completed => {}
            Outcome::Failed { error } => out.push(ChatContent::system(format!("\n\nError: {error}\n"))),
            Outcome::Cancelled { .. } => out.push(ChatContent::system(STOPPED)),
        }
        for call in self.calls.iter_mut().filter(|call| !call.ended) {
            call.reject(Reason::UserChoice, out);
        }
        // An interrupted reply has no figures, and clients wait for some (7.3).
        if !self.replaying && self.usages == 0 && *outcome != Outcome::Completed {
            self.usage(out);
        }
        self.forget_turn();
        self.live = false;
        if self.begun == Some(turn) {
            self.begun = None;
        }
        self.status(Status::Idle, out);
        if !self.replaying {
            out.push(ChatContent::finished());
        }
    }

    fn used(&mut self, usage: TokenUsage, cost_micros: u64, out: &mut Vec<ChatContent>) {
        self.spent.get_or_insert_default().add(usage, cost_micros);
        self.message_cost = self.message_cost.saturating_add(cost_micros);
        if self.spent.is_some_and(|spent| spent.tokens > 0) {
            self.usage(out);
        }
    }

    /// Shows the tokens in the window and the costs of the chat. Leaves out costs if no price is known.
    ///
    /// `sessionTokens` counts those in the window, as both public servers do. Editors print it beside the limit.
    pub(crate) fn usage(&mut self, out: &mut Vec<ChatContent>) {
        self.usages = self.usages.saturating_add(1);
        let usage = Content::Usage {
            session_tokens: self.in_window,
            last_message_cost: money(self.message_cost),
            session_cost: money(self.spent.unwrap_or_default().cost_micros),
            limit: self.limit,
        };
        out.push(usage.into());
    }

    fn generate(&mut self, out: &mut Vec<ChatContent>) {
        if !std::mem::replace(&mut self.generating, true) {
            self.progress(GENERATING, out);
        }
    }

    fn progress(&self, text: &'static str, out: &mut Vec<ChatContent>) {
        if !self.replaying {
            out.push(ChatContent::running(text));
        }
    }

    fn status(&self, status: Status, out: &mut Vec<ChatContent>) {
        if !self.replaying {
            out.push(ChatContent::Status(status));
        }
    }
}

/// Returns the id of a message of the user, unique in its chat (7.1).
pub(crate) fn content_id(turn: TurnId, item: ItemId) -> String {
    format!("{turn}.{item}")
}

/// Returns the Turn that a message with such an id started.
pub(crate) fn turn_of_content(id: &str) -> Option<TurnId> {
    let turn = id.split_once('.')?.0.parse().ok()?;
    // A steering message started no Turn.
    (content_id(turn, ItemId(1)) == id).then_some(turn)
}

/// Returns the Turn that a content of any kind belongs to, by its id.
pub(crate) fn turn_of_any(id: &str) -> Option<TurnId> {
    id.split_once('.')?.0.parse().ok()
}

/// Returns the text that the user typed, without attachments. For a message of pictures only, it names them.
fn words(said: &UserMessage) -> String {
    let typed = said.native.iter().map(|part| match part {
        InputPart::Context { .. } | InputPart::LocalImage { .. } => Cow::Borrowed(""),
        InputPart::CommandRef {
            raw_text: Some(raw), ..
        } => Cow::Borrowed(raw.as_str()),
        typed => typed.display(),
    });
    let typed: String = typed.collect();
    if typed.is_empty() {
        return typed_text(&said.native);
    }
    typed
}

/// Returns the notice that a steering message came too late for its Turn. Most editors send it again by themselves.
pub(crate) fn too_late(words: &str) -> String {
    format!(
        "\nThe turn ended before it could take this in: {words}\nSend it again if your editor does not.\n"
    )
}

/// Returns the notice about the files that an undo has changed.
fn undone(files: &[RevertedFile], redone: bool) -> String {
    let files: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let (done, place) = if redone {
        ("Made again", "after")
    } else {
        ("Undone", "before")
    };
    match files.len() {
        0 => format!("\nThe files are as they were {place} that turn.\n"),
        1..=20 => format!("\n{done} in the files: {}.\n", files.join(", ")),
        count => format!("\n{done} in {count} files.\n"),
    }
}

fn reason_id(turn: TurnId, item: ItemId) -> String {
    content_id(turn, item)
}

fn reason(by: &DecidedBy) -> Reason {
    match by {
        DecidedBy::Client(_) | DecidedBy::Person { .. } | DecidedBy::SameScope(_) | DecidedBy::Interrupt => {
            Reason::UserChoice
        }
        DecidedBy::Timeout | DecidedBy::Policy | DecidedBy::CallEnded => Reason::UserConfig,
    }
}

fn find<'a>(calls: &'a mut [Call], call_id: &str) -> Option<&'a mut Call> {
    calls.iter_mut().find(|call| call.key == call_id)
}

pub(crate) fn millis(from: UnixMillis, to: UnixMillis) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}
