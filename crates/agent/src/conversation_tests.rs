//! The messages that a model gets for recorded Items.

use bobbin_model::item::UserMessage;
use bobbin_model::{
    DeliveryMode, DynamicToolCall, ItemId, TokenUsage, ToolAnswer, Turn, TurnId, TurnStatus, UnixMillis,
};

use super::super::history::Earlier;
use super::*;

fn turn(bodies: Vec<ItemBody>) -> Turn {
    let item = |(id, body)| Item::whole(ItemId(id), UnixMillis(0), body);
    Turn {
        id: TurnId(1),
        status: TurnStatus::Cancelled,
        items: (1..).zip(bodies).map(item).collect(),
        started_at: UnixMillis(0),
        completed_at: None,
        usage: TokenUsage::default(),
        cost_micros: 0,
        files_changed: 0,
        files_undone: false,
        error: None,
        origin_channel: None,
    }
}

fn user(text: &str) -> ItemBody {
    ItemBody::UserMessage(UserMessage {
        native: vec![InputPart::Text {
            text: text.to_owned(),
        }],
        delivery: DeliveryMode::Normal,
        client_message_id: None,
        sender: None,
        actor: None,
        trigger: None,
        channel_name: None,
        channel_context: None,
    })
}

fn call(id: &str) -> ItemBody {
    ItemBody::ToolCall {
        tool_name: "t".to_owned(),
        call_id: id.to_owned(),
        arguments: None,
        arguments_text: None,
        kept: None,
    }
}

fn result(id: &str) -> ItemBody {
    ItemBody::ToolResult {
        call_id: id.to_owned(),
        result: "r".to_owned(),
        success: true,
        refused: false,
        seen: Vec::new(),
        pictures: Vec::new(),
        change: None,
        tool_name: None,
    }
}

fn agent(text: &str) -> ItemBody {
    ItemBody::AgentMessage {
        text: text.to_owned(),
    }
}

fn shape(messages: &[Message]) -> Vec<String> {
    let one = |message: &Message| match message {
        Message::User { .. } => "user".to_owned(),
        Message::Agent { text, calls } => {
            let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("agent {text} [{}]", ids.join(" "))
        }
        Message::Result { call_id, success, .. } => format!("result {call_id} {success}"),
    };
    messages.iter().map(one).collect()
}

#[test]
fn one_reply_is_one_message_with_its_calls() {
    let reasoning = ItemBody::Reasoning {
        text: "hm".to_owned(),
    };
    let items = turn(vec![
        user("u"),
        reasoning,
        agent("a"),
        call("1"),
        call("2"),
        result("1"),
        result("2"),
        agent("b"),
    ]);
    assert_eq!(
        shape(&messages(&items.items)),
        [
            "user",
            "agent a [1 2]",
            "result 1 true",
            "result 2 true",
            "agent b []"
        ]
    );
}

#[test]
fn a_message_of_a_job_says_so_beside_what_it_asks_for() {
    let ItemBody::UserMessage(mut said) = user("Look for lime.") else {
        panic!("no message");
    };
    said.trigger = Some(Box::new(bobbin_model::Trigger {
        kind: bobbin_model::TriggerKind::Cron,
        label: Some("tea".to_owned()),
        ref_id: None,
    }));
    let items = turn(vec![ItemBody::UserMessage(said)]);
    let asked = messages(&items.items);
    let [Message::User { parts }] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert!(matches!(&parts[0], InputPart::Context { text, .. } if text.contains("The job \"tea\"")));
    assert_eq!(bobbin_model::input::typed_text(parts), "Look for lime.");
}

fn told_of(turns: &[Turn]) -> Vec<Message> {
    let done = newest_compaction(turns.iter().flat_map(|turn| &turn.items)).cloned();
    let earlier = Earlier {
        turns: turns.iter().map(PastTurn::of).collect(),
        done,
        cut: None,
    };
    let placed = earlier.placed(TurnId(9), &[], None).into_iter();
    placed.map(|placed| placed.message).collect()
}

