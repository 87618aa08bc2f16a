//! What is read of many Threads and many Turns.

use bobbin_model::state::StatusChange;
use bobbin_model::{Event, Identity, ItemBody, Outcome, Seq, ThreadId, TurnId, UnixMillis};
use bobbin_store::{ListFilter, Store};

use crate::support::{Writer, me, open, prompt};

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

#[tokio::test]
async fn a_users_message_is_stored_once_and_both_of_its_events_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let text = "leaves of tea";
    let started = writer.state.decide_start_turn(prompt(text), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    let id = ThreadId::new("thread_1");
    let read = store.events(&id, Seq(0), Seq(u64::MAX), 1000).await.unwrap();
    let of_turn = |event: &Event| match event {
        Event::TurnStarted { user_item, .. } => user_item.clone(),
        Event::ItemAdded { item, .. } => Some(item.clone()),
        _ => None,
    };
    let items: Vec<_> = read.iter().filter_map(|stored| of_turn(&stored.event)).collect();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0], items[1]);
    let recent = store.recent_events(&id, Seq(u64::MAX), 1000).await.unwrap();
    assert_eq!(recent, read);
    store.close().await;
    // The search index, which follows the events, has not been filled. The title is the beginning of the message.
    let file = std::fs::read(dir.path().join("test.db")).unwrap();
    let copies = file.windows(text.len()).filter(|found| *found == text.as_bytes());
    let titles = 2;
    assert_eq!(copies.count(), 1 + titles);
}

#[tokio::test]
async fn an_event_of_an_earlier_server_has_its_own_copy_of_the_message() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let started = writer.state.decide_start_turn(prompt("go"), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    store.close().await;
    let path = dir.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut database = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options)
        .await
        .unwrap();
    let old = r#"{"id":"item_001","status":"completed","createdAt":2,"completedAt":2,"body":{"userMessage":{"text":"old","native":[{"type":"text","text":"old"}],"delivery":"normal"}}}"#;
    sqlx::query(
        "UPDATE event SET version = 1, payload = json_set(payload, '$.turnStarted.userItem', json(?)) \
         WHERE kind = 'turnStarted'",
    )
    .bind(old)
    .execute(&mut database)
    .await
    .unwrap();
    sqlx::Connection::close(database).await.unwrap();
    let store = open(dir.path()).await;
    let read = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(u64::MAX), 1000)
        .await
        .unwrap();
    let user_item = read.iter().find_map(|stored| match &*stored.event {
        Event::TurnStarted { user_item, .. } => user_item.as_deref(),
        _ => None,
    });
    let ItemBody::UserMessage(message) = &user_item.unwrap().body else {
        panic!("{user_item:?}")
    };
    assert_eq!(message.text(), "old");
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

fn numbers(turns: &[bobbin_model::Turn]) -> Vec<u32> {
    turns.iter().map(|turn| turn.id.0).collect()
}
