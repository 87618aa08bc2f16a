//! `subagent/*`: the Threads that a Turn of another Thread started (AppServer protocol 05 §10.2).

pub(crate) mod convert;
pub(crate) mod handlers;
mod paths;

use bobbin_native_wire::subagent::types::{
    SubagentChildrenListParams, SubagentChildrenListResult, SubagentCloseParams, SubagentFollowupParams,
    SubagentMessageParams, SubagentTargetParams, SubagentTargetResult,
};
use bobbin_native_wire::system::types::{SubagentGraphChangedNotification, SubagentProgressNotification};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const SUBAGENT_PROGRESS: &str = "subagent/progress";
pub(crate) const SUBAGENT_GRAPH_CHANGED: &str = "subagent/graphChanged";
pub(crate) const SUBAGENT_GRAPH_CHANGED_TODAY: &str = "subagent/graph/changed";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::SUBAGENTS, Some("subAgentSessions");
        request "subagent/children/list" (SubagentChildrenListParams => SubagentChildrenListResult)
            [ThreadNotFound] now handlers::children, needs Read:
            "Lists the subagents of a Thread.", spec "05 §10.2",
            test "native/subagents: subagents_are_listed_closed_and_opened_again";
        request "subagent/sendMessage" (SubagentMessageParams => SubagentTargetResult)
            [ThreadNotFound, ThreadNotActive] wait handlers::send_message, needs Approve:
            "Gives a subagent a message, which its next model call gets.", spec "07 §6.10",
            test "native/subagents: a_subagent_is_given_messages_and_tasks_by_its_path";
        request "subagent/followupTask" (SubagentFollowupParams => SubagentTargetResult)
            [ThreadNotFound, ThreadNotActive] wait handlers::followup, needs Approve:
            "Gives a subagent another task.", spec "07 §6.10",
            test "native/subagents: a_subagent_is_given_messages_and_tasks_by_its_path";
        request "subagent/close" (SubagentCloseParams => SubagentTargetResult)
            [ThreadNotFound] wait handlers::close, needs Approve:
            "Closes a subagent; what it does is stopped.", spec "05 §10.2",
            test "native/subagents: subagents_are_listed_closed_and_opened_again";
        request "subagent/resume" (SubagentTargetParams => SubagentTargetResult)
            [ThreadNotFound] wait handlers::resume, needs Approve:
            "Opens a subagent again. Nothing is given to it.", spec "05 §10.2",
            test "native/subagents: subagents_are_listed_closed_and_opened_again";
        notification SUBAGENT_PROGRESS (SubagentProgressNotification):
            "How far the subagents of a Turn are.", spec "03 §12",
            test "native/subagents: subagents_are_listed_closed_and_opened_again";
        notification SUBAGENT_GRAPH_CHANGED (SubagentGraphChangedNotification):
            "The tree of subagents has changed.", spec "03 §12",
            test "native/subagents: subagents_are_listed_closed_and_opened_again";
        notification SUBAGENT_GRAPH_CHANGED_TODAY (SubagentGraphChangedNotification):
            "The same as `subagent/graphChanged`, directly after it.", spec "07 §2.2",
            test "native/subagents: subagents_are_listed_closed_and_opened_again",
            note "to clients of today (`ClientCapabilities`)";
    },
    unwanted: |capabilities| {
        if capabilities.is_today() {
            Vec::new()
        } else {
            vec![SUBAGENT_GRAPH_CHANGED_TODAY]
        }
    },
    capabilities: |server, capabilities| {
        capabilities.sub_agent_sessions = server.threads.settings().sub_agents.depth > 0;
    },
    ..Group::EMPTY
};
