//! Sums of what Turns used.
#![expect(clippy::unwrap_used, reason = "a story that cannot go on fails its test")]

use bobbin_model::item::ExecutionStatus;
use bobbin_model::state::StartTurn;
use bobbin_model::{
    Effort, Event, InputPart, ItemBody, Json, Outcome, ThreadConfig, ThreadId, TokenUsage, TurnFeatures,
    TurnId, UnixMillis,
};
use bobbin_store::{UsageQuery, UsageRow, UsedRow};

use super::{Open, Writer, me, prompt};

const DAY: i64 = 86_400_000;

fn call(tool: &str, arguments: &serde_json::Value) -> ItemBody {
    ItemBody::ToolCall {
        tool_name: tool.into(),
        call_id: "c".into(),
        arguments: Json::of(arguments).ok(),
        arguments_text: None,
        kept: None,
    }
}

fn ran(duration_ms: u64) -> ItemBody {
    ItemBody::ToolExecution {
        call_id: "c".into(),
        tool_name: "Exec".into(),
        status: ExecutionStatus::Completed,
        success: Some(true),
        duration_ms: Some(duration_ms),
        result_preview: None,
        error_message: None,
    }
}

fn error() -> ItemBody {
    ItemBody::Error {
        message: "no".into(),
        code: String::new(),
        fatal: false,
    }
}

/// Runs a Turn with these Items and one call of a model.
async fn turn(writer: &mut Writer<'_>, start: StartTurn, from: i64, to: i64, bodies: Vec<ItemBody>) {
    writer.clock = from - 1;
    let started = writer.state.decide_start_turn(start, UnixMillis(from)).unwrap();
    writer.write(started).await.unwrap();
    for body in bodies {
        let (_, events) = writer.state.decide_add_item(body, UnixMillis(from)).unwrap();
        writer.write(events).await.unwrap();
    }
    let turn = writer.state.last_turn;
    let usage = TokenUsage {
        cached_input_tokens: 5,
        reasoning_output_tokens: 2,
        ..TokenUsage::of(7, 3)
    };
    let billed = Event::UsageAdded {
        turn,
        usage,
        context_tokens: 7,
        context_window: None,
        cost_micros: 3,
        turn_output_tokens: None,
    };
    writer.write(vec![billed]).await.unwrap();
    let ended = writer.state.decide_end_turn(Outcome::Completed, UnixMillis(to));
    writer.write(ended).await.unwrap();
}

/// Usage is summed by day, thread, channel, model and effort.
#[expect(clippy::too_many_lines, reason = "one table")]
pub async fn usage_is_summed_by_day_thread_channel_model_and_effort(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut one = Writer::start(&*store, "thread_1", me()).await;
    let skill = || InputPart::SkillRef {
        name: "brew".into(),
        content: None,
    };
    let with_skill = || StartTurn {
        input: vec![InputPart::Text { text: "go".into() }, skill(), skill()],
        channel: None,
        ..prompt("")
    };
    let bodies = vec![
        call("Exec", &serde_json::json!({})),
        call("SkillView", &serde_json::json!({ "name": "pour" })),
        call("Quote\"d\\", &serde_json::json!({})),
        ran(40),
        ran(30),
        error(),
    ];
    turn(&mut one, with_skill(), DAY - 10, DAY + 90, bodies).await;
    turn(
        &mut one,
        prompt("again"),
        DAY - 5,
        DAY - 1,
        vec![call("Exec", &serde_json::json!({}))],
    )
    .await;
    let config = ThreadConfig {
        model: Some("large".into()),
        ..ThreadConfig::default()
    };
    one.write(one.state.decide_configure(config)).await.unwrap();
    let careful = StartTurn {
        features: TurnFeatures {
            reasoning_effort: Some(Effort::High),
            ..TurnFeatures::default()
        },
        ..prompt("more")
    };
    turn(&mut one, careful, DAY + 5, DAY + 6, vec![]).await;
    let rolled_back = Event::TurnsRolledBack {
        first: TurnId(3),
        count: 1,
    };
    one.write(vec![rolled_back]).await.unwrap();
    let mut two = Writer::start(&*store, "thread_2", me()).await;
    turn(&mut two, prompt("b"), DAY + 7, DAY + 8, vec![]).await;
    let mut gone = Writer::start(&*store, "thread_3", me()).await;
    turn(&mut gone, prompt("c"), DAY + 7, DAY + 8, vec![]).await;
    gone.write(vec![Event::ThreadDeleted]).await.unwrap();

    let query = UsageQuery {
        workspace: "/srv/tea".into(),
        thread: None,
        from: 0,
        before: 3 * DAY,
        offset: 0,
    };
    let row = |day, thread: &str, turns: u64| UsageRow {
        day,
        thread: thread.to_owned(),
        surface: "cli".to_owned(),
        turns,
        requests: turns,
        input: 7 * turns,
        cached: 5 * turns,
        output: 3 * turns,
        reasoning: 2 * turns,
        ..UsageRow::default()
    };
    let first = UsageRow {
        tool_calls: 4,
        tool_ms: 70,
        tool_ms_max: 40,
        errors: 1,
        turn_ms_max: 100,
        ..row(0, "thread_1", 2)
    };
    let third = UsageRow {
        model: Some("large".into()),
        effort: Some("high".into()),
        turn_ms_max: 1,
        ..row(1, "thread_1", 1)
    };
    let other = UsageRow {
        turn_ms_max: 1,
        ..row(1, "thread_2", 1)
    };
    let used = |day, key: &str, count| UsedRow {
        day,
        key: key.to_owned(),
        count,
    };
    let all_used = [
        used(0, "skill:brew", 2),
        used(0, "skill:pour", 1),
        used(0, "tool:Exec", 2),
        used(0, "tool:Quoted", 1),
        used(0, "tool:SkillView", 1),
    ];
    let summed = async |query: UsageQuery| {
        let (mut rows, mut uses) = store.usage(query).await.unwrap();
        rows.sort_by(|row, other| (row.day, &row.thread).cmp(&(other.day, &other.thread)));
        uses.sort_by(|used, other| (used.day, &used.key).cmp(&(other.day, &other.key)));
        (rows, uses)
    };
    let (rows, uses) = summed(query.clone()).await;
    assert_eq!(rows, [first.clone(), third.clone(), other.clone()]);
    assert_eq!(uses, all_used);
    // Of one Thread, and of a time.
    let (rows, _) = summed(UsageQuery {
        thread: Some(ThreadId::new("thread_2")),
        ..query.clone()
    })
    .await;
    assert_eq!(rows, std::slice::from_ref(&other));
    let (rows, uses) = summed(UsageQuery {
        from: DAY + 5,
        before: DAY + 7,
        ..query.clone()
    })
    .await;
    assert_eq!((rows, uses), (vec![third.clone()], vec![]));
    // Another time zone has another day.
    let (rows, _) = summed(UsageQuery {
        offset: DAY,
        ..query.clone()
    })
    .await;
    let days: Vec<i64> = rows.iter().map(|row| row.day).collect();
    assert_eq!(days, [1, 2, 2]);
    let elsewhere = UsageQuery {
        workspace: "/srv/coffee".into(),
        ..query
    };
    assert_eq!(summed(elsewhere).await, (vec![], vec![]));
    let spent = store.spent(&ThreadId::new("thread_1"), TurnId(4)).await.unwrap();
    assert_eq!((spent.tokens, spent.cost_micros), (30, 9));
}
