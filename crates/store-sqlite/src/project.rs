//! Projects events to rows: the rows that each event changes, besides the stored event.
//!
//! Pure: a write becomes one [`Script`], which the writer executes in as few trips to the database as possible.

use bobbin_model::{
    ApprovalId, ContextNote, Decision, EdgeStatus, Event, GivenMessage, Item, Outcome, Seq, ThreadHeader,
    TokenUsage, TurnDiff, TurnFeatures, TurnId,
};

use crate::index;
use crate::script::Script;
use crate::usage;
use bobbin_store::{NamedRequest, StoredEvent, Summary, TextPart, Write, json};
use bobbin_store_sql::{REQUEST_MEMORY, SearchText, number, signed};

/// Returns the statements of one write.
pub(crate) fn script(write: &Write) -> Script {
    let mut script = Script::default();
    let thread = write.thread.as_str();
    for stored in &write.events {
        insert_event(&mut script, thread, stored);
        if let Event::ThreadStarted { thread } = &*stored.event {
            insert_thread(&mut script, thread);
        }
        project(&mut script, thread, stored);
        usage::count(&mut script, thread, &stored.event);
    }
    for part in &write.text {
        insert_text(&mut script, thread, part);
    }
    if let Some(scope) = &write.remember {
        script
            .then("INSERT OR IGNORE INTO approval_rule (kind, operation, target) VALUES (?, ?, ?)")
            .bind(json(&scope.kind))
            .bind(scope.standing().recorded_operation())
            .bind(scope.target.clone());
    }
    if SearchText::is_in(&write.events) {
        index::mark(&mut script, thread);
    }
    if let Some(request) = &write.request {
        insert_request(&mut script, write, request);
    }
    update_thread(&mut script, thread, &write.state, write.head_seq);
    script
}

