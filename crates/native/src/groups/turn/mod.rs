//! `turn/*`: starting and stopping Turns, their queue, undoing what they did to files (AppServer protocol 03).

pub mod diff;
pub(crate) mod history;
pub(crate) mod input;
pub mod input_types;
pub mod notifications;
pub mod params;
pub mod plan;
pub(crate) mod queue;
pub mod queue_types;
pub(crate) mod revert;
pub mod revert_types;
pub(crate) mod start;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const TURN_STARTED: &str = "turn/started";
pub(crate) const TURN_COMPLETED: &str = "turn/completed";
pub(crate) const TURN_FAILED: &str = "turn/failed";
pub(crate) const TURN_CANCELLED: &str = "turn/cancelled";
pub(crate) const TURN_DIFF_UPDATED: &str = "turn/diff/updated";
pub(crate) const TURN_REVERTED: &str = "turn/reverted";
pub(crate) const PLAN_UPDATED: &str = "plan/updated";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::TurnStartParams, wire::TurnStartResult>(
            "turn/start",
            "Starts a Turn.",
            &[
                ErrorCode::ThreadNotFound,
                ErrorCode::ThreadNotActive,
                ErrorCode::TurnInProgress,
            ],
            |call| call.wait(start::start),
        ),
        Method::request::<wire::TurnEnqueueParams, wire::TurnEnqueueResult>(
            "turn/enqueue",
            "Puts an input into the queue.",
            &[ErrorCode::ThreadNotFound, ErrorCode::ThreadNotActive],
            |call| call.wait(queue::enqueue),
        ),
        Method::request::<wire::TurnInterruptParams, wire::EmptyResult>(
            "turn/interrupt",
            "Asks the running Turn to stop. It has stopped when `turn/cancelled` comes.",
            &[
                ErrorCode::ThreadNotFound,
                ErrorCode::TurnNotFound,
                ErrorCode::TurnNotRunning,
            ],
            |call| call.wait(start::interrupt),
        ),
        Method::request::<wire::TurnQueueRemoveParams, wire::TurnQueueRemoveResult>(
            "turn/queue/remove",
            "Takes an input out of the queue.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(queue::remove),
        ),
        Method::request::<wire::TurnSteerParams, wire::TurnSteerResult>(
            "turn/steer",
            "Makes a queued input guidance for the running Turn.",
            &[ErrorCode::ThreadNotFound, ErrorCode::ThreadNotActive],
            |call| call.wait(queue::steer),
        ),
        Method::request::<wire::TurnRevertParams, wire::TurnRevertResult>(
            "turn/revert",
            "Extension: undoes what a Turn did to files. The conversation stays.",
            &[
                ErrorCode::ThreadNotFound,
                ErrorCode::TurnInProgress,
                ErrorCode::TurnNotFound,
            ],
            |call| call.wait(revert::revert),
        ),
        Method::notification::<wire::TurnNotification>(
            TURN_STARTED,
            "A Turn began; the user's Item is in it.",
        ),
        Method::notification::<wire::TurnNotification>(TURN_COMPLETED, "A Turn ended well."),
        Method::notification::<wire::TurnFailedNotification>(TURN_FAILED, "A Turn ended by an error."),
        Method::notification::<wire::TurnCancelledNotification>(TURN_CANCELLED, "A Turn was cancelled."),
        Method::notification::<wire::TurnDiffUpdatedNotification>(
            TURN_DIFF_UPDATED,
            "The Turn has changed files.",
        ),
        Method::notification::<wire::TurnRevertedNotification>(
            TURN_REVERTED,
            "Extension: what a Turn did to files was undone.",
        ),
        Method::notification::<wire::PlanUpdatedNotification>(PLAN_UPDATED, "A Thread has another plan."),
    ],
    capabilities: |server, capabilities| {
        capabilities.turn_revert = server.hub.settings().undo.is_some();
    },
    ..Group::EMPTY
};
