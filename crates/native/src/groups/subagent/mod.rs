//! `subagent/*`: the Threads that a Turn of another Thread started (AppServer protocol 05 §10.2).

pub(crate) mod convert;
pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const SUBAGENT_PROGRESS: &str = "subagent/progress";
pub(crate) const SUBAGENT_GRAPH_CHANGED: &str = "subagent/graphChanged";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::SubagentChildrenListParams, wire::SubagentChildrenListResult>(
            "subagent/children/list",
            "Lists the subagents of a Thread.",
            &[ErrorCode::ThreadNotFound],
            |call| call.now(handlers::children),
        ),
        Method::request::<wire::SubagentTargetParams, wire::SubagentTargetResult>(
            "subagent/close",
            "Closes a subagent; what it does is stopped.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(handlers::close),
        ),
        Method::request::<wire::SubagentTargetParams, wire::SubagentTargetResult>(
            "subagent/resume",
            "Opens a subagent again. Nothing is given to it.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(handlers::resume),
        ),
        Method::notification::<wire::SubagentProgressNotification>(
            SUBAGENT_PROGRESS,
            "How far the subagents of a Turn are.",
        ),
        Method::notification::<wire::SubagentGraphChangedNotification>(
            SUBAGENT_GRAPH_CHANGED,
            "The tree of subagents has changed.",
        ),
    ],
    capabilities: |server, capabilities| {
        capabilities.sub_agent_sessions = server.hub.settings().sub_agents.depth > 0;
    },
    ..Group::EMPTY
};
