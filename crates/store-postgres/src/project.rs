//! Projects the events of a batch to rows: the rows that each event changes, besides the stored event.
//!
//! Each statement is a trip to the database, which may be another machine. So what nearly every write has is collected
//! over the whole batch, one statement for each kind: events, Items, streamed text, the rows of Threads. The rest follows
//! the order of the events.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bobbin_model::{
    Approval, ApprovalId, ContextNote, Decision, EdgeStatus, Event, GivenMessage, Item, Outcome, Scope, Seq,
    ThreadConfig, ThreadHeader, TokenUsage, TurnDiff, TurnFeatures, TurnId,
};
use bobbin_store::{NamedRequest, StoredEvent, Summary, TextPart, Write, json};
use bobbin_store_sql::{REQUEST_MEMORY, SearchText, Used, number, signed};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::lease::Term;

/// The statement that changes columns of one Turn.
macro_rules! update_turn {
    ($columns:literal) => {
        concat!(
            "UPDATE turn SET ",
            $columns,
            " WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3"
        )
    };
}

const ADD_USAGE: &str = update_turn!(
    "input_tokens = input_tokens + $4, output_tokens = output_tokens + $5, \
     cached_input_tokens = cached_input_tokens + $6, reasoning_output_tokens = reasoning_output_tokens + $7, \
     cost_micros = cost_micros + $8"
);
const ADD_HELPERS_USAGE: &str = update_turn!(
    "helper_input_tokens = helper_input_tokens + $4, helper_output_tokens = helper_output_tokens + $5, \
     helper_cached_input_tokens = helper_cached_input_tokens + $6, \
     helper_reasoning_output_tokens = helper_reasoning_output_tokens + $7, \
     helper_cost_micros = helper_cost_micros + $8"
);

type Statement = Query<'static, Postgres, PgArguments>;

/// Returns a text without zero bytes, which PostgreSQL refuses.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// The writes of one transaction.
#[derive(Default)]
pub(crate) struct Batch<'a> {
    workspace: &'a str,
    /// The fence of the lease under which this is written.
    fence: i64,
    events: Vec<(&'a str, &'a StoredEvent)>,
    text: Vec<(&'a str, &'a TextPart)>,
    /// New Threads.
    new_threads: Vec<Statement>,
    new_turns: Vec<NewTurn<'a>>,
    /// Statements in the order of the events.
    statements: Vec<Statement>,
    /// The newest form of each Item: Thread, Turn, number.
    items: BTreeMap<(&'a str, i64, i64), i64>,
    /// Items whose streamed text is no longer needed.
    completed: BTreeSet<(&'a str, i64, i64)>,
    threads: BTreeMap<&'a str, ThreadChange<'a>>,
    /// Threads with new searchable text.
    unindexed: BTreeSet<&'a str>,
}

/// A Turn that has started.
struct NewTurn<'a> {
    thread: &'a str,
    turn: TurnId,
    at: i64,
    origin_channel: Option<&'a str>,
    features: &'a TurnFeatures,
    /// A configuration of an earlier write of this batch, which is not in the Thread's row yet.
    config: Option<&'a str>,
}

/// The new values of a Thread's row: those of its last write, and the last JSON of each column that one of them has.
struct ThreadChange<'a> {
    state: &'a Summary,
    head_seq: Seq,
    config: Option<&'a str>,
    queue: Option<&'a str>,
    plan: Option<&'a str>,
    grants: Option<&'a str>,
    metadata: Option<&'a str>,
    tools: Option<&'a str>,
}

