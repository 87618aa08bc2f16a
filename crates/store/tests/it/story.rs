//! One story for every implementation of the store: what is written is read back, and nothing else.

use std::sync::Arc;

use bobbin_model::state::StatusChange;
use bobbin_model::{
    Approval, ApprovalId, ApprovalKind, DecidedBy, Decision, DeltaChannel, Event, Identity, ItemBody, ItemId,
    Json, Outcome, Plan, QueuedInputId, Scope, Seq, ThreadId, TokenUsage, TurnDiff, TurnId, UnixMillis,
};
use bobbin_store::{ListFilter, Store, StoreError, StoredEvent, Summary, TextPart, Write};
use proptest::prelude::*;

use crate::support::{Writer, me, open, prompt};

fn question(id: &str) -> Approval {
    Approval {
        id: ApprovalId::new(id),
        turn: TurnId(0),
        item: ItemId(0),
        call_id: format!("call_{id}"),
        scope: Scope {
            kind: ApprovalKind::Shell,
            operation: "make".into(),
            target: "/srv".into(),
        },
        reason: "why".into(),
        opened_at: UnixMillis(5),
        expires_at: UnixMillis(500),
    }
}

#[tokio::test]
async fn the_linked_sqlite_is_new_enough() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let version = store.sqlite_version().await.unwrap();
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(
        parts >= vec![3, 51, 3],
        "{version}: write-ahead logs corrupt in older ones"
    );
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn an_open_turn_is_loaded_as_it_was_applied() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
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
        tool_name: "shell".into(),
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
    let usage = TokenUsage {
        input_tokens: 7,
        output_tokens: 3,
    };
    let diff = TurnDiff {
        diff: "x".into(),
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
            },
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
    let turn = store
        .turn(&ThreadId::new("thread_1"), turn)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((turn.usage.total(), turn.completed_at), (10, Some(UnixMillis(9))));
}

