//! One story for every implementation of the store: what is written is read back, and nothing else.
//!
//! [`store_story!`](crate::store_story!) makes a test of each part from a function that opens the implementation's store
//! in a directory.
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a story that cannot go on fails its test"
)]

mod copying;
mod living;
mod reading;
mod searching;
mod usage;
mod writer;
mod writing;

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_model::state::StatusChange;
use bobbin_model::{
    Approval, ApprovalId, ApprovalKind, DecidedBy, Decision, DeltaChannel, Event, FileChange, ItemBody,
    ItemId, Json, Outcome, Plan, QueuedInputId, Scope, Seq, StandingAnswer, ThreadId, TokenUsage, TurnDiff,
    TurnId, UnixMillis,
};
use bobbin_store::{
    AuditCheck, AuditEntry, AuditRow, Deed, ListFilter, ScheduleStore, Store, TextPart, UsageQuery, Write,
};
use futures_util::future::BoxFuture;

pub use copying::a_copy_has_what_its_source_has;
pub use living::{
    a_closed_store_says_so, a_subagent_is_among_the_children_of_its_parent,
    entries_of_the_schedule_change_together, zero_bytes_harm_nothing,
};
pub use reading::{
    both_events_of_a_users_message_have_it, events_and_turns_are_read_in_pages, lists_are_read_in_pages,
    lists_follow_the_table, turns_that_were_rolled_back_are_kept_and_not_among_the_others,
};
pub use searching::{
    a_long_message_is_found_by_its_beginning, only_what_the_client_may_see_is_found,
    pages_follow_each_other_without_a_gap,
    text_of_messages_calls_results_and_titles_is_found_whatever_its_case,
    threads_are_found_by_what_was_said_in_them, what_is_gone_is_not_found_any_more,
};
pub use usage::usage_is_summed_by_day_thread_channel_model_and_effort;
pub use writer::{Writer, me, prompt};
pub use writing::{
    a_named_request_is_known_with_what_it_caused,
    a_number_given_twice_is_a_conflict_and_harms_no_other_thread,
    what_an_owner_wrote_behind_a_failed_write_fails_too, writes_of_one_owner_are_stored_in_their_order,
    writes_that_wait_together_are_committed_together,
};

/// A whole store.
pub trait WholeStore: Store + ScheduleStore {}

impl<S: Store + ScheduleStore> WholeStore for S {}

/// Opens a store in a directory. A directory is opened again after its store was closed.
pub type Open = fn(PathBuf) -> BoxFuture<'static, Arc<dyn WholeStore>>;

/// Makes tests of the story. Takes an [`Open`](crate::store_story::Open), and makes a test of each part; or one test of all
/// parts where a database is costly to start, if it can be started.
#[macro_export]
macro_rules! store_story {
    ($open:expr) => {
        $crate::store_story!(@parts each $open);
    };
    ($open:expr, as one test if $can_be_tested:expr) => {
        $crate::store_story!(@parts one $open, $can_be_tested);
    };
    (@each $open:expr; $($part:ident)+) => {
        $(#[tokio::test]
        async fn $part() {
            $crate::store_story::$part($open).await;
        })+
    };
    (@one $open:expr, $can_be_tested:expr; $($part:ident)+) => {
        #[tokio::test]
        async fn the_whole_story() {
            if $can_be_tested {
                $(println!(stringify!($part));
                $crate::store_story::$part($open).await;)+
            }
        }
    };
    (@parts $($mode:tt)+) => {
        $crate::store_story!(@$($mode)+;
            an_open_turn_is_loaded_as_it_was_applied
            checkpointed_text_is_there_after_a_restart_and_gone_with_the_items_end
            what_was_accepted_for_ever_is_remembered_and_for_the_session_is_not
            the_audit_is_one_chain_that_outlives_its_threads
            a_deleted_thread_is_invisible_at_once_and_its_rows_go_in_time
            a_number_given_twice_is_a_conflict_and_harms_no_other_thread
            writes_that_wait_together_are_committed_together
            writes_of_one_owner_are_stored_in_their_order
            what_an_owner_wrote_behind_a_failed_write_fails_too
            a_named_request_is_known_with_what_it_caused
            lists_follow_the_table
            lists_are_read_in_pages
            events_and_turns_are_read_in_pages
            both_events_of_a_users_message_have_it
            turns_that_were_rolled_back_are_kept_and_not_among_the_others
            text_of_messages_calls_results_and_titles_is_found_whatever_its_case
            only_what_the_client_may_see_is_found
            what_is_gone_is_not_found_any_more
            pages_follow_each_other_without_a_gap
            a_long_message_is_found_by_its_beginning
            threads_are_found_by_what_was_said_in_them
            usage_is_summed_by_day_thread_channel_model_and_effort
            a_subagent_is_among_the_children_of_its_parent
            entries_of_the_schedule_change_together
            zero_bytes_harm_nothing
            a_copy_has_what_its_source_has
            a_closed_store_says_so
        );
    };
}

