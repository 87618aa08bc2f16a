//! A store that is copied into another one.
#![expect(clippy::unwrap_used, reason = "a story that cannot go on fails its test")]

use std::fmt::Write as _;

use bobbin_model::sub_agent::SubAgentSource;
use bobbin_model::{
    DeltaChannel, Event, Identity, ItemBody, Outcome, Scope, Seq, ThreadId, ThreadSource, TurnId, UnixMillis,
};
use bobbin_store::{
    AuditEntry, Copied, Deed, ListFilter, ScheduleChange, ScheduleEntry, TextPart, UsageQuery, copy,
};

use super::{Open, WholeStore, Writer, me, prompt, question};

/// Threads of the story.
const THREADS: u32 = 4;

/// A copy has what its source has, and a later one brings what is new.
pub async fn a_copy_has_what_its_source_has(open: Open) {
    let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [source, other, back] = directories.each_ref().map(|dir| open(dir.path().to_owned()));
    let (source, other, back) = (source.await, other.await, back.await);
    let mut writer = filled(&*source).await;
    let all = Copied {
        copied: THREADS,
        answers: 1,
        scheduled: 1,
        audited: Some(300),
        ..Copied::default()
    };
    assert_eq!(copy(&*source, &*other).await.unwrap(), all);
    assert_eq!(copy(&*other, &*back).await.unwrap(), all);
    assert_eq!(everything(&*source).await, everything(&*other).await);
    assert_eq!(everything(&*source).await, everything(&*back).await);
    let nothing = Copied {
        copied: 0,
        known: THREADS,
        audited: Some(0),
        ..all.clone()
    };
    assert_eq!(copy(&*back, &*source).await.unwrap(), nothing);

    // One goes on, and is copied again.
    let ended = writer.state.decide_end_turn(Outcome::Completed, UnixMillis(9));
    writer.write(ended).await.unwrap();
    let one = Copied {
        copied: 1,
        known: THREADS - 1,
        audited: Some(1),
        ..all.clone()
    };
    store_entry(&*source, "goes on").await;
    assert_eq!(copy(&*source, &*other).await.unwrap(), one);
    assert_eq!(everything(&*source).await, everything(&*other).await);

    // It has gone on elsewhere, too.
    let mut elsewhere = Writer {
        store: &*back,
        state: back.load(&writer.state.header.id).await.unwrap().unwrap().state,
        seq: writer.seq - 1,
        clock: 70,
        owner: 1,
    };
    let renamed = elsewhere.state.decide_rename("elsewhere").unwrap();
    elsewhere.write(renamed).await.unwrap();
    store_entry(&*back, "elsewhere").await;
    let before = everything(&*back).await;
    let done = copy(&*source, &*back).await.unwrap();
    assert_eq!(done.different, [ThreadId::new("thread_open")]);
    assert_eq!((done.copied, done.known, done.audited), (0, THREADS - 1, None));
    assert_eq!(everything(&*back).await, before);
}

/// Adds an entry to the audit.
async fn store_entry(store: &dyn WholeStore, method: &str) {
    let entry = AuditEntry {
        at: UnixMillis(5),
        actor: None,
        client: None,
        thread: None,
        turn: None,
        deed: Deed::Requested {
            method: method.to_owned(),
        },
    };
    store.record(vec![entry], None).await.unwrap();
}

/// Fills a store. Returns the writer of a Thread whose Turn is open.
async fn filled(store: &dyn WholeStore) -> Writer<'_> {
    let mut done = Writer::start(store, "thread_done", me()).await;
    let started = done.state.decide_start_turn(prompt("brew"), UnixMillis(2));
    done.write(started.unwrap()).await.unwrap();
    let asked = done.state.decide_ask(question("a")).unwrap();
    let scope: Scope = question("a").scope;
    done.write_with(asked, vec![], Some(scope)).await.unwrap();
    let ended = done.state.decide_end_turn(Outcome::Completed, UnixMillis(4));
    done.write(ended).await.unwrap();
    // More than one page.
    for number in 0..300 {
        store_entry(store, "tea").await;
        let renamed = done.state.decide_rename(&format!("tea {number}")).unwrap();
        done.write(renamed).await.unwrap();
    }
    let billed = Event::HelperUsed {
        turn: TurnId(1),
        usage: super::usage(),
        cost_micros: 4,
    };
    done.write(vec![billed]).await.unwrap();
    let internal = Identity {
        channel_name: "welcome-suggest".into(),
        ..me()
    };
    Writer::start(store, "thread_internal", internal).await;
    let child = SubAgentSource {
        parent: ThreadId::new("thread_done"),
        parent_turn: TurnId(1),
        spawn_call: "c".into(),
        root: ThreadId::new("thread_done"),
        depth: 1,
        nickname: None,
        role: None,
        profile: None,
    };
    let child = ThreadSource::SubAgent {
        sub_agent: Box::new(child),
    };
    Writer::start_from(store, "thread_child", me(), child).await;
    let entry = ScheduleEntry {
        kind: "job".to_owned(),
        id: "a".to_owned(),
        body: "1".to_owned(),
    };
    store
        .change_schedule(vec![ScheduleChange::Put(entry)])
        .await
        .unwrap();
    let mut open = Writer::start(store, "thread_open", me()).await;
    let started = open.state.decide_start_turn(prompt("pour"), UnixMillis(2));
    open.write(started.unwrap()).await.unwrap();
    let body = ItemBody::AgentMessage { text: String::new() };
    let (item, events) = open.state.decide_open_item(body, UnixMillis(3)).unwrap();
    open.write(events).await.unwrap();
    let channel = DeltaChannel::AgentMessage;
    for text in ["Hel", "lo é"] {
        open.state.push_text(item, channel, text);
        let part = TextPart {
            turn: TurnId(1),
            item,
            text: text.into(),
        };
        open.write_with(vec![], vec![part], None).await.unwrap();
    }
    open
}

/// Returns what a store has, as text.
async fn everything(store: &dyn WholeStore) -> String {
    let filter = ListFilter {
        everything: true,
        ..ListFilter::default()
    };
    let mut text = String::new();
    for thread in store.list(filter).await.unwrap() {
        let id = &thread.header.id;
        let loaded = store.load(id).await.unwrap().unwrap();
        let events = store.events(id, Seq(0), loaded.head_seq, 1000).await.unwrap();
        let turn = store.turn(id, TurnId(1)).await.unwrap();
        write!(text, "{thread:?}\n{loaded:?}\n{events:?}\n{turn:?}\n").unwrap();
    }
    let query = UsageQuery {
        workspace: "/srv/tea".to_owned(),
        thread: None,
        from: 0,
        before: i64::MAX,
        offset: 0,
    };
    let usage = store.usage(query).await.unwrap();
    let answers = store.standing_answers(9).await.unwrap();
    let open = store.threads_with_open_turns().await.unwrap();
    let schedule = store.schedule().await.unwrap();
    let audit = store.audit(0, 1000).await.unwrap();
    write!(text, "{usage:?}\n{answers:?}\n{open:?}\n{schedule:?}\n{audit:?}").unwrap();
    text
}