fn insert_request(script: &mut Script, write: &Write, request: &NamedRequest) {
    script
        .then("DELETE FROM request WHERE at < ?")
        .bind(request.at.0.saturating_sub(REQUEST_MEMORY));
    let makes_a_thread = write
        .events
        .iter()
        .any(|stored| matches!(*stored.event, Event::ThreadStarted { .. }));
    let thread = write.thread.as_str().to_owned();
    let scope = if makes_a_thread {
        String::new()
    } else {
        thread.clone()
    };
    script
        .then("INSERT INTO request (scope, request_id, body, thread_id, seq, at) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(scope)
        .bind(request.id.clone())
        .bind(request.body.clone())
        .bind(thread)
        .bind(write.events.first().map(|stored| number(stored.seq)))
        .bind(request.at.0);
}

fn insert_event(script: &mut Script, thread: &str, stored: &StoredEvent) {
    script
        .then(
            "INSERT INTO event (thread_id, seq, turn_no, kind, version, fence, at, payload) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(thread.to_owned())
        .bind(number(stored.seq))
        .bind(stored.event.turn().map(|turn| turn.0))
        .bind(stored.event.kind())
        .bind(bobbin_model::event::PAYLOAD_VERSION)
        .bind(1i64)
        .bind(stored.at.0)
        .bind(json(&*stored.event));
}

fn project(script: &mut Script, thread: &str, stored: &StoredEvent) {
    let seq = stored.seq;
    match &*stored.event {
        Event::TurnStarted {
            turn,
            origin_channel,
            features,
            ..
        } => {
            insert_turn(
                script,
                thread,
                *turn,
                stored.at.0,
                origin_channel.clone(),
                features,
            );
        }
        Event::HistoryGiven { turn, messages, .. } => set_history(script, thread, *turn, messages),
        Event::TurnCancelling { turn, reason } => set_cancelling(script, thread, *turn, reason),
        Event::ItemStarted { turn, item } | Event::ItemAdded { turn, item } => {
            put_item(script, thread, *turn, item, seq);
        }
        Event::ItemCompleted { turn, item } => {
            put_item(script, thread, *turn, item, seq);
            script
                .then("DELETE FROM item_text WHERE thread_id = ? AND turn_no = ? AND item_no = ?")
                .bind(thread.to_owned())
                .bind(turn.0)
                .bind(item.id.0);
        }
        Event::CallStarted { turn, call_id } => start_call(script, thread, *turn, call_id),
        Event::ApprovalOpened { item, approval } => {
            put_item(script, thread, approval.turn, item, seq);
            script.then(
                "INSERT INTO approval (thread_id, approval_id, turn_no, call_id, seq) VALUES (?, ?, ?, ?, ?)",
            )
            .bind(thread.to_owned())
            .bind(approval.id.as_str().to_owned())
            .bind(approval.turn.0)
            .bind(approval.call_id.clone())
            .bind(number(seq));
            set_status(script, thread, approval.turn, "waitingApproval");
        }
        Event::ApprovalResolved {
            turn,
            approval,
            decision,
            item,
            ..
        } => {
            put_item(script, thread, *turn, item, seq);
            settle(script, thread, *turn, approval, *decision);
        }
        Event::UsageAdded {
            turn,
            usage,
            cost_micros,
            ..
        }
        | Event::SubAgentUsed {
            turn,
            usage,
            cost_micros,
            ..
        } => add_usage(script, ADD_USAGE, thread, *turn, *usage, *cost_micros),
        Event::HelperUsed {
            turn,
            usage,
            cost_micros,
        } => add_usage(script, ADD_HELPERS_USAGE, thread, *turn, *usage, *cost_micros),
        Event::ContextNoted { turn, note, .. } => set_compacting(script, thread, *turn, *note),
        Event::DiffUpdated { turn, diff } => set_diff(script, thread, *turn, diff, seq),
        Event::TurnEnded {
            turn,
            outcome,
            completed_at,
            ..
        } => end_turn(script, thread, *turn, outcome, completed_at.0),
        Event::TurnsRolledBack { first, .. } => roll_back(script, thread, *first, stored.at.0),
        Event::ThreadDeleted => delete_thread(script, thread, stored.at.0),
        Event::ThreadStarted { .. }
        | Event::ThreadResumed { .. }
        | Event::ThreadRenamed { .. }
        | Event::ThreadLabelled { .. }
        | Event::ThreadStatusChanged { .. }
        | Event::ThreadConfigured { .. }
        | Event::EdgeChanged { .. }
        | Event::ToolsDeclared { .. }
        | Event::QueueChanged { .. }
        | Event::PlanUpdated { .. }
        | Event::CallPreviewed { .. } => {}
        Event::TurnReverted { turn, redone, .. } => set_undone(script, thread, *turn, !redone),
        Event::TurnRecovered { turn, crashed, .. } => count_crash(script, thread, *turn, *crashed),
        Event::TurnLeftOpen { turn } => leave_in_order(script, thread, *turn),
    }
}

fn delete_thread(script: &mut Script, thread: &str, at: i64) {
    script
        .then("UPDATE thread SET deleted_at = ? WHERE thread_id = ?")
        .bind(at)
        .bind(thread.to_owned());
}

fn settle(script: &mut Script, thread: &str, turn: TurnId, approval: &ApprovalId, decision: Decision) {
    script
        .then("UPDATE approval SET decision = ? WHERE thread_id = ? AND approval_id = ?")
        .bind(json(&decision))
        .bind(thread.to_owned())
        .bind(approval.as_str().to_owned());
    script
        .then(
            "UPDATE turn SET status = 'running' WHERE thread_id = ? AND turn_no = ? AND NOT EXISTS \
             (SELECT 1 FROM approval WHERE thread_id = ? AND turn_no = ? AND decision IS NULL)",
        )
        .bind(thread.to_owned())
        .bind(turn.0)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn insert_turn(
    script: &mut Script,
    thread: &str,
    turn: TurnId,
    at: i64,
    origin_channel: Option<String>,
    features: &TurnFeatures,
) {
    script
        .then(
            "INSERT INTO turn (thread_id, turn_no, status, started_at, origin_channel, features, model) \
         VALUES (?, ?, 'running', ?, ?, ?, (SELECT json_extract(config, '$.model') FROM thread WHERE thread_id = ?))",
        )
        .bind(thread.to_owned())
        .bind(turn.0)
        .bind(at)
        .bind(origin_channel)
        .bind(json(features))
        .bind(thread.to_owned());
}

fn start_call(script: &mut Script, thread: &str, turn: TurnId, call_id: &str) {
    script
        .then("INSERT OR IGNORE INTO call_started (thread_id, turn_no, call_id) VALUES (?, ?, ?)")
        .bind(thread.to_owned())
        .bind(turn.0)
        .bind(call_id.to_owned());
}

fn set_cancelling(script: &mut Script, thread: &str, turn: TurnId, reason: &str) {
    script
        .then("UPDATE turn SET cancelling = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(reason.to_owned())
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn count_crash(script: &mut Script, thread: &str, turn: TurnId, crashed: bool) {
    script
        .then("UPDATE turn SET crashes = crashes + ? WHERE thread_id = ? AND turn_no = ?")
        .bind(crashed)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn leave_in_order(script: &mut Script, thread: &str, turn: TurnId) {
    script
        .then("UPDATE turn SET crashes = -1 WHERE thread_id = ? AND turn_no = ?")
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn set_compacting(script: &mut Script, thread: &str, turn: TurnId, note: ContextNote) {
    let compacting = match note {
        ContextNote::Warning | ContextNote::Error => return,
        ContextNote::Compacting => true,
        ContextNote::Compacted | ContextNote::CompactSkipped | ContextNote::CompactFailed => false,
    };
    script
        .then("UPDATE turn SET compacting = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(compacting)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn set_diff(script: &mut Script, thread: &str, turn: TurnId, diff: &TurnDiff, seq: Seq) {
    script
        .then("UPDATE turn SET diff_seq = ?, files_changed = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(number(seq))
        .bind(diff.files_changed())
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn set_undone(script: &mut Script, thread: &str, turn: TurnId, is_undone: bool) {
    script
        .then("UPDATE turn SET files_undone = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(is_undone)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn set_history(script: &mut Script, thread: &str, turn: TurnId, messages: &[GivenMessage]) {
    script
        .then("UPDATE turn SET history = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(json(&messages))
        .bind(thread.to_owned())
        .bind(turn.0);
}

const ADD_USAGE: &str = "UPDATE turn SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, \
    cached_input_tokens = cached_input_tokens + ?, reasoning_output_tokens = reasoning_output_tokens + ?, \
    cost_micros = cost_micros + ? WHERE thread_id = ? AND turn_no = ?";
const ADD_HELPERS_USAGE: &str = "UPDATE turn SET helper_input_tokens = helper_input_tokens + ?, \
    helper_output_tokens = helper_output_tokens + ?, \
    helper_cached_input_tokens = helper_cached_input_tokens + ?, \
    helper_reasoning_output_tokens = helper_reasoning_output_tokens + ?, \
    helper_cost_micros = helper_cost_micros + ? WHERE thread_id = ? AND turn_no = ?";

fn add_usage(
    script: &mut Script,
    statement: &'static str,
    thread: &str,
    turn: TurnId,
    usage: TokenUsage,
    cost_micros: u64,
) {
    script
        .then(statement)
        .bind(signed(usage.input_tokens))
        .bind(signed(usage.output_tokens))
        .bind(signed(usage.cached_input_tokens))
        .bind(signed(usage.reasoning_output_tokens))
        .bind(signed(cost_micros))
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn end_turn(script: &mut Script, thread: &str, turn: TurnId, outcome: &Outcome, completed_at: i64) {
    let error = match outcome {
        Outcome::Failed { error } => Some(error.clone()),
        Outcome::Completed | Outcome::Cancelled { .. } => None,
    };
    script
        .then("UPDATE turn SET status = ?, completed_at = ?, error = ?, history = NULL WHERE thread_id = ? AND turn_no = ?")
        .bind(outcome.status().as_str())
        .bind(completed_at)
        .bind(error)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn roll_back(script: &mut Script, thread: &str, first: TurnId, at: i64) {
    script
        .then("UPDATE turn SET rolled_back_at = ? WHERE thread_id = ? AND turn_no >= ? AND rolled_back_at IS NULL")
        .bind(at)
        .bind(thread.to_owned())
        .bind(first.0);
}

fn put_item(script: &mut Script, thread: &str, turn: TurnId, item: &Item, seq: Seq) {
    script
        .then("INSERT OR REPLACE INTO item (thread_id, turn_no, item_no, seq) VALUES (?, ?, ?, ?)")
        .bind(thread.to_owned())
        .bind(turn.0)
        .bind(item.id.0)
        .bind(number(seq));
}

fn set_status(script: &mut Script, thread: &str, turn: TurnId, status: &'static str) {
    script
        .then("UPDATE turn SET status = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(status)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn insert_text(script: &mut Script, thread: &str, part: &TextPart) {
    // A completed Item no longer needs its pieces.
    script
        .then("INSERT INTO item_text (thread_id, turn_no, item_no, text) VALUES (?, ?, ?, ?)")
        .bind(thread.to_owned())
        .bind(part.turn.0)
        .bind(part.item.0)
        .bind(part.text.to_string());
}

fn insert_thread(script: &mut Script, header: &ThreadHeader) {
    script.then(
        "INSERT INTO thread (thread_id, workspace_path, user_id, origin_channel, channel_context, source, \
         history_mode, created_at, metadata, config, status, last_active_at, last_turn, turn_count, running, \
         waiting_approval, plan_pending, context_tokens, queue, grants, head_seq, parent_id, depth) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', 0, 0, 0, 0, 0, 0, 0, '[]', '[]', 0, ?, ?)",
    )
    .bind(header.id.as_str().to_owned())
    .bind(header.workspace_path.clone())
    .bind(header.user_id.clone())
    .bind(header.origin_channel.clone())
    .bind(header.channel_context.clone())
    .bind(json(&header.source))
    .bind(json(&header.history_mode))
    .bind(header.created_at.0)
    .bind(json(&header.metadata))
    .bind(header.config.as_ref().and_then(json))
    .bind(
        header
            .source
            .sub_agent()
            .map(|source| source.parent.as_str().to_owned()),
    )
    .bind(header.source.sub_agent().map_or(0, |source| source.depth));
}

fn update_thread(script: &mut Script, thread: &str, row: &Summary, head_seq: Seq) {
    script.then(
        "UPDATE thread SET display_name = ?, status = ?, last_active_at = ?, last_turn = ?, turn_count = ?, \
         running = ?, waiting_approval = ?, waiting_input = ?, plan_pending = ?, context_tokens = ?, \
         context_window = ?, compact_at = ?, \
         config = coalesce(?, config), queue = coalesce(?, queue), plan = coalesce(?, plan), \
         grants = coalesce(?, grants), metadata = coalesce(?, metadata), tools = coalesce(?, tools), \
         edge_closed = ?, edge_updated_at = ?, \
         head_seq = max(head_seq, ?) WHERE thread_id = ?",
    )
    .bind(row.display_name.clone())
    .bind(row.status)
    .bind(row.last_active_at)
    .bind(row.last_turn)
    .bind(row.turn_count)
    .bind(row.running)
    .bind(row.waiting_approval)
    .bind(row.waiting_input)
    .bind(row.plan_pending)
    .bind(signed(row.context_tokens))
    .bind(signed(row.context_window.tokens))
    .bind(signed(row.context_window.compact_at))
    .bind(row.config.clone())
    .bind(row.queue.clone())
    .bind(row.plan.clone())
    .bind(row.grants.clone())
    .bind(row.metadata.clone())
    .bind(row.tools.clone())
    .bind(row.edge.is_some_and(|edge| edge.status == EdgeStatus::Closed))
    .bind(row.edge.map(|edge| edge.updated_at.0))
    .bind(number(head_seq))
    .bind(thread.to_owned());
}