#[tokio::test]
async fn checkpointed_text_is_there_after_a_restart_and_gone_with_the_items_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
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
        tool_name: "shell".into(),
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
    let store = open(dir.path()).await;
    let loaded = store.load(&ThreadId::new("thread_1")).await.unwrap().unwrap();
    assert_eq!(loaded.state, writer.state);
    assert_eq!(loaded.head_seq, Seq(writer.seq + 10));
    let state = writer.state.clone();
    let mut writer = Writer {
        store: &store,
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

/// Id, channel, user, context, workspace.
type Row = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

#[tokio::test]
async fn lists_follow_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let table: [Row; 9] = [
        ("thread_a", "cli", None, None, "/srv/tea"),
        ("thread_b", "cli", Some("u1"), None, "/srv/tea"),
        ("thread_c", "desktop", Some("u1"), Some("ctx"), "/srv/tea"),
        ("thread_d", "telegram", Some("u2"), Some("group:7"), "/srv/tea"),
        ("thread_e", "cli", None, None, "/elsewhere"),
        ("thread_f", "cli", None, None, "/srv/tea"),
        // Helpers' own are never listed.
        ("thread_g", "commit-suggest", None, None, "/srv/tea"),
        ("thread_h", "welcome-suggest", None, None, "/srv/tea"),
        ("thread_i", "cli", None, None, "/srv/tea"),
    ];
    for (id, channel, user, context, path) in table {
        let identity = Identity {
            channel_name: channel.into(),
            user_id: user.map(str::to_owned),
            channel_context: context.map(str::to_owned),
            workspace_path: Some(path.into()),
        };
        let mut writer = Writer::start(&store, id, identity).await;
        if id == "thread_i" {
            let labelled = writer.state.decide_label("dotcraft.internal", Some("title"));
            writer.write(labelled.unwrap()).await.unwrap();
        }
        if id == "thread_f" {
            writer
                .write(writer.state.decide_status(StatusChange::Archive))
                .await
                .unwrap();
        }
    }
    let base = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    let some = |text: &str| Some(text.to_owned());
    let cases = [
        (base.clone(), "ba"),
        (
            ListFilter {
                include_archived: true,
                ..base.clone()
            },
            "fba",
        ),
        (
            ListFilter {
                user_id: some("u1"),
                ..base.clone()
            },
            "b",
        ),
        (
            ListFilter {
                channel_context: some("ctx"),
                ..base.clone()
            },
            "c",
        ),
        (
            ListFilter {
                cross_channel_origins: vec!["telegram".into()],
                ..base.clone()
            },
            "dba",
        ),
        (
            ListFilter {
                channel_context: some("ctx"),
                origin_channel: some("DESKTOP"),
                ..base.clone()
            },
            "c",
        ),
        (
            ListFilter {
                origin_channel: some("desktop"),
                ..base.clone()
            },
            "",
        ),
        (
            ListFilter {
                workspace_path: "/elsewhere".into(),
                ..base.clone()
            },
            "e",
        ),
    ];
    for (filter, expected) in cases {
        let found = store.list(filter.clone()).await.unwrap();
        let names: String = found
            .iter()
            .map(|thread| thread.header.id.as_str().trim_start_matches("thread_"))
            .collect();
        assert_eq!(names, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn events_and_turns_are_read_in_pages() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    for n in 0..10 {
        writer
            .write(
                writer
                    .state
                    .decide_start_turn(prompt(&n.to_string()), UnixMillis(2))
                    .unwrap(),
            )
            .await
            .unwrap();
        writer
            .write(writer.state.decide_end_turn(Outcome::Completed, UnixMillis(3)))
            .await
            .unwrap();
    }
    let id = ThreadId::new("thread_1");
    let all = store.events(&id, Seq(0), Seq(u64::MAX), 1000).await.unwrap();
    assert!(all.windows(2).all(|pair| pair[1].seq == pair[0].seq.next()));
    let page = store.events(&id, Seq(5), Seq(9), 3).await.unwrap();
    assert_eq!(page, all[5..8]);
    let recent = store.recent_events(&id, Seq(9), 2).await.unwrap();
    assert_eq!(recent, all[7..9]);
    let turns = store.turns_before(&id, TurnId(7), 4).await.unwrap();
    assert_eq!(numbers(&turns), [3, 4, 5, 6]);
    assert!(turns.iter().all(|turn| turn.items.len() == 1));
    assert_eq!(store.turns_before(&id, TurnId(1), 4).await.unwrap(), []);
    assert_eq!(store.turn_back(&id, TurnId(7), 4).await.unwrap(), Some(TurnId(3)));
    assert_eq!(store.turn_back(&id, TurnId(7), 7).await.unwrap(), None);
}

fn numbers(turns: &[bobbin_model::Turn]) -> Vec<u32> {
    turns.iter().map(|turn| turn.id.0).collect()
}

#[tokio::test]
async fn turns_that_were_rolled_back_are_kept_and_not_among_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let id = ThreadId::new("thread_1");
    for (count, drop) in [(4, 2), (3, 1)] {
        for _ in 0..count {
            let started = writer.state.decide_start_turn(prompt("go"), UnixMillis(2));
            writer.write(started.unwrap()).await.unwrap();
            let ended = writer.state.decide_end_turn(Outcome::Completed, UnixMillis(3));
            writer.write(ended).await.unwrap();
        }
        let first = store
            .turn_back(&id, TurnId(u32::MAX), drop)
            .await
            .unwrap()
            .unwrap();
        let event = Event::TurnsRolledBack { first, count: drop };
        writer.write(vec![event]).await.unwrap();
    }
    // 1 and 2 are left of the first four, 5 and 6 of the next three.
    let turns = store.turns_before(&id, TurnId(u32::MAX), 10).await.unwrap();
    assert_eq!(numbers(&turns), [1, 2, 5, 6]);
    assert!(turns.iter().all(|turn| turn.items.len() == 1));
    let turns = store.turns_before(&id, TurnId(6), 2).await.unwrap();
    assert_eq!(numbers(&turns), [2, 5]);
    assert_eq!(store.turn_back(&id, TurnId(6), 2).await.unwrap(), Some(TurnId(2)));
    let gone = store.turn(&id, TurnId(4)).await.unwrap().unwrap();
    assert_eq!(gone.items.len(), 1);
    let loaded = writer.loaded().await;
    assert_eq!((loaded.turn_count, loaded.last_turn), (4, TurnId(7)));
}

#[tokio::test]
async fn a_number_given_twice_is_a_conflict_and_harms_no_other_thread() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut good = Writer::start(&store, "thread_good", me()).await;
    let mut bad = Writer::start(&store, "thread_bad", me()).await;
    bad.seq = 0;
    let (fails, works) = (
        bad.state.decide_rename("x").unwrap(),
        good.state.decide_rename("y").unwrap(),
    );
    let (failed, worked) = tokio::join!(bad.write(fails), good.write(works));
    assert!(
        matches!(failed, Err(StoreError::Conflict { seq: Seq(1), .. })),
        "{failed:?}"
    );
    worked.unwrap();
    assert_eq!(good.loaded().await.header.display_name.as_deref(), Some("y"));
    assert_eq!(bad.loaded().await.header.display_name, None);
}

#[tokio::test]
async fn writes_that_wait_together_are_committed_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut receipts = Vec::new();
    let writer = Writer::start(&store, "thread_1", me()).await;
    for n in 0..500u64 {
        let event = Event::ThreadRenamed {
            display_name: n.to_string(),
        };
        let stored = vec![StoredEvent {
            seq: Seq(n + 2),
            at: UnixMillis(1),
            event: Arc::new(event),
        }];
        let write = Write {
            owner: 1,
            thread: ThreadId::new("thread_1"),
            state: Summary::of(&writer.state, &stored),
            events: stored,
            head_seq: Seq(n + 2),
            text: vec![],
            remember: None,
            request: None,
        };
        receipts.push(store.submit(write).await.unwrap());
    }
    for receipt in receipts {
        receipt.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.writes, stats.events), (501, 501));
    assert!(stats.commits < 100, "{stats:?}");
}