/// Returns a question about a command.
pub fn question(id: &str) -> Approval {
    Approval {
        id: ApprovalId::new(id),
        turn: TurnId(0),
        item: ItemId(0),
        call_id: format!("call_{id}"),
        scope: Scope::new(ApprovalKind::Shell, "make", "/srv"),
        reason: "why".into(),
        opened_at: UnixMillis(5),
        expires_at: UnixMillis(500),
    }
}

fn changed(path: &str) -> FileChange {
    FileChange {
        path: path.to_owned(),
        status: bobbin_model::turn::FileChangeStatus::Added,
        old_path: None,
        additions: 1,
        deletions: 0,
    }
}

fn usage() -> TokenUsage {
    TokenUsage {
        cached_input_tokens: 5,
        reasoning_output_tokens: 2,
        ..TokenUsage::of(7, 3)
    }
}

/// An open turn is loaded as it was applied.
pub async fn an_open_turn_is_loaded_as_it_was_applied(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    writer
        .write(
            writer
                .state
                .decide_start_turn(prompt("go"), UnixMillis(2))
                .unwrap(),
        )
        .await
        .unwrap();
    let arguments: Json = serde_json::from_str(r#"{"z":1e2,"a":1.50}"#).unwrap();
    let call = ItemBody::ToolCall {
        tool_name: "Exec".into(),
        call_id: "call_a".into(),
        arguments: Some(arguments),
        arguments_text: None,
        kept: None,
    };
    let (_, events) = writer.state.decide_add_item(call, UnixMillis(3)).unwrap();
    writer.write(events).await.unwrap();
    for id in ["a", "b"] {
        writer
            .write(writer.state.decide_ask(question(id)).unwrap())
            .await
            .unwrap();
        assert_eq!(writer.loaded().await, writer.state);
    }
    let answer = writer.state.decide_answer(
        &ApprovalId::new("a"),
        Decision::Accept,
        &DecidedBy::Client("me".into()),
        UnixMillis(4),
    );
    writer.write(answer.unwrap()).await.unwrap();
    let turn = TurnId(1);
    let usage = usage();
    let diff = TurnDiff {
        diff: "x".into(),
        files: ["a", "b"].map(changed).to_vec(),
        ..TurnDiff::default()
    };
    writer
        .write(vec![
            Event::CallStarted {
                turn,
                call_id: "call_a".into(),
            },
            Event::UsageAdded {
                turn,
                usage,
                context_tokens: 7,
                context_window: None,
                cost_micros: 0,
                turn_output_tokens: None,
            },
            Event::DiffUpdated { turn, diff },
            Event::PlanUpdated {
                plan: Plan {
                    title: "t".into(),
                    ..Plan::default()
                },
            },
            Event::TurnRecovered {
                turn,
                reason: "again".into(),
                crashed: true,
            },
            Event::TurnLeftOpen { turn },
        ])
        .await
        .unwrap();
    assert_eq!(writer.loaded().await, writer.state);
    assert_eq!(
        store.threads_with_open_turns().await.unwrap(),
        [ThreadId::new("thread_1")]
    );
    writer
        .write(writer.state.decide_end_turn(Outcome::Completed, UnixMillis(9)))
        .await
        .unwrap();
    assert_eq!(writer.loaded().await, writer.state);
    assert_eq!(store.threads_with_open_turns().await.unwrap(), []);
    let thread = ThreadId::new("thread_1");
    let diff = store.diff(&thread, turn).await.unwrap();
    assert_eq!(diff.map(|diff| diff.diff).as_deref(), Some("x"));
    assert_eq!(store.diff(&thread, TurnId(9)).await.unwrap(), None);
    let turn = store
        .turn(&ThreadId::new("thread_1"), turn)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((turn.usage, turn.completed_at), (usage, Some(UnixMillis(9))));
    assert_eq!(turn.files_changed, 2);
    what_is_billed_later_counts(&mut writer, &thread, turn.id).await;
}

/// A title is billed after the end of its Turn.
async fn what_is_billed_later_counts(writer: &mut Writer<'_>, thread: &ThreadId, turn: TurnId) {
    let usage = usage();
    writer
        .write(vec![Event::HelperUsed {
            turn,
            usage,
            cost_micros: 4,
        }])
        .await
        .unwrap();
    assert_eq!(writer.loaded().await, writer.state);
    let spent = writer.store.spent(thread, TurnId(2)).await.unwrap();
    assert_eq!((spent.tokens, spent.cost_micros), (20, 4));
    let read = writer.store.turn(thread, turn).await.unwrap().unwrap();
    assert_eq!((read.usage, read.cost_micros), (usage, 0), "it is not the Turn's");
    let query = UsageQuery {
        workspace: writer.state.header.workspace_path.clone(),
        thread: Some(thread.clone()),
        from: 0,
        before: i64::MAX,
        offset: 0,
    };
    let (rows, _) = writer.store.usage(query).await.unwrap();
    let summed: u64 = rows.iter().map(|row| row.input + row.output).sum();
    assert_eq!(summed, 20);
}

/// Checkpointed text is there after a restart and gone with the items end.
pub async fn checkpointed_text_is_there_after_a_restart_and_gone_with_the_items_end(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    writer
        .write(
            writer
                .state
                .decide_start_turn(prompt("go"), UnixMillis(2))
                .unwrap(),
        )
        .await
        .unwrap();
    let body = ItemBody::AgentMessage { text: String::new() };
    let (item, events) = writer.state.decide_open_item(body, UnixMillis(3)).unwrap();
    writer.write(events).await.unwrap();
    let call = ItemBody::ToolCall {
        tool_name: "Exec".into(),
        call_id: "call_a".into(),
        arguments: None,
        arguments_text: None,
        kept: None,
    };
    let (call, events) = writer.state.decide_open_item(call, UnixMillis(3)).unwrap();
    writer.write(events).await.unwrap();
    for (item, channel, text) in [
        (item, DeltaChannel::AgentMessage, "Hel"),
        (call, DeltaChannel::ToolArguments, "{\"command\":"),
        (item, DeltaChannel::AgentMessage, "lo é"),
        (call, DeltaChannel::ToolArguments, "\"ls"),
    ] {
        writer.state.push_text(item, channel, text);
        let part = TextPart {
            turn: TurnId(1),
            item,
            text: text.into(),
        };
        writer.write_with(vec![], vec![part], None).await.unwrap();
    }
    store.close().await;
    let store = open(dir.path().to_owned()).await;
    let loaded = store.load(&ThreadId::new("thread_1")).await.unwrap().unwrap();
    assert_eq!(loaded.state, writer.state);
    assert_eq!(loaded.head_seq, Seq(writer.seq + 10));
    let state = writer.state.clone();
    let mut writer = Writer {
        store: &*store,
        state,
        seq: writer.seq,
        clock: 50,
        owner: 1,
    };
    writer
        .write(writer.state.decide_complete_item(item, None, UnixMillis(4)))
        .await
        .unwrap();
    assert_eq!(writer.loaded().await, writer.state);
}

/// What was accepted for ever is remembered and for the session is not.
pub async fn what_was_accepted_for_ever_is_remembered_and_for_the_session_is_not(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    writer
        .write(
            writer
                .state
                .decide_start_turn(prompt("go"), UnixMillis(2))
                .unwrap(),
        )
        .await
        .unwrap();
    writer
        .write(writer.state.decide_ask(question("a")).unwrap())
        .await
        .unwrap();
    let scope = question("a").scope;
    assert!(!store.is_remembered(&scope).await.unwrap());
    let by = DecidedBy::Client("me".into());
    let answer =
        writer
            .state
            .decide_answer(&ApprovalId::new("a"), Decision::AcceptAlways, &by, UnixMillis(4));
    writer
        .write_with(answer.unwrap(), vec![], Some(scope.clone()))
        .await
        .unwrap();
    assert!(writer.loaded().await.grants.is_empty());
    writer
        .write(writer.state.decide_ask(question("b")).unwrap())
        .await
        .unwrap();
    let answer = writer.state.decide_answer(
        &ApprovalId::new("b"),
        Decision::AcceptForSession,
        &by,
        UnixMillis(5),
    );
    writer.write(answer.unwrap()).await.unwrap();
    assert!(writer.loaded().await.grants.contains("shell:make\0/srv"));
    store.close().await;
    let store = open(dir.path().to_owned()).await;
    assert!(store.is_remembered(&scope).await.unwrap());
    assert!(
        !store
            .is_remembered(&Scope {
                operation: "make all".into(),
                ..scope.clone()
            })
            .await
            .unwrap()
    );
    let loaded = store.load(&ThreadId::new("thread_1")).await.unwrap().unwrap();
    assert!(loaded.state.grants.is_empty());
    let standing = scope.standing();
    assert_eq!(
        store.standing_answers(9).await.unwrap(),
        std::slice::from_ref(&standing)
    );
    let other = StandingAnswer {
        target: "/elsewhere".into(),
        ..standing.clone()
    };
    store.forget_answers(Some(vec![other])).await.unwrap();
    assert!(store.is_remembered(&scope).await.unwrap());
    store.forget_answers(Some(vec![standing])).await.unwrap();
    assert!(!store.is_remembered(&scope).await.unwrap());
    store.forget_answers(None).await.unwrap();
    assert!(store.standing_answers(9).await.unwrap().is_empty());
}

/// The audit is one chain over writes, records and restarts, and outlives a Thread.
pub async fn the_audit_is_one_chain_that_outlives_its_threads(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let entry = |method: &str| AuditEntry {
        at: UnixMillis(1),
        actor: None,
        client: None,
        thread: None,
        turn: None,
        deed: Deed::Requested {
            method: method.to_owned(),
        },
    };
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    for name in ["a", "b\0"] {
        let write = Write {
            audit: vec![entry(name)],
            ..writer.next(writer.state.decide_rename("x").unwrap())
        };
        store.submit(write).await.unwrap().await.unwrap();
    }
    // A write that fails takes its entries along.
    let mut failing = Writer::start(&*store, "thread_2", me()).await;
    let first = failing.next(failing.state.decide_rename("y").unwrap());
    let again = Write {
        events: first.events.clone(),
        audit: vec![entry("lost")],
        ..failing.next(Vec::new())
    };
    store.submit(first).await.unwrap().await.unwrap();
    assert!(store.submit(again).await.unwrap().await.is_err());
    store.record(vec![entry("c"), entry("d")], None).await.unwrap();
    writer.write(vec![Event::ThreadDeleted]).await.unwrap();
    store.close().await;

    let store = open(dir.path().to_owned()).await;
    store.record(vec![entry("e")], None).await.unwrap();
    let rows = store.audit(0, 99).await.unwrap();
    let methods =
        |rows: &[AuditRow]| -> Vec<AuditEntry> { rows.iter().filter_map(bobbin_store::decoded).collect() };
    assert_eq!(methods(&rows), ["a", "b\0", "c", "d", "e"].map(entry));
    let check = |rows: &[AuditRow]| {
        let mut check = AuditCheck::default();
        rows.iter().try_for_each(|row| check.take(row))?;
        check.finish()
    };
    assert_eq!(check(&rows).unwrap().seq, 5);
    assert_eq!(store.audit(2, 1).await.unwrap(), rows[2..3]);
    let cut = AuditEntry {
        deed: Deed::Cut {
            up_to: 2,
            hash: rows[1].hash.clone(),
        },
        ..entry("")
    };
    store.record(vec![cut], Some(2)).await.unwrap();
    let left = store.audit(0, 99).await.unwrap();
    assert_eq!((left.len(), &left[..3]), (4, &rows[2..]));
    assert_eq!(check(&left).unwrap().seq, 6);
}

/// A deleted thread is invisible at once and its rows go in time.
pub async fn a_deleted_thread_is_invisible_at_once_and_its_rows_go_in_time(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    for n in 0..600 {
        writer
            .write(writer.state.decide_rename(&n.to_string()).unwrap())
            .await
            .unwrap();
    }
    writer.write(vec![Event::ThreadDeleted]).await.unwrap();
    let id = ThreadId::new("thread_1");
    assert_eq!(store.load(&id).await.unwrap(), None);
    let all = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    assert_eq!(store.list(all).await.unwrap(), []);
    while !store
        .events(&id, Seq(0), Seq(u64::MAX), 1)
        .await
        .unwrap()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    Writer::start(&*store, "thread_2", me()).await;
}

/// Whatever happens in a Thread, loading gives the state that applying gave. For a property: each step is a number
/// below 10.
pub async fn loading_gives_the_state_that_applying_gave(open: Open, steps: Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    for (n, step) in steps.into_iter().enumerate() {
        let (state, now) = (&writer.state, UnixMillis(100));
        let text = || ItemBody::AgentMessage { text: String::new() };
        let last = state
            .live
            .as_ref()
            .map_or(ItemId(0), |live| ItemId(live.next_item().0 - 1));
        let events = match step {
            0 => state.decide_start_turn(prompt("go"), now).unwrap_or_default(),
            1 => state
                .decide_open_item(text(), now)
                .map(|request| request.1)
                .unwrap_or_default(),
            2 => state.decide_complete_item(last, None, now),
            3 => state.decide_ask(question(&n.to_string())).unwrap_or_default(),
            4 => state.approvals().first().map_or_else(Vec::new, |open| {
                state
                    .decide_answer(&open.id, Decision::AcceptForSession, &DecidedBy::Policy, now)
                    .unwrap()
            }),
            5 => state.decide_end_turn(Outcome::Failed { error: "no".into() }, now),
            6 => state
                .decide_enqueue(QueuedInputId::new(n.to_string()), prompt("q"), now)
                .unwrap_or_default(),
            7 => state.decide_start_queued(now).unwrap_or_default(),
            8 => state.decide_status(StatusChange::Pause),
            _ => state.decide_resume("me", None).unwrap_or_default(),
        };
        if events.is_empty() {
            continue;
        }
        writer.write(events).await.unwrap();
        assert_eq!(writer.loaded().await, writer.state);
    }
}
