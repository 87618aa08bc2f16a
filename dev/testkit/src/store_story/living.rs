//! Subagents, the schedule, texts with zero bytes, and the end of a store.
#![expect(clippy::unwrap_used, reason = "a story that cannot go on fails its test")]

use bobbin_model::sub_agent::SubAgentSource;
use bobbin_model::{
    DeltaChannel, EdgeStatus, Event, ItemBody, Json, Outcome, Seq, ThreadId, ThreadSource, TurnId, UnixMillis,
};
use bobbin_store::{Closed, ListFilter, ScheduleChange, ScheduleEntry, StoreError, TextPart, ThreadSummary};

use super::{Open, Writer, me, prompt};

fn child_of(parent: &str, depth: u32) -> ThreadSource {
    let source = SubAgentSource {
        parent: ThreadId::new(parent),
        parent_turn: TurnId(1),
        spawn_call: "c".into(),
        root: ThreadId::new("thread_1"),
        depth,
        nickname: None,
        role: None,
        profile: None,
    };
    ThreadSource::SubAgent {
        sub_agent: Box::new(source),
    }
}

fn ids(found: &[ThreadSummary]) -> Vec<&str> {
    found.iter().map(|thread| thread.header.id.as_str()).collect()
}

/// A subagent is among the children of its parent.
pub async fn a_subagent_is_among_the_children_of_its_parent(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    Writer::start(&*store, "thread_1", me()).await;
    let mut two = Writer::start_from(&*store, "thread_2", me(), child_of("thread_1", 1)).await;
    let three = Writer::start_from(&*store, "thread_3", me(), child_of("thread_1", 1)).await;
    let mut four = Writer::start_from(&*store, "thread_4", me(), child_of("thread_3", 2)).await;
    let top = ThreadId::new("thread_1");
    let closed = two.state.decide_edge(EdgeStatus::Closed, UnixMillis(7)).unwrap();
    two.write(closed).await.unwrap();
    assert_eq!(two.loaded().await, two.state);
    assert_eq!(three.loaded().await, three.state);
    let all = store.children(&top, Closed::Included, 9).await.unwrap();
    assert_eq!(ids(&all), ["thread_2", "thread_3"]);
    let edges: Vec<_> = all.iter().map(|thread| thread.edge.unwrap().status).collect();
    assert_eq!(edges, [EdgeStatus::Closed, EdgeStatus::Open]);
    let open = store.children(&top, Closed::LeftOut, 9).await.unwrap();
    assert_eq!(ids(&open), ["thread_3"]);
    let newest = store.children(&top, Closed::Included, 1).await.unwrap();
    assert_eq!(ids(&newest), ["thread_3"]);
    let descendants = store.descendants(&top).await.unwrap();
    let descendants: Vec<&str> = descendants.iter().map(ThreadId::as_str).collect();
    assert_eq!(descendants, ["thread_4", "thread_2", "thread_3"]);
    let mut filter = ListFilter {
        workspace_path: "/srv/tea".into(),
        ..ListFilter::default()
    };
    assert_eq!(ids(&store.list(filter.clone()).await.unwrap()), ["thread_1"]);
    filter.include_sub_agents = true;
    assert_eq!(store.list(filter).await.unwrap().len(), 4);
    four.write(vec![Event::ThreadDeleted]).await.unwrap();
    assert_eq!(store.descendants(&top).await.unwrap().len(), 2);
    let gone = store
        .children(&ThreadId::new("thread_3"), Closed::Included, 9)
        .await
        .unwrap();
    assert_eq!(gone, []);
}

