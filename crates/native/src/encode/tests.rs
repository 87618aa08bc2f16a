//! Every kind of frame and what it becomes, as tables.

use std::sync::Arc;

use bobbin_core::{Frame, FrameBody, Notice, View};
use bobbin_model::event::DeltaChannel;
use bobbin_model::item::{CommandExecution, ExecutionStatus, UserMessage};
use bobbin_model::plan::{TodoPriority, TodoStatus};
use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{
    Approval, ApprovalId, ApprovalKind, CommandStatus, Compaction, CompactionTrigger, ContextNote,
    ContextWindow, DecidedBy, Decision, DeliveryMode, Delta, Event, FileChange, HistoryMode, InputPart, Item,
    ItemBody, ItemId, ItemStatus, Json, Outcome, Plan, QueueStatus, QueuedInput, QueuedInputId, Runtime,
    Scope, Sender, Seq, ThreadHeader, ThreadId, ThreadSource, ThreadState, ThreadStatus, Todo, TokenUsage,
    Turn, TurnDiff, TurnFeatures, TurnId, UnixMillis,
};
use serde_json::Value;

use super::{Kind, Numbers, encode};
use crate::convert::ToolExecutions;

const AT: UnixMillis = UnixMillis(1_799_057_700_000);
const TURN: TurnId = TurnId(4);

const RICH: Kind = Kind {
    tool_executions: ToolExecutions::Shown,
    numbers: Numbers::Shown,
};
const PLAIN: Kind = Kind {
    tool_executions: ToolExecutions::Hidden,
    numbers: Numbers::Hidden,
};

fn frame(body: FrameBody, view: View) -> Frame {
    Frame::new(ThreadId::new("thread_20270104_q9w3k1"), Seq(7), AT, body, view, 0)
}

fn recorded(event: Event, view: View) -> Frame {
    frame(FrameBody::Recorded(Arc::new(event)), view)
}

fn plainly(event: Event) -> Frame {
    recorded(event, View::None)
}

/// Writes down what each frame becomes, under its name.
fn told(frames: &[(&str, Frame)], kind: Kind) -> String {
    let mut lines = Vec::new();
    for (name, frame) in frames {
        lines.push(format!("# {name}"));
        let messages = encode(frame, kind);
        lines.extend(
            messages
                .iter()
                .map(|message| String::from_utf8(message.json.to_vec()).unwrap()),
        );
    }
    lines.join("\n")
}

fn text(text: &str) -> InputPart {
    InputPart::Text { text: text.into() }
}

fn item(id: u32, body: ItemBody) -> Box<Item> {
    Box::new(Item::whole(ItemId(id), AT, body))
}

fn open(id: u32, body: ItemBody) -> Box<Item> {
    Box::new(Item {
        status: ItemStatus::Started,
        completed_at: None,
        ..*item(id, body)
    })
}

fn user_item() -> Box<Item> {
    let file = InputPart::FileRef {
        path: "src/boil.rs".into(),
        display_path: Some("boil.rs".into()),
    };
    item(
        1,
        ItemBody::UserMessage(UserMessage {
            text: "Look @boil.rs".into(),
            native: vec![text("Look "), file],
            delivery: DeliveryMode::Normal,
            sender: Some(Sender {
                sender_id: "u-3".into(),
                sender_name: "Mika".into(),
                sender_role: Some("admin".into()),
                group_id: Some("g-1".into()),
            }),
            channel_name: Some("kettle".into()),
            channel_context: Some("workspace:/srv/tea".into()),
        }),
    )
}

fn header() -> ThreadHeader {
    ThreadHeader {
        id: ThreadId::new("thread_20270104_q9w3k1"),
        workspace_path: "/srv/tea".into(),
        user_id: Some("u-3".into()),
        origin_channel: "kettle".into(),
        channel_context: None,
        display_name: Some("Boil water".into()),
        source: ThreadSource::User,
        status: ThreadStatus::Active,
        created_at: AT,
        last_active_at: AT,
        history_mode: HistoryMode::Server,
        config: None,
        metadata: std::collections::BTreeMap::new(),
    }
}

fn queue() -> Vec<QueuedInput> {
    vec![QueuedInput {
        id: QueuedInputId::new("queued_20270104101535200_b7c1dz"),
        native: vec![text("Then count them")],
        sender: None,
        channel: None,
        features: bobbin_model::TurnFeatures::default(),
        status: QueueStatus::Queued,
        lapses: false,
        follows_any_end: false,
        created_at: AT,
        ready_after: Some(TURN),
    }]
}

