//! What searches find, and what they do not.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a story that cannot go on fails its test"
)]

use std::time::Duration;

use bobbin_model::{Event, Identity, Item, ItemBody, ItemId, Json, Outcome, ThreadId, TurnId, UnixMillis};
use bobbin_store::{ListFilter, SearchFilter, SearchHit, SearchPage, SearchWords, ThreadOrder, ThreadSearch};

use super::{Open, WholeStore, Writer, me, prompt};

const NOW: UnixMillis = UnixMillis(3);

fn filter(text: &str) -> SearchFilter {
    SearchFilter {
        words: SearchWords::parse(text).unwrap(),
        visible: ListFilter {
            workspace_path: "/srv/tea".into(),
            ..ListFilter::default()
        },
        thread: None,
        kinds: Vec::new(),
        after: None,
        limit: 100,
    }
}

/// Searches once everything that is written is indexed.
async fn search(store: &dyn WholeStore, filter: SearchFilter) -> SearchPage {
    let search = async {
        loop {
            let page = store.search(filter.clone()).await.unwrap();
            if page.complete {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), search)
        .await
        .expect("the index catches up")
}

fn places(page: &SearchPage) -> Vec<String> {
    let place = |hit: &SearchHit| match hit.item {
        Some((turn, item)) => format!("{} {turn} {item} {}", hit.thread, hit.kind),
        None => format!("{} {}", hit.thread, hit.kind),
    };
    page.hits.iter().map(place).collect()
}

async fn find(store: &dyn WholeStore, text: &str) -> Vec<String> {
    places(&search(store, filter(text)).await)
}

/// Runs a Turn of a prompt, a call with its result and an answer.
pub(super) async fn turn(writer: &mut Writer<'_>, said: &str, command: &str, gave: &str, answer: &str) {
    let started = writer.state.decide_start_turn(prompt(said), NOW).unwrap();
    writer.write(started).await.unwrap();
    let bodies = [
        ItemBody::ToolCall {
            tool_name: "Exec".into(),
            call_id: "c".into(),
            arguments: Json::of(&serde_json::json!({ "command": command })).ok(),
            arguments_text: None,
            kept: None,
        },
        ItemBody::ToolResult {
            call_id: "c".into(),
            result: gave.into(),
            success: true,
            refused: false,
            seen: Vec::new(),
            pictures: Vec::new(),
            change: None,
            tool_name: None,
        },
        ItemBody::AgentMessage { text: answer.into() },
    ];
    for body in bodies {
        let (_, events) = writer.state.decide_add_item(body, NOW).unwrap();
        writer.write(events).await.unwrap();
    }
    let ended = writer.state.decide_end_turn(Outcome::Completed, NOW);
    writer.write(ended).await.unwrap();
}

/// Text of messages calls results and titles is found whatever its case.
pub async fn text_of_messages_calls_results_and_titles_is_found_whatever_its_case(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    turn(
        &mut writer,
        "Where is the Kettle?",
        "ls /kitchen",
        "kettle.txt",
        "In the kitchen: a KETTLE of copper.",
    )
    .await;
    let title = "thread_1 title";
    let user = "thread_1 turn_001 item_001 userMessage";
    let call = "thread_1 turn_001 item_002 toolCall";
    let result = "thread_1 turn_001 item_003 toolResult";
    let answer = "thread_1 turn_001 item_004 agentMessage";
    let table: [(&str, &[&str]); 8] = [
        ("kettle", &[answer, result, title, user]),
        ("ettl", &[answer, result, title, user]),
        ("kitchen", &[answer, call]),
        ("kettle kitchen", &[answer]),
        ("\"kettle of\"", &[answer]),
        ("\"of kettle\"", &[]),
        ("Exec", &[call]),
        ("samovar", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(find(&*store, text).await, expected, "{text}");
    }
    for quoted in [
        "a\"b",
        "kettle OR samovar",
        "kettle*",
        "text:kettle",
        "(kettle",
        "kettle'--",
    ] {
        if let Some(words) = SearchWords::parse(quoted) {
            let filter = SearchFilter {
                words,
                ..filter("kettle")
            };
            assert_eq!(search(&*store, filter).await.hits, [], "{quoted}");
        }
    }
}

/// Only what the client may see is found.
pub async fn only_what_the_client_may_see_is_found(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let of = |user: &str, context: Option<&str>| Identity {
        user_id: Some(user.into()),
        channel_context: context.map(Into::into),
        ..me()
    };
    let mut writers = Vec::new();
    for (id, identity) in [
        ("thread_1", of("u-1", None)),
        ("thread_2", of("u-2", None)),
        ("thread_3", of("u-1", Some("group:7"))),
    ] {
        let mut writer = Writer::start(&*store, id, identity).await;
        turn(&mut writer, "the kettle", "ls", "x", "y").await;
        writers.push(writer);
    }
    let messages = |filter: SearchFilter| SearchFilter {
        kinds: vec!["userMessage".into()],
        ..filter
    };
    let user = |id: u32| format!("thread_{id} turn_001 item_001 userMessage");
    let all = search(&*store, messages(filter("kettle"))).await;
    assert_eq!(places(&all), [user(2), user(1)]);
    let mut mine = messages(filter("kettle"));
    mine.visible.user_id = Some("u-1".into());
    assert_eq!(places(&search(&*store, mine.clone()).await), [user(1)]);
    mine.visible.channel_context = Some("group:7".into());
    assert_eq!(places(&search(&*store, mine.clone()).await), [user(3)]);
    mine.thread = Some(ThreadId::new("thread_1"));
    assert_eq!(search(&*store, mine).await.hits, []);
    let mut elsewhere = filter("kettle");
    elsewhere.visible.workspace_path = "/srv/coffee".into();
    assert_eq!(search(&*store, elsewhere).await.hits, []);
    let archived = writers[0]
        .state
        .decide_status(bobbin_model::state::StatusChange::Archive);
    writers[0].write(archived).await.unwrap();
    let mut filter = messages(filter("kettle"));
    assert_eq!(places(&search(&*store, filter.clone()).await), [user(2)]);
    filter.visible.include_archived = true;
    assert_eq!(places(&search(&*store, filter).await), [user(2), user(1)]);
}

/// What is gone is not found any more.
pub async fn what_is_gone_is_not_found_any_more(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    for _ in 0..2 {
        turn(&mut writer, "old title with tea", "ls", "x", "y").await;
    }
    let renamed = writer.state.decide_rename("kettle").unwrap();
    writer.write(renamed).await.unwrap();
    assert_eq!(find(&*store, "kettle").await, ["thread_1 title"]);
    let rolled_back = Event::TurnsRolledBack {
        first: TurnId(2),
        count: 1,
    };
    writer.write(vec![rolled_back]).await.unwrap();
    assert_eq!(
        find(&*store, "title").await,
        ["thread_1 turn_001 item_001 userMessage"]
    );
    writer.write(vec![Event::ThreadDeleted]).await.unwrap();
    assert_eq!(find(&*store, "title").await, Vec::<String>::new());
    store.close().await;
    // The index of what was removed does not come back with its numbers.
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_2", me()).await;
    turn(&mut writer, "coffee", "ls", "x", "y").await;
    assert_eq!(find(&*store, "tea").await, Vec::<String>::new());
}

/// Pages follow each other without a gap.
pub async fn pages_follow_each_other_without_a_gap(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let started = writer.state.decide_start_turn(prompt("go"), NOW).unwrap();
    writer.write(started).await.unwrap();
    let items = (2..=301).map(|id| Event::ItemAdded {
        turn: TurnId(1),
        item: Box::new(Item::whole(
            ItemId(id),
            NOW,
            ItemBody::AgentMessage {
                text: format!("kettle number {id}"),
            },
        )),
    });
    writer.write(items.collect()).await.unwrap();
    let mut found = Vec::new();
    let mut filter = SearchFilter {
        limit: 70,
        ..filter("kettle")
    };
    loop {
        let page = search(&*store, filter.clone()).await;
        found.extend(
            page.hits
                .iter()
                .filter_map(|hit| hit.item)
                .map(|(_, item)| item.0),
        );
        filter.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    assert_eq!(found, (2..=301).rev().collect::<Vec<_>>());
}

/// A long message is found by its beginning.
pub async fn a_long_message_is_found_by_its_beginning(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let long = format!("kettle {} samovar", "ö".repeat(20 << 10));
    turn(&mut writer, "hi there", "ls", &long, &long).await;
    assert_eq!(find(&*store, "samovar").await, Vec::<String>::new());
    let page = search(&*store, filter("kettle")).await;
    let sizes: Vec<usize> = page.hits.iter().map(|hit| hit.text.len()).collect();
    assert_eq!(sizes, [(16 << 10) - 1, (2 << 10) - 1]);
}

/// Threads are found by what was said in them.
pub async fn threads_are_found_by_what_was_said_in_them(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writers = Vec::new();
    for (id, said, answer) in [
        ("thread_1", "where is the Kettle", "the kettle is here"),
        ("thread_2", "ls", "no \"kettle\" at all, 100% sure"),
        ("thread_3", "Ärger mit dem Ofen", "x_y"),
    ] {
        let mut writer = Writer::start(&*store, id, me()).await;
        turn(
            &mut writer,
            said,
            "kettle in a command",
            "kettle in a result",
            answer,
        )
        .await;
        writers.push(writer);
    }
    writers[0].clock = 90;
    let started = writers[0]
        .state
        .decide_start_turn(prompt("more"), UnixMillis(91))
        .unwrap();
    writers[0].write(started).await.unwrap();
    let archived = writers[2]
        .state
        .decide_status(bobbin_model::state::StatusChange::Archive);
    search(&*store, filter("kettle")).await;
    let query = |text: &str| ThreadSearch {
        text: text.to_owned(),
        visible: filter("any").visible,
        archived: false,
        order: ThreadOrder::Active,
        ascending: false,
        after: None,
        limit: 10,
    };
    let found = async |query: ThreadSearch| {
        let found = store.search_threads(query).await.unwrap();
        let row = |found: &bobbin_store::FoundThread| format!("{} {}", found.thread.header.id, found.text);
        found.iter().map(row).collect::<Vec<_>>()
    };
    let (one, two, three) = (
        "thread_1 where is the Kettle",
        "thread_2 no \"kettle\" at all, 100% sure",
        "thread_3 Ärger mit dem Ofen",
    );
    assert_eq!(found(query("KETTLE")).await, [one, two]);
    assert_eq!(found(query("\"kettle\" at")).await, [two]);
    assert_eq!(found(query("ke")).await, [one, two]);
    assert_eq!(found(query("0%")).await, [two]);
    assert_eq!(found(query("_y")).await, ["thread_3 x_y"]);
    assert_eq!(found(query("ärger")).await, [three]);
    assert_eq!(found(query("kettle in")).await, [""; 0]);
    let ascending = ThreadSearch {
        ascending: true,
        ..query("kettle")
    };
    assert_eq!(found(ascending.clone()).await, [two, one]);
    let by_start = ThreadSearch {
        order: ThreadOrder::Created,
        ..query("kettle")
    };
    assert_eq!(found(by_start.clone()).await, [two, one]);
    let page = ThreadSearch {
        after: Some((UnixMillis(1), ThreadId::new("thread_2"))),
        limit: 1,
        ..by_start
    };
    assert_eq!(found(page).await, [one]);
    writers[2].write(archived).await.unwrap();
    let archived = ThreadSearch {
        archived: true,
        ..query("ofen")
    };
    assert_eq!(found(archived).await, [three]);
    assert_eq!(found(query("ofen")).await, [""; 0]);
}
