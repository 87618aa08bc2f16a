//! The state of one live Thread, and the rules for changing it.
//!
//! The state is the Thread's header, queue, plan and at most one open Turn. Finished Turns are only in the store,
//! so the size follows the open Turn and not the history. `decide` refuses or returns events and changes nothing;
//! `apply` changes state and refuses nothing.

mod apply;
mod decide;
mod queue;
mod rollback;
mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{
    Approval, ApprovalId, CallPreview, ContextUsage, Decision, DynamicTool, Edge, EdgeStatus, GivenMessage,
    Item, ItemBody, ItemId, ItemStatus, Plan, QueuedInput, Runtime, Scope, ThreadHeader, Turn, TurnDiff,
    TurnFeatures, TurnId, TurnStatus, UnixMillis, UserInputRequest,
};

pub use decide::{NewThread, StartTurn, StatusChange};
pub use queue::QueueChange;

/// Most entries of a Thread's queue; the next one is refused (a guess: no user types that far ahead).
pub const MAX_QUEUED_INPUTS: usize = 256;
/// Most text in a Thread's queue, in bytes: each event that changes the queue contains all of it.
pub const MAX_QUEUED_BYTES: usize = 1 << 20;
/// Longest title of a Thread, in bytes; it is shown to every client.
pub const MAX_DISPLAY_NAME: usize = 4096;
/// Most labels of a Thread (a guess: bookmarks of a long conversation).
pub const MAX_LABELS: usize = 256;
/// Longest label, name and value together, in bytes.
pub const MAX_LABEL: usize = 1024;

/// One Thread without its finished Turns.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadState {
    /// The Thread without its Turns.
    pub header: ThreadHeader,
    /// Highest Turn number ever given; zero for none.
    pub last_turn: TurnId,
    /// Turns that exist.
    pub turn_count: u32,
    /// Inputs that wait.
    pub queue: Vec<QueuedInput>,
    /// Current plan.
    pub plan: Option<Plan>,
    /// Occupancy of the model's window.
    pub context: ContextUsage,
    /// Whether a finished plan waits for the user's confirmation.
    pub plan_pending: bool,
    /// Scope keys accepted for this session.
    pub grants: BTreeSet<String>,
    /// Tools that a client declared and runs itself.
    pub tools: Arc<[DynamicTool]>,
    /// The edge to the parent Thread, for a subagent.
    pub edge: Option<Edge>,
    /// The open Turn.
    pub live: Option<LiveTurn>,
}

/// A Turn that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTurn {
    /// The Turn; `items[n]` has the id `n + 1`.
    pub turn: Turn,
    /// What the starting client can do.
    pub features: TurnFeatures,
    /// Open Approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// The Items of open questions of the model, oldest first.
    pub inquiries: Vec<ItemId>,
    /// Answers so far, by the call that asked, each with its scope: an answer counts for that scope only.
    pub decided: BTreeMap<String, (Scope, Decision)>,
    /// Calls whose effect may have started.
    pub started_calls: BTreeSet<String>,
    /// The changes that calls would make to files.
    pub previews: BTreeMap<String, CallPreview>,
    /// Argument text of calls that still stream in.
    pub arguments: BTreeMap<ItemId, String>,
    /// File changes so far.
    pub diff: Option<TurnDiff>,
    /// Why it is being stopped.
    pub cancelling: Option<String>,
    /// Whether its conversation is being compacted.
    pub compacting: bool,
    /// How often in a row the process crashed while it ran, counted at the start that follows; -1 after an orderly stop,
    /// whose start adds the one that it is not.
    pub crashes: i32,
    /// The conversation before it, where the client stores the history.
    pub history: Option<Arc<[GivenMessage]>>,
}

impl ThreadState {
    /// Returns the state of a Thread without events.
    pub fn new(header: ThreadHeader) -> Self {
        let edge = header
            .source
            .sub_agent()
            .map(|_| Edge::at(EdgeStatus::Open, header.created_at));
        Self {
            edge,
            header,
            last_turn: TurnId(0),
            turn_count: 0,
            queue: Vec::new(),
            plan: None,
            context: ContextUsage::default(),
            plan_pending: false,
            grants: BTreeSet::new(),
            tools: Arc::default(),
            live: None,
        }
    }