#[tokio::test]
async fn what_an_owner_wrote_behind_a_failed_write_fails_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let writer = Writer::start(&store, "thread_1", me()).await;
    let write = |owner, seq, name: &str| {
        let event = Event::ThreadRenamed {
            display_name: name.to_owned(),
        };
        let stored = vec![StoredEvent {
            seq: Seq(seq),
            at: UnixMillis(1),
            event: Arc::new(event),
        }];
        Write {
            owner,
            thread: ThreadId::new("thread_1"),
            state: Summary::of(&writer.state, &stored),
            events: stored,
            head_seq: Seq(seq),
            text: vec![],
            remember: None,
            request: None,
        }
    };
    let taken = store.submit(write(1, 1, "a number that is taken")).await.unwrap();
    assert!(matches!(
        taken.await,
        Err(StoreError::Conflict { seq: Seq(1), .. })
    ));
    // In a batch of its own, and good by itself; but it builds on what is not there.
    let behind = store.submit(write(1, 2, "behind")).await.unwrap();
    assert!(behind.await.is_err());
    // Whoever loads the Thread again goes on.
    store.submit(write(2, 2, "again")).await.unwrap().await.unwrap();
    let events = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(9), 9)
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn what_was_accepted_for_ever_is_remembered_and_for_the_session_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
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
    assert!(writer.loaded().await.grants.contains("shell:*"));
    store.close().await;
    let store = open(dir.path()).await;
    assert!(store.is_remembered(&scope).await.unwrap());
    assert!(
        !store
            .is_remembered(&Scope {
                operation: "make all".into(),
                ..scope
            })
            .await
            .unwrap()
    );
    let loaded = store.load(&ThreadId::new("thread_1")).await.unwrap().unwrap();
    assert!(loaded.state.grants.is_empty());
}

#[tokio::test]
async fn a_deleted_thread_is_invisible_at_once_and_its_rows_go_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
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
    Writer::start(&store, "thread_2", me()).await;
}

#[tokio::test]
async fn damage_is_an_error_that_names_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    writer
        .write(writer.state.decide_rename("x").unwrap())
        .await
        .unwrap();
    store.close().await;
    let url = format!("sqlite://{}", dir.path().join("test.db").display());
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    sqlx::query("UPDATE event SET payload = '{\"threadRenamed\":7}' WHERE seq = 2")
        .execute(&pool)
        .await
        .unwrap();
    sqlx::query("UPDATE event SET version = 99 WHERE seq = 1")
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    let store = open(dir.path()).await;
    let id = ThreadId::new("thread_1");
    let old = store.events(&id, Seq(0), Seq(1), 9).await.unwrap_err();
    assert!(
        matches!(&old, StoreError::CorruptEvent { seq: Seq(1), reason, .. } if reason.contains("99")),
        "{old:?}"
    );
    let broken = store.events(&id, Seq(1), Seq(2), 9).await.unwrap_err();
    assert!(matches!(broken, StoreError::CorruptEvent { seq: Seq(2), .. }));
}

#[tokio::test]
async fn the_file_is_its_owners_alone_and_a_closed_store_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mode = std::fs::metadata(dir.path().join("test.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    store.close().await;
    let late = writer.write(vec![Event::ThreadResumed { by: "me".into() }]).await;
    assert!(matches!(late, Err(StoreError::Closed)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever happens in a Thread, loading gives the state that applying gave.
    #[test]
    fn loading_gives_the_state_that_applying_gave(steps in proptest::collection::vec(0u8..10, 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path()).await;
            let mut writer = Writer::start(&store, "thread_1", me()).await;
            for (n, step) in steps.into_iter().enumerate() {
                let (state, now) = (&writer.state, UnixMillis(100));
                let text = || ItemBody::AgentMessage { text: String::new() };
                let last = state.live.as_ref().map_or(ItemId(0), |live| ItemId(live.next_item().0 - 1));
                let events = match step {
                    0 => state.decide_start_turn(prompt("go"), now).unwrap_or_default(),
                    1 => state.decide_open_item(text(), now).map(|wish| wish.1).unwrap_or_default(),
                    2 => state.decide_complete_item(last, None, now),
                    3 => state.decide_ask(question(&n.to_string())).unwrap_or_default(),
                    4 => state.approvals().first().map_or_else(Vec::new, |open| {
                        state.decide_answer(&open.id, Decision::AcceptForSession, &DecidedBy::Policy, now).unwrap()
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
        });
    }
}
