//! `item/*`: the Items of a Turn, and the questions about it to the user (AppServer protocol 03 and 04).

pub(crate) mod user_input;

use bobbin_native_wire::item::approval::{ApprovalRequestParams, ApprovalRequestResult};
use bobbin_native_wire::item::delta::{
    AgentMessageDeltaNotification, CommandOutputDeltaNotification, ReasoningDeltaNotification,
    ToolCallArgumentsDeltaNotification,
};
use bobbin_native_wire::item::usage::UsageDeltaNotification;
use bobbin_native_wire::item::user_input_types::{
    RequestUserInputParams, RequestUserInputResult, UserInputResolvedNotification,
};
use bobbin_native_wire::serving::types::{ToolCallParams, ToolCallResult};
use bobbin_native_wire::turn::notifications::{ApprovalResolvedNotification, ItemNotification};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const ITEM_STARTED: &str = "item/started";
pub(crate) const ITEM_COMPLETED: &str = "item/completed";
pub(crate) const ITEM_AGENT_MESSAGE_DELTA: &str = "item/agentMessage/delta";
pub(crate) const ITEM_REASONING_DELTA: &str = "item/reasoning/delta";
pub(crate) const ITEM_TOOL_CALL_ARGUMENTS_DELTA: &str = "item/toolCall/argumentsDelta";
pub(crate) const ITEM_COMMAND_EXECUTION_OUTPUT_DELTA: &str = "item/commandExecution/outputDelta";
pub(crate) const ITEM_APPROVAL_RESOLVED: &str = "item/approval/resolved";
pub(crate) const ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED: &str = "item/tool/requestUserInput/resolved";
pub(crate) const ITEM_USAGE_DELTA: &str = "item/usage/delta";
pub(crate) const ITEM_APPROVAL_REQUEST: &str = "item/approval/request";
pub(crate) const ITEM_TOOL_CALL: &str = "item/tool/call";
pub(crate) const ITEM_TOOL_REQUEST_USER_INPUT: &str = "item/tool/requestUserInput";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::ITEMS, None;
        notification ITEM_STARTED (ItemNotification):
            "An Item has started.", spec "03 §6",
            test "native/encode/tests: an_item_that_starts_is_never_complete_and_one_that_completes_always_is";
        notification ITEM_COMPLETED (ItemNotification):
            "An Item is final.", spec "03 §6",
            test "native/encode/tests: an_item_that_starts_is_never_complete_and_one_that_completes_always_is";
        notification ITEM_AGENT_MESSAGE_DELTA (AgentMessageDeltaNotification):
            "A piece of the agent's answer.", spec "03 §6", test "native/encode/tests: frames_of_deltas";
        notification ITEM_REASONING_DELTA (ReasoningDeltaNotification):
            "A piece of the agent's reasoning.", spec "03 §6", test "native/encode/tests: frames_of_deltas";
        notification ITEM_TOOL_CALL_ARGUMENTS_DELTA (ToolCallArgumentsDeltaNotification):
            "A piece of a tool call's arguments.", spec "03 §6", test "native/encode/tests: frames_of_deltas";
        notification ITEM_COMMAND_EXECUTION_OUTPUT_DELTA (CommandOutputDeltaNotification):
            "A piece of a command's output.", spec "03 §6", test "native/encode/tests: frames_of_deltas",
            partial "of the first MiB of a command's output; of more only the end is in the final Item";
        notification ITEM_APPROVAL_RESOLVED (ApprovalResolvedNotification):
            "An approval is settled; open dialogs about it should close.", page Page::APPROVALS,
            capability Some("approvalFlow"), spec "03 §6",
            test "native/transcripts: turn_that_asks_and_is_allowed";
        notification ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED (UserInputResolvedNotification):
            "What a model wanted to know is answered, or nobody waits for it any more; open dialogs should close.",
            page Page::APPROVALS, capability Some("requestUserInput"), spec "04 §10, 07 §4",
            test "native/inquiries: interrupting_takes_a_question_back",
            note "to every client that follows the Thread";
        notification ITEM_USAGE_DELTA (UsageDeltaNotification):
            "One call of the model and its tokens.", spec "03 §10",
            test "native/transcripts: turn_start_with_every_kind_of_item";
        server_request ITEM_APPROVAL_REQUEST (ApprovalRequestParams => ApprovalRequestResult), needs Approve:
            "Asks the user for an approval. An error or an unknown answer counts as `decline`.",
            page Page::APPROVALS, capability Some("approvalFlow"), spec "04 §3",
            test "native/transcripts: turn_that_asks_and_is_allowed",
            note "time limits as `approvals.maxWait`: a question waits for a day, through disconnects and restarts";
        server_request ITEM_TOOL_CALL (ToolCallParams => ToolCallResult), needs Prompt:
            "Runs a tool that the client gave in `thread/start`.", page Page::SERVING, spec "04 §7",
            test "native/dynamic_tools: a_call_is_started_sent_and_completed_as_one_item",
            note "two failure codes beside the page's: `Cancelled` and `InterruptedByRestart`";
        server_request ITEM_TOOL_REQUEST_USER_INPUT (RequestUserInputParams => RequestUserInputResult), needs Approve:
            "Asks the user what the model wants to know. An error leaves the question open.", page Page::APPROVALS,
            capability Some("requestUserInput"), spec "04 §10, 07 §4",
            test "native/inquiries: items_record_the_question_and_its_answer_around_the_request",
            note "to clients with `requestUserInputSupport` or `userInputSupport`, one question a request; a client that \
                did not answer is asked again at its next `thread/subscribe` or `thread/resume`";
    },
    capabilities: |_, capabilities| {
        capabilities.approval_flow = true;
        capabilities.request_user_input = true;
    },
    unwanted: |capabilities| {
        let mut unwanted = Vec::new();
        if !capabilities.streaming_support {
            unwanted.extend([
                ITEM_AGENT_MESSAGE_DELTA,
                ITEM_REASONING_DELTA,
                ITEM_TOOL_CALL_ARGUMENTS_DELTA,
                ITEM_COMMAND_EXECUTION_OUTPUT_DELTA,
            ]);
        }
        unwanted
    },
    ..Group::EMPTY
};
