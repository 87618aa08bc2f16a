//! States for the tables to start from.

use super::*;
use crate::dynamic_tool::CALL_ID;
use crate::item::{CommandExecution, ExecutionStatus};
use crate::{CommandStatus, DynamicToolCall, EdgeStatus, Json};

pub(super) fn with(mut state: ThreadState, status: ThreadStatus) -> ThreadState {
    state.header.status = status;
    state
}

pub(super) fn client_keeps_history() -> ThreadState {
    let mut state = thread();
    state.header.history_mode = HistoryMode::Client;
    state
}

/// Two entries wait: `a`, which waits for a good end, and `b`, which follows any.
pub(super) fn queued() -> ThreadState {
    let mut state = thread();
    state.header.display_name = Some("Tea".into());
    for (id, next) in [("a", false), ("b", true)] {
        let id = QueuedInputId::new(id);
        let text = request(id.as_str());
        let events = if next {
            state.decide_enqueue_next(id, text, NOW)
        } else {
            state.decide_enqueue(id, text, NOW)
        };
        play(&mut state, &events.unwrap());
    }
    state
}

pub(super) fn full() -> ThreadState {
    let mut state = queued();
    state.queue.resize(MAX_QUEUED_INPUTS, state.queue[0].clone());
    state
}

/// Turn 1 runs; entry `q` waits, `g` is guidance, `l` is guidance for this Turn only.
pub(super) fn guided() -> ThreadState {
    let mut state = running("one");
    for name in ["q", "g"] {
        let events = state.decide_enqueue(QueuedInputId::new(name), request(name), NOW);
        play(&mut state, &events.unwrap());
    }
    let events = state
        .decide_steer(&QueuedInputId::new("g"), "turn_001", None)
        .unwrap();
    play(&mut state, &events);
    let events = state.decide_guidance(QueuedInputId::new("l"), request("l"), TurnId(1), None, NOW);
    play(&mut state, &events.unwrap());
    state
}

/// Turn 1 asks `a`, `b`, which is the same operation, and `c`, which is of another kind.
pub(super) fn asking() -> ThreadState {
    let mut state = running("one");
    for (id, kind) in [
        ("a", ApprovalKind::Shell),
        ("b", ApprovalKind::Shell),
        ("c", ApprovalKind::File),
    ] {
        let mut question = question(id, "make tea");
        question.scope.kind = kind;
        question.call_id = format!("call_{id}");
        let events = state.decide_ask(question).unwrap();
        play(&mut state, &events);
    }
    state
}

pub(super) fn cancelling() -> ThreadState {
    let mut state = running("one");
    let events = state.decide_cancel("enough", NOW);
    play(&mut state, &events);
    state
}

pub(super) fn command() -> ItemBody {
    ItemBody::CommandExecution(CommandExecution {
        command: "make tea".into(),
        working_directory: "/srv/tea".into(),
        status: CommandStatus::InProgress,
        aggregated_output: String::new(),
        exit_code: None,
        duration_ms: None,
        call_id: "call_1".into(),
        original_output_chars: None,
        truncated: false,
        sandboxed: false,
        held_by: Vec::new(),
        session_id: None,
        output_path: None,
        background_reason: None,
    })
}

pub(super) fn client_call() -> ItemBody {
    ItemBody::DynamicToolCall(Box::new(DynamicToolCall {
        plugin_id: None,
        namespace: None,
        tool_name: "kettle".into(),
        offered_as: "kettle".into(),
        call_id: format!("{CALL_ID}1"),
        reply: None,
        arguments: None,
        answer: None,
        kept: None,
    }))
}

pub(super) fn call(tool: &str, arguments: Option<&str>) -> ItemBody {
    ItemBody::ToolCall {
        tool_name: tool.into(),
        call_id: "call_1".into(),
        arguments: arguments.and_then(Json::object),
        arguments_text: None,
        kept: None,
    }
}

pub(super) fn result(success: bool) -> ItemBody {
    ItemBody::ToolResult {
        call_id: "call_1".into(),
        result: String::new(),
        success,
        refused: false,
        seen: Vec::new(),
        pictures: Vec::new(),
        change: None,
        tool_name: None,
    }
}

pub(super) fn prose() -> ItemBody {
    ItemBody::AgentMessage { text: String::new() }
}

pub(super) fn open(mut state: ThreadState, body: ItemBody) -> ThreadState {
    let (_, events) = state.decide_open_item(body, NOW).unwrap();
    play(&mut state, &events);
    state
}

/// Turn 1 streams a message, runs a command with some output, and waits for its calls; its conversation is compacted.
pub(super) fn working() -> ThreadState {
    let execution = ItemBody::ToolExecution {
        call_id: "call_1".into(),
        tool_name: "Exec".into(),
        status: ExecutionStatus::InProgress,
        success: None,
        duration_ms: None,
        result_preview: None,
        error_message: None,
    };
    let bodies = [prose(), call("Exec", None), command(), execution, client_call()];
    let mut state = bodies.into_iter().fold(running("one"), open);
    state.push_text(ItemId(2), DeltaChannel::AgentMessage, "Hel");
    state.push_text(ItemId(4), DeltaChannel::CommandOutput, "hot");
    let live = state.live.as_mut().unwrap();
    live.compacting = true;
    live.turn.usage = crate::TokenUsage::of(3, 4);
    state
}

pub(super) fn subagent(status: EdgeStatus) -> ThreadState {
    let mut state = running("one");
    state.edge = Some(Edge::at(status, NOW));
    state
}

pub(super) fn kettle() -> crate::DynamicTool {
    crate::DynamicTool {
        plugin_id: None,
        name: "kettle".into(),
        namespace: None,
        description: "Boils water.".into(),
        input_schema: Json::object("{}").unwrap(),
        approval: None,
    }
}

pub(super) fn cancelled() -> Outcome {
    Outcome::Cancelled {
        reason: "enough".into(),
    }
}

pub(super) fn failed() -> Outcome {
    Outcome::Failed { error: "no".into() }
}