#[test]
fn clients_calls_of_two_replies_in_one_millisecond_stay_two_replies() {
    let call = |id: &str, reply| {
        ItemBody::DynamicToolCall(Box::new(DynamicToolCall {
            plugin_id: None,
            namespace: None,
            tool_name: "t".into(),
            offered_as: "t".into(),
            call_id: id.into(),
            reply: Some(reply),
            arguments: None,
            answer: Some(ToolAnswer {
                success: true,
                ..ToolAnswer::default()
            }),
            kept: None,
        }))
    };
    let items = turn(vec![user("u"), call("1", 0), call("2", 0), call("3", 1)]);
    assert_eq!(
        shape(&messages(&items.items)),
        [
            "user",
            "agent  [1 2]",
            "result 1 true",
            "result 2 true",
            "agent  [3]",
            "result 3 true"
        ]
    );
}

#[test]
fn pictures_of_results_come_behind_all_results_of_their_reply() {
    let with_picture = |id: &str| match result(id) {
        ItemBody::ToolResult {
            call_id,
            result,
            success,
            refused,
            seen,
            ..
        } => ItemBody::ToolResult {
            call_id,
            result,
            success,
            refused,
            seen,
            pictures: vec![format!("{id}.png")],
            change: None,
            tool_name: None,
        },
        other => other,
    };
    let mut bodies = vec![user("u"), call("1"), call("2"), with_picture("1")];
    // A result is missing: the server stopped here.
    let open = messages(&turn(bodies.clone()).items);
    assert_eq!(shape(&open), ["user", "agent  [1 2]", "result 1 true"]);
    bodies.extend([result("2"), agent("b")]);
    let all = messages(&turn(bodies).items);
    assert_eq!(
        shape(&all),
        [
            "user",
            "agent  [1 2]",
            "result 1 true",
            "result 2 true",
            "user",
            "agent b []"
        ]
    );
    let Message::User { parts } = &all[4] else {
        panic!("{all:?}")
    };
    assert!(matches!(&parts[1], InputPart::LocalImage { path, .. } if path == "1.png"));
}

#[test]
fn calls_of_earlier_turns_always_have_results() {
    let history = told_of(&[turn(vec![user("u"), call("1"), call("2"), result("1")])]);
    assert_eq!(
        shape(&history),
        ["user", "agent  [1 2]", "result 2 false", "result 1 true"]
    );
}

fn compacted(kept_from: (u32, u32)) -> ItemBody {
    ItemBody::Compaction(Box::new(Compaction {
        trigger: bobbin_model::CompactionTrigger::Auto,
        tokens_before: 9,
        tokens_after: 1,
        left_after: 1.0,
        cleared_results: 0,
        summary: "short".to_owned(),
        kept_from: (TurnId(kept_from.0), ItemId(kept_from.1)),
    }))
}

fn texts(message: &Message) -> Vec<String> {
    match message {
        Message::User { parts } => parts.iter().map(|part| model_text(part).into_owned()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_summary_stands_for_what_came_before_and_the_turn_begins_with_its_request() {
    let inside = [turn(vec![
        user("first"),
        agent("a"),
        call("1"),
        result("1"),
        call("2"),
        result("2"),
        compacted((1, 5)),
        agent("b"),
    ])];
    let messages = told_of(&inside);
    assert_eq!(
        shape(&messages),
        ["user", "agent  [2]", "result 2 true", "agent b []"]
    );
    let said = texts(&messages[0]);
    assert!(said[0].contains("<summary>\nshort\n</summary>"), "{said:?}");
    assert_eq!(said[1], "first");
    let mut later = turn(vec![user("second"), compacted((2, 1)), agent("c")]);
    later.id = TurnId(2);
    let messages = told_of(&[inside[0].clone(), later]);
    assert_eq!(shape(&messages), ["user", "agent c []"]);
    assert_eq!(texts(&messages[0])[1], "second");
}

#[test]
fn a_turn_taken_out_takes_its_summary_with_it() {
    let first = turn(vec![user("first"), agent("a")]);
    let mut second = turn(vec![user("second"), compacted((2, 1)), agent("b")]);
    second.id = TurnId(2);
    let both = [first.clone(), second];
    assert_eq!(shape(&told_of(&both)), ["user", "agent b []"]);
    assert_eq!(shape(&told_of(&both[..1])), ["user", "agent a []"]);
    assert_eq!(texts(&told_of(&both[..1])[0]), ["first"]);
}