    /// Returns the Thread's activity, as lists show it.
    pub fn runtime(&self) -> Runtime {
        Runtime {
            running: self.live.is_some(),
            waiting_on_approval: self.live.as_ref().is_some_and(|live| !live.approvals.is_empty()),
            waiting_on_input: self.live.as_ref().is_some_and(|live| !live.inquiries.is_empty()),
            waiting_on_plan_confirmation: self.plan_pending,
        }
    }

    /// Returns the open Approvals.
    pub fn approvals(&self) -> &[Approval] {
        self.live.as_ref().map_or(&[], |live| &live.approvals)
    }

    /// Returns an open Approval.
    pub fn approval(&self, id: &ApprovalId) -> Option<&Approval> {
        self.approvals().iter().find(|approval| approval.id == *id)
    }
}

impl LiveTurn {
    /// Returns a Turn that has just started and has no Item yet.
    pub fn new(id: TurnId, at: UnixMillis, origin_channel: Option<String>, features: TurnFeatures) -> Self {
        Self {
            turn: Turn {
                id,
                status: TurnStatus::Running,
                items: Vec::new(),
                started_at: at,
                completed_at: None,
                usage: crate::TokenUsage::default(),
                cost_micros: 0,
                files_changed: 0,
                files_undone: false,
                error: None,
                origin_channel,
            },
            features,
            approvals: Vec::new(),
            inquiries: Vec::new(),
            decided: BTreeMap::new(),
            started_calls: BTreeSet::new(),
            arguments: BTreeMap::new(),
            previews: BTreeMap::new(),
            diff: None,
            cancelling: None,
            compacting: false,
            crashes: 0,
            history: None,
        }
    }

    /// Returns the id of the next Item.
    pub fn next_item(&self) -> ItemId {
        self.turn
            .items
            .last()
            .map_or(ItemId(1), |item| ItemId(item.id.0 + 1))
    }

    /// Returns an Item.
    pub fn item(&self, id: ItemId) -> Option<&Item> {
        let index = usize::try_from(id.0).ok()?.checked_sub(1)?;
        self.turn.items.get(index)
    }

    fn item_mut(&mut self, id: ItemId) -> Option<&mut Item> {
        let index = usize::try_from(id.0).ok()?.checked_sub(1)?;
        self.turn.items.get_mut(index)
    }

    /// Restores the streamed text of an open Item from the store.
    pub fn restore_text(&mut self, id: ItemId, text: &str) {
        let Some(item) = self
            .item_mut(id)
            .filter(|item| item.status != ItemStatus::Completed)
        else {
            return;
        };
        if matches!(item.body, ItemBody::ToolCall { .. }) {
            self.arguments.entry(id).or_default().push_str(text);
        } else if let Some(stream) = item.body.text_mut() {
            stream.push_str(text);
            item.status = ItemStatus::Streaming;
        }
    }

    /// Finds the open questions of the model among the Items, which come from the store.
    pub fn restore_inquiries(&mut self) {
        for item in std::mem::take(&mut self.turn.items) {
            self.note_inquiry(&item);
            self.turn.items.push(item);
        }
    }

    /// Returns the Items that are not final.
    pub fn open_items(&self) -> impl Iterator<Item = &Item> {
        self.turn
            .items
            .iter()
            .filter(|item| item.status != ItemStatus::Completed)
    }

    /// Returns the calls that have no result yet, oldest first, as (call id, their Item).
    pub fn pending_calls(&self) -> impl Iterator<Item = (&str, &Item)> {
        self.turn.items.iter().filter_map(|item| match &item.body {
            ItemBody::ToolCall { call_id, .. } if self.result_of(call_id).is_none() => {
                Some((call_id.as_str(), item))
            }
            ItemBody::DynamicToolCall(call) if call.answer.is_none() => Some((call.call_id.as_str(), item)),
            _ => None,
        })
    }

    /// Returns the open questions of the model, oldest first.
    pub fn open_inquiries(&self) -> impl Iterator<Item = (ItemId, &UserInputRequest)> {
        self.inquiries
            .iter()
            .filter_map(|id| match &self.item(*id)?.body {
                ItemBody::UserInputRequest(request) => Some((*id, &**request)),
                _ => None,
            })
    }

    /// Returns the result Item of a call.
    pub fn result_of(&self, call: &str) -> Option<&Item> {
        self.turn
            .items
            .iter()
            .rev()
            .find(|item| matches!(&item.body, ItemBody::ToolResult { call_id, .. } if call_id == call))
    }
}

#[cfg(test)]
mod tests;