impl<'a> Batch<'a> {
    /// Collects the rows of writes.
    pub(crate) fn of(term: &'a Term, writes: &[&'a Write]) -> Self {
        let mut batch = Self {
            workspace: &term.workspace,
            fence: term.fence,
            ..Self::default()
        };
        for write in writes {
            batch.add(write);
        }
        batch
    }

    fn add(&mut self, write: &'a Write) {
        let thread = write.thread.as_str();
        for stored in &write.events {
            self.events.push((thread, stored));
            if let Event::ThreadStarted { thread } = &*stored.event {
                self.insert_thread(thread);
            }
            self.project(thread, stored);
            self.count_usage(thread, &stored.event);
        }
        self.text.extend(write.text.iter().map(|part| (thread, part)));
        if let Some(scope) = &write.remember {
            self.remember(scope);
        }
        if SearchText::is_in(&write.events) {
            self.unindexed.insert(thread);
        }
        if let Some(request) = &write.request {
            self.insert_request(write, request);
        }
        self.change_thread(thread, &write.state, write.head_seq);
    }

    /// Executes all statements, up to the first that fails.
    pub(crate) async fn run(self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        for statement in self.into_statements() {
            statement.execute(&mut *connection).await?;
        }
        Ok(())
    }

    fn into_statements(mut self) -> Vec<Statement> {
        let in_order = std::mem::take(&mut self.statements);
        let mut all = Vec::with_capacity(in_order.len() + 6);
        all.extend(self.events());
        all.extend(self.text());
        // Before all that refers to them.
        all.append(&mut self.new_threads);
        all.extend(self.turns());
        all.extend(in_order);
        all.extend(self.items());
        all.extend(self.completed());
        all.extend(self.threads());
        all.extend(self.unindexed());
        all
    }

    fn events(&self) -> Option<Statement> {
        let column =
            |value: fn(&StoredEvent) -> i64| self.events.iter().map(|(_, stored)| value(stored)).collect();
        let (seqs, times): (Vec<i64>, Vec<i64>) =
            (column(|stored| number(stored.seq)), column(|stored| stored.at.0));
        let turns = self
            .events
            .iter()
            .map(|(_, stored)| stored.event.turn().map(of_turn));
        let statement = sqlx::query(
            "INSERT INTO event (workspace, thread_id, seq, turn_no, kind, version, fence, at, payload) \
             SELECT $1, thread_id, seq, turn_no, kind, $2, $3, at, payload \
             FROM unnest($4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[]) \
             AS new (thread_id, seq, turn_no, kind, at, payload)",
        )
        .bind(self.workspace)
        .bind(bobbin_model::event::PAYLOAD_VERSION)
        .bind(self.fence)
        .bind(self.events.iter().map(|(thread, _)| *thread).collect::<Vec<_>>())
        .bind(seqs)
        .bind(turns.collect::<Vec<_>>())
        .bind(
            self.events
                .iter()
                .map(|(_, stored)| stored.event.kind())
                .collect::<Vec<_>>(),
        )
        .bind(times)
        .bind(
            self.events
                .iter()
                .map(|(_, stored)| json(&*stored.event))
                .collect::<Vec<_>>(),
        );
        (!self.events.is_empty()).then_some(statement)
    }

    fn text(&self) -> Option<Statement> {
        let statement = sqlx::query(
            "INSERT INTO item_text (workspace, thread_id, turn_no, item_no, text) \
             SELECT $1, thread_id, turn_no, item_no, text \
             FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) WITH ORDINALITY \
             AS new (thread_id, turn_no, item_no, text, place) ORDER BY place",
        )
        .bind(self.workspace)
        .bind(self.text.iter().map(|(thread, _)| *thread).collect::<Vec<_>>())
        .bind(
            self.text
                .iter()
                .map(|(_, part)| of_turn(part.turn))
                .collect::<Vec<_>>(),
        )
        .bind(
            self.text
                .iter()
                .map(|(_, part)| i64::from(part.item.0))
                .collect::<Vec<_>>(),
        )
        .bind(
            self.text
                .iter()
                .map(|(_, part)| part.text.as_bytes())
                .collect::<Vec<_>>(),
        );
        (!self.text.is_empty()).then_some(statement)
    }

    fn turns(&self) -> Option<Statement> {
        let turns = || self.new_turns.iter();
        let efforts = turns().map(|new| {
            let effort = new.features.reasoning_effort.and_then(|effort| json(&effort));
            effort.map(|effort| effort.trim_matches('"').to_owned())
        });
        let statement = sqlx::query(
            "INSERT INTO turn (workspace, thread_id, turn_no, started_at, origin_channel, features, effort, model) \
             SELECT $1, new.thread_id, new.turn_no, new.started_at, new.origin_channel, new.features, new.effort, \
             CASE WHEN new.is_configured THEN new.model ELSE thread.model END \
             FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::boolean[], \
             $9::text[]) AS new (thread_id, turn_no, started_at, origin_channel, features, effort, is_configured, model) \
             LEFT JOIN thread ON thread.workspace = $1 AND thread.thread_id = new.thread_id",
        )
        .bind(self.workspace)
        .bind(turns().map(|new| new.thread).collect::<Vec<_>>())
        .bind(turns().map(|new| of_turn(new.turn)).collect::<Vec<_>>())
        .bind(turns().map(|new| new.at).collect::<Vec<_>>())
        .bind(turns().map(|new| new.origin_channel.map(plain)).collect::<Vec<_>>())
        .bind(turns().map(|new| json(new.features)).collect::<Vec<_>>())
        .bind(efforts.collect::<Vec<_>>())
        .bind(turns().map(|new| new.config.is_some()).collect::<Vec<_>>())
        .bind(turns().map(|new| new.config.and_then(model)).collect::<Vec<_>>());
        (!self.new_turns.is_empty()).then_some(statement)
    }

    fn items(&self) -> Option<Statement> {
        let statement = sqlx::query(
            "INSERT INTO item (workspace, thread_id, turn_no, item_no, seq) SELECT $1, * \
             FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) \
             ON CONFLICT (workspace, thread_id, turn_no, item_no) DO UPDATE SET seq = excluded.seq",
        );
        let statement = bind_items(statement.bind(self.workspace), self.items.keys());
        let statement = statement.bind(self.items.values().copied().collect::<Vec<_>>());
        (!self.items.is_empty()).then_some(statement)
    }

    fn completed(&self) -> Option<Statement> {
        let statement = sqlx::query(
            "DELETE FROM item_text WHERE workspace = $1 AND (thread_id, turn_no, item_no) IN \
             (SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[]))",
        );
        let statement = bind_items(statement.bind(self.workspace), self.completed.iter());
        (!self.completed.is_empty()).then_some(statement)
    }

    fn unindexed(&self) -> Option<Statement> {
        let statement = sqlx::query(
            "INSERT INTO search_pending (workspace, thread_id) SELECT $1, * FROM unnest($2::text[]) \
             ON CONFLICT DO NOTHING",
        )
        .bind(self.workspace)
        .bind(self.unindexed.iter().copied().collect::<Vec<_>>());
        (!self.unindexed.is_empty()).then_some(statement)
    }

    fn threads(&self) -> Option<Statement> {
        let all = || self.threads.values();
        let states = || all().map(|change| change.state);
        let texts = |value: fn(&ThreadChange<'a>) -> Option<&'a str>| all().map(value).collect::<Vec<_>>();
        let flags = |value: fn(&Summary) -> bool| states().map(value).collect::<Vec<_>>();
        let numbers = |value: fn(&Summary) -> i64| states().map(value).collect::<Vec<_>>();
        let titles = states().map(|state| state.display_name.as_deref().map(plain));
        let models = all().map(|change| change.config.and_then(model));
        let edges = states().map(|state| state.edge.map(|edge| edge.updated_at.0));
        let statement = sqlx::query(
            "UPDATE thread SET display_name = new.display_name, status = new.status, \
             last_active_at = new.last_active_at, last_turn = new.last_turn, turn_count = new.turn_count, \
             running = new.running, waiting_approval = new.waiting_approval, waiting_input = new.waiting_input, \
             plan_pending = new.plan_pending, context_tokens = new.context_tokens, \
             context_window = new.context_window, compact_at = new.compact_at, \
             config = coalesce(new.config, thread.config), \
             model = CASE WHEN new.config IS NULL THEN thread.model ELSE new.model END, \
             queue = coalesce(new.queue, thread.queue), plan = coalesce(new.plan, thread.plan), \
             grants = coalesce(new.grants, thread.grants), metadata = coalesce(new.metadata, thread.metadata), \
             tools = coalesce(new.tools, thread.tools), edge_closed = new.edge_closed, \
             edge_updated_at = new.edge_updated_at, head_seq = greatest(thread.head_seq, new.head_seq) \
             FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[], \
             $9::boolean[], $10::boolean[], $11::boolean[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], \
             $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::boolean[], \
             $23::bigint[], $24::bigint[]) AS new (thread_id, display_name, status, last_active_at, last_turn, \
             turn_count, running, waiting_approval, waiting_input, plan_pending, context_tokens, context_window, \
             compact_at, config, model, queue, plan, grants, metadata, tools, edge_closed, edge_updated_at, head_seq) \
             WHERE thread.workspace = $1 AND thread.thread_id = new.thread_id",
        )
        .bind(self.workspace)
        .bind(self.threads.keys().copied().collect::<Vec<_>>())
        .bind(titles.collect::<Vec<_>>())
        .bind(states().map(|state| state.status).collect::<Vec<_>>())
        .bind(numbers(|state| state.last_active_at))
        .bind(numbers(|state| state.last_turn.into()))
        .bind(numbers(|state| state.turn_count.into()))
        .bind(flags(|state| state.running))
        .bind(flags(|state| state.waiting_approval))
        .bind(flags(|state| state.waiting_input))
        .bind(flags(|state| state.plan_pending))
        .bind(numbers(|state| signed(state.context_tokens)))
        .bind(numbers(|state| signed(state.context_window.tokens)))
        .bind(numbers(|state| signed(state.context_window.compact_at)))
        .bind(texts(|change| change.config))
        .bind(models.collect::<Vec<_>>())
        .bind(texts(|change| change.queue))
        .bind(texts(|change| change.plan))
        .bind(texts(|change| change.grants))
        .bind(texts(|change| change.metadata))
        .bind(texts(|change| change.tools))
        .bind(flags(|state| state.edge.is_some_and(|edge| edge.status == EdgeStatus::Closed)))
        .bind(edges.collect::<Vec<_>>())
        .bind(all().map(|change| number(change.head_seq)).collect::<Vec<_>>());
        (!self.threads.is_empty()).then_some(statement)
    }

    /// Adds a statement.
    fn then(&mut self, statement: Statement) {
        self.statements.push(statement);
    }

    /// Starts a statement on a Turn: `$1` is the workspace, `$2` the Thread, `$3` the Turn.
    fn of_turn(&self, statement: &'static str, thread: &str, turn: TurnId) -> Statement {
        sqlx::query(statement)
            .bind(self.workspace)
            .bind(thread)
            .bind(of_turn(turn))
    }

    fn change_thread(&mut self, thread: &'a str, state: &'a Summary, head_seq: Seq) {
        let change = self.threads.entry(thread).or_insert(ThreadChange {
            state,
            head_seq,
            config: None,
            queue: None,
            plan: None,
            grants: None,
            metadata: None,
            tools: None,
        });
        change.state = state;
        change.head_seq = change.head_seq.max(head_seq);
        change.config = state.config.as_deref().or(change.config);
        change.queue = state.queue.as_deref().or(change.queue);
        change.plan = state.plan.as_deref().or(change.plan);
        change.grants = state.grants.as_deref().or(change.grants);
        change.metadata = state.metadata.as_deref().or(change.metadata);
        change.tools = state.tools.as_deref().or(change.tools);
    }

    fn remember(&mut self, scope: &Scope) {
        let statement = sqlx::query(
            "INSERT INTO approval_rule (workspace, kind, operation, target) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
        )
        .bind(self.workspace)
        .bind(json(&scope.kind))
        .bind(scope.standing().recorded_operation().into_bytes())
        .bind(scope.target.as_bytes());
        self.then(statement);
    }

    fn insert_request(&mut self, write: &Write, request: &NamedRequest) {
        let old = sqlx::query("DELETE FROM request WHERE workspace = $1 AND at < $2")
            .bind(self.workspace)
            .bind(request.at.0.saturating_sub(REQUEST_MEMORY));
        self.then(old);
        let makes_a_thread = write
            .events
            .iter()
            .any(|stored| matches!(*stored.event, Event::ThreadStarted { .. }));
        let thread = write.thread.as_str();
        let statement = sqlx::query(
            "INSERT INTO request (workspace, scope, request_id, body, thread_id, seq, at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(self.workspace)
        .bind(if makes_a_thread { "" } else { thread })
        .bind(request.id.as_bytes())
        .bind(plain(&request.body))
        .bind(thread)
        .bind(write.events.first().map(|stored| number(stored.seq)))
        .bind(request.at.0);
        self.then(statement);
    }

    fn insert_thread(&mut self, header: &ThreadHeader) {
        let parent = header.source.sub_agent();
        let statement = sqlx::query(
            "INSERT INTO thread (workspace, thread_id, workspace_path, user_id, origin_channel, channel_context, \
             source, history_mode, created_at, metadata, config, model, parent_id, depth) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(self.workspace)
        .bind(header.id.as_str())
        .bind(plain(&header.workspace_path))
        .bind(header.user_id.as_deref().map(plain))
        .bind(plain(&header.origin_channel))
        .bind(header.channel_context.as_deref().map(plain))
        .bind(json(&header.source))
        .bind(json(&header.history_mode))
        .bind(header.created_at.0)
        .bind(json(&header.metadata))
        .bind(header.config.as_ref().and_then(json))
        .bind(header.config.as_ref().and_then(|config| config.model.as_deref()).map(plain))
        .bind(parent.map(|source| source.parent.as_str()))
        .bind(parent.map_or(0, |source| i64::from(source.depth)));
        self.new_threads.push(statement);
    }

    fn project(&mut self, thread: &'a str, stored: &'a StoredEvent) {
        let seq = stored.seq;
        match &*stored.event {
            Event::TurnStarted {
                turn,
                origin_channel,
                features,
                ..
            } => self.new_turns.push(NewTurn {
                thread,
                turn: *turn,
                at: stored.at.0,
                origin_channel: origin_channel.as_deref(),
                features,
                config: self.threads.get(thread).and_then(|change| change.config),
            }),
            Event::HistoryGiven { turn, messages, .. } => self.set_history(thread, *turn, messages),
            Event::TurnCancelling { turn, reason } => self.set_cancelling(thread, *turn, reason),
            Event::ItemStarted { turn, item } | Event::ItemAdded { turn, item } => {
                self.put_item(thread, *turn, item, seq);
            }
            Event::ItemCompleted { turn, item } => {
                self.put_item(thread, *turn, item, seq);
                self.completed.insert((thread, of_turn(*turn), item.id.0.into()));
            }
            Event::CallStarted { turn, call_id } => self.start_call(thread, *turn, call_id),
            Event::ApprovalOpened { item, approval } => {
                self.put_item(thread, approval.turn, item, seq);
                self.open_approval(thread, approval, seq);
            }
            Event::ApprovalResolved {
                turn,
                approval,
                decision,
                item,
                ..
            } => {
                self.put_item(thread, *turn, item, seq);
                self.settle(thread, *turn, approval, *decision);
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
            } => self.add_usage(ADD_USAGE, thread, *turn, *usage, *cost_micros),
            Event::HelperUsed {
                turn,
                usage,
                cost_micros,
            } => self.add_usage(ADD_HELPERS_USAGE, thread, *turn, *usage, *cost_micros),
            Event::ContextNoted { turn, note, .. } => self.set_compacting(thread, *turn, *note),
            Event::DiffUpdated { turn, diff } => self.set_diff(thread, *turn, diff, seq),
            Event::TurnEnded {
                turn,
                outcome,
                completed_at,
                ..
            } => self.end_turn(thread, *turn, outcome, completed_at.0),
            Event::TurnsRolledBack { first, .. } => self.roll_back(thread, *first, stored.at.0),
            Event::ThreadDeleted => self.delete_thread(thread, stored.at.0),
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
            Event::TurnReverted { turn, redone, .. } => self.set_undone(thread, *turn, !redone),
            Event::TurnRecovered { turn, crashed, .. } => self.count_crash(thread, *turn, *crashed),
            Event::TurnLeftOpen { turn } => self.leave_in_order(thread, *turn),
        }
    }

    fn put_item(&mut self, thread: &'a str, turn: TurnId, item: &Item, seq: Seq) {
        self.items
            .insert((thread, of_turn(turn), item.id.0.into()), number(seq));
    }

    fn delete_thread(&mut self, thread: &str, at: i64) {
        let statement =
            sqlx::query("UPDATE thread SET deleted_at = $3 WHERE workspace = $1 AND thread_id = $2")
                .bind(self.workspace)
                .bind(thread)
                .bind(at);
        self.then(statement);
    }

    fn open_approval(&mut self, thread: &str, approval: &Approval, seq: Seq) {
        let statement = self
            .of_turn(
                "INSERT INTO approval (workspace, thread_id, turn_no, approval_id, call_id, seq) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                thread,
                approval.turn,
            )
            .bind(approval.id.as_str())
            .bind(approval.call_id.as_bytes())
            .bind(number(seq));
        self.then(statement);
        let statement = self.of_turn(update_turn!("status = 'waitingApproval'"), thread, approval.turn);
        self.then(statement);
    }

    fn settle(&mut self, thread: &str, turn: TurnId, approval: &ApprovalId, decision: Decision) {
        let statement = sqlx::query(
            "UPDATE approval SET decision = $4 WHERE workspace = $1 AND thread_id = $2 AND approval_id = $3",
        )
        .bind(self.workspace)
        .bind(thread)
        .bind(approval.as_str())
        .bind(json(&decision));
        self.then(statement);
        let statement = self.of_turn(
            "UPDATE turn SET status = 'running' WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3 \
             AND NOT EXISTS (SELECT 1 FROM approval WHERE workspace = $1 AND thread_id = $2 AND turn_no = $3 \
             AND decision IS NULL)",
            thread,
            turn,
        );
        self.then(statement);
    }

    fn start_call(&mut self, thread: &str, turn: TurnId, call_id: &str) {
        let statement = self
            .of_turn(
                "INSERT INTO call_started (workspace, thread_id, turn_no, call_id) VALUES ($1, $2, $3, $4)",
                thread,
                turn,
            )
            .bind(call_id.as_bytes());
        self.then(statement);
    }

    fn set_cancelling(&mut self, thread: &str, turn: TurnId, reason: &str) {
        let statement = self
            .of_turn(update_turn!("cancelling = $4"), thread, turn)
            .bind(plain(reason));
        self.then(statement);
    }

    fn count_crash(&mut self, thread: &str, turn: TurnId, crashed: bool) {
        let statement = self
            .of_turn(update_turn!("crashes = crashes + $4"), thread, turn)
            .bind(i32::from(crashed));
        self.then(statement);
    }

    fn leave_in_order(&mut self, thread: &str, turn: TurnId) {
        let statement = self.of_turn(update_turn!("crashes = -1"), thread, turn);
        self.then(statement);
    }

    fn set_compacting(&mut self, thread: &str, turn: TurnId, note: ContextNote) {
        let compacting = match note {
            ContextNote::Warning | ContextNote::Error => return,
            ContextNote::Compacting => true,
            ContextNote::Compacted | ContextNote::CompactSkipped | ContextNote::CompactFailed => false,
        };
        let statement = self
            .of_turn(update_turn!("compacting = $4"), thread, turn)
            .bind(compacting);
        self.then(statement);
    }

    fn set_diff(&mut self, thread: &str, turn: TurnId, diff: &TurnDiff, seq: Seq) {
        let statement = self
            .of_turn(update_turn!("diff_seq = $4, files_changed = $5"), thread, turn)
            .bind(number(seq))
            .bind(i64::from(diff.files_changed()));
        self.then(statement);
    }

    fn set_undone(&mut self, thread: &str, turn: TurnId, is_undone: bool) {
        let statement = self
            .of_turn(update_turn!("files_undone = $4"), thread, turn)
            .bind(is_undone);
        self.then(statement);
    }

    fn set_history(&mut self, thread: &str, turn: TurnId, messages: &[GivenMessage]) {
        let statement = self
            .of_turn(update_turn!("history = $4"), thread, turn)
            .bind(json(&messages));
        self.then(statement);
    }

    fn add_usage(
        &mut self,
        statement: &'static str,
        thread: &str,
        turn: TurnId,
        usage: TokenUsage,
        cost_micros: u64,
    ) {
        let statement = self
            .of_turn(statement, thread, turn)
            .bind(signed(usage.input_tokens))
            .bind(signed(usage.output_tokens))
            .bind(signed(usage.cached_input_tokens))
            .bind(signed(usage.reasoning_output_tokens))
            .bind(signed(cost_micros));
        self.then(statement);
    }

    fn end_turn(&mut self, thread: &str, turn: TurnId, outcome: &Outcome, completed_at: i64) {
        let error = match outcome {
            Outcome::Failed { error } => Some(plain(error)),
            Outcome::Completed | Outcome::Cancelled { .. } => None,
        };
        let statement = self
            .of_turn(
                update_turn!("status = $4, completed_at = $5, error = $6, history = NULL"),
                thread,
                turn,
            )
            .bind(outcome.status().as_str())
            .bind(completed_at)
            .bind(error);
        self.then(statement);
    }

    fn roll_back(&mut self, thread: &str, first: TurnId, at: i64) {
        let statement = self
            .of_turn(
                "UPDATE turn SET rolled_back_at = $4 WHERE workspace = $1 AND thread_id = $2 AND turn_no >= $3 \
                 AND rolled_back_at IS NULL",
                thread,
                first,
            )
            .bind(at);
        self.then(statement);
    }

    fn count_usage(&mut self, thread: &str, event: &Event) {
        for (turn, used) in Used::by(event) {
            let statement = match used {
                Used::Request => self.of_turn(
                    update_turn!("requests = requests + 1"),
                    thread,
                    turn,
                ),
                Used::ToolCall => self.of_turn(
                    update_turn!("tool_calls = tool_calls + 1"),
                    thread,
                    turn,
                ),
                Used::Error => self.of_turn(
                    update_turn!("errors = errors + 1"),
                    thread,
                    turn,
                ),
                Used::Compaction => self.of_turn(
                    update_turn!("compactions = compactions + 1"),
                    thread,
                    turn,
                ),
                Used::ToolTime(duration) => self
                    .of_turn(
                        update_turn!("tool_ms = tool_ms + $4, tool_ms_max = greatest(tool_ms_max, $4)"),
                        thread,
                        turn,
                    )
                    .bind(signed(duration)),
                Used::Named(key) => self
                    .of_turn(
                        "INSERT INTO turn_use (workspace, thread_id, turn_no, key, count) VALUES ($1, $2, $3, $4, 1) \
                         ON CONFLICT (workspace, thread_id, turn_no, key) DO UPDATE SET count = turn_use.count + 1",
                        thread,
                        turn,
                    )
                    .bind(key),
            };
            self.then(statement);
        }
    }
}

/// Binds Thread, Turn and number of Items as three arrays.
fn bind_items<'k>(
    statement: Statement,
    keys: impl Iterator<Item = &'k (&'k str, i64, i64)> + Clone,
) -> Statement {
    statement
        .bind(keys.clone().map(|key| key.0).collect::<Vec<_>>())
        .bind(keys.clone().map(|key| key.1).collect::<Vec<_>>())
        .bind(keys.map(|key| key.2).collect::<Vec<_>>())
}

fn of_turn(turn: TurnId) -> i64 {
    turn.0.into()
}

/// Returns the model that a configuration names.
fn model(config: &str) -> Option<String> {
    let config: ThreadConfig = serde_json::from_str(config).ok()?;
    config.model.map(|model| plain(&model).into_owned())
}