fn of_threads() -> Vec<(&'static str, Frame)> {
    let thread = || View::Thread(Arc::new(ThreadState::new(header())));
    let plan = Plan {
        title: "Descale".into(),
        overview: "Get rid of lime".into(),
        content: "1. Vinegar".into(),
        todos: vec![Todo {
            id: "vinegar".into(),
            content: "Pour vinegar".into(),
            priority: TodoPriority::High,
            status: TodoStatus::InProgress,
        }],
    };
    let config = bobbin_model::ThreadConfig::default();
    let runtime = Runtime {
        running: true,
        waiting_on_approval: true,
        waiting_on_plan_confirmation: false,
    };
    let thread_box = Box::new(header());
    vec![
        (
            "threadStarted",
            recorded(Event::ThreadStarted { thread: thread_box }, thread()),
        ),
        (
            "threadResumed",
            recorded(Event::ThreadResumed { by: "cli".into() }, thread()),
        ),
        (
            "threadRenamed",
            plainly(Event::ThreadRenamed {
                display_name: "Tea time".into(),
            }),
        ),
        (
            "threadStatusChanged",
            plainly(Event::ThreadStatusChanged {
                previous: ThreadStatus::Paused,
                new: ThreadStatus::Archived,
            }),
        ),
        ("threadConfigured", plainly(Event::ThreadConfigured { config })),
        ("threadDeleted", plainly(Event::ThreadDeleted)),
        ("queueChanged", plainly(Event::QueueChanged { queue: queue() })),
        ("planUpdated", plainly(Event::PlanUpdated { plan })),
        (
            "runtimeChanged",
            frame(FrameBody::Notice(Notice::RuntimeChanged(runtime)), View::None),
        ),
    ]
}

fn ended(outcome: Outcome, error: Option<&str>) -> Frame {
    let usage = TokenUsage {
        input_tokens: 910,
        output_tokens: 44,
    };
    let turn = Turn {
        id: TURN,
        status: outcome.status(),
        items: vec![*user_item(), *execution(ExecutionStatus::Completed)],
        started_at: AT,
        completed_at: Some(AT),
        usage,
        error: error.map(str::to_owned),
        origin_channel: Some("kettle".into()),
    };
    let event = Event::TurnEnded {
        turn: TURN,
        outcome,
        completed_at: AT,
        usage,
        plan_pending: false,
    };
    recorded(event, View::Turn(Arc::new(turn)))
}

fn of_turns() -> Vec<(&'static str, Frame)> {
    let (error, reason) = (
        "The endpoint refused the key.".to_owned(),
        "Cancelled by request".to_owned(),
    );
    let file = |path: &str, status| FileChange {
        path: path.into(),
        old_path: None,
        status,
        additions: 1,
        deletions: 2,
    };
    let diff = TurnDiff {
        diff: "--- a/boil.txt\n+++ b/boil.txt\n".into(),
        files: vec![
            file("new.txt", FileChangeStatus::Added),
            file("boil.txt", FileChangeStatus::Modified),
            file("old.txt", FileChangeStatus::Deleted),
        ],
        truncated: true,
    };
    let usage = TokenUsage {
        input_tokens: 910,
        output_tokens: 44,
    };
    vec![
        (
            "turnStarted",
            plainly(Event::TurnStarted {
                turn: TURN,
                user_item: user_item(),
                origin_channel: Some("kettle".into()),
                features: TurnFeatures::default(),
                from_queue: None,
            }),
        ),
        (
            "turnRecovered",
            plainly(Event::TurnRecovered {
                turn: TURN,
                reason: "The server restarted.".into(),
            }),
        ),
        (
            "usageAdded",
            plainly(Event::UsageAdded {
                turn: TURN,
                usage,
                context_tokens: 45_000,
                context_window: None,
                cost_micros: 0,
                turn_output_tokens: Some(60),
            }),
        ),
        (
            "contextNoted compacted",
            plainly(Event::ContextNoted {
                turn: TURN,
                note: ContextNote::Compacted,
                tokens: 45_000,
                window: ContextWindow::default(),
                message: "It was summed up.".into(),
            }),
        ),
        ("diffUpdated", plainly(Event::DiffUpdated { turn: TURN, diff })),
        ("turnEnded completed", ended(Outcome::Completed, None)),
        (
            "turnEnded failed",
            ended(Outcome::Failed { error: error.clone() }, Some(&error)),
        ),
        ("turnEnded cancelled", ended(Outcome::Cancelled { reason }, None)),
    ]
}

fn execution(status: ExecutionStatus) -> Box<Item> {
    item(
        5,
        ItemBody::ToolExecution {
            call_id: "call_a1".into(),
            tool_name: "shell".into(),
            status,
            success: Some(true),
            duration_ms: Some(12),
            result_preview: Some("ok".into()),
            error_message: None,
        },
    )
}

