//! Lists, pages of events and Turns.
#![expect(clippy::unwrap_used, reason = "a story that cannot go on fails its test")]

use bobbin_model::state::StatusChange;
use bobbin_model::{Event, Identity, Outcome, Seq, ThreadId, Turn, TurnId, UnixMillis};
use bobbin_store::{ListFilter, ThreadSummary};

use super::{Open, Writer, me, prompt};

/// Id, channel, user, context, workspace.
type Row = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

fn names(found: &[ThreadSummary]) -> String {
    let name = |thread: &ThreadSummary| thread.header.id.as_str().trim_start_matches("thread_").to_owned();
    found.iter().map(name).collect()
}

/// Lists follow the table.
#[expect(clippy::too_many_lines, reason = "one table")]
pub async fn lists_follow_the_table(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
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
        let mut writer = Writer::start(&*store, id, identity).await;
        if id == "thread_i" {
            let labelled = writer.state.decide_label("dotcraft.internal", Some("title"));
            writer.write(labelled.unwrap()).await.unwrap();
        }
        let title = match id {
            "thread_a" => "tea 100 é",
            "thread_b" => "Tea 1_0%",
            _ => "coffee\\",
        };
        writer
            .write(writer.state.decide_rename(title).unwrap())
            .await
            .unwrap();
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
                every_user: true,
                ..base.clone()
            },
            "dcba",
        ),
        (
            ListFilter {
                user_id: some("u1"),
                cross_channel_origins: vec!["telegram".into(), "cli".into()],
                include_archived: true,
                ..base.clone()
            },
            "fdba",
        ),
        (
            ListFilter {
                every_user: true,
                title: some("EA 1_0%"),
                ..base.clone()
            },
            "b",
        ),
        (
            ListFilter {
                every_user: true,
                title: some("É"),
                ..base.clone()
            },
            "",
        ),
        (
            ListFilter {
                every_user: true,
                title: some("é"),
                ..base.clone()
            },
            "a",
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
        assert_eq!(names(&found), expected, "{filter:?}");
    }
}

/// Lists are read in pages.
pub async fn lists_are_read_in_pages(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    // Ids are compared byte by byte, whatever the language of the database.
    for id in [
        "thread_b",
        "thread_C",
        "thread_-",
        "thread_A",
        "thread_a",
        "thread_é",
        "thread_z",
    ] {
        let mut writer = Writer::start(&*store, id, me()).await;
        if id == "thread_a" {
            writer.clock = 9;
            let started = writer
                .state
                .decide_start_turn(prompt("go"), UnixMillis(9))
                .unwrap();
            writer.write(started).await.unwrap();
        }
    }
    let mut filter = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    assert_eq!(names(&store.list(filter.clone()).await.unwrap()), "aézbCA-");
    filter.limit = Some(2);
    let mut pages = Vec::new();
    loop {
        let page = store.list(filter.clone()).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.after = Some((last.header.last_active_at, last.header.id.clone()));
        pages.push(names(&page));
    }
    assert_eq!(pages, ["aé", "zb", "CA", "-"]);
}

/// Events and turns are read in pages.
pub async fn events_and_turns_are_read_in_pages(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
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
    assert_eq!(store.turns_from(&id, TurnId(7)).await.unwrap(), 4);
    assert_eq!(store.turns_from(&id, TurnId(11)).await.unwrap(), 0);
    assert_eq!(store.turn(&id, TurnId(11)).await.unwrap(), None);
    assert_eq!(store.load(&ThreadId::new("thread_2")).await.unwrap(), None);
}

/// Both events of a user's message have it.
pub async fn both_events_of_a_users_message_have_it(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let started = writer
        .state
        .decide_start_turn(prompt("leaves of tea"), UnixMillis(2));
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
}

/// Turns that were rolled back stay in the store and are not among the others.
pub async fn turns_that_were_rolled_back_are_kept_and_not_among_the_others(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
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
    assert_eq!(store.turns_from(&id, TurnId(2)).await.unwrap(), 3);
    assert_eq!(store.turns_from(&id, TurnId(3)).await.unwrap(), 0);
    let gone = store.turn(&id, TurnId(4)).await.unwrap().unwrap();
    assert_eq!(gone.items.len(), 1);
    let loaded = writer.loaded().await;
    assert_eq!((loaded.turn_count, loaded.last_turn), (4, TurnId(7)));
}

fn numbers(turns: &[Turn]) -> Vec<u32> {
    turns.iter().map(|turn| turn.id.0).collect()
}
