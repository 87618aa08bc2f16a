//! Events into rows: what each event changes besides being stored.

use bobbin_model::{
    ApprovalId, Decision, Event, Item, Outcome, Seq, ThreadHeader, TokenUsage, TurnFeatures, TurnId,
};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteArguments;

use crate::index;
use crate::write::{NamedRequest, StoredEvent, Summary, TextPart, Write, json};

type Query = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;

/// How long a named request is known, in milliseconds: a week, longer than anybody retries.
const REQUEST_MEMORY: i64 = 7 * 24 * 3600 * 1000;
/// Events per INSERT: many rows a statement cost about a tenth of one each (measured).
const ROWS_PER_STATEMENT: usize = 64;

/// Writes everything of one write into an open transaction.
pub(crate) async fn apply(connection: &mut SqliteConnection, write: &Write) -> Result<(), sqlx::Error> {
    let thread = write.thread.as_str();
    insert_events(connection, thread, &write.events).await?;
    for stored in &write.events {
        if let Event::ThreadStarted { thread } = &*stored.event {
            insert_thread(connection, thread).await?;
        }
        project(connection, thread, stored).await?;
    }
    for part in &write.text {
        insert_text(connection, thread, part).await?;
    }
    if let Some(scope) = &write.remember {
        sqlx::query("INSERT OR IGNORE INTO approval_rule (kind, operation, target) VALUES (?, ?, ?)")
            .bind(json(&scope.kind))
            .bind(scope.operation.clone())
            .bind(scope.target.clone())
            .execute(&mut *connection)
            .await?;
    }
    if index::concerns(&write.events) {
        index::mark(connection, thread).await?;
    }
    if let Some(request) = &write.request {
        insert_request(connection, write, request).await?;
    }
    update_thread(connection, thread, &write.state, write.head_seq).await
}

