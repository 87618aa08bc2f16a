//! The weight of a frame, whether it is broadcast, and the position of its messages.

use bobbin_model::{Choice, DeltaChannel, Inquiry, ItemBody, ItemId, ThreadStatus, TokenUsage};

use super::*;

fn frame(body: FrameBody) -> Frame {
    Frame::new(ThreadId::new("t"), Seq(7), UnixMillis(1), body, View::None, 5)
}

fn question() -> Arc<Question> {
    let choice = |label: &str, description: Option<&str>| Choice {
        label: label.into(),
        description: description.map(str::to_owned),
    };
    Arc::new(Question {
        id: ApprovalId::new("q"),
        thread: ThreadId::new("t"),
        turn: TurnId(1),
        item: ItemId(2),
        call_id: "call_1".into(),
        blocking: false,
        inquiry: Inquiry {
            text: "Tea?".into(),
            choices: vec![choice("yes", Some("hot")), choice("no", None)],
            free: false,
        },
    })
}

fn asked() -> Ephemeral {
    let approval = r#"{"id":"a","turn":"turn_001","item":"item_001","callId":"c","reason":"why","openedAt":0,
        "expiresAt":1,"scope":{"kind":"shell","operation":"make","target":"/"}}"#;
    let approval: Approval = serde_json::from_str(approval).expect("an approval as it is stored");
    Ephemeral::Subagent {
        root: ThreadId::new("t"),
        question: SubagentQuestion::Asked(Arc::new(approval)),
    }
}

fn settled() -> Ephemeral {
    let body = ItemBody::AgentMessage { text: String::new() };
    Ephemeral::Subagent {
        root: ThreadId::new("t"),
        question: SubagentQuestion::Settled {
            turn: TurnId(1),
            approval: ApprovalId::new("a"),
            item: Arc::new(Item::whole(ItemId(1), UnixMillis(0), body)),
        },
    }
}

fn progress() -> Ephemeral {
    let entry = |label: &str| SubAgentProgress {
        label: label.into(),
        current_tool: None,
        usage: TokenUsage::default(),
        is_completed: false,
    };
    Ephemeral::SubAgents {
        turn: TurnId(1),
        entries: Arc::new([entry("ann"), entry("bo")]),
    }
}

#[test]
fn a_broadcast_is_found_by_the_type_of_its_news() {
    let news = Broadcast::new(7_u8, 0);
    assert_eq!((news.get::<u8>(), news.get::<u16>()), (Some(&7), None));
    assert_eq!(news, news.clone());
    assert_ne!(news, Broadcast::new(7_u8, 0));
}

/// The weight is the text that such a message holds in memory; without it the log's limit in bytes would not hold.
#[test]
fn ephemeral_news_weighs_its_text_and_concerns_whom_the_table_says() {
    let table = [
        (Ephemeral::Broadcast(Broadcast::new("tea", 17)), 17, true),
        (Ephemeral::QuestionOpened(question()), 12, true),
        (Ephemeral::QuestionClosed(question()), 12, true),
        (asked(), 3 + 4 + 1, true),
        (settled(), 0, true),
        (progress(), 3 + 64 + 2 + 64, false),
        (Ephemeral::RuntimeChanged(Runtime::default()), 0, true),
        (Ephemeral::Synced, 0, false),
    ];
    for (news, weight, everyone) in table {
        assert_eq!(news.weight(), weight, "{news:?}");
        let frame = frame(FrameBody::Ephemeral(news));
        assert_eq!(frame.is_broadcast(), everyone, "{frame:?}");
        assert_eq!(frame.delta(), None);
    }
    let [previous, new] = [ThreadStatus::Active, ThreadStatus::Paused];
    let paused = frame(FrameBody::Recorded(Arc::new(Event::ThreadStatusChanged {
        previous,
        new,
    })));
    let resumed = frame(FrameBody::Recorded(Arc::new(Event::ThreadResumed {
        by: "me".into(),
    })));
    assert_eq!((paused.is_broadcast(), resumed.is_broadcast()), (true, false));
}

#[test]
fn a_log_counts_what_its_frames_weigh() {
    let log: crate::Log<Arc<Frame>> = crate::Log::new(Seq(7), crate::Limits::default());
    let weight = log
        .append(|_| Arc::new(frame(FrameBody::Ephemeral(Ephemeral::Synced))))
        .bytes();
    assert_eq!((log.depth(), weight), ((1, weight), FRAME_OVERHEAD + 5));
}

#[test]
fn a_frame_keeps_its_place_and_what_its_reader_has() {
    let delta = Delta {
        turn: TurnId(1),
        item: ItemId(1),
        channel: DeltaChannel::AgentMessage,
        offset: 0,
        text: "a".into(),
        call: None,
    };
    let whole = frame(FrameBody::Delta(delta.clone()));
    assert_eq!(
        (whole.part, whole.skipped(), whole.bytes()),
        (Part::Whole, 0, FRAME_OVERHEAD + 5)
    );
    assert_eq!((whole.delta(), whole.is_broadcast()), (Some(&delta), false));
    for (part, skipped) in [(Part::Rest(2), 2), (Part::Behind(5), 0)] {
        let other = whole.at_part(part);
        assert_eq!((other.part, other.skipped()), (part, skipped));
        assert_eq!(
            (other.seq, other.at, &other.body, other.bytes()),
            (whole.seq, whole.at, &whole.body, whole.bytes())
        );
    }
}

/// The last position is reserved for the closing message: `Synced` never shares it with an earlier question.
#[test]
fn places_behind_the_log_go_up_and_leave_the_last_one() {
    let table = [(0, 4), (1, 5), (2, 6), (3, 6), (300, 6)];
    for (n, place) in table {
        assert_eq!(Part::behind(n), Part::Behind(place), "{n}");
        assert_ne!(Part::behind(n), Part::LAST);
    }
}

#[test]
fn an_encoding_is_made_once_for_each_slot_and_each_time_outside_of_them() {
    let frame = frame(FrameBody::Ephemeral(Ephemeral::Synced));
    let encoded = |slot: usize, json: &'static str| {
        let json = Bytes::from_static(json.as_bytes());
        frame.encoded(slot, |_| Arc::new([WireMessage { method: "m", json }]))[0]
            .json
            .clone()
    };
    assert_eq!(encoded(0, "a"), "a");
    assert_eq!(encoded(0, "b"), "a");
    assert_eq!(encoded(ENCODINGS - 1, "b"), "b");
    assert_eq!(encoded(ENCODINGS, "c"), "c");
    assert_eq!(encoded(ENCODINGS, "d"), "d");
    // Another position has another text.
    assert_eq!(frame.at_part(Part::LAST).encoded(0, |_| Arc::new([])).len(), 0);
}
