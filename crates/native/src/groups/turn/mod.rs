//! `turn/*`: starting and stopping Turns, their queue (AppServer protocol 03).

pub(crate) mod history;
pub mod input;
mod own;
pub(crate) mod picture;
pub(crate) mod queue;
pub(crate) mod start;

use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::turn::diff::{TurnDiffUpdatedNotification, TurnWaitingNotification};
use bobbin_native_wire::turn::notifications::{
    TurnCancelledNotification, TurnFailedNotification, TurnNotification,
};
use bobbin_native_wire::turn::params::{
    ThreadShellCommandParams, TurnEnqueueParams, TurnEnqueueResult, TurnInterruptParams,
    TurnQueueRemoveParams, TurnQueueReorderParams, TurnQueueResult, TurnQueueUpdateParams, TurnStartParams,
    TurnStartResult, TurnSteerParams, TurnSteerResult,
};
use bobbin_native_wire::turn::plan::PlanUpdatedNotification;
use bobbin_native_wire::turn::revert_types::TurnRevertedNotification;

use crate::group::need::Need;
use crate::group::page::Page;
use crate::group::{Group, rows};

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
        Page::TURNS, None;
        request "turn/start" (TurnStartParams => TurnStartResult)
            [ThreadNotFound, ThreadNotActive, TurnInProgress] wait start::start, needs Prompt:
            "Starts a Turn.", members &[("allow", Need::Own), ("sandbox", Need::Own)], spec "03 §2.1",
            test "native/transcripts: turn_start_with_every_kind_of_item",
            partial "pictures on the disk, where a tool could read them without asking, and on the public web are \
                shown to models that see; to others, and where they cannot be had, they are names";
        request "thread/shellCommand" (ThreadShellCommandParams => TurnStartResult)
            [ThreadNotFound, ThreadNotActive, TurnInProgress] wait start::shell_command, needs Approve:
            "Runs a command that the user typed, as a Turn without a model: in the sandbox, without a question.",
            test "server/user_commands: a_typed_command_runs_without_a_question_and_the_model_reads_it",
            note "a rule that refuses the command counts";
        request "turn/enqueue" (TurnEnqueueParams => TurnEnqueueResult)
            [ThreadNotFound, ThreadNotActive] wait queue::enqueue, needs Prompt:
            "Puts an input into the queue.", spec "03 §2.3",
            test "native/client_history: messages_against_the_history_mode_are_refused_and_start_nothing",
            partial "input as with `turn/start`; -32602 where the client has the history, without which no \
                turn can start by itself";
        request "turn/interrupt" (TurnInterruptParams => EmptyResult)
            [ThreadNotFound, TurnNotFound, TurnNotRunning] wait start::interrupt, needs Prompt:
            "Asks the running Turn to stop. It has stopped when `turn/cancelled` comes.", spec "03 §2.2",
            test "native/transcripts: turn_interrupt";
        request "turn/queue/remove" (TurnQueueRemoveParams => TurnQueueResult)
            [ThreadNotFound] wait queue::remove, needs Prompt:
            "Takes an input out of the queue.", spec "03 §2.4",
            test "native/transcripts: turn_enqueue_and_queue_remove";
        request "turn/queue/reorder" (TurnQueueReorderParams => TurnQueueResult)
            [ThreadNotFound] wait queue::reorder, needs Prompt:
            "Sets the order of the queue.", spec "07 §6.8",
            test "native/today: the_queue_is_put_in_order_and_its_inputs_are_given_to_the_turn_and_taken_back";
        request "turn/queue/update" (TurnQueueUpdateParams => TurnQueueResult)
            [ThreadNotFound, ThreadNotActive] wait queue::update, needs Prompt:
            "Gives an input of the queue to the running Turn, or takes it back.", spec "07 §6.8",
            test "native/today: the_queue_is_put_in_order_and_its_inputs_are_given_to_the_turn_and_taken_back";
        request "turn/steer" (TurnSteerParams => TurnSteerResult)
            [ThreadNotFound, ThreadNotActive] wait queue::steer, needs Prompt:
            "Gives a queued or a new input to the running Turn as guidance.", spec "03 §2.5, 07 §6.7",
            test "native/transcripts: turn_steer";
        notification TURN_STARTED (TurnNotification):
            "A Turn has started; the user's Item is in it.", spec "03 §7",
            test "native/transcripts: turn_start_with_every_kind_of_item";
        notification TURN_COMPLETED (TurnNotification):
            "A Turn ended well.", spec "03 §7", test "native/transcripts: turn_start_with_every_kind_of_item";
        notification TURN_FAILED (TurnFailedNotification):
            "A Turn ended by an error.", spec "03 §7", test "native/transcripts: turn_that_fails";
        notification TURN_CANCELLED (TurnCancelledNotification):
            "A Turn was cancelled.", spec "03 §7", test "native/transcripts: turn_interrupt";
        notification TURN_DIFF_UPDATED (TurnDiffUpdatedNotification):
            "The Turn has changed files.", spec "03 §9",
            test "native/transcripts: turn_start_with_every_kind_of_item";
        notification TURN_REVERTED (TurnRevertedNotification):
            "Extension: what a Turn did to files was undone.", capability Some("turnRevert"),
            test "agent/revert: what_a_turn_did_is_undone_file_by_file", note "to every client";
        notification TURN_WAITING (TurnWaitingNotification):
            "Extension: the model is asked again after a pause.",
            test "server/protocol: play_fits_the_schemas_and_gives_the_examples", note "to subscribers";
        notification PLAN_UPDATED (PlanUpdatedNotification):
            "A Thread has another plan.", spec "03 §8",
            test "native/transcripts: turn_start_with_every_kind_of_item";
    },
    ..Group::EMPTY
};
