//! What a frame weighs, whom it concerns, and where its messages stand.

use bobbin_model::{
    BackgroundReason, Choice, DeltaChannel, Inquiry, ItemBody, ItemId, Reach, ServerOrigin, ServerState,
    TerminalFacts, TerminalStatus, ThreadStatus, TokenUsage,
};

use super::*;

fn frame(body: FrameBody) -> Frame {
    Frame::new(ThreadId::new("t"), Seq(7), UnixMillis(1), body, View::None, 5)
}

fn terminal(change: TerminalChange) -> Notice {
    let facts = TerminalFacts {
        id: "term_00000000".into(),
        thread: ThreadId::new("t"),
        turn: TurnId(1),
        call: "call_1".into(),
        command: "make".into(),
        working_directory: "/".into(),
        sandboxed: true,
        started_at: UnixMillis(0),
        reason: BackgroundReason::Requested,
        output_path: String::new(),
    };
    let terminal = Terminal {
        facts: facts.into(),
        status: TerminalStatus::Running,
        exit_code: None,
        completed_at: None,
        wall_time_ms: 0,
        output: "0123456789".into(),
        output_chars: 10,
        truncated: false,
    };
    let terminal = Arc::new(terminal);
    Notice::Terminal { change, terminal }
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
        call_id: "call_1".into(),
        inquiry: Inquiry {
            text: "Tea?".into(),
            choices: vec![choice("yes", Some("hot")), choice("no", None)],
            free: false,
        },
    })
}

fn server() -> Notice {
    Notice::ToolServer(Arc::new(ToolServer {
        name: "kettle".into(),
        enabled: true,
        reach: Reach::Http { url: String::new() },
        origin: ServerOrigin::User,
        read_only: false,
        state: ServerState::Idle,
        problem: None,
        tools: Arc::default(),
    }))
}

fn asked() -> Notice {
    let approval = r#"{"id":"a","turn":"turn_001","item":"item_001","callId":"c","reason":"why","openedAt":0,
        "expiresAt":1,"scope":{"kind":"shell","operation":"make","target":"/"}}"#;
    let approval: Approval = serde_json::from_str(approval).expect("an approval as it is stored");
    Notice::Below {
        root: ThreadId::new("t"),
        question: BelowQuestion::Asked(Arc::new(approval)),
    }
}

fn settled() -> Notice {
    let body = ItemBody::AgentMessage { text: String::new() };
    Notice::Below {
        root: ThreadId::new("t"),
        question: BelowQuestion::Settled {
            turn: TurnId(1),
            approval: ApprovalId::new("a"),
            item: Arc::new(Item::whole(ItemId(1), UnixMillis(0), body)),
        },
    }
}

fn progress() -> Notice {
    let entry = |label: &str| SubAgentProgress {
        label: label.into(),
        current_tool: None,
        usage: TokenUsage::default(),
        is_completed: false,
    };
    Notice::SubAgents {
        turn: TurnId(1),
        entries: Arc::new([entry("ann"), entry("bo")]),
    }
}

/// A weight is the text that a notice keeps in memory; without it the log's bound in bytes would not hold.
#[test]
fn notices_weigh_their_text_and_concern_whom_the_table_says() {
    let config = Notice::ConfigChanged {
        source: "config/set",
        regions: &[],
    };
    let table = [
        (terminal(TerminalChange::Output("abc".into())), 17, true),
        (terminal(TerminalChange::Completed), 14, true),
        (Notice::QuestionOpened(question()), 12, true),
        (Notice::QuestionClosed(question()), 12, true),
        (asked(), 3 + 4 + 1, true),
        (settled(), 0, true),
        (progress(), 3 + 64 + 2 + 64, false),
        (Notice::RuntimeChanged(Runtime::default()), 0, true),
        (server(), 0, true),
        (config, 0, true),
        (Notice::Synced, 0, false),
    ];
    for (notice, weight, everyone) in table {
        assert_eq!(notice.weight(), weight, "{notice:?}");
        let frame = frame(FrameBody::Notice(notice));
        assert_eq!(frame.concerns_everyone(), everyone, "{frame:?}");
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
    assert_eq!(
        (paused.concerns_everyone(), resumed.concerns_everyone()),
        (true, false)
    );
}

#[test]
fn a_log_counts_what_its_frames_weigh() {
    let log: crate::Log<Arc<Frame>> = crate::Log::new(Seq(7), crate::Limits::default());
    let weight = log
        .append(|_| Arc::new(frame(FrameBody::Notice(Notice::Synced))))
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
    assert_eq!((whole.delta(), whole.concerns_everyone()), (Some(&delta), false));
    for (part, skipped) in [(Part::Rest(2), 2), (Part::Behind(5), 0)] {
        let other = whole.at_part(part);
        assert_eq!((other.part, other.skipped()), (part, skipped));
        assert_eq!(
            (other.seq, other.at, &other.body, other.bytes()),
            (whole.seq, whole.at, &whole.body, whole.bytes())
        );
    }
}

/// The last place is kept for what ends them: `Synced` never shares one with a question before it.
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
    let frame = frame(FrameBody::Notice(Notice::Synced));
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
    // Another place is another text.
    assert_eq!(frame.at_part(Part::LAST).encoded(0, |_| Arc::new([])).len(), 0);
}