fn command(status: CommandStatus) -> ItemBody {
    ItemBody::CommandExecution(CommandExecution {
        command: "cargo test".into(),
        working_directory: "/srv/tea".into(),
        status,
        aggregated_output: "ok\n".into(),
        exit_code: Some(0),
        duration_ms: Some(30),
        call_id: "call_a1".into(),
        original_output_chars: Some(70_000),
        truncated: true,
        sandboxed: false,
        held_by: Vec::new(),
        session_id: None,
        output_path: None,
        background_reason: None,
    })
}

fn call(arguments: Option<&str>) -> ItemBody {
    ItemBody::ToolCall {
        tool_name: "shell".into(),
        call_id: "call_a1".into(),
        arguments: arguments.map(|text| serde_json::from_str::<Json>(text).unwrap()),
        arguments_text: None,
        // Nobody else's business: no client is shown it.
        kept: Json::object("{\"provider\":\"p\"}"),
    }
}

fn of_items() -> Vec<(&'static str, Frame)> {
    let arguments = r#"{"command":"ls","n":1.50}"#;
    let started = |item| plainly(Event::ItemStarted { turn: TURN, item });
    let completed = |item| plainly(Event::ItemCompleted { turn: TURN, item });
    let added = |item| plainly(Event::ItemAdded { turn: TURN, item });
    let prose = |text: &str| ItemBody::AgentMessage { text: text.into() };
    let thought = ItemBody::Reasoning {
        text: "Search first.".into(),
    };
    let result = ItemBody::ToolResult {
        call_id: "call_a1".into(),
        result: "ok".into(),
        success: true,
        refused: false,
    };
    let compacted = ItemBody::Compaction(Box::new(Compaction {
        trigger: CompactionTrigger::Auto,
        tokens_before: 170_000,
        tokens_after: 45_000,
        left_after: 0.75,
        cleared_results: 12,
        summary: "no business of clients".into(),
        kept_from: (TURN, ItemId(3)),
    }));
    let error = ItemBody::Error {
        message: "Nobody answered.".into(),
        code: "approval_timeout".into(),
        fatal: false,
    };
    let call_id = "call_a1".to_owned();
    vec![
        ("itemStarted agentMessage", started(open(2, prose("")))),
        (
            "itemCompleted agentMessage",
            completed(item(2, prose("Three files do."))),
        ),
        ("itemAdded reasoning", added(item(3, thought))),
        (
            "itemStarted toolCall, arguments to come",
            started(open(4, call(None))),
        ),
        (
            "itemCompleted toolCall",
            completed(item(4, call(Some(arguments)))),
        ),
        (
            "callPreviewed",
            plainly(Event::CallPreviewed {
                turn: TURN,
                call_id: call_id.clone(),
                preview: bobbin_model::CallPreview {
                    path: "/srv/tea/pot".into(),
                    diff: "@@ -0,0 +1 @@\n+hot".into(),
                    additions: 1,
                    deletions: 0,
                },
            }),
        ),
        ("callStarted", plainly(Event::CallStarted { turn: TURN, call_id })),
        (
            "itemStarted commandExecution",
            started(open(6, command(CommandStatus::InProgress))),
        ),
        (
            "itemCompleted commandExecution",
            completed(item(6, command(CommandStatus::Killed))),
        ),
        (
            "itemAdded toolExecution",
            added(execution(ExecutionStatus::Failed)),
        ),
        ("itemAdded toolResult", added(item(7, result))),
        ("itemAdded error", added(item(8, error))),
        ("itemAdded systemNotice", added(item(9, compacted))),
    ]
}

fn of_approvals() -> Vec<(&'static str, Frame)> {
    let scope = Scope {
        kind: ApprovalKind::File,
        operation: "write".into(),
        target: "/etc/kettle.conf".into(),
    };
    let id = ApprovalId::new("9d01b7c2f3aa");
    let request = ItemBody::ApprovalRequest {
        approval_type: scope.kind,
        operation: scope.operation.clone(),
        target: scope.target.clone(),
        request_id: id.clone(),
        scope_key: scope.session_key(),
        reason: "Outside the workspace.".into(),
    };
    let response = ItemBody::ApprovalResponse {
        request_id: id.clone(),
        approved: false,
        decision: Decision::Decline,
    };
    let approval = Box::new(Approval {
        id: id.clone(),
        turn: TURN,
        item: ItemId(9),
        call_id: "call_a1".into(),
        scope,
        reason: "Outside the workspace.".into(),
        opened_at: AT,
        expires_at: AT,
    });
    vec![
        (
            "approvalOpened",
            plainly(Event::ApprovalOpened {
                item: item(9, request),
                approval,
            }),
        ),
        (
            "approvalResolved",
            plainly(Event::ApprovalResolved {
                turn: TURN,
                approval: id,
                decision: Decision::Decline,
                by: DecidedBy::Client("cli".into()),
                item: item(10, response),
            }),
        ),
    ]
}