async fn insert_request(
    connection: &mut SqliteConnection,
    write: &Write,
    request: &NamedRequest,
) -> Result<(), sqlx::Error> {
    let old =
        sqlx::query("DELETE FROM request WHERE at < ?").bind(request.at.0.saturating_sub(REQUEST_MEMORY));
    run(connection, old).await?;
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
    let insert = sqlx::query(
        "INSERT INTO request (scope, request_id, body, thread_id, seq, at) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(scope)
    .bind(request.id.clone())
    .bind(request.body.clone())
    .bind(thread)
    .bind(write.events.first().map(|stored| number(stored.seq)))
    .bind(request.at.0);
    run(connection, insert).await
}

async fn insert_events(
    connection: &mut SqliteConnection,
    thread: &str,
    events: &[StoredEvent],
) -> Result<(), sqlx::Error> {
    for chunk in events.chunks(ROWS_PER_STATEMENT) {
        let mut insert = sqlx::QueryBuilder::<sqlx::Sqlite>::new(
            "INSERT INTO event (thread_id, seq, turn_no, kind, version, fence, at, payload) ",
        );
        insert.push_values(chunk, |mut row, stored| {
            row.push_bind(thread.to_owned())
                .push_bind(number(stored.seq))
                .push_bind(stored.event.turn().map(|turn| turn.0))
                .push_bind(stored.event.kind())
                .push_bind(bobbin_model::event::PAYLOAD_VERSION)
                .push_bind(1i64)
                .push_bind(stored.at.0)
                .push_bind(json(&*stored.event));
        });
        insert.build().execute(&mut *connection).await?;
    }
    Ok(())
}

async fn project(
    connection: &mut SqliteConnection,
    thread: &str,
    stored: &StoredEvent,
) -> Result<(), sqlx::Error> {
    let seq = stored.seq;
    match &*stored.event {
        Event::TurnStarted {
            turn,
            origin_channel,
            features,
            ..
        } => {
            run(
                connection,
                insert_turn(thread, *turn, stored.at.0, origin_channel.clone(), *features),
            )
            .await
        }
        Event::TurnCancelling { turn, reason } => {
            let update = sqlx::query("UPDATE turn SET cancelling = ? WHERE thread_id = ? AND turn_no = ?")
                .bind(reason.clone())
                .bind(thread.to_owned())
                .bind(turn.0);
            run(connection, update).await
        }
        Event::ItemStarted { turn, item } | Event::ItemAdded { turn, item } => {
            run(connection, put_item(thread, *turn, item, seq)).await
        }
        Event::ItemCompleted { turn, item } => {
            run(connection, put_item(thread, *turn, item, seq)).await?;
            let gone =
                sqlx::query("DELETE FROM item_text WHERE thread_id = ? AND turn_no = ? AND item_no = ?")
                    .bind(thread.to_owned())
                    .bind(turn.0)
                    .bind(item.id.0);
            run(connection, gone).await
        }
        Event::CallStarted { turn, call_id } => {
            let insert = sqlx::query(
                "INSERT OR IGNORE INTO call_started (thread_id, turn_no, call_id) VALUES (?, ?, ?)",
            )
            .bind(thread.to_owned())
            .bind(turn.0)
            .bind(call_id.clone());
            run(connection, insert).await
        }
        Event::ApprovalOpened { item, approval } => {
            run(connection, put_item(thread, approval.turn, item, seq)).await?;
            let insert = sqlx::query(
                "INSERT INTO approval (thread_id, approval_id, turn_no, call_id, seq) VALUES (?, ?, ?, ?, ?)",
            )
            .bind(thread.to_owned())
            .bind(approval.id.as_str().to_owned())
            .bind(approval.turn.0)
            .bind(approval.call_id.clone())
            .bind(number(seq));
            run(connection, insert).await?;
            run(connection, set_status(thread, approval.turn, "waitingApproval")).await
        }
        Event::ApprovalResolved {
            turn,
            approval,
            decision,
            item,
            ..
        } => {
            run(connection, put_item(thread, *turn, item, seq)).await?;
            settle(connection, thread, *turn, approval, *decision).await
        }
        Event::UsageAdded { turn, usage, .. } => run(connection, add_usage(thread, *turn, *usage)).await,
        Event::DiffUpdated { turn, .. } => {
            let update = sqlx::query("UPDATE turn SET diff_seq = ? WHERE thread_id = ? AND turn_no = ?")
                .bind(number(seq))
                .bind(thread.to_owned())
                .bind(turn.0);
            run(connection, update).await
        }
        Event::TurnEnded {
            turn,
            outcome,
            completed_at,
            ..
        } => run(connection, end_turn(thread, *turn, outcome, completed_at.0)).await,
        Event::TurnsRolledBack { first, .. } => run(connection, roll_back(thread, *first, stored.at.0)).await,
        Event::ThreadDeleted => {
            let update = sqlx::query("UPDATE thread SET deleted_at = ? WHERE thread_id = ?")
                .bind(stored.at.0)
                .bind(thread.to_owned());
            run(connection, update).await
        }
        Event::ThreadStarted { .. }
        | Event::ThreadResumed { .. }
        | Event::ThreadRenamed { .. }
        | Event::ThreadStatusChanged { .. }
        | Event::ThreadConfigured { .. }
        | Event::QueueChanged { .. }
        | Event::PlanUpdated { .. }
        | Event::TurnRecovered { .. } => Ok(()),
    }
}

async fn settle(
    connection: &mut SqliteConnection,
    thread: &str,
    turn: TurnId,
    approval: &ApprovalId,
    decision: Decision,
) -> Result<(), sqlx::Error> {
    let update = sqlx::query("UPDATE approval SET decision = ? WHERE thread_id = ? AND approval_id = ?")
        .bind(json(&decision))
        .bind(thread.to_owned())
        .bind(approval.as_str().to_owned());
    run(connection, update).await?;
    let back = sqlx::query(
        "UPDATE turn SET status = 'running' WHERE thread_id = ?1 AND turn_no = ?2 AND NOT EXISTS \
         (SELECT 1 FROM approval WHERE thread_id = ?1 AND turn_no = ?2 AND decision IS NULL)",
    )
    .bind(thread.to_owned())
    .bind(turn.0);
    run(connection, back).await
}

async fn run(connection: &mut SqliteConnection, query: Query) -> Result<(), sqlx::Error> {
    query.execute(connection).await.map(drop)
}

fn insert_turn(
    thread: &str,
    turn: TurnId,
    at: i64,
    origin_channel: Option<String>,
    features: TurnFeatures,
) -> Query {
    sqlx::query(
        "INSERT INTO turn (thread_id, turn_no, status, started_at, origin_channel, features) \
         VALUES (?, ?, 'running', ?, ?, ?)",
    )
    .bind(thread.to_owned())
    .bind(turn.0)
    .bind(at)
    .bind(origin_channel)
    .bind(json(&features))
}

fn add_usage(thread: &str, turn: TurnId, usage: TokenUsage) -> Query {
    sqlx::query(
        "UPDATE turn SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ? \
         WHERE thread_id = ? AND turn_no = ?",
    )
    .bind(signed(usage.input_tokens))
    .bind(signed(usage.output_tokens))
    .bind(thread.to_owned())
    .bind(turn.0)
}

fn end_turn(thread: &str, turn: TurnId, outcome: &Outcome, completed_at: i64) -> Query {
    let error = match outcome {
        Outcome::Failed { error } => Some(error.clone()),
        Outcome::Completed | Outcome::Cancelled { .. } => None,
    };
    sqlx::query("UPDATE turn SET status = ?, completed_at = ?, error = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(outcome.status().as_str())
        .bind(completed_at)
        .bind(error)
        .bind(thread.to_owned())
        .bind(turn.0)
}

fn roll_back(thread: &str, first: TurnId, at: i64) -> Query {
    sqlx::query(
        "UPDATE turn SET rolled_back_at = ? WHERE thread_id = ? AND turn_no >= ? AND rolled_back_at IS NULL",
    )
    .bind(at)
    .bind(thread.to_owned())
    .bind(first.0)
}

fn put_item(thread: &str, turn: TurnId, item: &Item, seq: Seq) -> Query {
    sqlx::query("INSERT OR REPLACE INTO item (thread_id, turn_no, item_no, seq) VALUES (?, ?, ?, ?)")
        .bind(thread.to_owned())
        .bind(turn.0)
        .bind(item.id.0)
        .bind(number(seq))
}

fn set_status(thread: &str, turn: TurnId, status: &'static str) -> Query {
    sqlx::query("UPDATE turn SET status = ? WHERE thread_id = ? AND turn_no = ?")
        .bind(status)
        .bind(thread.to_owned())
        .bind(turn.0)
}

async fn insert_text(
    connection: &mut SqliteConnection,
    thread: &str,
    part: &TextPart,
) -> Result<(), sqlx::Error> {
    // An Item that was completed meanwhile has no use for its pieces.
    let insert = sqlx::query("INSERT INTO item_text (thread_id, turn_no, item_no, text) VALUES (?, ?, ?, ?)")
        .bind(thread.to_owned())
        .bind(part.turn.0)
        .bind(part.item.0)
        .bind(part.text.to_string());
    run(connection, insert).await
}

async fn insert_thread(connection: &mut SqliteConnection, header: &ThreadHeader) -> Result<(), sqlx::Error> {
    let insert = sqlx::query(
        "INSERT INTO thread (thread_id, workspace_path, user_id, origin_channel, channel_context, source, \
         history_mode, created_at, metadata, config, status, last_active_at, last_turn, turn_count, running, \
         waiting_approval, plan_pending, context_tokens, queue, grants, head_seq) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', 0, 0, 0, 0, 0, 0, 0, '[]', '[]', 0)",
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
    .bind(header.config.as_ref().and_then(json));
    run(connection, insert).await
}

async fn update_thread(
    connection: &mut SqliteConnection,
    thread: &str,
    row: &Summary,
    head_seq: Seq,
) -> Result<(), sqlx::Error> {
    let update = sqlx::query(
        "UPDATE thread SET display_name = ?, status = ?, last_active_at = ?, last_turn = ?, turn_count = ?, \
         running = ?, waiting_approval = ?, plan_pending = ?, context_tokens = ?, \
         config = coalesce(?, config), queue = coalesce(?, queue), plan = coalesce(?, plan), \
         grants = coalesce(?, grants), head_seq = max(head_seq, ?) WHERE thread_id = ?",
    )
    .bind(row.display_name.clone())
    .bind(row.status)
    .bind(row.last_active_at)
    .bind(row.last_turn)
    .bind(row.turn_count)
    .bind(row.running)
    .bind(row.waiting_approval)
    .bind(row.plan_pending)
    .bind(signed(row.context_tokens))
    .bind(row.config.clone())
    .bind(row.queue.clone())
    .bind(row.plan.clone())
    .bind(row.grants.clone())
    .bind(number(head_seq))
    .bind(thread.to_owned());
    run(connection, update).await
}

/// SQLite's integers are signed; a Seq stays far below that.
pub(crate) fn number(seq: Seq) -> i64 {
    signed(seq.0)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
