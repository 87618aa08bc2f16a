//! The state of a Thread, made of a reading and the notifications after it. Pure.

use std::collections::HashMap;

use bobbin_model::{ItemStatus, TurnStatus};
use bobbin_native_wire::Nullable;
use bobbin_native_wire::item::delta::{CommandOutputDeltaNotification, ToolCallArgumentsDeltaNotification};
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::item::types::Item;
use bobbin_native_wire::item::usage::{TokenUsage, UsageDeltaNotification};
use bobbin_native_wire::system::types::{SubagentProgress, SubagentProgressNotification};
use bobbin_native_wire::thread::notifications::{
    ThreadQueueUpdatedNotification, ThreadRenamedNotification, ThreadResumedNotification,
    ThreadRolledBackNotification, ThreadRuntimeChangedNotification, ThreadStatusChangedNotification,
};
use bobbin_native_wire::thread::params::ThreadReadResult;
use bobbin_native_wire::thread::types::Thread;
use bobbin_native_wire::turn::diff::{TurnDiffUpdatedNotification, TurnWaitingNotification};
use bobbin_native_wire::turn::notifications::ItemNotification;
use bobbin_native_wire::turn::plan::PlanUpdatedNotification;
use bobbin_native_wire::turn::revert_types::TurnRevertedNotification;
use bobbin_native_wire::turn::types::Turn;
use serde::Deserialize;

use crate::event::Notification;

/// Longest text of a running Item, in bytes. Of a longer one, the end stays.
const MAX_LIVE_TEXT: usize = 1 << 20;

/// A Thread at one moment.
#[derive(Debug, Clone, Default)]
pub struct ThreadState {
    /// Everything but the Turns; `None` until the Thread has been read.
    pub thread: Option<Thread>,
    /// Oldest first, as far back as they were read.
    pub turns: Vec<TurnState>,
    /// The cursor of the Turns before the first one; `None` if there are none.
    pub older: Option<String>,
    /// The subagents of the running Turn.
    pub subagents: Vec<SubagentProgress>,
}

/// A Turn with its Items.
#[derive(Debug, Clone)]
pub struct TurnState {
    /// Everything but the Items.
    pub turn: Turn,
    /// The Items, in order.
    pub items: Vec<ItemState>,
    /// The reason for which it waits, as a status line: a model that is asked again.
    pub waiting: Option<String>,
    /// Its changes of files so far, if this client saw it happen.
    pub diff: Option<TurnDiffUpdatedNotification>,
    places: HashMap<String, usize>,
}

/// An Item.
#[derive(Debug, Clone)]
pub struct ItemState {
    /// The Item, with the text that has come so far.
    pub item: Item,
    /// While the arguments of a tool call arrive: their JSON so far.
    pub arguments_text: String,
}

impl ItemState {
    fn new(item: Item) -> Self {
        Self {
            item,
            arguments_text: String::new(),
        }
    }

    /// Whether nothing of it changes any more.
    pub fn is_complete(&self) -> bool {
        self.item.status == ItemStatus::Completed
    }
}

impl TurnState {
    fn new(mut turn: Turn) -> Self {
        let items = turn.items.take().unwrap_or_default();
        let mut state = Self {
            turn,
            items: Vec::new(),
            waiting: None,
            diff: None,
            places: HashMap::new(),
        };
        for item in items {
            state.put(item);
        }
        state
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.turn.completed_at.is_some()
    }

    /// Returns the Item with this id.
    pub fn item(&self, id: &str) -> Option<&ItemState> {
        self.places.get(id).and_then(|place| self.items.get(*place))
    }

    fn put(&mut self, item: Item) {
        match self
            .places
            .get(&item.id)
            .and_then(|place| self.items.get_mut(*place))
        {
            Some(known) if known.is_complete() => {}
            Some(known) => *known = ItemState::new(item),
            None => {
                self.places.insert(item.id.clone(), self.items.len());
                self.items.push(ItemState::new(item));
            }
        }
        self.waiting = None;
    }

    fn replace(&mut self, mut turn: Turn) {
        for item in turn.items.take().unwrap_or_default() {
            self.put(item);
        }
        self.waiting = None;
        self.turn = turn;
    }

    fn open_item(&mut self, id: &str) -> Option<&mut ItemState> {
        self.waiting = None;
        let place = *self.places.get(id)?;
        self.items.get_mut(place).filter(|item| !item.is_complete())
    }