fn of_deltas() -> Vec<(&'static str, Frame)> {
    let delta = |channel, call| {
        let delta = Delta {
            turn: TURN,
            item: ItemId(2),
            channel,
            offset: 3,
            text: "Three \"files\"\n".into(),
            call,
        };
        frame(FrameBody::Delta(delta), View::None)
    };
    let call = Some(Arc::new(("shell".to_owned(), "call_a1".to_owned())));
    vec![
        ("agentMessage", delta(DeltaChannel::AgentMessage, None)),
        ("reasoning", delta(DeltaChannel::Reasoning, None)),
        ("toolArguments", delta(DeltaChannel::ToolArguments, call)),
        ("commandOutput", delta(DeltaChannel::CommandOutput, None)),
    ]
}

fn all() -> Vec<(&'static str, Frame)> {
    [of_threads(), of_turns(), of_items(), of_approvals(), of_deltas()]
        .into_iter()
        .flatten()
        .collect()
}

fn json(frame: &Frame, kind: Kind) -> Vec<Value> {
    let messages = encode(frame, kind);
    messages
        .iter()
        .map(|message| {
            let json: Value = serde_json::from_slice(&message.json).unwrap();
            assert_eq!(json["method"], message.method);
            json
        })
        .collect()
}

#[test]
fn frames_of_threads() {
    insta::assert_snapshot!(told(&of_threads(), RICH));
}

#[test]
fn frames_of_turns() {
    insta::assert_snapshot!(told(&of_turns(), RICH));
}

#[test]
fn frames_of_items() {
    insta::assert_snapshot!(told(&of_items(), RICH));
}

#[test]
fn frames_of_approvals() {
    insta::assert_snapshot!(told(&of_approvals(), RICH));
}

#[test]
fn frames_of_deltas() {
    insta::assert_snapshot!(told(&of_deltas(), RICH));
}

#[test]
fn numbers_are_on_every_notification_of_those_who_want_them_and_of_nobody_else() {
    for (name, frame) in all() {
        for (place, message) in (0_u64..).zip(json(&frame, RICH)) {
            assert_eq!(message["params"]["seq"], 7 * 8 + place, "{name}");
        }
        for message in json(&frame, PLAIN) {
            assert_eq!(message["params"].get("seq"), None, "{name}");
        }
    }
}

#[test]
fn tool_executions_are_left_out_for_those_who_did_not_ask_for_them() {
    let kind = Kind {
        numbers: Numbers::Shown,
        ..PLAIN
    };
    for (name, frame) in all() {
        for message in json(&frame, kind) {
            assert!(
                !message.to_string().contains("toolExecution"),
                "{name}: {message}"
            );
        }
    }
    let shown = json(&ended(Outcome::Completed, None), RICH);
    assert_eq!(shown[0]["params"]["turn"]["items"].as_array().unwrap().len(), 2);
}

#[test]
fn an_item_that_starts_is_never_complete_and_one_that_completes_always_is() {
    for (name, frame) in all() {
        for message in json(&frame, RICH) {
            let item = &message["params"]["item"];
            match message["method"].as_str().unwrap() {
                "item/started" => {
                    assert_eq!(item["status"], "started", "{name}");
                    assert_eq!(item.get("completedAt"), None, "{name}");
                }
                "item/completed" => {
                    assert_eq!(item["status"], "completed", "{name}");
                    assert!(item["completedAt"].is_string(), "{name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_kind_has_its_own_slot() {
    let mut slots: Vec<usize> = Vec::new();
    for tool_executions in [ToolExecutions::Shown, ToolExecutions::Hidden] {
        for numbers in [Numbers::Shown, Numbers::Hidden] {
            slots.push(
                Kind {
                    tool_executions,
                    numbers,
                }
                .slot(),
            );
        }
    }
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2, 3], "four slots are kept for this dialect");
}

#[test]
fn the_end_of_a_turn_that_cannot_be_shown_is_left_out() {
    let event = Event::TurnEnded {
        turn: TURN,
        outcome: Outcome::Completed,
        completed_at: AT,
        usage: TokenUsage::default(),
        plan_pending: false,
    };
    assert!(encode(&plainly(event), RICH).is_empty());
}
