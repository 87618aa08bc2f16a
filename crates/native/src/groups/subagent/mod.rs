//! `subagent/*`: the Threads that a Turn of another Thread started (AppServer protocol 05 §10.2).

pub(crate) mod convert;
pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::{
    SubagentChildrenListParams, SubagentChildrenListResult, SubagentGraphChangedNotification,
    SubagentProgressNotification, SubagentTargetParams, SubagentTargetResult,
};

pub(crate) const SUBAGENT_PROGRESS: &str = "subagent/progress";
pub(crate) const SUBAGENT_GRAPH_CHANGED: &str = "subagent/graphChanged";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "subagent/children/list" (SubagentChildrenListParams => SubagentChildrenListResult)
            [ThreadNotFound] now handlers::children:
            "Lists the subagents of a Thread.";
        request "subagent/close" (SubagentTargetParams => SubagentTargetResult)
            [ThreadNotFound] wait handlers::close:
            "Closes a subagent; what it does is stopped.";
        request "subagent/resume" (SubagentTargetParams => SubagentTargetResult)
            [ThreadNotFound] wait handlers::resume:
            "Opens a subagent again. Nothing is given to it.";
        notification SUBAGENT_PROGRESS (SubagentProgressNotification): "How far the subagents of a Turn are.";
        notification SUBAGENT_GRAPH_CHANGED (SubagentGraphChangedNotification):
            "The tree of subagents has changed.";
    },
    capabilities: |server, capabilities| {
        capabilities.sub_agent_sessions = server.threads.settings().sub_agents.depth > 0;
    },
    ..Group::EMPTY
};