    /// Counts what a model was sent and has answered.
    fn count(&mut self, delta: &UsageDeltaNotification) {
        if self.has_ended() {
            return;
        }
        let before = self.turn.token_usage.unwrap_or_default();
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or_default() + other.unwrap_or_default()),
        };
        self.turn.token_usage = Some(TokenUsage {
            input_tokens: before.input_tokens + delta.input_tokens,
            output_tokens: before.output_tokens + delta.output_tokens,
            total_tokens: before.total_tokens + delta.input_tokens + delta.output_tokens,
            cached_input_tokens: sum(before.cached_input_tokens, delta.cached_input_tokens),
            reasoning_output_tokens: sum(before.reasoning_output_tokens, delta.reasoning_output_tokens),
        });
        if let Some(cost) = delta.cost {
            self.turn.cost = Some(self.turn.cost.unwrap_or_default() + cost);
        }
    }
}

/// The members of `turn/started`, `turn/completed`, `turn/failed` and `turn/cancelled` that count here.
#[derive(Deserialize)]
struct WithTurn {
    turn: Turn,
}

/// A piece of an Item's text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    turn_id: String,
    item_id: String,
    delta: String,
}

impl ThreadState {
    /// Takes a Thread as it was read. Finished Items and diffs that were known stay.
    pub fn replace(&mut self, read: ThreadReadResult) {
        let mut thread = read.thread;
        let mut before: HashMap<String, TurnState> = std::mem::take(&mut self.turns)
            .into_iter()
            .map(|turn| (turn.turn.id.clone(), turn))
            .collect();
        let turns = thread.turns.take().unwrap_or_default();
        self.turns = turns
            .into_iter()
            .map(|turn| match before.remove(&turn.id) {
                Some(known) => {
                    let mut state = TurnState::new(turn);
                    state.diff = known.diff;
                    state
                }
                None => TurnState::new(turn),
            })
            .collect();
        self.older = read.turn_page.and_then(|page| page.next_cursor);
        self.subagents.clear();
        self.thread = Some(thread);
    }

    /// Takes the Turns before the first one.
    pub fn prepend(&mut self, read: ThreadReadResult) {
        let older = read.thread.turns.unwrap_or_default().into_iter();
        let older = older.filter(|turn| self.turn(&turn.id).is_none());
        let older: Vec<TurnState> = older.map(TurnState::new).collect();
        self.turns.splice(0..0, older);
        self.older = read.turn_page.and_then(|page| page.next_cursor);
    }

    /// Returns the Turn with this id.
    pub fn turn(&self, id: &str) -> Option<&TurnState> {
        // Almost always the last one.
        self.turns.iter().rev().find(|turn| turn.turn.id == id)
    }

    fn turn_mut(&mut self, id: &str) -> Option<&mut TurnState> {
        self.turns.iter_mut().rev().find(|turn| turn.turn.id == id)
    }

    /// Returns the newest Turn that changed files and was not undone: the next one to undo.
    pub fn turn_to_undo(&self) -> Option<&Turn> {
        self.changed_turns().find(|turn| turn.files_undone.is_none())
    }

    /// Returns the Turn that was undone last, if no later one changed files: the next one to make again.
    pub fn turn_to_redo(&self) -> Option<&Turn> {
        self.changed_turns()
            .take_while(|turn| turn.files_undone.is_some())
            .last()
    }

    /// Returns the Turns that changed files, the newest first.
    fn changed_turns(&self) -> impl Iterator<Item = &Turn> {
        let turns = self.turns.iter().rev().filter(|turn| turn.has_ended());
        turns
            .map(|turn| &turn.turn)
            .filter(|turn| turn.files_changed.unwrap_or_default() > 0)
    }

    /// Returns the Turn that runs or waits.
    pub fn open_turn(&self) -> Option<&TurnState> {
        self.turns.last().filter(|turn| !turn.has_ended())
    }

    /// Takes one change of this Thread. Unknown ones, and ones of another shape, are ignored.
    pub fn apply(&mut self, notification: &Notification) {
        // A change of another shape comes from a newer server; the next reading has it.
        let _ = self.try_apply(notification);
    }

