//! `item/*`: the Items of a Turn, and the questions about it to the user (AppServer protocol 03 and 04).

pub mod approval;
pub mod content;
pub mod delta;
pub mod payload;
pub mod tool_payload;
pub mod types;
pub mod usage;
pub(crate) mod user_input;
pub mod user_input_types;

use crate::group::{Group, rows};
use crate::wire::{
    AgentMessageDeltaNotification, ApprovalRequestParams, ApprovalRequestResult,
    CommandOutputDeltaNotification, ItemNotification, ReasoningDeltaNotification, RequestUserInputParams,
    RequestUserInputResult, ToolCallArgumentsDeltaNotification, ToolCallParams, ToolCallResult,
    UsageDeltaNotification, UserInputResolvedNotification,
};

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
        notification ITEM_STARTED (ItemNotification): "An Item has started.";
        notification ITEM_COMPLETED (ItemNotification): "An Item is final.";
        notification ITEM_AGENT_MESSAGE_DELTA (AgentMessageDeltaNotification):
            "A piece of the agent's answer.";
        notification ITEM_REASONING_DELTA (ReasoningDeltaNotification): "A piece of the agent's reasoning.";
        notification ITEM_TOOL_CALL_ARGUMENTS_DELTA (ToolCallArgumentsDeltaNotification):
            "A piece of a tool call's arguments.";
        notification ITEM_COMMAND_EXECUTION_OUTPUT_DELTA (CommandOutputDeltaNotification):
            "A piece of a command's output.";
        notification ITEM_APPROVAL_RESOLVED (ItemNotification):
            "An approval is settled; open dialogs about it should close.";
        notification ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED (UserInputResolvedNotification):
            "What a model wanted to know is answered, or nobody waits for it any more; open dialogs should close.";
        notification ITEM_USAGE_DELTA (UsageDeltaNotification): "One call of the model and its tokens.";
        server_request ITEM_APPROVAL_REQUEST (ApprovalRequestParams => ApprovalRequestResult):
            "Asks the user for an approval. An error or an unknown answer counts as `decline`.";
        server_request ITEM_TOOL_CALL (ToolCallParams => ToolCallResult):
            "Runs a tool that the client gave in `thread/start`.";
        server_request ITEM_TOOL_REQUEST_USER_INPUT (RequestUserInputParams => RequestUserInputResult):
            "Asks the user what the model wants to know. An error counts as no answer.";
    },
    capabilities: |_, capabilities| {
        capabilities.approval_flow = true;
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
        if !capabilities.user_input_support {
            unwanted.push(ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED);
        }
        unwanted
    },
    ..Group::EMPTY
};
