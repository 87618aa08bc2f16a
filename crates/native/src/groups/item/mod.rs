//! `item/*`: what happens in a Turn, and what the user is asked about it (AppServer protocol 03 and 04).

pub mod approval;
pub mod content;
pub mod delta;
pub mod payload;
pub mod tool_payload;
pub mod types;
pub mod usage;
pub(crate) mod user_input;
pub mod user_input_types;

use crate::group::{Group, Method};
use crate::wire;

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
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::notification::<wire::ItemNotification>(ITEM_STARTED, "An Item was begun."),
        Method::notification::<wire::ItemNotification>(ITEM_COMPLETED, "An Item is final."),
        Method::notification::<wire::AgentMessageDeltaNotification>(
            ITEM_AGENT_MESSAGE_DELTA,
            "A piece of the agent's answer.",
        ),
        Method::notification::<wire::ReasoningDeltaNotification>(
            ITEM_REASONING_DELTA,
            "A piece of the agent's reasoning.",
        ),
        Method::notification::<wire::ToolCallArgumentsDeltaNotification>(
            ITEM_TOOL_CALL_ARGUMENTS_DELTA,
            "A piece of a tool call's arguments.",
        ),
        Method::notification::<wire::CommandOutputDeltaNotification>(
            ITEM_COMMAND_EXECUTION_OUTPUT_DELTA,
            "A piece of a command's output.",
        ),
        Method::notification::<wire::ItemNotification>(
            ITEM_APPROVAL_RESOLVED,
            "An approval is settled; open dialogs about it should close.",
        ),
        Method::notification::<wire::UserInputResolvedNotification>(
            ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED,
            "What a model wanted to know is answered, or nobody waits for it any more; open dialogs should close.",
        ),
        Method::notification::<wire::UsageDeltaNotification>(
            ITEM_USAGE_DELTA,
            "One call of the model and its tokens.",
        ),
        Method::server_request::<wire::ApprovalRequestParams, wire::ApprovalRequestResult>(
            ITEM_APPROVAL_REQUEST,
            "Asks a person. An error or an unknown answer counts as `decline`.",
        ),
        Method::server_request::<wire::ToolCallParams, wire::ToolCallResult>(
            ITEM_TOOL_CALL,
            "Runs a tool that the client gave in `thread/start`.",
        ),
        Method::server_request::<wire::RequestUserInputParams, wire::RequestUserInputResult>(
            ITEM_TOOL_REQUEST_USER_INPUT,
            "Asks a person what the model wants to know (a later addition of the protocol). An error counts as no answer.",
        ),
    ],
    capabilities: |_, capabilities| {
        capabilities.approval_flow = true;
    },
    ..Group::EMPTY
};