    fn try_apply(&mut self, news: &Notification) -> Option<()> {
        match news.method.as_ref() {
            "turn/started" | "turn/completed" | "turn/failed" | "turn/cancelled" => {
                self.put_turn(news.params::<WithTurn>()?.turn);
            }
            "item/started"
            | "item/completed"
            | "item/approval/resolved"
            | "item/tool/requestUserInput/resolved" => {
                let ItemNotification { turn_id, item, .. } = news.params()?;
                self.turn_mut(&turn_id)?.put(item);
            }
            "item/agentMessage/delta" | "item/reasoning/delta" => {
                let piece: Piece = news.params()?;
                let open = self.turn_mut(&piece.turn_id)?.open_item(&piece.item_id)?;
                if let ItemPayload::AgentMessage(payload) | ItemPayload::ReasoningContent(payload) =
                    &mut open.item.payload
                {
                    append(&mut payload.text, &piece.delta);
                }
            }
            "item/commandExecution/outputDelta" => {
                let piece: CommandOutputDeltaNotification = news.params()?;
                let open = self.turn_mut(&piece.turn_id)?.open_item(&piece.item_id)?;
                if let ItemPayload::CommandExecution(payload) = &mut open.item.payload {
                    append(&mut payload.aggregated_output, &piece.delta);
                }
            }
            "item/toolCall/argumentsDelta" => {
                let piece: ToolCallArgumentsDeltaNotification = news.params()?;
                let open = self.turn_mut(&piece.turn_id)?.open_item(&piece.item_id)?;
                append(&mut open.arguments_text, &piece.delta);
            }
            "item/usage/delta" => {
                let delta: UsageDeltaNotification = news.params()?;
                if let (Some(thread), Some(usage)) = (&mut self.thread, delta.context_usage) {
                    thread.context_usage = Some(usage);
                }
                self.turn_mut(&delta.turn_id)?.count(&delta);
            }
            "turn/diff/updated" => {
                let diff: TurnDiffUpdatedNotification = news.params()?;
                let turn = self.turn_mut(&diff.turn_id)?;
                turn.diff = Some(diff);
            }
            "turn/waiting" => {
                let waiting: TurnWaitingNotification = news.params()?;
                self.turn_mut(&waiting.turn_id)?.waiting = Some(waiting.message);
            }
            "subagent/progress" => {
                self.subagents = news.params::<SubagentProgressNotification>()?.entries;
            }
            "turn/reverted" => {
                let reverted: TurnRevertedNotification = news.params()?;
                let turn = self.turn_mut(&reverted.turn_id)?;
                turn.turn.files_undone = reverted.redone.is_none().then_some(true);
            }
            "thread/rolledBack" => {
                let first = news.params::<ThreadRolledBackNotification>()?.first_turn_id;
                let place = self.turns.iter().position(|turn| turn.turn.id == first)?;
                self.turns.truncate(place);
            }
            _ => self.apply_to_thread(news)?,
        }
        Some(())
    }

    fn apply_to_thread(&mut self, news: &Notification) -> Option<()> {
        let thread = self.thread.as_mut()?;
        match news.method.as_ref() {
            "thread/runtimeChanged" => {
                let runtime = news.params::<ThreadRuntimeChangedNotification>()?.runtime;
                if let Some(last) = self.turns.last_mut().filter(|turn| !turn.has_ended()) {
                    last.turn.status = if runtime.waiting_on_approval {
                        TurnStatus::WaitingApproval
                    } else if runtime.waiting_on_input {
                        TurnStatus::WaitingInput
                    } else {
                        TurnStatus::Running
                    };
                }
                thread.runtime = runtime;
            }
            "thread/renamed" => {
                thread.display_name = Some(news.params::<ThreadRenamedNotification>()?.display_name);
            }
            "thread/statusChanged" => {
                thread.status = news.params::<ThreadStatusChangedNotification>()?.new_status;
            }
            "thread/resumed" => {
                *thread = news.params::<ThreadResumedNotification>()?.thread;
                thread.turns = None;
            }
            "thread/queue/updated" => {
                thread.queued_inputs = news.params::<ThreadQueueUpdatedNotification>()?.queued_inputs;
            }
            "plan/updated" => {
                let PlanUpdatedNotification {
                    title,
                    overview,
                    content,
                    todos,
                    ..
                } = news.params()?;
                let plan = bobbin_model::Plan {
                    title,
                    overview,
                    content,
                    todos,
                };
                thread.plan = Some(Nullable(Some(plan)));
            }
            _ => {}
        }
        Some(())
    }

    fn put_turn(&mut self, turn: Turn) {
        let (has_ended, cost) = (turn.completed_at.is_some(), turn.cost);
        let was_open = self.turn(&turn.id).is_none_or(|known| !known.has_ended());
        match self.turn_mut(&turn.id) {
            Some(known) => known.replace(turn),
            None => self.turns.push(TurnState::new(turn)),
        }
        if has_ended && was_open {
            self.subagents.clear();
            // `cost` of a Thread is that of its finished Turns.
            if let (Some(thread), Some(cost)) = (&mut self.thread, cost) {
                thread.cost = Some(thread.cost.unwrap_or_default() + cost);
            }
        }
    }
}

/// Appends a piece, and drops the beginning of a text that becomes too long.
fn append(text: &mut String, piece: &str) {
    text.push_str(piece);
    if text.len() > 2 * MAX_LIVE_TEXT {
        let from = text.ceil_char_boundary(text.len() - MAX_LIVE_TEXT);
        text.drain(..from);
    }
}