/// Entries of the schedule change together.
pub async fn entries_of_the_schedule_change_together(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let entry = |kind: &str, id: &str, body: &str| ScheduleEntry {
        kind: kind.to_owned(),
        id: id.to_owned(),
        body: body.to_owned(),
    };
    let removed = |kind: &str, id: &str| ScheduleChange::Remove {
        kind: kind.to_owned(),
        id: id.to_owned(),
    };
    let put = [
        entry("job", "b", "{\"n\":1}"),
        entry("job", "B", "2"),
        entry("Run", "x", "\"\\u0000\""),
    ];
    let put = put.map(ScheduleChange::Put).to_vec();
    store.change_schedule(put).await.unwrap();
    let all = store.schedule().await.unwrap();
    assert_eq!(
        all,
        [
            entry("Run", "x", "\"\\u0000\""),
            entry("job", "B", "2"),
            entry("job", "b", "{\"n\":1}")
        ]
    );
    let changes = vec![
        ScheduleChange::Put(entry("job", "b", "3")),
        removed("job", "B"),
        removed("job", "nothing"),
        removed("Run", "x"),
    ];
    store.change_schedule(changes).await.unwrap();
    store.close().await;
    let store = open(dir.path().to_owned()).await;
    assert_eq!(store.schedule().await.unwrap(), [entry("job", "b", "3")]);
}

/// Zero bytes harm nothing: events and streamed text have them, titles may lose them.
pub async fn zero_bytes_harm_nothing(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let identity = bobbin_model::Identity {
        channel_context: Some("a\0b".into()),
        ..me()
    };
    let mut writer = Writer::start(&*store, "thread_1", identity).await;
    let label = writer.state.decide_label("na\0me", Some("va\0lue")).unwrap();
    writer.write(label).await.unwrap();
    writer
        .write(writer.state.decide_rename("tea\0pot").unwrap())
        .await
        .unwrap();
    let started = writer
        .state
        .decide_start_turn(prompt("br\0ew"), UnixMillis(2))
        .unwrap();
    writer.write(started).await.unwrap();
    let call = ItemBody::ToolCall {
        tool_name: "Ex\0ec".into(),
        call_id: "call\0a".into(),
        arguments: Json::of(&serde_json::json!({ "a\0": "b\0" })).ok(),
        arguments_text: None,
        kept: None,
    };
    let (_, events) = writer.state.decide_add_item(call, UnixMillis(3)).unwrap();
    writer.write(events).await.unwrap();
    let turn = TurnId(1);
    let call_id = "call\0a".to_owned();
    writer
        .write(vec![Event::CallStarted { turn, call_id }])
        .await
        .unwrap();
    let body = ItemBody::AgentMessage { text: String::new() };
    let (item, events) = writer.state.decide_open_item(body, UnixMillis(3)).unwrap();
    writer.write(events).await.unwrap();
    let text = "stre\0am";
    writer.state.push_text(item, DeltaChannel::AgentMessage, text);
    let part = TextPart {
        turn,
        item,
        text: text.into(),
    };
    writer.write_with(vec![], vec![part], None).await.unwrap();
    let loaded = writer.loaded().await;
    assert_eq!(loaded.live, writer.state.live);
    assert_eq!(loaded.header.metadata, writer.state.header.metadata);
    let title = loaded.header.display_name.unwrap();
    assert_eq!(title.replace('\0', ""), "teapot");
    let failed = Outcome::Failed { error: "n\0o".into() };
    let ended = writer.state.decide_end_turn(failed, UnixMillis(4));
    writer.write(ended).await.unwrap();
    let turn = store
        .turn(&ThreadId::new("thread_1"), turn)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(turn.error.unwrap().replace('\0', ""), "no");
    let filter = ListFilter {
        workspace_path: "/srv/tea".into(),
        channel_context: Some("a\0b".into()),
        ..ListFilter::default()
    };
    assert_eq!(ids(&store.list(filter).await.unwrap()), ["thread_1"]);
    let events = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(3), 9)
        .await
        .unwrap();
    assert!(matches!(&*events[2].event, Event::ThreadRenamed { display_name } if display_name == "tea\0pot"));
}

/// A closed store says so.
pub async fn a_closed_store_says_so(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let waiting = writer.next(vec![Event::ThreadResumed { by: "me".into() }]);
    let waiting = store.submit(waiting).await.unwrap();
    store.close().await;
    // What was submitted before is stored.
    waiting.await.unwrap();
    let late = writer.write(vec![Event::ThreadResumed { by: "me".into() }]).await;
    assert!(matches!(late, Err(StoreError::Closed)));
    assert!(matches!(
        store.forget_answers(None).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(
        store.change_schedule(vec![]).await,
        Err(StoreError::Closed)
    ));
    let store = open(dir.path().to_owned()).await;
    let events = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(9), 9)
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
}
