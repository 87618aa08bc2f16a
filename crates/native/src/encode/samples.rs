//! A frame of every kind.

use std::sync::Arc;

use bobbin_core::{Ephemeral, Frame, FrameBody, View};
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

pub(super) const AT: UnixMillis = UnixMillis(1_799_057_700_000);
pub(super) const TURN: TurnId = TurnId(4);

pub(super) fn frame(body: FrameBody, view: View) -> Frame {
    Frame::new(ThreadId::new("thread_20270104_q9w3k1"), Seq(7), AT, body, view, 0)
}

pub(super) fn recorded(event: Event, view: View) -> Frame {
    frame(FrameBody::Recorded(Arc::new(event)), view)
}

pub(super) fn plainly(event: Event) -> Frame {
    recorded(event, View::None)
}

/// Records the notifications of each frame, under its name.
pub(super) fn text(text: &str) -> InputPart {
    InputPart::Text { text: text.into() }
}

pub(super) fn item(id: u32, body: ItemBody) -> Box<Item> {
    Box::new(Item::whole(ItemId(id), AT, body))
}

pub(super) fn open(id: u32, body: ItemBody) -> Box<Item> {
    Box::new(Item {
        status: ItemStatus::Started,
        completed_at: None,
        ..*item(id, body)
    })
}

pub(super) fn user_item() -> Box<Item> {
    let file = InputPart::FileRef {
        path: "src/boil.rs".into(),
        display_path: Some("boil.rs".into()),
    };
    item(
        1,
        ItemBody::UserMessage(UserMessage {
            native: vec![text("Look "), file],
            delivery: DeliveryMode::Normal,
            client_message_id: None,
            sender: Some(Sender {
                sender_id: "u-3".into(),
                sender_name: "Mika".into(),
                sender_role: Some("admin".into()),
                group_id: Some("g-1".into()),
            }),
            actor: None,
            trigger: None,
            channel_name: Some("kettle".into()),
            channel_context: Some("workspace:/srv/tea".into()),
        }),
    )
}

pub(super) fn header() -> ThreadHeader {
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

pub(super) fn queue() -> Vec<QueuedInput> {
    vec![QueuedInput {
        client_message_id: Some("u-7".into()),
        id: QueuedInputId::new("queued_20270104101535200_b7c1dz"),
        native: vec![text("Then count them")],
        sender: None,
        channel: None,
        features: bobbin_model::TurnFeatures::default(),
        status: QueueStatus::Queued,
        lapses: false,
        is_message: false,
        trigger: None,
        follows_any_end: false,
        created_at: AT,
        ready_after: Some(TURN),
    }]
}

pub(super) fn of_threads() -> Vec<(&'static str, Frame)> {
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
        waiting_on_input: false,
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
            frame(
                FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)),
                View::None,
            ),
        ),
    ]
}

pub(super) fn ended(outcome: Outcome, error: Option<&str>) -> Frame {
    let usage = TokenUsage::of(910, 44);
    let turn = Turn {
        id: TURN,
        status: outcome.status(),
        items: vec![*user_item(), *execution(ExecutionStatus::Completed)],
        started_at: AT,
        completed_at: Some(AT),
        usage,
        cost_micros: 0,
        files_changed: 0,
        files_undone: false,
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

pub(super) fn of_turns() -> Vec<(&'static str, Frame)> {
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
    let usage = TokenUsage::of(910, 44);
    vec![
        (
            "turnStarted",
            plainly(Event::TurnStarted {
                turn: TURN,
                user_item: Some(user_item()),
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
                crashed: true,
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
                message: "It was compacted.".into(),
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

pub(super) fn execution(status: ExecutionStatus) -> Box<Item> {
    item(
        5,
        ItemBody::ToolExecution {
            call_id: "call_a1".into(),
            tool_name: "Exec".into(),
            status,
            success: Some(true),
            duration_ms: Some(12),
            result_preview: Some("ok".into()),
            error_message: None,
        },
    )
}

pub(super) fn command(status: CommandStatus) -> ItemBody {
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

pub(super) fn call(arguments: Option<&str>) -> ItemBody {
    ItemBody::ToolCall {
        tool_name: "Exec".into(),
        call_id: "call_a1".into(),
        arguments: arguments.map(|text| serde_json::from_str::<Json>(text).unwrap()),
        arguments_text: None,
        // No client sees this.
        kept: Json::object("{\"provider\":\"p\"}"),
    }
}

pub(super) fn of_items() -> Vec<(&'static str, Frame)> {
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
        seen: Vec::new(),
        pictures: Vec::new(),
        change: None,
        tool_name: None,
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

pub(super) fn of_approvals() -> Vec<(&'static str, Frame)> {
    let scope = Scope::new(ApprovalKind::File, "write", "/etc/kettle.conf");
    let id = ApprovalId::new("9d01b7c2f3aa");
    let request = ItemBody::ApprovalRequest {
        approval_type: scope.kind,
        operation: scope.operation.clone(),
        target: scope.target.clone(),
        request_id: id.clone(),
        scope_key: scope.session_key(),
        reason: "Outside the workspace.".into(),
        call_id: Some("call_a1".into()),
    };
    let response = ItemBody::ApprovalResponse {
        request_id: id.clone(),
        approved: false,
        decision: Decision::Decline,
        actor: None,
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

pub(super) fn of_deltas() -> Vec<(&'static str, Frame)> {
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
    let call = Some(Arc::new(("Exec".to_owned(), "call_a1".to_owned())));
    vec![
        ("agentMessage", delta(DeltaChannel::AgentMessage, None)),
        ("reasoning", delta(DeltaChannel::Reasoning, None)),
        ("toolArguments", delta(DeltaChannel::ToolArguments, call)),
        ("commandOutput", delta(DeltaChannel::CommandOutput, None)),
    ]
}
