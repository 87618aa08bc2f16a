//! Subagents as the wire shows them (AppServer protocol 02 §2.5, 05 §10.2). Pure.

use bobbin_core::Edged;
use bobbin_model as model;
use bobbin_native_wire::subagent::types::{SubagentEdge, SubagentTargetResult, SubagentTargetStatus};
use bobbin_native_wire::system::types::SubagentProgress;
use bobbin_native_wire::thread::types::{SubAgentSource, ThreadSource};

use crate::convert::time;

/// The default profile.
const NATIVE: &str = "native";

/// Returns the name of a subagent's profile, and its runtime.
fn profile(source: &model::SubAgentSource) -> (Option<String>, Option<String>) {
    let profile = source.profile.as_ref();
    let name = profile.map_or(NATIVE, |profile| &profile.name);
    let runtime = profile.map(|profile| profile.runtime).unwrap_or_default();
    (Some(name.to_owned()), Some(runtime.name().to_owned()))
}

/// The possible actions on a subagent, by the status of its edge.
struct Can {
    send_input: bool,
    resume: bool,
    close: bool,
}

impl Can {
    fn with(status: model::EdgeStatus) -> Self {
        let open = status == model::EdgeStatus::Open;
        Self {
            send_input: open,
            resume: true,
            close: open,
        }
    }
}

/// Returns the origin of a Thread. A subagent has the actions of an open one here: the status of its edge is sent
/// elsewhere.
pub(crate) fn source(source: &model::ThreadSource) -> ThreadSource {
    let Some(below) = source.sub_agent() else {
        return ThreadSource::User;
    };
    let can = Can::with(model::EdgeStatus::Open);
    let (profile_name, runtime_type) = profile(below);
    ThreadSource::SubAgent {
        sub_agent: Box::new(SubAgentSource {
            parent_thread_id: below.parent.to_string(),
            parent_turn_id: Some(below.parent_turn.to_string()),
            spawn_call_id: Some(below.spawn_call.clone()),
            root_thread_id: below.root.to_string(),
            depth: below.depth,
            agent_nickname: below.nickname.clone(),
            agent_role: below.role.clone(),
            profile_name,
            runtime_type,
            supports_send_input: can.send_input,
            supports_send_message: can.send_input,
            supports_followup_task: can.send_input,
            supports_resume: can.resume,
            supports_close: can.close,
        }),
    }
}

/// Returns the edge between a Thread and its parent, if it has one.
pub(crate) fn edge(header: &model::ThreadHeader, edge: Option<model::Edge>) -> Option<SubagentEdge> {
    let (source, edge) = (header.source.sub_agent()?, edge?);
    let can = Can::with(edge.status);
    let (profile_name, runtime_type) = profile(source);
    Some(SubagentEdge {
        parent_thread_id: source.parent.to_string(),
        child_thread_id: header.id.to_string(),
        parent_turn_id: Some(source.parent_turn.to_string()),
        depth: source.depth,
        agent_nickname: source.nickname.clone(),
        agent_role: source.role.clone(),
        profile_name,
        runtime_type,
        agent_path: None,
        task_name: None,
        supports_send_input: can.send_input,
        supports_send_message: can.send_input,
        supports_followup_task: can.send_input,
        supports_resume: can.resume,
        supports_close: can.close,
        status: edge.status,
        created_at: time(header.created_at),
        updated_at: time(edge.updated_at),
    })
}

/// Returns an edge that was just opened or closed.
pub(crate) fn edged(child: &model::ThreadId, edged: &Edged) -> SubagentTargetResult {
    let status = match edged.edge.status {
        model::EdgeStatus::Open => SubagentTargetStatus::Open,
        model::EdgeStatus::Closed => SubagentTargetStatus::Closed,
    };
    target(child, &edged.source, edged.edge.status, status)
}

/// Returns the state of a subagent after a request.
pub(crate) fn target(
    child: &model::ThreadId,
    source: &model::SubAgentSource,
    edge: model::EdgeStatus,
    status: SubagentTargetStatus,
) -> SubagentTargetResult {
    let can = Can::with(edge);
    let (profile_name, runtime_type) = profile(source);
    SubagentTargetResult {
        child_thread_id: child.to_string(),
        status,
        agent_path: None,
        task_name: None,
        message: None,
        agent_nickname: source.nickname.clone(),
        agent_role: source.role.clone(),
        profile_name,
        runtime_type,
        supports_send_input: can.send_input,
        supports_send_message: can.send_input,
        supports_followup_task: can.send_input,
        supports_resume: can.resume,
        supports_close: can.close,
    }
}

/// Returns the progress of a subagent.
pub(crate) fn progress(progress: &model::SubAgentProgress) -> SubagentProgress {
    SubagentProgress {
        label: progress.label.clone(),
        current_tool: progress.current_tool.clone(),
        current_tool_display: None,
        input_tokens: progress.usage.input_tokens,
        output_tokens: progress.usage.output_tokens,
        is_completed: progress.is_completed,
    }
}
