//! `turn/*`: starting and stopping Turns, their queue (AppServer protocol 03).

pub mod diff;
pub(crate) mod history;
pub mod input;
pub mod input_types;
pub mod notifications;
pub mod params;
pub(crate) mod picture;
pub mod plan;
pub(crate) mod queue;
pub mod queue_types;
pub mod revert_types;
pub(crate) mod start;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::{
    EmptyResult, PlanUpdatedNotification, TurnCancelledNotification, TurnDiffUpdatedNotification,
    TurnEnqueueParams, TurnEnqueueResult, TurnFailedNotification, TurnInterruptParams, TurnNotification,
    TurnQueueRemoveParams, TurnQueueRemoveResult, TurnRevertedNotification, TurnStartParams, TurnStartResult,
    TurnSteerParams, TurnSteerResult, TurnWaitingNotification,
};

pub(crate) const TURN_STARTED: &str = "turn/started";
pub(crate) const TURN_COMPLETED: &str = "turn/completed";
pub(crate) const TURN_FAILED: &str = "turn/failed";
pub(crate) const TURN_CANCELLED: &str = "turn/cancelled";
pub(crate) const TURN_DIFF_UPDATED: &str = "turn/diff/updated";
pub(crate) const TURN_REVERTED: &str = "turn/reverted";
pub(crate) const TURN_WAITING: &str = "turn/waiting";
pub(crate) const PLAN_UPDATED: &str = "plan/updated";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "turn/start" (TurnStartParams => TurnStartResult)
            [ThreadNotFound, ThreadNotActive, TurnInProgress] wait start::start:
            "Starts a Turn.";
        request "turn/enqueue" (TurnEnqueueParams => TurnEnqueueResult)
            [ThreadNotFound, ThreadNotActive] wait queue::enqueue:
            "Puts an input into the queue.";
        request "turn/interrupt" (TurnInterruptParams => EmptyResult)
            [ThreadNotFound, TurnNotFound, TurnNotRunning] wait start::interrupt:
            "Asks the running Turn to stop. It has stopped when `turn/cancelled` comes.";
        request "turn/queue/remove" (TurnQueueRemoveParams => TurnQueueRemoveResult)
            [ThreadNotFound] wait queue::remove:
            "Takes an input out of the queue.";
        request "turn/steer" (TurnSteerParams => TurnSteerResult)
            [ThreadNotFound, ThreadNotActive] wait queue::steer:
            "Makes a queued input guidance for the running Turn.";
        notification TURN_STARTED (TurnNotification): "A Turn has started; the user's Item is in it.";
        notification TURN_COMPLETED (TurnNotification): "A Turn ended well.";
        notification TURN_FAILED (TurnFailedNotification): "A Turn ended by an error.";
        notification TURN_CANCELLED (TurnCancelledNotification): "A Turn was cancelled.";
        notification TURN_DIFF_UPDATED (TurnDiffUpdatedNotification): "The Turn has changed files.";
        notification TURN_REVERTED (TurnRevertedNotification):
            "Extension: what a Turn did to files was undone.";
        notification TURN_WAITING (TurnWaitingNotification):
            "Extension: the model is asked again after a pause.";
        notification PLAN_UPDATED (PlanUpdatedNotification): "A Thread has another plan.";
    },
    ..Group::EMPTY
};
